package incident

import "testing"

func TestNodeForLog(t *testing.T) {
	in := &Incident{Nodes: []Node{
		{Name: "dec-0", Log: "dec-0*.log"},
		{Name: "dec-1", Log: "dec-[01]-extra.log"},
		{Name: "pre-0", Log: "pre/*/stdout"},
		{Name: "plain"},
		{Name: "v1.2"},
	}}
	known := []string{"seen", "dec-9"}

	for _, test := range []struct {
		file, node, how string
	}{
		{"dec-0.log", "dec-0", `log glob "dec-0*.log"`},
		{"/evidence/plain/dec-0-b.log", "dec-0", `log glob "dec-0*.log"`},
		{"pre/a/stdout", "pre-0", `log glob "pre/*/stdout"`},
		{"/evidence/pre/a/stdout", "pre-0", `log glob "pre/*/stdout"`},
		{"a/stdout", "", "no node"},
		{"dec-0-extra.log", "", "ambiguous: log globs of nodes dec-0, dec-1 match"},
		{"plain/dec-0-extra.log", "", "ambiguous: log globs of nodes dec-0, dec-1 match"},

		{"plain", "plain", `file name "plain"`},
		{"seen/plain.txt", "plain", `file name "plain"`},
		{"plain.log.1", "plain", `file name "plain"`},
		{"plain.log.12.gz", "plain", `file name "plain"`},
		{"plain.log.2026-09-01.zst", "plain", `file name "plain"`},
		{"plain-2026-09-01.jsonl", "plain", `file name "plain"`},
		{"plain.log-20260901.gz", "plain", `file name "plain"`},
		{"dec-0.log.gz", "dec-0", `file name "dec-0"`},
		{"v1.2", "v1.2", `file name "v1.2"`},
		{"v1.2.log", "v1.2", `file name "v1.2"`},
		{"seen.log", "seen", `file name "seen"`},
		{"dec-9.log", "dec-9", `file name "dec-9"`},

		{"seen/server.log", "seen", `folder "seen"`},
		{"/x/v1.2/0.log", "v1.2", `folder "v1.2"`},
		{"seen/logs/server.log", "", "no node"},
		{"server.log", "", "no node"},
		{"Plain.log", "", "no node"},
		{"", "", "no node"},
		{"/", "", "no node"},
		{".log", "", "no node"},
	} {
		node, how, ok := in.NodeForLog(test.file, known)
		if node != test.node || how != test.how || ok != (test.node != "") {
			t.Errorf("NodeForLog(%q) = %q, %q, %v, want %q, %q", test.file, node, how, ok, test.node, test.how)
		}
	}
}

func TestNodeForLogWithoutIncident(t *testing.T) {
	var in Incident
	node, how, ok := in.NodeForLog("seen.log", []string{"seen"})
	if node != "seen" || how != `file name "seen"` || !ok {
		t.Errorf("got %q, %q, %v", node, how, ok)
	}
}

package incident

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvforensics/internal/evidence"
	"kvforensics/internal/strictyaml"
)

func at(t *testing.T, text string) evidence.Opt[evidence.Micros] {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return evidence.Some(evidence.MicrosOf(instant))
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The file is the example of contract.md as it stands there.
func TestLoadContractExample(t *testing.T) {
	data, err := os.ReadFile("testdata/incident.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load("incident.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	want := &Incident{
		Name:     "glm-5.3",
		Role:     Processor,
		Model:    "zai-org/GLM-5.3",
		Timezone: time.UTC,
		Window:   Window{From: at(t, "2026-08-27T00:00:00Z"), To: at(t, "2026-09-09T14:00:00Z")},
		Aware:    Aware{FirstSignal: at(t, "2026-09-08T23:11:00Z"), Provider: at(t, "2026-09-09T13:22:00Z")},
		Nodes: []Node{{
			Name:            "dec-0",
			Role:            evidence.RoleDecode,
			Engine:          "sglang",
			Version:         "0.5.18",
			TransferBackend: "mooncake",
			Timezone:        location(t, "Europe/London"),
			Log:             "dec-0*.log",
			Addresses:       []string{"10.0.0.7"},
			Ranks:           evidence.Some[int64](1),
			PoolTokens:      evidence.Some[int64](1310720),
			PageSize:        evidence.Some[int64](64),
			ContextLen:      evidence.Some[int64](1048576),
			Flags: Flags{
				DeferredKVRelease: evidence.Some(false),
				KVChecksum:        evidence.Some(false),
				KVCanary:          "none",
			},
		}},
		Tenants: []Tenant{{
			ID:          "t-1f2e",
			Name:        "Example Ltd",
			Country:     "GB",
			Contact:     "dpo@example.org",
			Sector:      "health",
			NoticeHours: evidence.Some[int64](24),
			Role:        Controller,
		}},
		CaseLead: "J. Doe",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadUnstated(t *testing.T) {
	for _, text := range []string{"", "window:\naware: {}\nnodes: []\ntimezone: ~\n"} {
		got, err := Load("incident.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, &Incident{}) {
			t.Errorf("%q: got %+v, want the zero Incident", text, got)
		}
	}

	got, err := Load("incident.yaml", []byte("nodes: [{name: a, flags: }]\ntenants: [{id: b, notice_hours: 0, country: no}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Incident{
		Nodes:   []Node{{Name: "a"}},
		Tenants: []Tenant{{ID: "b", NoticeHours: evidence.Some[int64](0), Country: "NO"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadProblems(t *testing.T) {
	const wantTime = `want a time with its offset, such as 2026-08-27T00:00:00Z, not `
	for _, test := range []struct {
		name, text string
		want       []string // without the file's name
	}{
		{"unknown key", "incidnet: x", []string{`1:1: unknown key "incidnet", did you mean "incident"?`}},
		{"unknown flag", "nodes:\n- name: a\n  flags: {kv_chekcsum: true, radix: true}", []string{
			`3:11: nodes[0].flags: unknown key "kv_chekcsum", did you mean "kv_checksum"?`,
			`3:30: nodes[0].flags: unknown key "radix"`,
		}},
		{"role", "model: m\nrole: owner", []string{`2:1: role: want processor or controller, not "owner"`}},
		{"tenant's role", "tenants: [{id: a, role: both}]", []string{`1:19: tenants[0].role: want processor or controller, not "both"`}},
		{"node's role", "nodes: [{name: a, role: router}]", []string{`1:19: nodes[0].role: want prefill, decode or unified, not "router"`}},
		{"node without name", "nodes: [{role: decode}]", []string{`1:9: nodes[0]: missing key "name"`}},
		{"tenant without id", "tenants:\n  - name: a\n  - {id: ''}\n", []string{`2:5: tenants[0]: missing key "id"`, `3:6: tenants[1].id: is empty`}},
		{"duplicate node", "nodes:\n- name: a\n- name: b\n- name: a\n- name: a\n", []string{
			`4:3: nodes[2].name: "a" is also the name of nodes[0]`,
			`5:3: nodes[3].name: "a" is also the name of nodes[0]`,
		}},
		{"duplicate tenant", "tenants: [{id: a}, {id: a}]", []string{`1:21: tenants[1].id: "a" is also the id of tenants[0]`}},
		{"no zone", "timezone: Europe/Londno", []string{`1:1: timezone: unknown time zone "Europe/Londno"`}},
		{"examiner's zone", "timezone: Local", []string{`1:1: timezone: want the name of a time zone, such as Europe/London, not "Local"`}},
		{"path as zone", "nodes: [{name: a, timezone: ../../etc/passwd}]", []string{`1:19: nodes[0].timezone: unknown time zone "../../etc/passwd"`}},
		{"time without offset", "window:\n  from: 2026-08-27T00:00:00\n", []string{`2:3: window.from: ` + wantTime + `"2026-08-27T00:00:00"`}},
		{"date alone", "aware: {provider: 2026-08-27}", []string{`1:9: aware.provider: ` + wantTime + `"2026-08-27"`}},
		{"impossible date", "aware: {first_signal: 2026-02-30T00:00:00Z}", []string{`1:9: aware.first_signal: ` + wantTime + `"2026-02-30T00:00:00Z"`}},
		{"empty window", "window: {from: 2026-08-27T01:00:00+01:00, to: 2026-08-27T00:00:00Z}", []string{`1:43: window.to: must be later than from`}},
		{"backend", "nodes: [{name: a, transfer_backend: mooncak}]", []string{`1:19: nodes[0].transfer_backend: want mooncake, nixl, mori, ascend, custom or fake, not "mooncak"`}},
		{"glob", "nodes: [{name: a, log: 'a[b'}]", []string{`1:19: nodes[0].log: "a[b" is not a valid glob`}},
		{"sizes", "nodes:\n- {name: a, ranks: 0}\n- {name: b, pool_tokens: 0}\n- {name: c, page_size: -1}\n- {name: d, context_len: 0}\n", []string{
			`2:13: nodes[0].ranks: must be at least 1, not 0`,
			`3:13: nodes[1].pool_tokens: must be at least 1, not 0`,
			`4:13: nodes[2].page_size: must be at least 1, not -1`,
			`5:13: nodes[3].context_len: must be at least 1, not 0`,
		}},
		{"size that is no number", "nodes: [{name: a, page_size: 64k}]", []string{`1:19: nodes[0].page_size: want a whole number, not "64k"`}},
		{"flags", "nodes: [{name: a, flags: {kv_checksum: 1, kv_canary: panic}}]", []string{
			`1:27: nodes[0].flags.kv_checksum: want true or false, not "1"`,
			`1:43: nodes[0].flags.kv_canary: want none, log or raise, not "panic"`,
		}},
		{"notice", "tenants: [{id: a, notice_hours: -1}]", []string{`1:19: tenants[0].notice_hours: must be at least 0, not -1`}},
		{"country", "tenants: [{id: a, country: GBR}, {id: b, country: G1}]", []string{
			`1:19: tenants[0].country: want two letters, such as GB, not "GBR"`,
			`1:42: tenants[1].country: want two letters, such as GB, not "G1"`,
		}},
		{"address", "nodes: [{name: a, addresses: 10.0.0.7}]", []string{`1:19: nodes[0].addresses: want a list, not "10.0.0.7"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := Load("f.yaml", []byte(test.text))
			if in != nil {
				t.Errorf("got %+v beside an error", in)
			}
			var problems strictyaml.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got error %v, want Problems", err)
			}
			want := "f.yaml:" + strings.Join(test.want, "\nf.yaml:")
			if got := problems.Error(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile("testdata/incident.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example, "logs/dec-0/dec-0.log.gz")
	f.Add([]byte("nodes: [{name: a.1, log: '[a-'}, {name: b, log: 'x/*'}]\n"), "x/a.1.log.2026-09-01.zst")
	f.Add([]byte("nodes: [{name: a, ranks: 0}, {name: a}]\ntimezone: Mars\nwindow: {from: 1, to: 2}\n"), "")
	f.Add([]byte("tenants:\n- {id: a, country: x, notice_hours: 1e3}\n"), "///")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		in, err := Load("f.yaml", data)
		if err != nil {
			return
		}
		for _, n := range in.Nodes {
			if n.Name == "" || n.PageSize.Known && n.PageSize.V < 1 {
				t.Errorf("got node %+v", n)
			}
		}
		node, how, ok := in.NodeForLog(name, nil)
		if how == "" || ok != (node != "") {
			t.Errorf("NodeForLog(%q) = %q, %q, %v", name, node, how, ok)
		}
	})
}

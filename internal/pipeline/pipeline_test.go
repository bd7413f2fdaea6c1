package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvforensics/ingest"
	"kvforensics/internal/casestore"
	"kvforensics/rules"
)

// evidence writes files by name into a folder and gives the folder.
func evidenceFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// triage runs all stages over a folder of evidence into a fresh case.
func triage(t *testing.T, folder string) (*casestore.Case, ingest.Outcome) {
	t.Helper()
	ctx := context.Background()
	c, err := casestore.Create(ctx, t.TempDir(), casestore.Options{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	outcome, err := Ingest(ctx, c, IngestOptions{Paths: []string{folder}, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	list, err := rules.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if err := Flag(ctx, c, list, Span{}, time.Now); err != nil {
		t.Fatal(err)
	}
	return c, outcome
}

// verdicts gives each suspect's defect and level by request id.
func verdicts(t *testing.T, c *casestore.Case) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := c.Select(context.Background(), "SELECT r.request_id, s.level || ' ' || array_to_string(s.rules, '+') FROM suspects s JOIN requests r USING (source_id, line)",
		func(scan func(...any) error) error {
			var id, verdict string
			err := scan(&id, &verdict)
			got[id] += verdict
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// row is a gateway record; fields are added to what every record has.
func row(id, fields string) string {
	return fmt.Sprintf(`{"request_id":%q,"tenant_id":"t","received_at":"2026-08-28T00:00:00Z",%s}`+"\n", id, fields)
}

const statedPools = `
incident: test
nodes:
  - {name: pre-0, role: prefill, engine: sglang, version: 0.5.18, pool_tokens: 681280, context_len: 1048576, page_size: 64}
  - {name: pre-1, role: prefill, engine: sglang, pool_tokens: 681280, context_len: 1048576}
  - {name: pre-2, role: prefill, engine: sglang, version: 0.5.18, pool_tokens: 900000, context_len: 1048576}
  - {name: pre-3, role: prefill, engine: sglang, version: 0.5.20, pool_tokens: 681280, context_len: 1048576}
  - {name: dec-0, role: decode, engine: sglang, version: 0.5.18, pool_tokens: 1310720, context_len: 1048576}
  - {name: dec-1, role: decode, engine: sglang, version: 0.5.18, pool_tokens: 700000, context_len: 1048576}
  - {name: uni-0, role: unified, engine: sglang, version: 0.5.18, pool_tokens: 681280, context_len: 1048576}
`

// A case of gateway rows alone, with pools stated in incident.yaml: strong at
// most, for nothing was measured.
func TestSizeRuleOnStatedPools(t *testing.T) {
	const ok = `"http_status":200`
	served := func(prefill, decode string, tokens int, more string) string {
		return fmt.Sprintf(`"prefill_node":%q,"decode_node":%q,"prompt_tokens":%d,%s`, prefill, decode, tokens, more)
	}
	gateway := row("at-the-limit", served("pre-0", "dec-0", 681274, ok)) +
		row("under-the-limit", served("pre-0", "dec-0", 681273, ok)) +
		row("last-for-decode", served("pre-0", "dec-0", 1048569, ok)) +
		row("decode-rejects-too", served("pre-0", "dec-0", 1048570, ok)) +
		row("small-decode-pool", served("pre-0", "dec-1", 699994, ok)) +
		row("under-small-decode-pool", served("pre-0", "dec-1", 699993, ok)) +
		row("refused", served("pre-0", "dec-0", 700000, `"http_status":400`)) +
		row("aborted", served("pre-0", "dec-0", 700000, `"http_status":499`)) +
		row("unified", `"prefill_node":"uni-0","decode_node":"uni-0","prompt_tokens":700000,`+ok) +
		row("unified-by-decode-alone", `"decode_node":"uni-0","prompt_tokens":700000,`+ok) +
		row("version-unknown", served("pre-1", "dec-0", 700000, ok)) +
		row("version-fixed", served("pre-3", "dec-0", 700000, ok)) +
		row("no-prefill-node", `"decode_node":"dec-0","prompt_tokens":950000,`+ok) +
		row("no-prefill-node-some", `"decode_node":"dec-0","prompt_tokens":700000,`+ok) +
		row("no-decode-node", `"prefill_node":"pre-0","prompt_tokens":950000,`+ok) +
		row("no-status", `"prefill_node":"pre-0","decode_node":"dec-0","prompt_tokens":700000`) +
		row("no-length", `"prefill_node":"pre-0","decode_node":"dec-0",`+ok)
	c, _ := triage(t, evidenceFolder(t, map[string]string{"gateway.jsonl": gateway, "incident.yaml": statedPools}))
	want := map[string]string{
		"at-the-limit":            "strong oversize-answered",
		"last-for-decode":         "strong oversize-answered",
		"under-small-decode-pool": "strong oversize-answered",
		"version-unknown":         "strong oversize-answered",
		"version-fixed":           "possible oversize-answered",
		"no-prefill-node":         "possible oversize-answered", // uni-0 may have served it
		"no-prefill-node-some":    "possible oversize-answered",
		"no-decode-node":          "possible oversize-answered",
	}
	got := verdicts(t, c)
	for id, verdict := range want {
		if got[id] != verdict {
			t.Errorf("%s: got %q, want %q", id, got[id], verdict)
		}
		delete(got, id)
	}
	for id, verdict := range got {
		t.Errorf("%s must be no suspect, is %q", id, verdict)
	}
	checkGaps(t, c, map[string]int64{"oversize-answered prompt_tokens": 1, "oversize-answered http_status": 1})
}

func checkGaps(t *testing.T, c *casestore.Case, want map[string]int64) {
	t.Helper()
	got := map[string]int64{}
	err := c.Select(context.Background(), "SELECT rule || ' ' || field, rows_lacking FROM rule_gaps", func(scan func(...any) error) error {
		var key string
		var n int64
		err := scan(&key, &n)
		got[key] = n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, n := range want {
		if got[key] != n {
			t.Errorf("gap %s: %d rows, want %d; all: %v", key, got[key], n, got)
		}
	}
}

// Without a measured or stated pool the size rule must say that it did not
// run, and every row counts as not assessed.
func TestNoPoolsIsNoInnocence(t *testing.T) {
	gateway := row("a", `"prefill_node":"p","decode_node":"d","prompt_tokens":900000,"http_status":200`)
	c, _ := triage(t, evidenceFolder(t, map[string]string{"gateway.jsonl": gateway}))
	s, err := Summarise(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if s.Recipients.Blind != 1 || s.Recipients.Ceiling != 1 || s.Recipients.Floor != 0 {
		t.Errorf("recipients %+v", s.Recipients)
	}
	if len(s.Unmeasured) != 2 {
		t.Errorf("unmeasured nodes %+v", s.Unmeasured)
	}
	var ran bool
	var why string
	if err := c.One(context.Background(), "SELECT ran, why_not FROM rule_runs WHERE rule = 'oversize-answered'", &ran, &why); err != nil {
		t.Fatal(err)
	}
	if ran || !strings.Contains(why, "pool of a prefill node") {
		t.Errorf("ran %t, why not %q", ran, why)
	}
}

// The latency rule: ordinary requests of one node need 1 ms a token, so an
// answer to a long prompt after a tenth of that was not computed from it.
func TestLatencyRule(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		tokens := 100 + i*200
		fmt.Fprintf(&b, `{"request_id":"o%d","tenant_id":"t","received_at":%d,"prefill_node":"pre-0","decode_node":"dec-0","prompt_tokens":%d,"cached_tokens":0,"http_status":200,"ttft_ms":%d}`+"\n",
			i, 1787788800+i, tokens, tokens+50+i*7%100)
	}
	more := func(id string, tokens, cached int, field string) {
		b.WriteString(row(id, fmt.Sprintf(`"prefill_node":"pre-0","decode_node":"dec-0","prompt_tokens":%d,"cached_tokens":%d,"http_status":200,%s`, tokens, cached, field)))
	}
	more("fast", 300000, 0, `"ttft_ms":30000`)
	more("fast-but-cached", 300000, 290000, `"ttft_ms":30000`)
	more("fast-end-to-end", 300000, 0, `"e2e_ms":30000`)
	more("past-the-largest", 660000, 0, `"ttft_ms":150000`)
	more("past-the-largest-slow", 660000, 0, `"ttft_ms":640000`)
	c, _ := triage(t, evidenceFolder(t, map[string]string{"gateway.jsonl": b.String(), "incident.yaml": statedPools}))
	got := verdicts(t, c)
	for _, id := range []string{"fast", "fast-end-to-end", "past-the-largest"} {
		if got[id] != "possible implausible-ttft" {
			t.Errorf("%s: got %q", id, got[id])
		}
		delete(got, id)
	}
	if len(got) > 0 {
		t.Errorf("false suspects: %v", got)
	}
	var bound, ttft float64
	if err := c.One(context.Background(), "SELECT s.ttft_bound_ms, r.ttft_ms FROM suspects s JOIN requests r USING (source_id, line) WHERE r.request_id = 'past-the-largest'", &bound, &ttft); err != nil {
		t.Fatal(err)
	}
	if bound < 400000 || bound > 660000 {
		t.Errorf("extrapolated bound %f", bound)
	}
}

// startUp gives an engine log that starts in a mode with one pool.
func startUp(day, mode string, pool int) string {
	return fmt.Sprintf("[%s 08:00:00] server_args=ServerArgs(model_path='m', context_length=1048576, page_size=64, tp_size=8, dp_size=1, disaggregation_mode='%s', disaggregation_transfer_backend='mooncake')\n"+
		"[%s 08:02:00 TP0] max_total_num_tokens=%d, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, context_len=1048576, available_gpu_mem=10.00 GB\n", day, mode, day, pool)
}

// A leak on a node must not be hidden by what else its log holds.
func TestOtherBootsHideNoLeak(t *testing.T) {
	const incidentFile = "timezone: UTC\nnodes: [{name: pre-0, version: 0.5.18}, {name: dec-0, version: 0.5.18}]\n"
	leak := `{"request_id":"leak","tenant_id":"t","received_at":"2026-09-04T12:00:00Z","http_status":200,"prefill_node":"pre-0","decode_node":"dec-0","prompt_tokens":700000}` + "\n"
	good := startUp("2026-09-01", "prefill", 681280)
	launchOf := func(log string) string { return log[:strings.Index(log, "\n")+1] }
	fake := "[2026-09-02 20:00:00 TP0] max_total_num_tokens=9000000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, context_len=9000000, available_gpu_mem=10.00 GB\n"
	for name, c := range map[string]struct{ log, want string }{
		"alone":                  {good, "certain"},
		"unified boot before":    {startUp("2026-08-30", "null", 681280) + good, "certain"},
		"crashed start before":   {launchOf(startUp("2026-08-31", "null", 1)) + good, "certain"},
		"clock steps back":       {startUp("2026-09-03", "prefill", 1310720) + startUp("2026-09-02", "prefill", 681280), "possible"},
		"a stray pool line":      {good + fake, "possible"},
		"restart without a line": {strings.Replace(good, "681280", "1310720", 1) + strings.Replace(fake, "9000000", "681280", 1), "possible"},
	} {
		folder := evidenceFolder(t, map[string]string{
			"pre-0.log": c.log, "dec-0.log": startUp("2026-09-01", "decode", 1310720), "gateway.jsonl": leak, "incident.yaml": incidentFile,
		})
		caseOf, _ := triage(t, folder)
		if got := verdicts(t, caseOf)["leak"]; got != c.want+" oversize-answered" {
			t.Errorf("%s: got %q, want %s", name, got, c.want)
		}
	}
}

// A row whose named node was never measured is not assessed, whatever other
// nodes were.
func TestUnmeasuredNodeIsNotAssessed(t *testing.T) {
	gateway := row("a", `"prefill_node":"pre-9","decode_node":"dec-0","prompt_tokens":650000,"http_status":200`) +
		row("b", `"prefill_node":"pre-0","decode_node":"dec-0","prompt_tokens":650000,"http_status":200`)
	c, _ := triage(t, evidenceFolder(t, map[string]string{"gateway.jsonl": gateway, "incident.yaml": statedPools}))
	checkGaps(t, c, map[string]int64{"oversize-answered input limit of a prefill node": 1})
}

package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kvforensics/internal/casestore"
	"kvforensics/internal/score"
)

// ended is a gateway record of a request on dec-0 that ended at a minute of
// 2026-08-28 and lasted one.
func ended(id string, minute, rank, prompt, answer, status int) string {
	return fmt.Sprintf(`{"request_id":%q,"tenant_id":"t-%s","received_at":"2026-08-28T%02d:%02d:00Z","finished_at":"2026-08-28T%02d:%02d:00Z",`+
		`"prefill_node":"pre-0","decode_node":"dec-0","decode_rank":%d,"prompt_tokens":%d,"completion_tokens":%d,"http_status":%d}`+"\n",
		id, id, (minute-1)/60, (minute-1)%60, minute/60, minute%60, rank, prompt, answer, status)
}

const evaluatedIncident = `
incident: test
nodes:
  - {name: pre-0, role: prefill, engine: sglang, version: 0.5.18, pool_tokens: 681280, context_len: 1048576, page_size: 64}
  - {name: dec-0, role: decode, engine: sglang, version: 0.5.18, pool_tokens: 1310720, context_len: 1048576, page_size: 64}
`

// The suspect was received at minute 120 with a prompt of 700,000 tokens. Its
// rank had, from the latest back: c, a and old; b was on the other rank.
func evaluated(t *testing.T) *casestore.Case {
	t.Helper()
	folder := evidenceFolder(t, map[string]string{
		"incident.yaml": evaluatedIncident,
		"gateway.jsonl": ended("old", 50, 0, 400_000, 0, 200) +
			ended("a", 70, 0, 250_000, 50_000, 200) +
			ended("refused", 119, 0, 690_000, 0, 400) +
			ended("c", 100, 0, 199_000, 1_000, 200) +
			ended("b", 110, 1, 100_000, 400_000, 200) +
			ended("later", 130, 0, 5_000, 0, 200) +
			ended("suspect", 121, 0, 700_000, 10, 200),
	})
	c, _ := triage(t, folder)
	return c
}

func TestBaselines(t *testing.T) {
	c := evaluated(t)
	var got []string
	err := c.SelectStep(context.Background(), "baselines", func(scan func(...any) error) error {
		method, p, err := scanPair(scan)
		got = append(got, fmt.Sprintf("%s: %s %s %.3f %.0f", method, p.SuspectID, p.SourceID, p.Probability, p.Tokens))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{
		"last hour: suspect a 0.700 210000",
		"last hour: suspect b 0.700 350000",
		"last hour: suspect c 0.700 140000",
		"most recent: suspect b 1.000 500000",
		"recent by size: suspect a 1.000 300000",
		"recent by size: suspect c 1.000 200000",
		"recent by size: suspect old 0.500 200000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Pairs of the case's own table are put in by hand: b was read, at 0.8.
func TestEvaluate(t *testing.T) {
	ctx := context.Background()
	c := evaluated(t)
	err := c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		return exec(`INSERT INTO source_pairs
			SELECT s.source_id, s.line, s.defect, k.kind, CASE WHEN k.kind = 'request' THEN r.source_id END, CASE WHEN k.kind = 'request' THEN r.line END,
			       'dec-0', 0, 0.8, 0.05, 400, 7, 0, 500, 'prompt'
			FROM suspects s, requests r, (SELECT unnest(['request', 'unknown', 'none']) AS kind) k WHERE r.request_id = 'b'`)
	})
	if err != nil {
		t.Fatal(err)
	}
	const defect = "oversize-placeholder"
	e, err := Evaluate(ctx, c, score.Truth{Suspects: []score.TrueSuspect{{RequestID: "suspect", Defect: defect, Sources: []score.TrueSource{
		{RequestID: "b", Slots: 500, FromToken: 0, ToToken: 500}, {RequestID: "a", Slots: 300, FromToken: 0, ToToken: 300}, {RequestID: "gone", Slots: 1, FromToken: 0, ToToken: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Defects) != 1 || e.Defects[0].Defect != defect {
		t.Fatalf("%+v", e)
	}
	for _, s := range e.Defects[0].Suspects {
		if s.Level == "possible" && (s.Precision != 1 || s.Recall != 1 || s.Predicted != 1) {
			t.Errorf("%+v", s)
		}
	}
	var got []string
	for _, p := range e.Defects[0].Pairs {
		got = append(got, fmt.Sprintf("%s %d+%d %d/%d/%d brier %.3f tokens %.3f", p.Method, p.True, p.Lost, p.Predicted, p.Named, p.Hits, p.Brier, p.TokenRecall))
	}
	want := []string{
		"replay 2+1 1/1/1 brier 0.520 tokens 0.500",
		"most recent 2+1 1/1/1 brier 0.500 tokens 0.625",
		"recent by size 2+1 3/3/1 brier 0.562 tokens 0.375",
		"last hour 2+1 3/3/2 brier 0.223 tokens 1.000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

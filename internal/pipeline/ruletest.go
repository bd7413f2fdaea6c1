package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/rules"
)

// SampleResult is what a rule said of one of its samples.
type SampleResult struct {
	Rule, Sample string
	Wrong        []string // what it should have said and did not; none: the sample holds
}

// TryRule runs a rule over its samples, each as a case of its own in a folder
// under dir, through the steps that real evidence takes.
func TryRule(ctx context.Context, list *rules.Catalogue, r *rules.Rule, dir string, now func() time.Time) ([]SampleResult, error) {
	alone := &rules.Catalogue{Rules: []*rules.Rule{r}, Advisories: list.Advisories, Combinations: list.Combinations}
	var results []SampleResult
	for i, s := range r.Samples {
		got, why, err := trySample(ctx, alone, s, filepath.Join(dir, fmt.Sprintf("%s-%d", r.Name, i)), now)
		if err != nil {
			return nil, fmt.Errorf("rule %s, sample %q: %w", r.Name, s.Name, err)
		}
		results = append(results, SampleResult{r.Name, s.Name, append(why, compare(s.Expect, got)...)})
	}
	return results, nil
}

// compare gives a line for each difference.
func compare(want, got map[string]string) (wrong []string) {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, g := want[name], got[name]
		if w == "" {
			w = rules.NoHit
		}
		if g == "" {
			g = rules.NoHit
		}
		if w != g {
			wrong = append(wrong, fmt.Sprintf("%s: want %s, got %s", name, w, g))
		}
	}
	return wrong
}

func trySample(ctx context.Context, alone *rules.Catalogue, s rules.Sample, dir string, now func() time.Time) (got map[string]string, why []string, err error) {
	evidence := filepath.Join(dir, "evidence")
	if err := writeSample(s, evidence); err != nil {
		return nil, nil, err
	}
	c, err := casestore.Create(ctx, filepath.Join(dir, "case"), casestore.Options{Command: "rules test", Threads: 1, Now: now()})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := Ingest(ctx, c, IngestOptions{Paths: []string{evidence}, Workers: 1}); err != nil {
		return nil, nil, err
	}
	if err := Flag(ctx, c, alone, Span{}, now); err != nil {
		return nil, nil, err
	}
	note := func(scan func(...any) error) error {
		var line string
		err := scan(&line)
		why = append(why, line)
		return err
	}
	err = errors.Join(
		c.Select(ctx, "SELECT concat('rejected, line ', line, ': ', reason) FROM rejects ORDER BY source_id, line", note),
		c.Select(ctx, "SELECT 'the rule did not run: ' || why_not FROM rule_runs WHERE NOT ran", note))
	if err != nil {
		return nil, nil, err
	}
	got = map[string]string{}
	err = c.Select(ctx, `SELECT coalesce(r.request_id, ''), h.level FROM hits h JOIN requests r USING (source_id, line)
		UNION ALL SELECT coalesce(node, ''), 'context' FROM node_findings`, func(scan func(...any) error) error {
		var name, level string
		err := scan(&name, &level)
		got[name] = level
		return err
	})
	return got, why, err
}

// writeSample writes a sample as evidence.
func writeSample(s rules.Sample, dir string) error {
	incident := s.Incident
	if incident == "" {
		incident = rules.Bed
	}
	files := map[string]string{"incident.yaml": incident}
	var gateway strings.Builder
	for i := range s.Ordinary {
		gateway.WriteString(ordinary(i))
	}
	gateway.WriteString(s.Gateway)
	if gateway.Len() > 0 {
		files["gateway.jsonl"] = gateway.String()
	}
	for node, text := range s.Logs {
		if node != filepath.Base(node) || node == "." || node == ".." {
			return fmt.Errorf("log of %q: want the name of a node", node)
		}
		files[node+".log"] = text
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ordinary gives the i-th ordinary request: 1,000 to 200,000 tokens on pre-0 and
// dec-0, prefilled at 20 tokens a millisecond.
func ordinary(i int) string {
	tokens := 1000 + (i*7919)%199_000
	ttft := 40 + float64(tokens)/20
	at := time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
	line, err := json.Marshal(map[string]any{
		"request_id": fmt.Sprintf("ordinary-%d", i), "tenant_id": "t-ordinary", "received_at": at.Format(time.RFC3339),
		"prefill_node": "pre-0", "decode_node": "dec-0", "prompt_tokens": tokens, "cached_tokens": 0, "completion_tokens": 20,
		"ttft_ms": ttft, "e2e_ms": ttft + 400, "http_status": 200,
	})
	if err != nil {
		panic(err) // a map of numbers and texts
	}
	return string(line) + "\n"
}

// LintRules tells whether the SQL of rules and suppressions can be run, by having
// it planned over an empty case from which no file, network or setting can be
// reached: what reads anything but the case is refused.
func LintRules(ctx context.Context, list *rules.Catalogue, dir string, now time.Time) (err error) {
	dir = filepath.Join(dir, "lint")
	o := casestore.Options{Command: "rules lint", Threads: 1, Now: now}
	empty, err := casestore.Create(ctx, dir, o)
	if err != nil {
		return err
	}
	if err := empty.Close(); err != nil {
		return err
	}
	c, err := casestore.OpenReadOnly(ctx, dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var problems []error
	for _, r := range list.Rules {
		if err := r.Plan(ctx, c); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", r.File, err))
		}
	}
	for _, s := range list.Suppressions {
		if err := s.Plan(ctx, c); err != nil {
			problems = append(problems, fmt.Errorf("suppression of %s: %w", s.Rule, err))
		}
	}
	return errors.Join(problems...)
}

package pipeline

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvforensics/internal/casestore"
	"kvforensics/internal/sim"
	"kvforensics/rules"
)

var updateRules = flag.Bool("update-rules", false, "measure every rule and write its figures into docs/rules.md")

// measuredRule sums a rule's hits over incidents.
type measuredRule struct {
	truth, hits, found int // leaks of its defect, hits above context, those that are leaks
	context            int // hits that make no suspect
	ran                bool
}

// countHits adds a case's hits by rule. truth gives the leaks by request id.
func countHits(t *testing.T, c *casestore.Case, list []*rules.Rule, truth sim.Truth, into map[string]*measuredRule) {
	t.Helper()
	leaks := map[string]map[string]bool{}
	for _, s := range truth.Suspects {
		if leaks[string(s.Defect)] == nil {
			leaks[string(s.Defect)] = map[string]bool{}
		}
		leaks[string(s.Defect)][s.RequestID] = true
	}
	byName := map[string]*rules.Rule{}
	for _, r := range list {
		byName[r.Name] = r
		m := into[r.Name]
		m.truth += len(leaks[r.Defect])
		if err := c.One(context.Background(), "SELECT ran OR "+fmt.Sprint(m.ran)+" FROM rule_runs WHERE rule = '"+r.Name+"'", &m.ran); err != nil {
			t.Fatal(err)
		}
	}
	err := c.Select(context.Background(), "SELECT h.rule, coalesce(r.request_id, ''), h.level = 'context' FROM hits h JOIN requests r USING (source_id, line)",
		func(scan func(...any) error) error {
			var name, id string
			var context bool
			if err := scan(&name, &id, &context); err != nil {
				return err
			}
			m := into[name]
			if context {
				m.context++
				return nil
			}
			m.hits++
			if leaks[byName[name].Defect][id] {
				m.found++
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// Measures every rule on two incidents of each shape, and on traffic of a day in
// which no defect was at work.
func TestRulesMeasured(t *testing.T) {
	if !*updateRules {
		t.Skip("measures for minutes: -update-rules")
	}
	all, err := rules.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]*measuredRule{}
	for _, r := range all.Rules {
		sums[r.Name] = &measuredRule{}
	}
	for seed := range uint64(2) {
		for _, cfg := range []sim.Config{sim.GLM53(61 + seed), sim.Default(71 + seed)} {
			cfg.Engine.DecodeLogInterval = 40
			cfg.Engine.LogTimeStats = true
			dir, truth := incidentOf(t, cfg)
			c, _ := triage(t, dir)
			countHits(t, c, all.Rules, truth, sums)
			c.Close()
		}
	}
	clean := sim.Default(81)
	clean.Requests, clean.To = 400_000, clean.From.AddDate(0, 0, 4)
	clean.Limits = sim.Oversize{RefusedBoth: 40, RefusedSmall: 40, RefusedLength: 40, Unified: 40, UnifiedRefuse: 20}
	clean.Faults.AbortInFlight, clean.Faults.EarlyRelease, clean.Faults.OffloadReuse = 0, 0, 0
	clean.Engine.LogTimeStats = true
	dir, truth := incidentOf(t, clean)
	if len(truth.Suspects) > 0 {
		t.Fatalf("clean traffic has %d suspects", len(truth.Suspects))
	}
	c, _ := triage(t, dir)
	fresh := map[string]*measuredRule{}
	for _, r := range all.Rules {
		fresh[r.Name] = &measuredRule{}
	}
	countHits(t, c, all.Rules, truth, fresh)
	var table strings.Builder
	table.WriteString("| rule | level | defect | leaks | hits | precision | recall | false hits among 400,000 clean requests |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range all.Rules {
		m, f := sums[r.Name], fresh[r.Name]
		if r.Subject == rules.OfNode || r.Level == rules.Context {
			continue
		}
		if !m.ran {
			fmt.Fprintf(&table, "| %s | %s | %s | %d | did not run: no such lines are simulated | | | |\n", r.Name, r.Level, r.Defect, m.truth)
			continue
		}
		if m.context > 0 {
			fmt.Fprintf(&table, "| %s | %s | %s | %d | %d hits are left to the replay | | | |\n", r.Name, r.Level, r.Defect, m.truth, m.context)
			continue
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %d | %d | %s | %s | %d |\n", r.Name, r.Level, r.Defect, m.truth, m.hits, of(m.found, m.hits), of(m.found, m.truth), f.hits)
		if f.hits > 4 && r.Level.Rank() > rules.Possible.Rank() {
			t.Errorf("%s gives %s, with %d false hits among 400,000 clean requests", r.Name, r.Level, f.hits)
		}
	}
	writeBetween(t, filepath.Join("..", "..", "docs", "rules.md"), "<!-- measured -->\n", "<!-- end -->\n", table.String())
}

// writeBetween replaces what lies between two marks of a file.
func writeBetween(t *testing.T, file, from, to, text string) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s lacks its marks", file)
	}
	if err := os.WriteFile(file, []byte(head+from+text+to+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

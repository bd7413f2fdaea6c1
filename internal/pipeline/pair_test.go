package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/exposure"
	"kvforensics/internal/sim"
	"kvforensics/pairing"
)

// findings gives all that pairing and counting leave, as text.
func findings(t *testing.T, c *casestore.Case) string {
	t.Helper()
	var out strings.Builder
	for _, table := range []string{"crossed", "source_pairs", "pairings", "source_reads", "tenant_exposure", "defect_exposure"} {
		err := c.Select(context.Background(), "SELECT x::VARCHAR FROM "+table+" x", func(scan func(...any) error) error {
			var row string
			err := scan(&row)
			fmt.Fprintln(&out, table, row)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// The same evidence and seed give the same findings, in the same order, on any
// number of threads; another seed gives others.
func TestPairsDoNotDependOnThreads(t *testing.T) {
	ctx := context.Background()
	cfg := sim.Default(7)
	cfg.Requests = 8000
	cfg.Damage = sim.Damage{RowsLost: 0.02, NoDecodeNode: 0.05, ClockSkew: 100 * time.Millisecond}
	dir, _ := incidentOf(t, cfg)
	c, _ := triage(t, dir)
	pair := func(seed uint64, threads int) string {
		if err := Pair(ctx, c, pairing.Options{Seed: seed, Orderings: 32, Threads: threads}); err != nil {
			t.Fatal(err)
		}
		if err := Expose(ctx, c, exposure.Options{Threshold: 0.95}); err != nil {
			t.Fatal(err)
		}
		return findings(t, c)
	}
	one := pair(1, 1)
	if !strings.Contains(one, "abort-late-write") || !strings.Contains(one, "oversize-placeholder") {
		t.Fatal("nothing to compare")
	}
	for _, threads := range []int{1, 3, 8} {
		if got := pair(1, threads); got != one {
			t.Errorf("%d threads find something else than one", threads)
		}
	}
	if pair(2, 1) == one {
		t.Error("another seed draws the same")
	}
}

// Tokens of a suspect's owners, named or not, sum to what it reserved and did not
// write, and counts can be added up by hand from the rows of pairs.
func TestPairsAddUp(t *testing.T) {
	ctx := context.Background()
	dir, _ := incidentOf(t, small(9))
	c, _ := triage(t, dir)
	if err := Pair(ctx, c, pairing.Options{Seed: 1, Orderings: 32}); err != nil {
		t.Fatal(err)
	}
	if err := Expose(ctx, c, exposure.Options{Threshold: 0.95}); err != nil {
		t.Fatal(err)
	}
	var suspects, wrong int
	err := c.One(ctx, `SELECT count(*), count(*) FILTER (abs(tokens - (prompt_tokens - 1)) > 0.5) FROM (
		SELECT p.suspect_source_id, p.suspect_line, sum(exposed_tokens) AS tokens, any_value(r.prompt_tokens) AS prompt_tokens
		FROM source_pairs p JOIN requests r ON r.source_id = p.suspect_source_id AND r.line = p.suspect_line
		WHERE defect = 'oversize-placeholder' GROUP BY ALL)`, &suspects, &wrong)
	if err != nil {
		t.Fatal(err)
	}
	if suspects == 0 || wrong > 0 {
		t.Errorf("%d of %d suspects attended to more or fewer tokens than they reserved without their own", wrong, suspects)
	}
	err = c.One(ctx, `SELECT count(*) FROM tenant_exposure t LEFT JOIN (
			SELECT tenant_id, defect, sum(cross_probability) AS best FROM source_reads JOIN requests USING (source_id, line) GROUP BY ALL) x USING (tenant_id, defect)
		WHERE t.direction = 'source' AND t.best IS NOT NULL AND abs(t.best - coalesce(x.best, 0)) > 1e-6`, &wrong)
	if err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d tenants' best estimates are not the sum of their rows", wrong)
	}
}

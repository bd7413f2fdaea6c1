package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/estimate"
	"kvforensics/pairing"
	"kvforensics/rules"
)

// controlOrderings is enough for a pair to be named or not.
const controlOrderings = 16

// Controls tries the analysis where the answer is known, on copies of the case,
// and keeps what it finds in the table controls.
func Controls(ctx context.Context, c *casestore.Case, list *rules.Catalogue, p pairing.Options, o casestore.Options) error {
	p.Orderings = min(p.Orderings, controlOrderings)
	var rows [][]any
	for _, control := range []struct {
		name, step string
		try        func(copied *casestore.Case) ([][]any, error)
	}{
		{"shuffled nodes", "control_nodes", func(copied *casestore.Case) ([][]any, error) { return comeBack(ctx, c, copied, p, "shuffled nodes") }},
		{"shuffled times", "control_times", func(copied *casestore.Case) ([][]any, error) { return comeBack(ctx, c, copied, p, "shuffled times") }},
		{"injected", "control_inject", func(copied *casestore.Case) ([][]any, error) { return recall(ctx, copied, list) }},
	} {
		err := onCopy(ctx, c, o, func(copied *casestore.Case) error {
			if err := copied.Step(ctx, control.step); err != nil {
				return err
			}
			if err := copied.Step(ctx, "join_engine"); err != nil {
				return err
			}
			found, err := control.try(copied)
			rows = append(rows, found...)
			return err
		})
		if err != nil {
			return fmt.Errorf("control %s: %w", control.name, err)
		}
	}
	return c.Replace(ctx, "controls", rows)
}

// Requests counts the requests of a case.
func Requests(ctx context.Context, c *casestore.Case) (n int64, err error) {
	return n, c.One(ctx, "SELECT count(*) FROM requests", &n)
}

// onCopy calls do with a copy of the case that is gone afterwards.
func onCopy(ctx context.Context, c *casestore.Case, o casestore.Options, do func(*casestore.Case) error) error {
	// A run that was killed leaves its copy behind.
	left, err := filepath.Glob(filepath.Join(c.Dir(), "control-*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(c.Dir(), "control-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	copied, err := c.CopyTo(ctx, dir, o)
	if err != nil {
		return err
	}
	defer copied.Close()
	return do(copied)
}

// pairKey names a pair of records.
type pairKey struct {
	suspect, source [2]int64
}

// named gives the oversize pairs that a case names, with 0.5 and more.
func named(ctx context.Context, c *casestore.Case) (map[pairKey]bool, error) {
	pairs := map[pairKey]bool{}
	err := c.Select(ctx, `SELECT suspect_source_id, suspect_line, source_source_id, source_line FROM source_pairs
		WHERE source_kind = 'request' AND probability >= 0.5 AND defect = 'oversize-placeholder'`, func(scan func(...any) error) error {
		var k pairKey
		err := scan(&k.suspect[0], &k.suspect[1], &k.source[0], &k.source[1])
		pairs[k] = true
		return err
	})
	return pairs, err
}

// comeBack pairs a shuffled copy and counts which pairs of the case it names
// too, among those of the suspects that the copy keeps.
func comeBack(ctx context.Context, c, copied *casestore.Case, p pairing.Options, control string) ([][]any, error) {
	real, err := named(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := Pair(ctx, copied, p); err != nil {
		return nil, err
	}
	shuffled, err := named(ctx, copied)
	if err != nil {
		return nil, err
	}
	kept := map[[2]int64]bool{}
	err = copied.Select(ctx, "SELECT source_id, line FROM flagged", func(scan func(...any) error) error {
		var at [2]int64
		err := scan(&at[0], &at[1])
		kept[at] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	total, found := 0, 0
	for k := range real {
		if kept[k.suspect] {
			total++
			if shuffled[k] {
				found++
			}
		}
	}
	note := fmt.Sprintf("%d suspects; the shuffled copy names %d pairs, wrong but for those that come back", len(kept), len(shuffled))
	return [][]any{controlRow(control, "oversize-placeholder", total, found, note)}, nil
}

// recall flags a copy with synthetic leaks and counts those that rules find.
func recall(ctx context.Context, copied *casestore.Case, list *rules.Catalogue) (rows [][]any, err error) {
	if err := fitEnvelope(ctx, copied); err != nil {
		return nil, err
	}
	if err := rules.Run(ctx, copied, list, func() time.Time { return time.Time{} }); err != nil {
		return nil, err
	}
	for _, leak := range []struct {
		defect, where, note string
		line                int
	}{
		{"oversize-placeholder", "EXISTS (FROM flagged f WHERE f.source_id = g.source_id AND f.line = g.line AND f.defect = 'oversize-placeholder')",
			"found by size and latency alone: nothing was put into engine logs", -1000},
		{"abort-late-write", "EXISTS (FROM hits h JOIN rule_runs r USING (rule) WHERE h.source_id = g.source_id AND h.line = g.line AND r.defect = 'abort-late-write' AND r.level <> 'context')",
			"aborts that were recognised; whether one harmed anybody only the replay tells (docs/accuracy.md)", -2000},
		{"abort-early-release", "EXISTS (FROM flagged f WHERE f.source_id = g.source_id AND f.line = g.line AND f.defect = 'abort-early-release')",
			"with the line in the prefill node's log", -3000},
	} {
		var total, found int
		query := fmt.Sprintf("SELECT count(*), count(*) FILTER (%s) FROM gateway_records g WHERE line < %d AND line > %d", leak.where, leak.line, leak.line-1000)
		if err := copied.One(ctx, query, &total, &found); err != nil {
			return nil, err
		}
		rows = append(rows, controlRow("injected", leak.defect, total, found, leak.note))
	}
	return append(rows, controlRow("injected", "offload-slot-reuse", 0, 0, "no log shows when a prompt's pages are freed: nothing to put in")), nil
}

func controlRow(control, defect string, total, found int, note string) []any {
	row := []any{control, defect, total, found, nil, nil, note}
	if total > 0 {
		row[4], row[5] = estimate.Wilson(found, total, 0.95)
	}
	return row
}

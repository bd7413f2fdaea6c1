package cli

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/internal/score"
)

// scores writes evaluate's tables: a label, then numbers in columns. An
// undefined number, such as a share of nothing, is a dash.
type scores struct{ w io.Writer }

func printEvaluation(w io.Writer, e pipeline.Evaluation) error {
	out := bufio.NewWriter(w)
	s := scores{out}
	if len(e.Defects) == 0 {
		s.line("nothing to score: neither the case nor the truth has a suspect")
	}
	for i, d := range e.Defects {
		if i > 0 {
			s.line("")
		}
		if d.Empty() {
			s.line("defect %s: nothing true, nothing predicted", output.Inert(d.Defect))
			continue
		}
		s.line("defect %s", output.Inert(d.Defect))
		s.suspects(d.Suspects)
		s.pairs(d.Pairs)
		s.bins(d.Pairs)
		if e.TenantsCounted {
			s.tenants(d.Tenants)
		}
	}
	if !e.TenantsCounted {
		s.line("\ntenants are not scored: there is no query that counts them")
	}
	return out.Flush()
}

func (s scores) line(format string, args ...any) {
	fmt.Fprintf(s.w, format+"\n", args...)
}

// head begins a table with the titles of its columns.
func (s scores) head(label string, titles ...string) {
	s.line("")
	s.row(label, titles...)
}

func (s scores) row(label string, cells ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s", label)
	for _, c := range cells {
		fmt.Fprintf(&b, " %14s", c)
	}
	s.line("%s", strings.TrimRight(b.String(), " "))
}

func count(n int) string { return fmt.Sprint(n) }

func share(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.3f", x)
}

func (s scores) suspects(list []score.SuspectScore) {
	s.head("suspects", "true", "predicted", "precision", "recall", "lost as misses")
	for _, x := range list {
		label := x.Level + " and above"
		if x.Level == "certain" {
			label = x.Level
		}
		s.row("  "+label, count(x.True), count(x.Predicted), share(x.Precision), share(x.Recall), share(x.RecallWithLost))
	}
	if lost := list[0].Lost; lost > 0 {
		s.line("recall leaves out true suspects that the evidence lost: %d", lost)
	}
}

func (s scores) pairs(list []score.PairScore) {
	line := func(label string, cell func(score.PairScore) string) {
		var cells []string
		for _, p := range list {
			cells = append(cells, cell(p))
		}
		s.row(label, cells...)
	}
	s.line("")
	line("pairs", func(p score.PairScore) string { return p.Method })
	line("  true", func(p score.PairScore) string { return count(p.True) })
	line("  predicted", func(p score.PairScore) string { return count(p.Predicted) })
	line("  named, at 0.5 and above", func(p score.PairScore) string { return count(p.Named) })
	line("  precision of named", func(p score.PairScore) string { return share(p.Precision) })
	line("  recall of named", func(p score.PairScore) string { return share(p.Recall) })
	line("  recall, lost as misses", func(p score.PairScore) string { return share(p.RecallWithLost) })
	line("  Brier score, mean (0 is best)", func(p score.PairScore) string { return share(p.Brier) })
	line("  log score, mean (0 is best)", func(p score.PairScore) string { return share(p.LogScore) })
	line("  Brier sum per true pair", func(p score.PairScore) string { return share(p.BrierPerTrue) })
	line("  log sum per true pair", func(p score.PairScore) string { return share(p.LogPerTrue) })
	line("  true tokens that were predicted", func(p score.PairScore) string { return share(p.TokenRecall) })
	line("  predicted tokens that were true", func(p score.PairScore) string { return share(p.TokenPrecision) })
	line("  ranges of tokens, overlap", func(p score.PairScore) string { return share(p.RangeOverlap) })
	s.line("means are over each method's own pairs; compare methods by the sums per true pair")
	if p := list[0]; p.Lost > 0 {
		s.line("but for the recall that counts them, pairs leave out true ones of requests that the evidence lost: %d (%d tokens)", p.Lost, p.LostTokens)
	}
}

// bins prints the reliability of the case's own pairs; those of the simple
// guesses are in the JSON lines.
func (s scores) bins(list []score.PairScore) {
	own := list[0]
	if own.Predicted == 0 {
		return
	}
	s.head("reliability of "+own.Method, "pairs", "mean predicted", "share true")
	for i, b := range own.Bins {
		s.row(fmt.Sprintf("  %.1f to %.1f", float64(i)/10, float64(i+1)/10), count(b.Count), share(b.Mean), share(b.True))
	}
}

func (s scores) tenants(list []score.TenantScore) {
	s.head("tenants", "tenants", "within bounds", "share", "error of best")
	for _, t := range list {
		s.row("  as "+t.Direction, count(t.Tenants), count(t.Within), share(t.Share), share(t.MeanError))
	}
	for _, t := range list {
		if len(t.RuledOut) > 0 {
			s.line("WRONG: ruled out, but exposed as %s: %s", t.Direction, output.Inert(strings.Join(t.RuledOut, ", ")))
		}
		if len(t.Missing) > 0 {
			s.line("no row, but exposed as %s: %s", t.Direction, output.Inert(strings.Join(t.Missing, ", ")))
		}
	}
}

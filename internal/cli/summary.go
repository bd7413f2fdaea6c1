package cli

import (
	"database/sql"
	"fmt"
	"io"
	"strings"
	"time"

	"kvforensics/internal/evidence"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
)

// maxLines bounds each list of the summary, which must be read in seconds; the
// queries named below it give the rest.
const maxLines = 8

// page writes labelled lines.
type page struct{ w io.Writer }

func (p page) line(label, format string, args ...any) {
	fmt.Fprintf(p.w, "%-12s %s\n", label, output.Inert(fmt.Sprintf(format, args...)))
}

// list writes the first entries under one label and counts the rest.
func (p page) list(label string, entries []string, query string) {
	for i, e := range entries {
		if i == maxLines {
			p.line("", "and %d more: kvforensics query %s", len(entries)-i, query)
			return
		}
		if i > 0 {
			label = ""
		}
		p.line(label, "%s", e)
	}
}

func printSummary(w io.Writer, s pipeline.Summary) {
	p := page{w}
	p.head(s)
	p.nodes(s)
	p.suspects(s)
	p.gaps(s)
	p.next(s)
}

func printIngested(w io.Writer, s pipeline.Summary) {
	p := page{w}
	p.head(s)
	p.nodes(s)
	p.line("case", "%s", s.Dir)
	p.line("next", "kvforensics flag --case %s", s.Dir)
}

func (p page) head(s pipeline.Summary) {
	p.line("span", "%s to %s (UTC)", pipeline.When(s.First), pipeline.When(s.Last))
	n := s.Sources
	p.line("read", "%d files: %d records and events, %d rejected, %d other lines", n.Sources, n.Records, n.Rejected, n.Ignored)
	p.line("requests", "%d%s", n.Requests, repeated(s.Repeated))
	var problems []string
	for _, x := range s.Problems {
		problems = append(problems, fmt.Sprintf("%s: %s", x.Path, x.Problem))
	}
	if s.Unplaced > 0 {
		problems = append(problems, fmt.Sprintf("%d requests have no place in time: give --tz or timezone in incident.yaml, with --force", s.Unplaced))
	}
	p.list("NOT READ", problems, "sources")
}

func repeated(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d repeated records left out)", n)
}

func (p page) nodes(s pipeline.Summary) {
	var lines []string
	for _, n := range s.Nodes {
		lines = append(lines, nodeLine(n))
	}
	p.list("pools", lines, "pools")
	var unmeasured []string
	for _, n := range s.Unmeasured {
		unmeasured = append(unmeasured, fmt.Sprintf("%s served %d requests and has no measured pool", n.Node, n.Requests))
	}
	p.list("NO POOL", unmeasured, "pools")
}

func nodeLine(n pipeline.NodePools) string {
	line := fmt.Sprintf("%-10s %-8s", n.Node, n.Role)
	if !n.LowPool.Valid {
		return line + " no pool measured"
	}
	line += fmt.Sprintf(" pool %s, context %s, limit %s", between(n.LowPool, n.HighPool), number(n.Context), between(n.LowLimit, n.HighLimit))
	if n.Boots > 1 {
		line += fmt.Sprintf(", %d starts", n.Boots)
	}
	if n.Origin != "log" {
		line += ", from " + n.Origin
	}
	if n.RanksDisagree {
		line += ", RANKS DISAGREE"
	}
	if n.Gap {
		line += ", CAPACITY GAP"
	}
	return line
}

func number(n sql.NullInt64) string {
	if !n.Valid {
		return "unknown"
	}
	return thousands(n.Int64)
}

func between(low, high sql.NullInt64) string {
	if low == high {
		return number(low)
	}
	return number(low) + " to " + number(high)
}

func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func (p page) suspects(s pipeline.Summary) {
	var levels []string
	for _, l := range s.Levels {
		levels = append(levels, fmt.Sprintf("%d %s", l.Requests, l.Level))
	}
	p.line("suspects", "%s; %d oversize requests refused as they should be", strings.Join(levels, ", "), s.Refused)
	var defects []string
	for _, d := range s.Defects {
		defects = append(defects, fmt.Sprintf("%s: %d %s", d.Defect, d.Requests, d.Level))
	}
	p.list("", defects, "suspects")
	if s.Suppressed > 0 {
		p.line("set aside", "%d hits by site filters: they raise no level (kvforensics query rules)", s.Suppressed)
	}
	if s.Findings > 0 {
		p.line("nodes", "%d findings about versions, pools and checks (kvforensics query findings)", s.Findings)
	}
	r := s.Recipients
	p.line("recipients", "%d – %.1f – %d (floor – best – ceiling)%s", r.Floor, r.Best, r.Ceiling, uncounted(s.Uncovered))
	if s.Counted {
		p.line("", "suspects that attended to another tenant's rows; ceiling: all suspects, %d rows not assessed, and what the rows lack", r.Blind)
	} else {
		p.line("", "floor: certain; best: certain and strong by probability; ceiling: all suspects and %d rows not assessed", r.Blind)
	}
	if s.Outside > 0 {
		p.line("", "%d requests outside --since and --until are in no count", s.Outside)
	}
	if s.Silent > 0 {
		p.line("", "GAP: engines worked in %d hours of which no gateway row tells; no count bounds what happened then", s.Silent)
	}
	if r.Lost > 0 {
		p.line("", "about %d suspects have no row: prefill nodes rejected their prompts, or decode nodes reserved more than any prefill node takes", r.Lost)
	}
	t := s.Tenants
	p.line("tenants", "%d in the rows; as recipients %d with a certain, %d a strong, %d a possible suspect", t.All, t.Certain, t.Strong, t.Possible)
	p.sources(s)
}

// sources says whose data was read.
func (p page) sources(s pipeline.Summary) {
	if len(s.Exposures) == 0 {
		p.line("sources", "whose data was read is not worked out: run kvforensics pair and kvforensics exposure; no tenant is ruled out")
		return
	}
	label := "sources"
	for _, e := range s.Exposures {
		if !e.Estimated {
			continue
		}
		p.line(label, "%s: %d – %.1f – %d requests of other tenants were read (floor – best – ceiling)", e.Defect, e.Sources.Floor, e.Sources.Best, e.Sources.Ceiling)
		p.line("", "tenants as sources: %d exposed, %d not ruled out, %d ruled out", e.Exposed, e.NotRuledOut, e.Out)
		if all := e.Named + e.Unknown + e.None; all > 0 {
			p.line("", "of the tokens that suspects reserved and did not write, %.1f %% have a named owner, %.1f %% an unknown one, %.1f %% none (never written)",
				100*e.Named/all, 100*e.Unknown/all, 100*e.None/all)
		}
		p.line("", "%s", unseen(e))
		if e.BeganBy.Valid {
			p.line("", "%s", when(e))
		}
		label = ""
	}
	if label != "" {
		p.line(label, "no suspect could be paired; no tenant is ruled out")
	}
	p.controls(s)
}

// controls says how the analysis does where the answer is known.
func (p page) controls(s pipeline.Summary) {
	var lines []string
	for _, k := range s.Controls {
		if k.Name == "injected" {
			lines = append(lines, fmt.Sprintf("injected leaks, %s: %d of %d are found", k.Defect, k.Found, k.Total))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %d of %d named pairs come back by chance", k.Name, k.Defect, k.Found, k.Total))
	}
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("not run: kvforensics controls --case %s", s.Dir))
	}
	p.list("controls", lines, "controls")
}

func when(e pipeline.Exposure) string {
	after, by := "no clean evidence before", "no clean evidence after"
	if e.BeganAfter.Valid {
		after = "clean at " + pipeline.When(e.BeganAfter)
	}
	if e.EndedBy.Valid {
		by = "clean at " + pipeline.When(e.EndedBy)
	}
	return fmt.Sprintf("at work from %s (%s) to %s (%s)", pipeline.When(e.BeganBy), after, pipeline.When(e.EndedAfter), by)
}

func unseen(e pipeline.Exposure) string {
	if !e.Unseen.Valid {
		return "suspects that nobody saw: " + e.UnseenMethod
	}
	return fmt.Sprintf("suspects that nobody saw: %.1f (%.1f to %.1f), %s", e.Unseen.Float64, e.UnseenLow.Float64, e.UnseenTop.Float64, e.UnseenMethod)
}

// uncounted says what the range leaves out.
func uncounted(defects string) string {
	if defects == "" {
		return ""
	}
	return ", without the defects that no rule looks for"
}

func (p page) gaps(s pipeline.Summary) {
	var lines []string
	if s.Uncovered != "" {
		lines = append(lines, "no rule looks for: "+s.Uncovered)
	}
	for _, g := range s.Gaps {
		if g.Ran {
			lines = append(lines, fmt.Sprintf("%s: %d rows lack %s", g.Rule, g.Rows, g.Field))
		} else {
			lines = append(lines, fmt.Sprintf("%s did not run (%d rows): %s", g.Rule, g.Rows, g.Field))
		}
	}
	if len(lines) == 0 {
		lines = []string{"nothing: every rule could assess every row it speaks of"}
	}
	p.list("not assessed", lines, "coverage")
}

func (p page) next(s pipeline.Summary) {
	p.line("case", "%s (case.duckdb, requests/day=*/requests.parquet)", s.Dir)
	p.line("next", "kvforensics query suspects --case %s", s.Dir)
	if len(s.Exposures) > 0 {
		p.line("", "kvforensics query tenants --case %s", s.Dir)
	}
	p.line("", "kvforensics query coverage --case %s", s.Dir)
	p.line("", "kvforensics flag --case %s --explain REQUEST", s.Dir)
	p.line("", "kvforensics pair --case %s --explain REQUEST", s.Dir)
}

// span reads --since and --until.
func (f *analysisFlags) span() (pipeline.Span, error) {
	var s pipeline.Span
	for _, bound := range []struct {
		name, text string
		to         *evidence.Opt[evidence.Micros]
	}{{"--since", f.since, &s.Since}, {"--until", f.until, &s.Until}} {
		if bound.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, bound.text)
		if err != nil {
			return s, usagef("%s %q: want RFC 3339 with an offset, such as 2026-08-27T00:00:00Z", bound.name, bound.text)
		}
		*bound.to = evidence.Some(evidence.MicrosOf(t))
	}
	return s, nil
}

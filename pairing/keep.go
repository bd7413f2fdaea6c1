package pairing

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
)

// finding is what the replay of one window says of one suspect.
type finding struct {
	r *result
	t *tally
}

// paired is a suspect with what the replays say of it.
type paired struct {
	s        suspect
	findings []finding
}

// keep stores what the replays found: results for flagged suspects, and crossed
// for triggers. For those left nothing was replayed.
func (p *planner) keep(ctx context.Context, c Case, results, crossed []*result, left []trigger) error {
	list := make([]paired, len(p.suspects))
	for i, s := range p.suspects {
		list[i].s = s
	}
	for _, r := range results {
		for _, t := range r.tallies {
			list[t.suspect].findings = append(list[t.suspect].findings, finding{r, t})
		}
	}
	list = slices.DeleteFunc(list, func(x paired) bool { return x.s.defect != oversizePlaceholder })
	var pairs, runs, found [][]any
	for _, x := range recipients(crossed) {
		found = append(found, p.crossedRow(&x))
		list = append(list, x)
	}
	for i := range list {
		x := &list[i]
		if len(x.findings) == 0 {
			pairs = append(pairs, x.s.unpaired())
			runs = append(runs, x.s.notReplayed(x.s.whyUnpaired()))
			continue
		}
		scale := x.scale()
		pairs = append(pairs, pairRows(&x.s, x.findings, scale)...)
		runs = append(runs, runRows(&x.s, x.findings, scale)...)
	}
	for i := range left {
		runs = append(runs, left[i].notReplayed(p.whyLeft(&left[i])))
	}
	for _, t := range []struct {
		name string
		rows [][]any
	}{{"crossed", found}, {"source_pairs", pairs}, {"pairings", runs}, {"source_reads", readRows(slices.Concat(results, crossed))}} {
		if err := c.Replace(ctx, t.name, t.rows); err != nil {
			return err
		}
	}
	return nil
}

// scale makes a flagged suspect's shares of orderings over all ranks that may have
// served it add up to one, for it was on one of them. Each rank draws for
// itself, so that without it they need not.
func (x *paired) scale() float64 {
	var reached float64
	for _, f := range x.findings {
		reached += float64(f.t.reached) / float64(f.r.orderings)
	}
	if x.s.defect != oversizePlaceholder || len(x.findings) < 2 || reached == 0 {
		return 1
	}
	return 1 / reached
}

// runRows tell how a suspect was replayed on each rank.
func runRows(s *suspect, findings []finding, scale float64) (rows [][]any) {
	for _, f := range findings {
		w, k := f.r.w, float64(f.r.orderings)
		rows = append(rows, []any{s.source, s.line, s.defect, w.key.node, w.key.rank, scale * float64(f.t.reached) / k,
			string(w.boot.policy), w.since.Time(), len(w.rows), f.r.orderings, f.t.reached, scale * float64(f.t.cross) / k, f.r.lost, f.r.lostRead, f.r.lostSuspects, w.notes()})
	}
	return rows
}

// notReplayed is the row of pairings for a request that no rank's replay covers.
func (s *suspect) notReplayed(why string) []any {
	return []any{s.source, s.line, s.defect, nil, nil, nil, nil, nil, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, []string{why}}
}

// readRows joins what windows say of each request and defect. Different windows
// hold different suspects.
func readRows(results []*result) (rows [][]any) {
	type sums struct{ notAny, notCross, notFirm, tokens float64 }
	reads := map[flag]*sums{}
	for _, r := range results {
		k := float64(r.orderings)
		for i, read := range r.reads {
			at := flag{r.w.rows[i].place, r.defect}
			if reads[at] == nil {
				reads[at] = &sums{1, 1, 1, 0}
			}
			s := reads[at]
			s.notAny *= 1 - float64(read.any)/k
			s.notCross *= 1 - float64(read.cross)/k
			s.notFirm *= 1 - float64(read.firm)/k
			s.tokens += float64(read.tokens) / k
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(reads), flag.compare) {
		s := reads[at]
		rows = append(rows, []any{at.source, at.line, at.defect, 1 - s.notAny, 1 - s.notCross, 1 - s.notFirm, s.tokens})
	}
	return rows
}

// unpaired is the row of a suspect that could not be replayed: all that it may
// have read is the unknown owner's.
func (s *suspect) unpaired() []any {
	p := pair{kind: kindUnknown, probability: s.probability, tokens: float64(max(s.prompt-1, 0))}
	line := p.row(s)
	line[6], line[7] = nil, nil
	return line
}

func (s *suspect) whyUnpaired() string {
	if !s.received.Known {
		return "it has no place in time"
	}
	return "no pool of a rank that may have served it was measured"
}

func (p *planner) whyLeft(t *trigger) string {
	if len(p.ranksFor(&t.suspect)) == 0 {
		return "no pool of a rank that may have served it was measured"
	}
	return "too many like it: the replay is kept to those after which most was reserved"
}

// pairRows joins what the ranks say of one suspect: requests with most tokens
// first, then the unknown owner and nobody.
func pairRows(s *suspect, findings []finding, scale float64) (rows [][]any) {
	sources := map[place]*pair{}
	rest := []*pair{{kind: kindUnknown}, {kind: kindNone}}
	for _, f := range findings {
		for i, found := range f.t.rows {
			at := &f.r.w.rows[i]
			if sources[at.place] == nil {
				sources[at.place] = &pair{kind: kindRequest, at: at}
			}
			sources[at.place].add(found, f.r, scale)
		}
		rest[0].add(&f.t.unknown, f.r, scale)
		rest[1].add(&f.t.none, f.r, scale)
	}
	order := slices.SortedFunc(maps.Values(sources), func(a, b *pair) int {
		return cmp.Or(cmp.Compare(b.tokens, a.tokens), cmp.Compare(a.at.source, b.at.source), cmp.Compare(a.at.line, b.at.line))
	})
	for _, p := range append(order, rest...) {
		if p.probability > 0 {
			rows = append(rows, p.row(s))
		}
	}
	return rows
}

func (w *window) notes() []string {
	notes := []string{}
	if w.boot.radix {
		notes = append(notes, "the node keeps finished prefixes (decode-side radix cache), which the replay does not model")
	}
	return notes
}

// pair is what all ranks together say of a suspect and one source.
type pair struct {
	kind                 string
	at                   *row
	key                  rankKey // where it occurred most often
	best                 float64 // probability there
	probability, mcError float64
	tokens, pages        float64
	from, to             int
}

// add takes in what one rank's orderings say. A suspect was on one rank in each
// ordering, so probabilities add up.
func (p *pair) add(f *found, r *result, scale float64) {
	probability, mcError := share(f.orderings, r.orderings)
	probability, mcError = scale*probability, scale*mcError
	if f.orderings > 0 && (p.probability == 0 || f.from < p.from) {
		p.from = f.from
	}
	p.to = max(p.to, f.to)
	if probability > p.best {
		p.best, p.key = probability, r.w.key
	}
	k := float64(r.orderings)
	p.probability, p.mcError = p.probability+probability, math.Hypot(p.mcError, mcError)
	p.tokens, p.pages = p.tokens+scale*float64(f.slots)/k, p.pages+scale*float64(f.pages)/k
}

func (p *pair) row(s *suspect) []any {
	line := []any{s.source, s.line, s.defect, p.kind, nil, nil, p.key.node, p.key.rank, min(p.probability, 1), p.mcError, p.tokens, p.pages, nil, nil, nil}
	if p.at != nil {
		line[4], line[5], line[12], line[13], line[14] = p.at.source, p.at.line, p.from, p.to, p.part()
	}
	return line
}

func (p *pair) part() any {
	switch prompt := p.at.prompt; {
	case !prompt.Known:
		return nil
	case int64(p.to) <= prompt.V:
		return "prompt"
	case int64(p.from) >= prompt.V:
		return "answer"
	}
	return "both"
}

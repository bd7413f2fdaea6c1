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

// keep stores what the replays found.
func (p *planner) keep(ctx context.Context, c Case, results []*result) error {
	bySuspect := make([][]finding, len(p.suspects))
	for _, r := range results {
		for _, t := range r.tallies {
			bySuspect[t.suspect] = append(bySuspect[t.suspect], finding{r, t})
		}
	}
	var pairs, runs [][]any
	for i := range p.suspects {
		s := &p.suspects[i]
		if s.defect != oversizePlaceholder {
			continue
		}
		if len(bySuspect[i]) == 0 {
			pairs = append(pairs, s.unpaired())
			runs = append(runs, []any{s.source, s.line, s.defect, nil, nil, nil, nil, nil, 0, 0, 0, 0.0, 0.0, 0.0, []string{s.whyUnpaired()}})
			continue
		}
		pairs = append(pairs, pairRows(s, bySuspect[i])...)
		for _, f := range bySuspect[i] {
			w := f.r.w
			runs = append(runs, []any{s.source, s.line, s.defect, w.key.node, w.key.rank, float64(f.t.reached) / float64(f.r.orderings),
				string(w.boot.policy), w.since.Time(), len(w.rows), f.r.orderings, f.t.reached,
				float64(f.t.cross) / float64(f.r.orderings), f.r.lost, f.r.lostRead, w.notes()})
		}
	}
	if err := c.Replace(ctx, "source_pairs", pairs); err != nil {
		return err
	}
	if err := c.Replace(ctx, "pairings", runs); err != nil {
		return err
	}
	return c.Replace(ctx, "source_reads", readRows(results))
}

// readRows joins what windows say of each request. Different windows hold
// different suspects.
func readRows(results []*result) (rows [][]any) {
	type sums struct{ notAny, notCross, notFirm, tokens float64 }
	reads := map[place]*sums{}
	for _, r := range results {
		k := float64(r.orderings)
		for i, read := range r.reads {
			at := r.w.rows[i].place
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
	for _, at := range slices.SortedFunc(maps.Keys(reads), place.compare) {
		s := reads[at]
		rows = append(rows, []any{at.source, at.line, oversizePlaceholder, 1 - s.notAny, 1 - s.notCross, 1 - s.notFirm, s.tokens})
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

// pairRows joins what the ranks say of one suspect: requests with most tokens
// first, then the unknown owner and nobody.
func pairRows(s *suspect, findings []finding) (rows [][]any) {
	sources := map[place]*pair{}
	rest := []*pair{{kind: kindUnknown}, {kind: kindNone}}
	for _, f := range findings {
		for i, found := range f.t.rows {
			at := &f.r.w.rows[i]
			if sources[at.place] == nil {
				sources[at.place] = &pair{kind: kindRequest, at: at}
			}
			sources[at.place].add(found, f.r)
		}
		rest[0].add(&f.t.unknown, f.r)
		rest[1].add(&f.t.none, f.r)
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
func (p *pair) add(f *found, r *result) {
	probability, mcError := share(f.orderings, r.orderings)
	if f.orderings > 0 && (p.probability == 0 || f.from < p.from) {
		p.from = f.from
	}
	p.to = max(p.to, f.to)
	if probability > p.best {
		p.best, p.key = probability, r.w.key
	}
	k := float64(r.orderings)
	p.probability, p.mcError = p.probability+probability, math.Hypot(p.mcError, mcError)
	p.tokens, p.pages = p.tokens+float64(f.slots)/k, p.pages+float64(f.pages)/k
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

package pairing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// placement says how much likelier what a rank said of its pool is if a request
// ran there than if it did not.
type placement struct {
	key   rankKey
	ratio float64
}

// placings hold the placements of requests whose rank no row names.
type placings map[place][]placement

// choices gives how many ranks may have served a row.
func (p *planner) choices(w *window, r *row) int {
	if r.nodeKnown {
		return w.ranks
	}
	return len(p.boots)
}

// prior gives the log odds that a row was on the window's rank before that
// rank's figures are looked at: what the others' figures say counts, and where
// those say nothing one rank is as likely as another.
func (p *planner) prior(w *window, r *row) float64 {
	others := float64(p.choices(w, r) - 1)
	for _, x := range p.placings[r.place] {
		if x.key != w.key && (!r.nodeKnown || x.key.node == w.key.node) {
			others += x.ratio - 1
		}
	}
	if others <= 0 {
		return math.Inf(1)
	}
	return -math.Log(others)
}

// weigh asks each rank's figures for the requests that no row places, and keeps
// what they say.
func (p *planner) weigh(ctx context.Context, c Case, windows []*window, o Options) error {
	found := make([][]candidate, len(windows))
	err := inParallel(ctx, o.Threads, len(windows), func(i int, _ *replay) {
		w := windows[i]
		l := p.newLatent(w)
		l.begin(rand.New(rand.NewPCG(mix(o.Seed, hash(w.key.node), uint64(w.key.rank)), ^uint64(w.since))))
		found[i] = l.weigh()
	})
	if err != nil {
		return err
	}
	placed := placings{}
	var rows [][]any
	for i, w := range windows {
		for _, x := range found[i] {
			at := w.rows[x.row].place
			if x.ratio == 1 || slices.ContainsFunc(placed[at], func(y placement) bool { return y.key == w.key }) {
				continue
			}
			placed[at] = append(placed[at], placement{w.key, x.ratio})
			rows = append(rows, []any{at.source, at.line, w.key.node, w.key.rank, x.ratio})
		}
	}
	p.placings = placed
	return c.Replace(ctx, "rank_ratios", rows)
}

// loadPlacings gives what weigh kept.
func loadPlacings(ctx context.Context, c Case) (placings, error) {
	list := placings{}
	err := c.Select(ctx, "SELECT source_id, line, decode_node, decode_rank, ratio FROM rank_ratios ORDER BY ALL", func(scan func(...any) error) error {
		var at place
		var x placement
		if err := scan(&at.source, &at.line, &x.key.node, &x.key.rank, &x.ratio); err != nil {
			return err
		}
		list[at] = append(list[at], x)
		return nil
	})
	return list, err
}

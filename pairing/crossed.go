package pairing

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// crossings are what replays find of one defect by which KV comes into pages
// that are not its own: who attended to it (tallies, by row of the recipient),
// and whose it was.
type crossings struct {
	tallies map[int32]*tally
	reads   map[int32]*read
}

// crossed notes rows that came where recipient attends to them.
func (c *collector) crossed(_ micros, recipient, source int32, late bool, token, slots int) {
	into := c.offloaded
	if late {
		into = c.late
	}
	to := c.o.rows[c.o.acts[recipient].job]
	if into == nil || to < 0 {
		return // a request that no row tells of: floor and ceiling carry it
	}
	t := into.tallies[to]
	if t == nil {
		t = &tally{row: to, tenant: c.w.rows[to].tenant, rows: map[int32]*found{}}
		into.tallies[to] = t
	}
	once(c.k, &t.lastReach, &t.reached)
	page := uint32(1 + token/c.w.boot.pageSize)
	job := c.o.acts[source].job
	row := c.o.rows[job]
	if row < 0 {
		t.unknown.take(c.k, page, token, slots)
		c.lost[owner(job)] = true
		return
	}
	t.source(row).take(c.k, page, token, slots)
	note(into.reads, row, c.k, t, c.w.rows[row].tenant, slots)
}

// replayCrossings replays a window of triggers and gives a result per defect.
func (p *planner) replayCrossings(ctx context.Context, r *replay, w *window, orderings int, o Options) []*result {
	x := p.newPlayer(w, r, o)
	late := &result{w: w, defect: abortLateWrite}
	offloaded := &result{w: w, defect: offloadSlotReuse}
	x.late = &crossings{map[int32]*tally{}, map[int32]*read{}}
	x.offloaded = &crossings{map[int32]*tally{}, map[int32]*read{}}
	for k := 0; k < orderings && ctx.Err() == nil; k++ {
		x.play(k, x.sampler.draw(o.Seed, k), x.sampler.rng.IntN(x.rank.pages), nil, nil)
		offloaded.lostRead += float64(len(x.lost)) / float64(orderings)
	}
	x.late.into(late)
	x.offloaded.into(offloaded)
	for _, r := range []*result{late, offloaded} {
		r.orderings, r.lost = orderings, x.sampler.lost/float64(orderings)
	}
	w.anchors = nil
	return []*result{late, offloaded}
}

func (c *crossings) into(r *result) {
	r.reads = c.reads
	for _, row := range slices.Sorted(maps.Keys(c.tallies)) {
		r.tallies = append(r.tallies, c.tallies[row])
	}
}

// cross replays what may have come into others' pages.
func (p *planner) cross(ctx context.Context, c Case, o Options) (results []*result, left []trigger, err error) {
	windows, left := p.chosen()
	if err := loadRows(ctx, c, windows); err != nil {
		return nil, nil, err
	}
	if err := loadFigures(ctx, c, windows); err != nil {
		return nil, nil, err
	}
	rows := 1
	for _, w := range windows {
		rows += len(w.rows)
	}
	orderings := max(1, min(o.Orderings, crossWork/rows))
	found := make([][]*result, len(windows))
	err = inParallel(ctx, o.Threads, len(windows), func(i int, r *replay) {
		found[i] = p.replayCrossings(ctx, r, windows[i], orderings, o)
	})
	return slices.Concat(found...), left, err
}

// recipients joins what windows found into one suspect for each recipient.
func recipients(results []*result) []paired {
	found := map[flag]*paired{}
	for _, r := range results {
		for _, t := range r.tallies {
			row := &r.w.rows[t.row]
			at := flag{row.place, r.defect}
			if found[at] == nil {
				found[at] = &paired{s: suspect{place: row.place, defect: r.defect, tenant: row.tenant, prompt: row.prompt.V}}
			}
			p := found[at]
			p.s.probability = min(1, p.s.probability+float64(t.reached)/float64(r.orderings))
			p.findings = append(p.findings, finding{r, t})
		}
	}
	var list []paired
	for _, at := range slices.SortedFunc(maps.Keys(found), flag.compare) {
		list = append(list, *found[at])
	}
	return list
}

// crossedRow makes a recipient a suspect of the case.
func (p *planner) crossedRow(x *paired) []any {
	rules, sources := map[string]bool{}, map[place]bool{}
	note := func(at place) {
		if t := p.trigger[flag{at, x.s.defect}]; t != nil {
			rules[t.rule] = true
		}
	}
	note(x.s.place)
	for _, f := range x.findings {
		for row := range f.t.rows {
			at := f.r.w.rows[row].place
			sources[at] = true
			note(at)
		}
	}
	what := "KV of an aborted request came late into its pages (%d candidates)"
	if x.s.defect == offloadSlotReuse {
		what = "its prompt's pages were freed while it ran, and others wrote there (%d candidates)"
	}
	reason := fmt.Sprintf("in %.0f %% of the replayed orderings "+what, 100*x.s.probability, len(sources))
	return []any{x.s.source, x.s.line, x.s.defect, "possible", x.s.probability, nil, nil, slices.Sorted(maps.Keys(rules)), []string{reason}}
}

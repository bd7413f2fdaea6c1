package pairing

import (
	"context"
	"fmt"
	"slices"
)

// PageMap shows, for one suspect and one ordering that fits the logs, whose
// rows lay in the pages that it took.
type PageMap struct {
	Node        string
	Rank        int64
	Policy      Policy
	Version     string // of the engine, "": not known
	PoolPages   int
	PageSize    int       // tokens
	Since       micros    // start of the replayed history
	FromBoot    bool      // it begins with a pool of zeros
	Requests    int       // in that history
	Lost        int       // of this ordering: requests that no row tells of
	Anchors     int       // instants at which the engine's figures hold the ordering
	Reading     string    // what the engine counts in #token; "": no figures that fit
	ClockOffset micros    // of the engine's clock against the gateway's
	Took        micros    // when the suspect took its pages
	Sweep       int       // sweeps begun in the replayed history by then
	SweepAt     micros    // when the present one began, 0: with the history
	Runs        []PageRun // in the order in which the suspect uses them
	Notes       []string  // what the replay does not model
}

// PageRun is a run of pages whose rows were one owner's.
type PageRun struct {
	FirstPage, LastPage uint32
	Slots               int    // tokens
	Kind                string // request, unknown, none
	Source, Line        int64  // place of the owner's record
	FromToken, ToToken  int    // in the owner's sequence
	Written, Freed      micros // by the owner; 0: not known
}

// Explain replays one suspect on each rank that may have served it.
func Explain(ctx context.Context, c Case, source, line int64, o Options) ([]PageMap, error) {
	p, err := newPlanner(ctx, c)
	if err != nil {
		return nil, wrap("explain pairs", err)
	}
	if p.placings, err = loadPlacings(ctx, c); err != nil {
		return nil, wrap("explain pairs", err)
	}
	target := slices.IndexFunc(p.suspects, func(s suspect) bool {
		return s.place == place{source, line} && s.defect == oversizePlaceholder
	})
	if target < 0 {
		return nil, nil
	}
	all := p.plan(p.suspects, func(int, rankKey) float64 { return 16 })
	windows := slices.DeleteFunc(all, func(w *window) bool { return !slices.Contains(w.targets, target) })
	if err := loadRows(ctx, c, windows); err != nil {
		return nil, wrap("explain pairs", err)
	}
	if err := loadFigures(ctx, c, windows); err != nil {
		return nil, wrap("explain pairs", err)
	}
	var maps []PageMap
	for _, w := range windows {
		if m, ok := p.mapPages(w, target, o); ok {
			maps = append(maps, m)
		}
	}
	return maps, nil
}

// mapPages draws orderings until the suspect is on the rank, and maps its pages.
func (p *planner) mapPages(w *window, target int, o Options) (PageMap, bool) {
	s := p.newSampler(w, o.Seed)
	a := s.latent.a
	m := PageMap{Node: w.key.node, Rank: w.key.rank, Policy: w.boot.policy, Version: w.boot.version,
		PoolPages: w.boot.pages, PageSize: w.boot.pageSize, Since: w.since, FromBoot: w.fromBoot,
		Requests: len(w.rows), Anchors: len(a.list), ClockOffset: a.offset, Notes: w.notes()}
	if a.found {
		m.Reading = a.reading.String()
	}
	var r replay
	for k := range o.Orderings {
		drawn := s.draw(o.Seed, k)
		rk := rank{policy: w.boot.policy, pages: w.boot.pages, pageSize: w.boot.pageSize, before: nobody, headroom: w.boot.headroom}
		if !w.fromBoot {
			rk.before = before
		}
		watch := &mapper{m: &m, w: w, o: drawn, at: p.suspects[target].place}
		r.reset(rk, drawn.jobs, drawn.acts, watch)
		r.run(w.until+tail, w.flushes)
		if m.Took != 0 {
			for _, row := range drawn.rows {
				if row < 0 {
					m.Lost++
				}
			}
			return m, true
		}
	}
	return m, false
}

// mapper writes down the pages of one suspect.
type mapper struct {
	m       *PageMap
	w       *window
	o       *ordering
	at      place
	merges  int
	sweepAt micros
}

func (x *mapper) reserved(now micros, i int32, pages []run, r *replay) {
	if r.alloc.merges != x.merges {
		x.merges, x.sweepAt = r.alloc.merges, now
	}
	id := r.acts[i].job
	row := x.o.rows[id]
	if row < 0 || x.w.rows[row].place != x.at || !r.jobs[id].placeholder || x.m.Took != 0 {
		return
	}
	x.m.Took, x.m.Sweep, x.m.SweepAt = now, x.merges, x.sweepAt
	ps, prompt := r.rank.pageSize, int(r.jobs[id].prompt)
	x.add(pages[0].start, unknown, 1, min(ps, prompt)-1)
	at := 0
	for _, p := range pages {
		for page := p.start; page < p.start+p.count; page++ {
			if at > 0 {
				r.mem.read(page, 0, min(ps, prompt-at), func(o owner, token, slots int) { x.add(page, o, token, slots) })
			}
			at += ps
		}
	}
}

// add lengthens the last run where page and owner go on from there.
func (x *mapper) add(page uint32, o owner, token, slots int) {
	next := PageRun{FirstPage: page, LastPage: page, Slots: slots, Kind: kindRequest, FromToken: token, ToToken: token + slots}
	switch {
	case o == nobody:
		next.Kind, next.FromToken, next.ToToken = kindNone, 0, 0
	case o < 0, x.o.rows[o] < 0:
		next.Kind, next.FromToken, next.ToToken = kindUnknown, 0, 0
	default:
		at := x.w.rows[x.o.rows[o]]
		next.Source, next.Line = at.source, at.line
		a := x.act(o)
		next.Written, next.Freed = a.reserve, a.end
	}
	if n := len(x.m.Runs); n > 0 {
		last := &x.m.Runs[n-1]
		if last.Kind == next.Kind && last.Source == next.Source && last.Line == next.Line &&
			page <= last.LastPage+1 && page >= last.LastPage && (next.Kind != kindRequest || token == last.ToToken) {
			last.LastPage, last.Slots, last.ToToken = page, last.Slots+slots, next.ToToken
			return
		}
	}
	x.m.Runs = append(x.m.Runs, next)
}

func (x *mapper) act(o owner) act {
	i := slices.IndexFunc(x.o.acts, func(a act) bool { return a.job == int32(o) })
	return x.o.acts[i]
}

func (x *mapper) crossed(micros, int32, int32, bool, int, int) {}

// Why says in words why the engine handed these pages out.
func (m *PageMap) Why() string {
	switch {
	case m.Policy == LIFO:
		return "freed pages are reused first (lifo): the pages are those that were freed last"
	case m.Sweep == 0 && m.FromBoot:
		return "the first sweep since the start of the pool: a page that was never handed out before holds nobody's data"
	case m.Sweep == 0:
		return "pages go out in ascending order and are not reused before the free list is used up (sweep)"
	}
	return fmt.Sprintf("pages go out in ascending order and are not reused before the free list is used up (sweep); the present sweep, number %d since the start of the replayed history, began at %s",
		m.Sweep, m.SweepAt.Time().Format("2006-01-02T15:04:05Z"))
}

// Slots sums the runs of one kind in slots.
func (m *PageMap) Slots(kind string) (n int) {
	for _, r := range m.Runs {
		if r.Kind == kind {
			n += r.Slots
		}
	}
	return n
}

package pairing

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options of a pairing.
type Options struct {
	Seed      uint64
	Orderings int // at most so many are drawn for each window
	Threads   int // 0: one per core
}

const (
	batch = 16 // orderings between two looks at the error
	// wantedError is the standard error of a probability at which drawing ends.
	wantedError = 0.04
	maxSweeps   = 64
	// doubt is the share of a suspect's slots whose owner may depend on what was
	// before the window begins; where more do, the window is doubled.
	doubt  = 0.002
	probes = 5 // states from which forgetting is tried
)

// Run pairs all suspects of the case with their sources and leaves source_pairs
// and pairings.
func Run(ctx context.Context, c Case, o Options) error {
	p, err := newPlanner(ctx, c)
	if err != nil {
		return wrap("pair", err)
	}
	results, err := p.replayAll(ctx, c, o)
	if err != nil {
		return wrap("pair", err)
	}
	if err := c.SetFact(ctx, "pairing seed", strconv.FormatUint(o.Seed, 10)); err != nil {
		return err
	}
	return wrap("pair", p.keep(ctx, c, results))
}

func newPlanner(ctx context.Context, c Case) (*planner, error) {
	p := &planner{}
	var err error
	if p.suspects, err = loadSuspects(ctx, c); err != nil {
		return nil, err
	}
	if p.boots, err = loadBoots(ctx, c); err != nil {
		return nil, err
	}
	if p.volumes, err = loadVolumes(ctx, c); err != nil {
		return nil, err
	}
	if p.flushes, err = loadFlushes(ctx, c); err != nil {
		return nil, err
	}
	p.earliest = never
	for _, list := range p.volumes {
		p.earliest = min(p.earliest, list[0].at)
	}
	return p, nil
}

// result is what the replay of one window found.
type result struct {
	w         *window
	tallies   []*tally
	orderings int
	lost      float64 // requests that the logs lack, on average over orderings
}

// replayAll replays windows, those again whose suspects read pages that were
// written before they begin.
func (p *planner) replayAll(ctx context.Context, c Case, o Options) ([]*result, error) {
	type aim struct {
		suspect int
		key     rankKey
	}
	reach := map[aim]float64{}
	results := map[rankKey][]*result{}
	for {
		todo := p.plan(func(i int, k rankKey) float64 { return max(firstSweeps, reach[aim{i, k}]) })
		todo = slices.DeleteFunc(todo, func(w *window) bool { return done(results[w.key], w) })
		if len(todo) == 0 {
			break
		}
		if err := loadRows(ctx, c, todo); err != nil {
			return nil, err
		}
		if err := loadFigures(ctx, c, todo); err != nil {
			return nil, err
		}
		fresh, err := p.replayWindows(ctx, todo, o)
		if err != nil {
			return nil, err
		}
		for _, r := range fresh {
			results[r.w.key] = append(slices.DeleteFunc(results[r.w.key], func(old *result) bool { return contains(r.w, old.w) }), r)
			for _, t := range r.tallies {
				if t.doubt > doubt && r.w.sweeps < maxSweeps && r.w.since > p.earliest {
					reach[aim{t.suspect, r.w.key}] = 2 * r.w.sweeps
				}
			}
		}
	}
	var all []*result
	for _, list := range results {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b *result) int {
		return cmp.Or(a.w.key.compare(b.w.key), cmp.Compare(a.w.since, b.w.since))
	})
	return all, nil
}

// done tells that one of the results covers w.
func done(results []*result, w *window) bool {
	return slices.ContainsFunc(results, func(r *result) bool { return contains(r.w, w) })
}

// contains tells that a covers all of b: its time and its suspects.
func contains(a, b *window) bool {
	return a.since <= b.since && a.until >= b.until && !slices.ContainsFunc(b.targets, func(t int) bool { return !slices.Contains(a.targets, t) })
}

func (p *planner) replayWindows(ctx context.Context, list []*window, o Options) ([]*result, error) {
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	results := make([]*result, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(threads, len(list)) {
		workers.Go(func() {
			var r replay
			for i := range next {
				results[i] = p.replayWindow(ctx, &r, list[i], o)
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	return results, ctx.Err()
}

// replayWindow draws and replays orderings until the probabilities are known
// well enough.
func (p *planner) replayWindow(ctx context.Context, r *replay, w *window, o Options) *result {
	res := &result{w: w}
	byRow := p.tallies(w, res)
	s := newSampler(w, w.anchor(w.figures), p.suspects, len(p.boots), o.Seed)
	k := rank{policy: w.boot.policy, pages: w.boot.pages, pageSize: w.boot.pageSize, before: nobody, headroom: w.boot.headroom}
	play := func(drawn *ordering, handedOut int, tallies map[int32]*tally) {
		if !w.fromBoot {
			k.before, k.handedOut = before, handedOut
		}
		r.reset(k, drawn.jobs, drawn.acts, &collector{k: res.orderings, o: drawn, tallies: tallies})
		r.run(w.until+tail, w.flushes)
	}
	for res.orderings < o.Orderings && ctx.Err() == nil && !res.settled() {
		for range min(batch, o.Orderings-res.orderings) {
			drawn := s.draw(o.Seed, res.orderings)
			if res.orderings == 0 && !w.fromBoot {
				// The same ordering from several states: where all end alike, what
				// was before the window has been forgotten.
				first := p.tallies(w, &result{})
				play(drawn, 0, first)
				for i := 1; i < probes; i++ {
					other := p.tallies(w, &result{})
					play(drawn, k.pages*i/probes, other)
					for row, t := range byRow {
						t.doubt = max(t.doubt, first[row].unlike(other[row]))
					}
				}
			}
			// How far the sweep had come is not known: each ordering guesses anew,
			// and what still depends on the guess shows as doubt.
			play(drawn, s.rng.IntN(k.pages), byRow)
			res.orderings++
		}
	}
	res.lost = s.lost / float64(max(res.orderings, 1))
	w.figures = nil
	return res
}

// tail is how long after its first token a suspect's reservation may be logged:
// clocks differ.
const tail = micros(2 * time.Second / time.Microsecond)

// tallies makes a tally for each target of w, by row.
func (p *planner) tallies(w *window, res *result) map[int32]*tally {
	rows := map[place]int32{}
	for i := range w.rows {
		rows[w.rows[i].place] = int32(i)
	}
	byRow := map[int32]*tally{}
	for _, i := range w.targets {
		t := &tally{suspect: i, rows: map[int32]*found{}}
		res.tallies = append(res.tallies, t)
		if n, ok := rows[p.suspects[i].place]; ok && p.suspects[i].defect == oversizePlaceholder {
			byRow[n] = t
		}
	}
	return byRow
}

// settled tells that the error of every probability is small enough.
func (r *result) settled() bool {
	if r.orderings == 0 {
		return false
	}
	for _, t := range r.tallies {
		for _, f := range t.rows {
			if _, e := share(f.orderings, r.orderings); e > wantedError {
				return false
			}
		}
	}
	return true
}

package pairing

import (
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
	// doubt is the share of a suspect's slots whose owner may depend on what was
	// before its window begins; where more do, the window is doubled.
	doubt = 0.002
	// probes are the states from which forgetting is tried. With 16 fewer than 1 in
	// 100 windows of the test's histories pass wrongly; with 6 it was 1 in 20.
	probes = 16
	// rowBudget bounds the requests of all windows together, which bounds time
	// and memory. A window that would need more stays short, and what it cannot
	// tell shows in its probabilities.
	rowBudget = 1_200_000
	fewRows   = 4_000 // that a window may always have
)

// Run pairs all suspects of the case with their sources, finds those that no
// rule can see, and leaves source_pairs, pairings, source_reads and crossed.
func Run(ctx context.Context, c Case, o Options) error {
	p, err := newPlanner(ctx, c)
	if err != nil {
		return wrap("pair", err)
	}
	windows, err := p.settle(ctx, c, o)
	if err != nil {
		return wrap("pair", err)
	}
	if err := p.weigh(ctx, c, windows, o); err != nil {
		return wrap("pair", err)
	}
	results := make([]*result, len(windows))
	err = inParallel(ctx, o.Threads, len(windows), func(i int, r *replay) { results[i] = p.replayWindow(ctx, r, windows[i], o) })
	if err != nil {
		return wrap("pair", err)
	}
	crossed, left, err := p.cross(ctx, c, o)
	if err != nil {
		return wrap("pair", err)
	}
	if err := c.SetFact(ctx, "pairing seed", strconv.FormatUint(o.Seed, 10)); err != nil {
		return err
	}
	return wrap("pair", p.keep(ctx, c, results, crossed, left))
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
	if p.triggers, err = loadTriggers(ctx, c); err != nil {
		return nil, err
	}
	p.trigger = map[flag]*trigger{}
	for i := range p.triggers {
		t := &p.triggers[i]
		p.trigger[flag{t.place, t.defect}] = t
	}
	p.earliest = never
	for _, list := range p.volumes {
		p.earliest = min(p.earliest, list[0].at)
	}
	return p, nil
}

// result is what the replay of one window found.
type result struct {
	w            *window
	defect       string
	tallies      []*tally
	reads        map[int32]*read // by row
	orderings    int
	lost         float64 // requests that the logs lack, on average over orderings
	lostRead     float64 // of them, those that some suspect attended to
	lostSuspects float64 // of them, those of which only a placeholder can have come
}

// aim is a suspect on a rank that may have served it.
type aim struct {
	suspect int
	key     rankKey
}

// settle finds windows that reach back far enough: to the boot, or until what
// was before no longer bears on what the suspects read. It leaves them loaded.
func (p *planner) settle(ctx context.Context, c Case, o Options) ([]*window, error) {
	reach := map[aim]float64{}
	givenUp := map[aim]bool{}
	var have []*window
	for {
		list := p.plan(p.suspects, func(i int, k rankKey) float64 { return max(firstSweeps, reach[aim{i, k}]) })
		var todo []*window
		for i, w := range list {
			if at := slices.IndexFunc(have, w.same); at >= 0 {
				list[i] = have[at]
			} else {
				todo = append(todo, w)
			}
		}
		have = list
		if len(todo) == 0 {
			return have, nil
		}
		if err := loadRows(ctx, c, todo); err != nil {
			return nil, err
		}
		if err := loadFigures(ctx, c, todo); err != nil {
			return nil, err
		}
		doubts := make([]map[int]float64, len(todo))
		err := inParallel(ctx, o.Threads, len(todo), func(i int, r *replay) { doubts[i] = p.probe(r, todo[i], o) })
		if err != nil {
			return nil, err
		}
		limit := max(fewRows, rowBudget/len(list))
		for i, w := range todo {
			for _, t := range w.targets {
				switch at := (aim{t, w.key}); {
				case doubts[i][t] <= doubt || w.since <= p.earliest || givenUp[at]:
				case len(w.rows) < limit/2:
					reach[at] = 2 * w.sweeps
				default:
					// Going back further is not worth its price: what the pool was
					// like before is drawn at random instead.
					reach[at], givenUp[at] = firstSweeps, true
				}
			}
		}
	}
}

// same tells that two windows are one.
func (w *window) same(v *window) bool {
	return w.key == v.key && w.since == v.since && w.until == v.until && slices.Equal(w.targets, v.targets)
}

// inParallel calls each for 0..n-1 on so many threads. Results must not depend
// on the order of the calls.
func inParallel(ctx context.Context, threads, n int, each func(i int, r *replay)) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(threads, n) {
		workers.Go(func() {
			var r replay
			for i := range next {
				each(i, &r)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}

// probe replays one ordering from several states of the pool and tells for each
// target what share of its slots depends on the state.
func (p *planner) probe(r *replay, w *window, o Options) map[int]float64 {
	doubts := map[int]float64{}
	if w.fromBoot {
		return doubts
	}
	player := p.newPlayer(w, r, o)
	drawn := player.sampler.draw(o.Seed, 0)
	first, rows := p.tallies(w)
	player.play(0, drawn, 0, rows, map[int32]*read{})
	for i := 1; i < probes; i++ {
		other, rows := p.tallies(w)
		// Random states: a regular grid of them may agree by chance.
		player.play(0, drawn, player.sampler.rng.IntN(player.rank.pages), rows, map[int32]*read{})
		for t := range first {
			doubts[first[t].suspect] = max(doubts[first[t].suspect], first[t].unlike(other[t]))
		}
	}
	return doubts
}

// player replays orderings of one window.
type player struct {
	w       *window
	replay  *replay
	sampler *sampler
	rank    rank
	lost    map[owner]bool // lost requests that some suspect of the last ordering attended to

	late, offloaded *crossings // nil: not of interest
}

func (p *planner) newPlayer(w *window, r *replay, o Options) *player {
	return &player{w: w, replay: r, lost: map[owner]bool{},
		sampler: p.newSampler(w, o.Seed),
		rank:    rank{policy: w.boot.policy, pages: w.boot.pages, pageSize: w.boot.pageSize, before: nobody, headroom: w.boot.headroom}}
}

// play replays the k-th ordering. In a window that does not begin with a boot
// the sweep under way had handed out so many pages.
func (x *player) play(k int, drawn *ordering, handedOut int, tallies map[int32]*tally, reads map[int32]*read) {
	if !x.w.fromBoot {
		x.rank.before, x.rank.handedOut = before, handedOut
	}
	clear(x.lost)
	x.replay.reset(x.rank, drawn.jobs, drawn.acts, &collector{
		k: k, o: drawn, w: x.w, tallies: tallies, reads: reads, lost: x.lost, late: x.late, offloaded: x.offloaded})
	x.replay.run(x.w.until+tail, x.w.flushes)
}

// replayWindow draws and replays orderings until the probabilities are known
// well enough.
func (p *planner) replayWindow(ctx context.Context, r *replay, w *window, o Options) *result {
	res := &result{w: w, defect: oversizePlaceholder, reads: map[int32]*read{}}
	var byRow map[int32]*tally
	res.tallies, byRow = p.tallies(w)
	x := p.newPlayer(w, r, o)
	for res.orderings < o.Orderings && ctx.Err() == nil && !res.settled() {
		for range min(batch, o.Orderings-res.orderings) {
			drawn := x.sampler.draw(o.Seed, res.orderings)
			// How far the sweep had come is not known: each ordering guesses anew,
			// and what still depends on the guess shows as doubt.
			x.play(res.orderings, drawn, x.sampler.rng.IntN(x.rank.pages), byRow, res.reads)
			res.lostRead += float64(len(x.lost))
			res.orderings++
		}
	}
	res.lostRead /= float64(max(res.orderings, 1))
	res.lost = x.sampler.lost / float64(max(res.orderings, 1))
	res.lostSuspects = x.sampler.lostSuspects / float64(max(res.orderings, 1))
	w.anchors = nil
	return res
}

// tail is how long after its first token a suspect's reservation may be logged:
// clocks differ.
const tail = micros(2 * time.Second / time.Microsecond)

// tallies makes a tally for each target of w, also by row. That of row -1 is for
// suspects which the logs lost: what they attended to was read, by a recipient
// that nobody knows.
func (p *planner) tallies(w *window) (list []*tally, byRow map[int32]*tally) {
	rows := map[place]int32{}
	for i := range w.rows {
		rows[w.rows[i].place] = int32(i)
	}
	byRow = map[int32]*tally{-1: {rows: map[int32]*found{}}}
	for _, i := range w.targets {
		s := &p.suspects[i]
		t := &tally{suspect: i, tenant: s.tenant, firm: s.firm, rows: map[int32]*found{}}
		list = append(list, t)
		if n, ok := rows[s.place]; ok && s.defect == oversizePlaceholder {
			byRow[n] = t
		}
	}
	return list, byRow
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

package pairing

import (
	"math"
	"slices"

	"kvforensics/internal/evidence"
)

type micros = evidence.Micros

// never stands for an instant that does not come.
const never micros = math.MaxInt64

// job is what a request asks of a rank, in tokens.
type job struct {
	prompt, answer int32
	placeholder    bool // only its first page came; the rest of its prompt was never written
	lost           bool // stands for a request that the logs do not hold
}

// act is one job in one ordering: when it did what.
type act struct {
	job       int32
	reserve   micros // its prompt's pages are taken, if they are free
	first     micros // its KV has come and it runs; never: it ended before that
	end       micros // its pages are released
	landed    int32  // prompt tokens that had come by then, where it never ran
	lateAt    micros // the rest lands, in pages that are not its own any more; never: it does not
	offloadAt micros // its prompt's whole pages are released though it still attends to them; never: they are not
}

// rank describes the pool of one decode node and data-parallel rank.
type rank struct {
	policy          Policy
	pages, pageSize int
	before          owner // whose rows lie in the pool when the history begins
	handedOut       int   // pages that the sweep under way had handed out by then
	headroom        int   // tokens kept free for each admitted request to grow (num_reserved_decode_tokens)
}

// replay plays one ordering on one rank. It may be used again: reset begins
// the next one in the same memory.
type replay struct {
	rank    rank
	alloc   allocator
	mem     memory
	jobs    []job
	acts    []act // in order of reserve
	state   []live
	events  []event // heap
	waiting []int32 // acts without pages, first come first served
	runners []int32 // acts that run
	held    int     // acts with pages
	ghosts  []int32 // running acts with pages that offload released
	watch   watcher
	starved int // acts that found no pages in their time
	spare   [][]run
}

// live is what an act holds.
type live struct {
	pages     []run
	ghost     []run
	gone      int32 // tokens of its prompt in ghost
	committed int32 // rows of its sequence that lie in memory
	phase     phase
	at        int32 // its place among the runners
}

type phase uint8

const (
	absent phase = iota
	reserved
	runningPhase
	over
)

// watcher is told of what acts attend to though it is not theirs.
type watcher interface {
	// reserved is told of the pages that an act has just taken, before anything
	// is written to them.
	reserved(now micros, act int32, pages []run, r *replay)
	// crossed is told of rows that a source wrote where recipient attends:
	// tokens of the source's sequence from `token` on.
	crossed(now micros, recipient, source int32, late bool, token, slots int)
}

type event struct {
	at   micros
	act  int32
	kind eventKind
	step int32 // of a growing act: decode steps since first
}

type eventKind uint8

const (
	ends eventKind = iota // ends come before what else happens in an instant: they free pages
	starts
	grows
	lands
	offloads
)

func (e event) before(f event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	if e.kind != f.kind {
		return e.kind < f.kind
	}
	return e.act < f.act
}

// reset prepares an ordering. acts must be in order of reserve.
func (r *replay) reset(k rank, jobs []job, acts []act, w watcher) {
	r.rank, r.jobs, r.acts, r.watch = k, jobs, acts, w
	r.alloc.policy, r.alloc.pages, r.alloc.pageSize = k.policy, k.pages, k.pageSize
	r.alloc.reset(k.handedOut)
	r.mem.pageSize = k.pageSize
	r.mem.reset(k.pages, k.before)
	for i := range r.state {
		r.recycle(&r.state[i])
	}
	r.state = slices.Grow(r.state[:0], len(acts))[:len(acts)]
	clear(r.state)
	r.events, r.waiting, r.ghosts, r.runners = r.events[:0], r.waiting[:0], r.ghosts[:0], r.runners[:0]
	r.held, r.starved = 0, 0
}

func (r *replay) recycle(l *live) {
	if l.pages != nil {
		r.spare = append(r.spare, l.pages[:0])
		l.pages = nil
	}
}

// run plays the ordering up to and including the instant until. Flushes reset
// the order of the free list but no memory, where nothing is held.
func (r *replay) run(until micros, flushes []micros) {
	next := 0
	for {
		arrival := never
		if next < len(r.acts) {
			arrival = r.acts[next].reserve
		}
		at := arrival
		if len(r.events) > 0 {
			at = min(at, r.events[0].at)
		}
		if at > until || at == never {
			return
		}
		for len(flushes) > 0 && flushes[0] <= at {
			if r.held == 0 {
				r.alloc.reset(0)
			}
			flushes = flushes[1:]
		}
		if at == arrival && (len(r.events) == 0 || arrival < r.events[0].at) {
			r.waiting = append(r.waiting, int32(next))
			next++
			r.admit(at)
			continue
		}
		r.happen(r.events[0])
	}
}

// admit reserves pages for waiting acts until one does not fit.
func (r *replay) admit(now micros) {
	done := 0
	for _, i := range r.waiting {
		a := &r.acts[i]
		if a.end <= now {
			r.state[i].phase = over
			r.starved++
			done++
			continue
		}
		tokens := int(r.jobs[a.job].prompt)
		budget := r.alloc.available()*r.rank.pageSize - r.rank.headroom*r.held
		if r.held > 0 && tokens+r.rank.headroom > budget {
			break
		}
		s := &r.state[i]
		var buf []run
		if n := len(r.spare); n > 0 {
			buf, r.spare = r.spare[n-1], r.spare[:n-1]
		}
		pages, ok := r.alloc.extend(buf, tokens)
		if !ok {
			break
		}
		done++
		s.pages, s.phase = pages, reserved
		r.held++
		r.watch.reserved(now, i, pages, r)
		if n := len(r.runners); n > 0 {
			r.alloc.step(n)
		}
		if a.first < a.end {
			r.push(event{at: max(a.first, now), act: i, kind: starts})
		} else {
			r.push(event{at: a.end, act: i, kind: ends})
		}
	}
	r.waiting = slices.Delete(r.waiting, 0, done)
}

func (r *replay) happen(e event) {
	a := &r.acts[e.act]
	s := &r.state[e.act]
	switch e.kind {
	case starts:
		r.start(e, a, s)
	case grows:
		r.growOne(e, a, s)
	case ends:
		r.pop()
		r.finish(e.at, e.act, a, s)
	case lands:
		r.pop()
		r.land(e.at, e.act, a, s)
	case offloads:
		r.pop()
		r.offload(e.at, e.act, a, s)
	}
}

// start lets an act run: its prompt's KV is there.
func (r *replay) start(e event, a *act, s *live) {
	j := &r.jobs[a.job]
	s.phase, s.at = runningPhase, int32(len(r.runners))
	r.runners = append(r.runners, e.act)
	if j.placeholder {
		r.landPlaceholder(a, s)
	} else {
		r.commit(e.at, e.act, j.prompt)
	}
	if a.offloadAt < a.end {
		r.replaceTop(event{at: max(a.offloadAt, e.at), act: e.act, kind: offloads})
		r.push(r.nextGrowth(e, a, j))
	} else {
		r.replaceTop(r.nextGrowth(e, a, j))
	}
	r.alloc.step(len(r.runners))
}

// landPlaceholder puts the one page that came into the first reserved one. It
// came whole, with whatever the prefill node had in its other slots.
func (r *replay) landPlaceholder(a *act, s *live) {
	first := run{s.pages[0].start, 1}
	r.mem.write([]run{first}, 0, 0, r.rank.pageSize, unknown)
	r.mem.write([]run{first}, 0, 0, 1, owner(a.job))
	s.committed = r.jobs[a.job].prompt
}

// nextGrowth gives the event at which an act takes its next page, or its end.
func (r *replay) nextGrowth(e event, a *act, j *job) event {
	ps := int32(r.rank.pageSize)
	step := e.step + ps
	if e.kind == starts {
		step = (ps - j.prompt%ps) % ps
	}
	steps := j.answer - 1
	if step >= steps {
		return event{at: a.end, act: e.act, kind: ends}
	}
	from := max(a.first, 0)
	at := from + (a.end-from)/micros(steps)*micros(step)
	return event{at: max(at, e.at), act: e.act, kind: grows, step: step}
}

func (r *replay) growOne(e event, a *act, s *live) {
	r.alloc.step(len(r.runners))
	pages, ok := r.alloc.grow(s.pages)
	if !ok {
		r.starved++
	}
	s.pages = pages
	r.replaceTop(r.nextGrowth(e, a, &r.jobs[a.job]))
}

// finish releases what an act holds.
func (r *replay) finish(now micros, i int32, a *act, s *live) {
	j := &r.jobs[a.job]
	switch {
	case s.phase == runningPhase:
		last := r.runners[len(r.runners)-1]
		r.runners[s.at], r.state[last].at = last, s.at
		r.runners = r.runners[:len(r.runners)-1]
		r.commit(now, i, j.prompt+max(j.answer, 1)-1)
	case !j.placeholder:
		r.commit(now, i, a.landed)
	}
	if s.ghost != nil {
		r.endGhost(now, i, s)
	}
	s.phase = over
	r.held--
	r.alloc.release(s.pages)
	if a.lateAt != never {
		r.push(event{at: max(a.lateAt, now), act: i, kind: lands})
	} else {
		r.recycle(s)
	}
	r.admit(now)
}

// commit writes rows of an act up to position upTo of its sequence.
func (r *replay) commit(now micros, i int32, upTo int32) {
	s := &r.state[i]
	from, tokens := int(s.committed), int(upTo-s.committed)
	if tokens <= 0 {
		return
	}
	o := owner(r.acts[i].job)
	r.mem.write(s.pages, int(s.gone), from, tokens, o)
	s.committed = upTo
	for _, g := range r.ghosts {
		if g != i {
			r.crossGhost(now, g, i, from, int(upTo))
		}
	}
}

// sync brings a running act's rows up to what it has generated by now.
func (r *replay) sync(now micros, i int32) {
	a := &r.acts[i]
	j := &r.jobs[a.job]
	if r.state[i].phase != runningPhase || j.answer < 2 {
		return
	}
	steps := micros(j.answer - 1)
	pace := max((a.end-max(a.first, 0))/steps, 1)
	r.commit(now, i, j.prompt+int32(min((now-a.first)/pace, steps)))
}

package pairing

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// slowRank is the allocator and its memory as the domain sheet tells them: a
// list of pages, a list of slots, and a look at every request for what happens
// next.
type slowRank struct {
	rank         rank
	jobs         []job
	acts         []act
	free, staged []int
	slots        [][2]int // owner and token, by page*pageSize+slot
	reqs         []*slowRequest
	waiting      []int
	attending    map[int][]int // requests by page that offload released under them
	log          []told
}

// told is one thing that a replay tells: what, about which act, and two numbers
// more.
type told [4]int

const (
	took    = iota // act, n-th page, page
	has            // act, slot of its prompt, owner and token
	attends        // act, source, row of the source
	hit            // act, source, row of the source that landed in it
)

type slowRequest struct {
	pages    []int
	freed    int // leading pages that offload released
	ghost    []int
	rows     int // of its sequence in memory
	reserved bool
	running  bool
	over     bool
	landed   bool
	moved    bool // offload has happened
	step     int  // of the next page it needs
}

func newSlow(k rank, jobs []job, acts []act) *slowRank {
	s := &slowRank{rank: k, jobs: jobs, acts: acts, attending: map[int][]int{}}
	for p := k.handedOut + 1; p <= k.pages; p++ {
		s.free = append(s.free, p)
	}
	for p := 1; p <= k.handedOut; p++ {
		s.staged = append(s.staged, p)
	}
	s.slots = make([][2]int, (k.pages+1)*k.pageSize)
	for i := range s.slots {
		s.slots[i] = [2]int{int(k.before), i % k.pageSize}
	}
	for range acts {
		s.reqs = append(s.reqs, &slowRequest{})
	}
	return s
}

func (s *slowRank) merge() {
	if len(s.staged) > 0 {
		s.free = append(s.free, s.staged...)
		s.staged = nil
		slices.Sort(s.free)
	}
}

func (s *slowRank) release(pages []int) {
	pages = slices.Clone(pages)
	slices.Sort(pages)
	if s.rank.policy == Sweep {
		s.staged = append(pages, s.staged...)
	} else {
		s.free = append(pages, s.free...)
	}
}

func (s *slowRank) decodeStep() {
	n := 0
	for _, q := range s.reqs {
		if q.running {
			n++
		}
	}
	if s.rank.policy == Sweep && n > len(s.free) {
		s.merge()
	}
}

// growthStep gives the decode step at which a request needs its next page.
func (s *slowRank) growthStep(i int) int {
	q := s.reqs[i]
	j := s.jobs[s.acts[i].job]
	for step := q.step; step < int(j.answer)-1; step++ {
		if (int(j.prompt)+step)%s.rank.pageSize == 0 {
			return step
		}
	}
	return -1
}

func (s *slowRank) stepAt(i, step int) micros {
	a, steps := s.acts[i], micros(s.jobs[s.acts[i].job].answer-1)
	return a.first + (a.end-a.first)/steps*micros(step)
}

// next gives what happens next to request i, and when.
func (s *slowRank) next(i int, now micros) (at micros, kind eventKind) {
	a, q := s.acts[i], s.reqs[i]
	switch {
	case q.over && a.lateAt != never && q.reserved && !q.landed:
		return max(a.lateAt, now), lands
	case q.over || !q.reserved:
		return never, ends
	case !q.running && a.first < a.end:
		return max(a.first, now), starts
	case !q.running:
		return a.end, ends
	}
	at, kind = a.end, ends
	if step := s.growthStep(i); step >= 0 {
		at, kind = s.stepAt(i, step), grows
	}
	at = max(at, now)
	if off := (event{at: max(a.offloadAt, now), kind: offloads}); a.offloadAt < a.end && !q.moved && off.before(event{at: at, kind: kind}) {
		at, kind = off.at, offloads
	}
	return at, kind
}

func (s *slowRank) run() {
	arrived := 0
	now := micros(0)
	for {
		best := event{at: never, act: -1}
		for i := range s.reqs {
			if at, kind := s.next(i, now); at != never {
				if e := (event{at: at, act: int32(i), kind: kind}); best.act < 0 || e.before(best) {
					best = e
				}
			}
		}
		if arrived < len(s.acts) && s.acts[arrived].reserve < best.at {
			now = s.acts[arrived].reserve
			s.waiting = append(s.waiting, arrived)
			arrived++
			s.admit(now)
			continue
		}
		if best.act < 0 {
			return
		}
		now = best.at
		s.do(now, int(best.act), best.kind)
	}
}

func (s *slowRank) admit(now micros) {
	for len(s.waiting) > 0 {
		i := s.waiting[0]
		a, q := s.acts[i], s.reqs[i]
		if a.end <= now {
			q.over = true
			s.waiting = s.waiting[1:]
			continue
		}
		prompt := int(s.jobs[a.job].prompt)
		others := 0
		for _, o := range s.reqs {
			if o.reserved && !o.over {
				others++
			}
		}
		if others > 0 && prompt+s.rank.headroom > (len(s.free)+len(s.staged))*s.rank.pageSize-s.rank.headroom*others {
			return
		}
		if s.rank.policy == Sweep && prompt/s.rank.pageSize+2 > len(s.free) {
			s.merge()
		}
		pages := (prompt + s.rank.pageSize - 1) / s.rank.pageSize
		if pages > len(s.free) {
			return
		}
		s.waiting = s.waiting[1:]
		q.pages, s.free = slices.Clone(s.free[:pages]), s.free[pages:]
		q.reserved = true
		for n, page := range q.pages {
			s.log = append(s.log, told{took, i, n, page})
		}
		for at := range prompt {
			if at >= s.rank.pageSize && s.jobs[a.job].placeholder {
				slot := s.slots[q.pages[at/s.rank.pageSize]*s.rank.pageSize+at%s.rank.pageSize]
				s.log = append(s.log, told{has, i, at, slot[0]<<32 + slot[1]})
			}
		}
		s.decodeStepIfRunning()
	}
}

func (s *slowRank) decodeStepIfRunning() {
	for _, q := range s.reqs {
		if q.running {
			s.decodeStep()
			return
		}
	}
}

// writeRows puts rows of request i up to position upTo into memory.
func (s *slowRank) writeRows(i, upTo int) {
	q := s.reqs[i]
	for ; q.rows < upTo; q.rows++ {
		page := q.pages[q.rows/s.rank.pageSize-q.freed]
		s.slots[page*s.rank.pageSize+q.rows%s.rank.pageSize] = [2]int{int(s.acts[i].job), q.rows}
		for _, g := range s.attending[page] {
			if g != i && s.reqs[g].running && s.reqs[g].ghost != nil {
				s.log = append(s.log, told{attends, g, i, q.rows})
			}
		}
	}
}

func (s *slowRank) sync(now micros, i int) {
	a, j := s.acts[i], s.jobs[s.acts[i].job]
	if s.reqs[i].running && j.answer > 1 {
		pace := max((a.end-a.first)/micros(j.answer-1), 1)
		s.writeRows(i, int(j.prompt)+int(min((now-a.first)/pace, micros(j.answer-1))))
	}
}

func (s *slowRank) do(now micros, i int, kind eventKind) {
	a, q := s.acts[i], s.reqs[i]
	j := s.jobs[a.job]
	ps := s.rank.pageSize
	switch kind {
	case starts:
		q.running = true
		if j.placeholder {
			for slot := range ps {
				s.slots[q.pages[0]*ps+slot] = [2]int{int(unknown), slot}
			}
			s.slots[q.pages[0]*ps] = [2]int{int(a.job), 0}
			q.rows = int(j.prompt)
		} else {
			s.writeRows(i, int(j.prompt))
		}
		s.decodeStep()
	case grows:
		q.step = s.growthStep(i) + 1
		s.decodeStep()
		if len(s.free) > 0 {
			q.pages, s.free = append(q.pages, s.free[0]), s.free[1:]
		} else {
			panic("the pool of a random history ran dry")
		}
	case ends:
		if q.running {
			s.writeRows(i, int(j.prompt)+max(int(j.answer), 1)-1)
		} else if !j.placeholder {
			s.writeRows(i, int(a.landed))
		}
		if q.ghost != nil {
			for h, other := range s.reqs {
				if h != i && other.running && slices.ContainsFunc(other.pages, func(p int) bool { return slices.Contains(q.ghost, p) }) {
					s.sync(now, h)
				}
			}
			q.ghost = nil
		}
		q.running, q.over = false, true
		s.release(q.pages)
		s.admit(now)
	case offloads:
		q.moved = true
		if n := int(j.prompt) / ps; n > 0 {
			q.ghost, q.pages, q.freed = q.pages[:n], q.pages[n:], n
			for _, page := range q.ghost {
				s.attending[page] = append(s.attending[page], i)
			}
			s.release(q.ghost)
			s.admit(now)
		}
	case lands:
		q.landed = true
		for at := int(a.landed); at < int(j.prompt); at++ {
			page := q.pages[at/ps]
			for h, other := range s.reqs {
				k := slices.Index(other.pages, page)
				if !other.running || k < 0 {
					continue
				}
				s.sync(now, h)
				if (k+other.freed)*ps+at%ps < other.rows {
					s.log = append(s.log, told{hit, h, i, at})
				}
			}
		}
		for at := int(a.landed); at < int(j.prompt); at++ {
			s.slots[q.pages[at/ps]*ps+at%ps] = [2]int{int(a.job), at}
		}
	}
}

// spelled writes down what the fast replay tells, slot by slot.
type spelled struct{ log []told }

func (s *spelled) reserved(_ micros, i int32, pages []run, r *replay) {
	prompt, n := int(r.jobs[r.acts[i].job].prompt), 0
	for _, p := range pages {
		for page := p.start; page < p.start+p.count; page++ {
			s.log = append(s.log, told{took, int(i), n, int(page)})
			if at := n * r.rank.pageSize; n > 0 && r.jobs[r.acts[i].job].placeholder {
				r.mem.read(page, 0, min(r.rank.pageSize, prompt-at), func(o owner, token, slots int) {
					for k := range slots {
						s.log = append(s.log, told{has, int(i), at, int(o)<<32 + token + k})
						at++
					}
				})
			}
			n++
		}
	}
}

func (s *spelled) crossed(_ micros, recipient, source int32, late bool, token, slots int) {
	kind := attends
	if late {
		kind = hit
	}
	for n := range slots {
		s.log = append(s.log, told{kind, int(recipient), int(source), token + n})
	}
}

// history draws requests that crowd a small pool, with all that can befall
// them.
func history(rng *rand.Rand) (rank, []job, []act) {
	k := rank{policy: Sweep, pageSize: 1 + rng.IntN(9), before: nobody, headroom: rng.IntN(30)}
	k.pages = 150 + rng.IntN(150)
	switch rng.IntN(4) {
	case 0:
		k.policy = LIFO
	case 1, 2:
		k.before, k.handedOut = unknown, rng.IntN(k.pages)
	}
	var jobs []job
	var acts []act
	at := micros(0)
	for i := range 10 + rng.IntN(60) {
		at += micros(1 + rng.Int64N(400))
		j := job{prompt: int32(1 + rng.IntN(k.pages*k.pageSize/12)), answer: int32(rng.IntN(3 * k.pageSize))}
		a := act{job: int32(i), reserve: at, first: at + micros(1+rng.Int64N(300)), lateAt: never, offloadAt: never}
		a.end = a.first + micros(1+rng.Int64N(2000))
		switch rng.IntN(12) {
		case 0: // aborted before its KV had come
			a.end, a.first, a.landed = a.first, never, rng.Int32N(j.prompt+1)
			if rng.IntN(2) == 0 {
				a.lateAt = a.end + micros(rng.Int64N(900))
			}
		case 1:
			a.offloadAt = a.first + (a.end-a.first)*micros(rng.Int64N(100))/100
		case 2, 3:
			j = job{prompt: int32(k.pageSize*(k.pages/4) + rng.IntN(k.pages*k.pageSize/2)), answer: j.answer, placeholder: true}
		}
		jobs, acts = append(jobs, j), append(acts, a)
	}
	return k, jobs, acts
}

func TestReplayAgreesWithSlowModel(t *testing.T) {
	var fast replay
	var counts [4]int
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		k, jobs, acts := history(rng)
		slow := newSlow(k, jobs, acts)
		if !slow.survives() {
			continue
		}
		var fastLog spelled
		fast.reset(k, jobs, acts, &fastLog)
		fast.run(never-1, nil)
		for _, line := range slow.log {
			counts[line[0]]++
		}
		if got, want := inOrder(fastLog.log), inOrder(slow.log); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the replay tells %v, the slow model does not; it tells %v", seed, firstBeyond(got, want), firstBeyond(want, got))
		}
		for page := 1; page <= k.pages; page++ {
			var got [][2]int
			fast.mem.read(uint32(page), 0, k.pageSize, func(o owner, token, slots int) {
				for n := range slots {
					got = append(got, [2]int{int(o), token + n})
				}
			})
			want := slow.slots[page*k.pageSize : (page+1)*k.pageSize]
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d page %d: the replay leaves %v, the slow model %v", seed, page, got, want)
			}
		}
	}
	for kind, n := range counts {
		if n < 10_000 {
			t.Errorf("histories tell only %d things of kind %d: too few to prove anything", n, kind)
		}
	}
}

// survives runs the slow model and tells whether the pool sufficed.
func (s *slowRank) survives() (ok bool) {
	defer func() { ok = recover() == nil }()
	s.run()
	return true
}

// inOrder drops the order in which things of one instant are told.
func inOrder(log []told) []told {
	slices.SortFunc(log, func(a, b told) int { return slices.Compare(a[:], b[:]) })
	return log
}

func firstBeyond(a, b []told) any {
	for i, line := range a {
		if i >= len(b) || line != b[i] {
			return line
		}
	}
	return "nothing more"
}

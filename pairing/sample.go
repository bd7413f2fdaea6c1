package pairing

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	millisecond = micros(time.Millisecond / time.Microsecond)
	// usualPace is the time of a decode step where a request's own times do not
	// tell it.
	usualPace = 20 * millisecond
)

// ordering is one drawn history of a window.
type ordering struct {
	jobs []job
	acts []act
	rows []int32 // by job: index of its row, -1: a lost request
}

// sampler draws orderings of one window.
type sampler struct {
	w       *window
	rng     *rand.Rand
	prompts []int64 // of the window's rows, for those that state none
	suspect map[place]float64
	o       ordering
}

func newSampler(w *window, suspects []suspect) *sampler {
	s := &sampler{w: w, suspect: map[place]float64{}}
	for i := range suspects {
		if suspects[i].defect == oversizePlaceholder {
			s.suspect[suspects[i].place] = suspects[i].probability
		}
	}
	for i := range w.rows {
		if r := &w.rows[i]; r.prompt.Known {
			s.prompts = append(s.prompts, r.prompt.V)
		}
	}
	return s
}

// draw gives the k-th ordering. What it returns holds until the next call.
func (s *sampler) draw(seed, k uint64) *ordering {
	s.rng = rand.New(rand.NewPCG(mix(seed, hash(s.w.key.node), uint64(s.w.key.rank), uint64(s.w.since)), k))
	o := &s.o
	o.jobs, o.acts, o.rows = o.jobs[:0], o.acts[:0], o.rows[:0]
	for i := range s.w.rows {
		if r := &s.w.rows[i]; s.here(r, seed, k) {
			s.add(int32(i), r, seed, k)
		}
	}
	slices.SortFunc(o.acts, func(a, b act) int { return cmp.Or(cmp.Compare(a.reserve, b.reserve), cmp.Compare(a.job, b.job)) })
	return o
}

// here draws whether a request was on this rank.
func (s *sampler) here(r *row, seed, k uint64) bool {
	if r.nodeKnown && (r.rankKnown || s.w.ranks == 1) {
		return true
	}
	return false
}

// add draws when a request did what.
func (s *sampler) add(i int32, r *row, seed, k uint64) {
	j := job{prompt: int32(s.promptOf(r))}
	if p, ok := s.suspect[r.place]; ok && uniform(seed, k, r.place) < p {
		j.placeholder = true
	}
	a := act{job: int32(len(s.o.jobs)), lateAt: never, offloadAt: never}
	a.first, a.end = s.served(r, &j)
	if !s.reserves(r, &j) {
		return
	}
	a.reserve = s.admitted(r, &j, min(a.first, a.end))
	a.end = max(a.end, a.reserve+1)
	if a.first == never {
		a.landed = s.rng.Int32N(j.prompt + 1)
		if s.rng.IntN(2) == 0 {
			a.landed = 0
		}
	}
	s.o.jobs, s.o.acts, s.o.rows = append(s.o.jobs, j), append(s.o.acts, a), append(s.o.rows, i)
}

// reserves tells whether a request reached the allocator at all.
func (s *sampler) reserves(r *row, j *job) bool {
	limit := s.w.boot.limit
	return j.prompt > 0 && (!limit.Known || int64(j.prompt) < limit.V)
}

func (s *sampler) promptOf(r *row) int64 {
	switch {
	case r.prompt.Known:
		return min(r.prompt.V, int64(s.w.boot.pages*s.w.boot.pageSize))
	case len(s.prompts) > 0:
		return s.prompts[s.rng.IntN(len(s.prompts))]
	}
	return 1
}

// served gives the instants of a request's first token and of its end, and
// notes how many tokens it generated.
func (s *sampler) served(r *row, j *job) (first, end micros) {
	jitter := micros(s.rng.Int64N(int64(3 * millisecond)))
	j.answer = int32(min(max(r.answer.V, 0), 1<<24))
	switch {
	case r.finished.Known:
		end = r.finished.V - jitter
	case r.first.Known:
		end = r.first.V + micros(j.answer)*usualPace
	default:
		end = r.received + micros(j.answer)*usualPace + second
	}
	end = max(end, r.received+2)
	switch {
	case r.first.Known:
		first = r.first.V
	case r.aborted && j.answer == 0, r.status >= 500 && j.answer == 0:
		return never, end
	default:
		// Its first token came before the rest of its answer.
		span := end - r.received
		first = end - min(micros(j.answer)*usualPace, span*9/10)
	}
	first = max(first, r.received+1)
	if !r.answer.Known {
		j.answer = int32(min((end-first)/usualPace+1, 1<<20))
	}
	return min(first, end-1), end
}

// admitted draws the moment of pre-allocation, which no log holds: after the
// request has been read into tokens and before its KV comes.
func (s *sampler) admitted(r *row, j *job, before micros) micros {
	span := float64(before - r.received)
	delay := 2e3 + 8e3*s.rng.ExpFloat64() + float64(j.prompt)*(0.6+1.2*s.rng.Float64())
	return r.received + micros(min(delay, 0.95*span))
}

// mix hashes numbers into one.
func mix(numbers ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, n := range numbers {
		h ^= n + 0x9e3779b97f4a7c15 + h<<6 + h>>2
		h ^= h >> 32
		h *= 0xd6e8feb86659fd93
		h ^= h >> 32
	}
	return h
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// uniform draws in [0, 1) for one request and ordering, the same on every rank.
func uniform(seed, k uint64, p place) float64 {
	return float64(mix(seed, k, uint64(p.source), uint64(p.line))>>11) / (1 << 53)
}

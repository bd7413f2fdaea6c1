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
	// usualReading is the time, in µs, that a tokenizer takes for a token.
	usualReading = 1.5
)

// ordering is one drawn history of a window.
type ordering struct {
	jobs []job
	acts []act
	rows []int32 // by job: index of its row, -1: a lost request
}

// wait is how long a request waited for its first token.
type wait struct {
	prompt int64
	time   micros
}

// sampler draws orderings of one window.
type sampler struct {
	w            *window
	rng          *rand.Rand
	latent       *latent
	prompts      []int64           // of the window's rows, for those that state none
	suspect      map[place]float64 // probability that a row ran as a placeholder
	waits        []wait            // of the window's rows, by size
	reading      float64           // µs that a token of prompt takes to be read
	trigger      map[flag]*trigger
	unseen       []int32 // known requests that no anchor would have shown
	seen         int     // and the others
	lost         float64 // lost requests, summed over orderings
	lostSuspects float64 // of them, those of which only a placeholder can have come
	o            ordering
}

func (p *planner) newSampler(w *window, seed uint64) *sampler {
	s := &sampler{w: w, trigger: p.trigger, suspect: map[place]float64{}, latent: p.newLatent(w)}
	s.rng = rand.New(rand.NewPCG(mix(seed, hash(w.key.node), uint64(w.key.rank)), uint64(w.since)))
	for i := range p.suspects {
		if x := &p.suspects[i]; x.defect == oversizePlaceholder {
			s.suspect[x.place] = x.probability
		}
	}
	for i := range w.rows {
		r := &w.rows[i]
		if r.prompt.Known {
			s.prompts = append(s.prompts, r.prompt.V)
			if r.first.Known {
				s.waits = append(s.waits, wait{r.prompt.V, r.first.V - r.received})
			}
		}
		if !w.here(r) || !w.reserves(r) {
			continue
		}
		if a := s.latent.a; a.found && a.shown[i] {
			s.seen++
		} else {
			s.unseen = append(s.unseen, int32(i))
		}
	}
	s.learnReading()
	slices.SortStableFunc(s.waits, func(a, b wait) int { return cmp.Compare(a.prompt, b.prompt) })
	s.latent.begin(s.rng)
	for range settling {
		s.latent.sweep()
	}
	return s
}

// draw gives the k-th ordering. What it returns holds until the next call.
func (s *sampler) draw(seed uint64, k int) *ordering {
	o := &s.o
	o.jobs, o.acts, o.rows = o.jobs[:0], o.acts[:0], o.rows[:0]
	s.latent.sweep()
	for i := range s.w.rows {
		if r := &s.w.rows[i]; s.w.here(r) {
			s.add(int32(i), r, seed, k)
		}
	}
	for i := range s.latent.candidates {
		if c := &s.latent.candidates[i]; c.here {
			s.add(c.row, &s.w.rows[c.row], seed, k)
		}
	}
	s.addLost()
	slices.SortFunc(o.acts, func(a, b act) int { return cmp.Or(cmp.Compare(a.reserve, b.reserve), cmp.Compare(a.job, b.job)) })
	return o
}

// addLost adds requests that no row tells of: those whose pages show in the
// rank's figures, and in proportion to them those that would not have shown.
func (s *sampler) addLost() {
	shown := s.latent.phantoms()
	for _, p := range shown {
		s.addPhantom(p)
	}
	n := s.poisson(s.lossRate(len(shown)) * float64(len(s.unseen)))
	for range n {
		like := &s.w.rows[s.unseen[s.rng.IntN(len(s.unseen))]]
		t := nominal(like)
		shift := micros((s.rng.Float64()*2 - 1) * float64(tenMinutes))
		prompt := s.promptOf(like)
		p := phantom{from: t.reserve + shift, to: t.reserve + shift + 1, until: t.end + shift, by: t.end + shift + 1}
		p.pages = float64(prompt) / float64(s.w.boot.pageSize)
		p.pagesAtEnd = float64(prompt+t.answer) / float64(s.w.boot.pageSize)
		s.addPhantom(p)
	}
	s.lost += float64(len(shown) + n)
}

// lossRate draws the share of requests that the rows lack, given how many of
// those that would show are lost.
func (s *sampler) lossRate(shown int) float64 {
	if s.seen == 0 {
		// Nothing tells whether rows are lost: as likely as not they are whole.
		if s.rng.IntN(2) == 0 {
			return 0
		}
		return 0.01 * s.rng.ExpFloat64()
	}
	return float64(shown) / float64(s.seen)
}

func (s *sampler) poisson(mean float64) (n int) {
	for at := s.rng.ExpFloat64(); at < mean; at += s.rng.ExpFloat64() {
		n++
	}
	return n
}

func (s *sampler) addPhantom(p phantom) {
	ps := float64(s.w.boot.pageSize)
	limit := float64(s.w.boot.pages)
	j := job{prompt: int32(max(1, min(p.pages, limit)*ps)), answer: 1, lost: true}
	if grown := min(p.pagesAtEnd, limit) - p.pages; grown > 0 {
		j.answer += int32(grown * ps)
	}
	// More than any prefill node takes: only its placeholder can have come.
	if x := s.w.boot.prefillLimit; x.Known && int64(j.prompt) >= x.V {
		j.placeholder = true
		s.lostSuspects++
	}
	a := act{job: int32(len(s.o.jobs)), lateAt: never, offloadAt: never}
	a.reserve = p.from + micros(s.rng.Float64()*float64(p.to-p.from))
	a.end = max(a.reserve+2, p.until+micros(s.rng.Float64()*float64(p.by-p.until)))
	a.first = min(a.reserve+50*millisecond, a.end-1)
	s.o.jobs, s.o.acts, s.o.rows = append(s.o.jobs, j), append(s.o.acts, a), append(s.o.rows, -1)
}

// add draws when a request did what.
func (s *sampler) add(i int32, r *row, seed uint64, k int) {
	j := job{prompt: int32(s.promptOf(r))}
	if p, ok := s.suspect[r.place]; ok && uniform(seed, uint64(k), r.place) < p {
		j.placeholder = true
	}
	a := act{job: int32(len(s.o.jobs)), lateAt: never, offloadAt: never}
	a.first, a.end = s.served(r, &j)
	if !s.w.reserves(r) && r.prompt.Known {
		return
	}
	delay := s.admission(&j)
	switch span := min(a.first, a.end) - r.received; {
	case a.first != never:
		delay = min(delay, span*19/20)
	case delay >= span:
		return // it ended before it had taken pages
	}
	a.reserve = r.received + delay
	a.end = max(a.end, a.reserve+1)
	if a.first == never {
		s.leave(&a, &j, r)
	}
	if t := s.trigger[flag{r.place, offloadSlotReuse}]; t != nil && a.first < a.end && s.rng.Float64() < t.probability {
		a.offloadAt = a.first + micros(s.rng.Float64()*float64(a.end-a.first))
	}
	s.o.jobs, s.o.acts, s.o.rows = append(s.o.jobs, j), append(s.o.acts, a), append(s.o.rows, i)
}

// leave draws how much KV of a request that ended before its first token had
// come by then, and when the rest landed in pages that were not its own any more.
func (s *sampler) leave(a *act, j *job, r *row) {
	a.landed = s.rng.Int32N(j.prompt + 1)
	if s.rng.IntN(2) == 0 {
		a.landed = 0
	}
	t := s.trigger[flag{r.place, abortLateWrite}]
	if t == nil {
		return
	}
	began := r.received + s.usualWait(r.prompt.V)
	switch {
	case t.landed.Known && t.landed.V > a.end:
		a.lateAt = t.landed.V
		began = min(began, a.end-micros(s.rng.Float64()*float64(a.end-a.reserve)))
	case t.landed.Known, began > a.end:
		return // its writes were over, or had not begun
	default:
		a.lateAt = a.end + micros(s.rng.Float64()*float64(flightWindow))
	}
	pages := float64(j.prompt) / float64(s.w.boot.pageSize) * float64(a.end-began) / float64(a.lateAt-began)
	a.landed = min(int32(pages)*int32(s.w.boot.pageSize), j.prompt)
}

// usualWait draws how long a request of that size waits for its KV.
func (s *sampler) usualWait(prompt int64) micros {
	const similar = 16
	if len(s.waits) == 0 {
		return micros(prompt) * 50
	}
	i, _ := slices.BinarySearchFunc(s.waits, prompt, func(w wait, prompt int64) int { return cmp.Compare(w.prompt, prompt) })
	i += s.rng.IntN(2*similar+1) - similar
	return s.waits[min(max(i, 0), len(s.waits)-1)].time
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

// admission draws how long after its arrival a request is pre-allocated, which
// no log holds: once it has been read into tokens, and before its KV comes.
func (s *sampler) admission(j *job) micros {
	return micros(2e3 + 4e3*s.rng.ExpFloat64() + float64(j.prompt)*s.reading*(0.6+0.5*s.rng.Float64()))
}

// learnReading tells how long a token of prompt takes to be read: placeholders
// wait for little else.
func (s *sampler) learnReading() {
	s.reading = usualReading
	var list []float64
	for i := range s.w.rows {
		if r := &s.w.rows[i]; r.first.Known && s.suspect[r.place] > 0.5 {
			list = append(list, float64(r.first.V-r.received)/float64(r.prompt.V))
		}
	}
	if len(list) > 0 {
		slices.Sort(list)
		s.reading = list[len(list)/2]
	}
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

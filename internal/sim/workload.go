package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"kvforensics/internal/evidence"
)

// kind says what a request was injected for.
type kind uint8

const (
	ordinary kind = iota
	oversizeServed
	oversizeBoth
	oversizeSmall
	oversizeLength
	unifiedServed
	unifiedRefused
	probe
)

// arrival is a request as the client sends it.
type arrival struct {
	at       micros
	kind     kind
	tenant   int32
	session  uint64
	shared   int // leading tokens that the session's last prompt had
	prompt   int
	maxNew   int
	answer   int // tokens that the model would write
	apiKey   uint8
	streamed bool
}

// Streams of random numbers. Each part of the simulation has its own, so that
// a change in one leaves the others as they were.
const (
	streamArrivals = iota + 1
	streamCluster
	streamTenants
	streamDamage
	streamSpecials
)

func newRand(seed uint64, stream, part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream<<32|part))
}

// workload gives arrivals in order of time.
type workload struct {
	cfg      *Config
	sources  []arrivals
	pending  []arrival // the next one of each source
	alive    []bool
	sessions sessionTable
	tenants  zipf
	rng      *rand.Rand
}

// arrivals gives the next arrival of one kind; ok is false after the last.
type arrivals interface {
	next() (a arrival, ok bool, err error)
}

func newWorkload(cfg *Config) (*workload, error) {
	w := &workload{
		cfg:      cfg,
		rng:      newRand(cfg.Seed, streamArrivals, 0),
		tenants:  newZipf(cfg.Tenants, cfg.Load.TenantSkew),
		sessions: newSessionTable(cfg.Tenants),
	}
	plain := cfg.Requests - cfg.Limits.total()
	if cfg.Trace == "" {
		w.sources = append(w.sources, &synthetic{w: w, times: newTimes(cfg, plain, newRand(cfg.Seed, streamArrivals, 1))})
	} else {
		t, err := openTrace(cfg, plain)
		if err != nil {
			return nil, err
		}
		w.sources = append(w.sources, &traced{w: w, trace: t})
	}
	specials, err := w.specials()
	if err != nil {
		return nil, err
	}
	w.sources = append(w.sources, specials...)
	w.pending = make([]arrival, len(w.sources))
	w.alive = make([]bool, len(w.sources))
	for i := range w.sources {
		if err := w.refill(i); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *workload) close() error {
	if t, ok := w.sources[0].(*traced); ok {
		return t.trace.close()
	}
	return nil
}

func (w *workload) refill(i int) (err error) {
	w.pending[i], w.alive[i], err = w.sources[i].next()
	return err
}

// next gives the earliest arrival that is left.
func (w *workload) next() (arrival, bool, error) {
	best := -1
	for i, alive := range w.alive {
		if alive && (best < 0 || w.pending[i].at < w.pending[best].at) {
			best = i
		}
	}
	if best < 0 {
		return arrival{}, false, nil
	}
	a := w.pending[best]
	err := w.refill(best)
	return a, true, err
}

// synthetic draws ordinary requests.
type synthetic struct {
	w     *workload
	times *times
}

func (s *synthetic) next() (arrival, bool, error) {
	at, ok := s.times.next()
	if !ok {
		return arrival{}, false, nil
	}
	l := &s.w.cfg.Load
	a := s.w.draw(at)
	prompt := l.prompt(s.w.rng)
	if last := s.w.sessions.resume(s.w, &a); last != nil {
		a.shared = last.prompt
		turn := 20 + int(200*s.w.rng.ExpFloat64())
		prompt = last.prompt + last.answer + turn
	}
	a.prompt = min(prompt, l.PromptMax)
	a.shared = min(a.shared, a.prompt-1)
	s.w.sessions.note(&a)
	return a, true, nil
}

// draw fills in what does not depend on the prompt.
func (w *workload) draw(at micros) arrival {
	l := &w.cfg.Load
	a := arrival{
		at:       at,
		tenant:   int32(w.tenants.draw(w.rng)),
		maxNew:   l.AnswerMax,
		answer:   l.answer(w.rng),
		apiKey:   uint8(w.rng.IntN(3)),
		streamed: w.rng.Float64() < 0.85,
	}
	return a
}

func (l *Load) prompt(rng *rand.Rand) int {
	if rng.Float64() < l.TailShare {
		return int(l.TailFrom * math.Pow(1-rng.Float64(), -1/l.TailIndex))
	}
	return 8 + int(l.PromptMedian*math.Exp(l.PromptSigma*rng.NormFloat64()))
}

func (l *Load) answer(rng *rand.Rand) int {
	n := 1 + int(l.AnswerMedian*math.Exp(l.AnswerSigma*rng.NormFloat64()))
	return min(n, l.AnswerMax)
}

// injected draws prompts of a certain range for one purpose.
type injected struct {
	w      *workload
	times  *times
	rng    *rand.Rand
	kind   kind
	lo, hi int // tokens, hi excluded
}

func (s *injected) next() (arrival, bool, error) {
	at, ok := s.times.next()
	if !ok {
		return arrival{}, false, nil
	}
	l := &s.w.cfg.Load
	return arrival{
		at:       at,
		kind:     s.kind,
		tenant:   int32(s.w.tenants.draw(s.rng)),
		prompt:   s.lo + s.rng.IntN(s.hi-s.lo),
		maxNew:   l.AnswerMax,
		answer:   l.answer(s.rng),
		apiKey:   uint8(s.rng.IntN(3)),
		streamed: true,
	}, true, nil
}

// specials sets up the injected prompts from the limits of the nodes.
func (w *workload) specials() ([]arrivals, error) {
	cfg := w.cfg
	limits := limitsOf(cfg)
	var all []arrivals
	add := func(k kind, n, lo, hi int, what string) error {
		if n == 0 {
			return nil
		}
		if lo >= hi {
			return fmt.Errorf("simulate: no prompt length is %s on these nodes", what)
		}
		part := uint64(k)
		all = append(all, &injected{
			w: w, kind: k, lo: lo, hi: hi,
			rng:   newRand(cfg.Seed, streamSpecials, part),
			times: newTimes(cfg, n, newRand(cfg.Seed, streamSpecials, 100+part)),
		})
		return nil
	}
	ctx, o := cfg.Engine.ContextLen, cfg.Limits
	for _, err := range []error{
		add(oversizeServed, o.Served, limits.prefillMax, limits.decodeServes, "over a prefill node's limit and under a decode node's"),
		add(oversizeBoth, o.RefusedBoth, max(limits.prefillMax, limits.decodeMax), ctx, "over both limits and under the context length"),
		add(oversizeSmall, o.RefusedSmall, limits.decodeMinAtMost, min(ctx, limits.decodeServes), "refused by the smallest decode node alone"),
		add(oversizeLength, o.RefusedLength, ctx, ctx+ctx/8, "over the context length"),
		add(unifiedServed, o.Unified, limits.prefillMin, limits.unified, "long and served by a unified node"),
		add(unifiedRefused, o.UnifiedRefuse, limits.unified, ctx, "refused by a unified node"),
	} {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// nodeLimits are input limits in tokens over the nodes of each role.
type nodeLimits struct {
	prefillMin, prefillMax     int
	decodeServes, decodeMax    int // of the largest decode node, whatever a restart measures
	decodeMin, decodeMinAtMost int // of the smallest, likewise
	unified                    int // of the largest
}

func limitsOf(cfg *Config) nodeLimits {
	l := nodeLimits{prefillMin: math.MaxInt, decodeMin: math.MaxInt, decodeMinAtMost: math.MaxInt}
	for _, n := range cfg.Nodes {
		m := inputLimit(cfg.Engine.ContextLen, n.PoolTokens)
		switch n.Role {
		case evidence.RolePrefill:
			l.prefillMin, l.prefillMax = min(l.prefillMin, m), max(l.prefillMax, m)
		case evidence.RoleDecode:
			spread := int(float64(n.PoolTokens)*cfg.Engine.PoolJitter) + cfg.Engine.PageSize
			low := inputLimit(cfg.Engine.ContextLen, n.PoolTokens-spread)
			high := inputLimit(cfg.Engine.ContextLen, n.PoolTokens+spread)
			l.decodeMin, l.decodeServes = min(l.decodeMin, low), max(l.decodeServes, low)
			l.decodeMinAtMost, l.decodeMax = min(l.decodeMinAtMost, high), max(l.decodeMax, high)
		case evidence.RoleUnified:
			l.unified = max(l.unified, m)
		}
	}
	return l
}

// inputLimit is the M of the engine: prompts of M tokens or more are rejected.
func inputLimit(contextLen, pool int) int { return min(contextLen, pool) - 6 }

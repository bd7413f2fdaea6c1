package sim

import (
	"math"
	"slices"
)

// prefillState is what a request is to its prefill node.
type prefillState struct {
	handed      bool // pages are reserved on the decode side, so the prompt may be computed
	cached      int  // leading tokens found in the prefix cache
	computed    int  // tokens whose KV exists
	startedAt   micros
	entry       *prefix
	ownPages    []run // taken for what was not cached
	freedEarly  bool
	flying      bool // KV is being copied
	flightFrom  micros
	flightTo    micros
	lateFrom    int // tokens copied before an abort; the rest comes late
	freedTokens int // of the prompt, by offload on the decode side
}

// promptOn is the length of r's prompt on its prefill node.
func (r *request) promptOn() int {
	if r.placeholder || r.kind == probe {
		return 1
	}
	return r.prompt
}

// prefillRank is one data-parallel rank of a prefill node, or the prompt side
// of a unified one, which then has no pool of its own.
type prefillRank struct {
	pool
	node  *node
	index int
	cache prefixCache

	bootstrapping int // requests whose decode side has no pages yet
	queue         []*request
	inFlight      int // requests whose KV is being copied
	busy          bool
	freed         []*request // in flight, their pages already freed

	batchTokens int // of the last batch, for the throughput figure
	batchAt     micros
}

func newPrefillRank(n *node, index int) *prefillRank {
	p := &prefillRank{node: n, index: index, cache: newPrefixCache()}
	if !n.unified() {
		p.pool = newPool(n.c, n.pool, true)
	}
	return p
}

func (p *prefillRank) forget() {
	if p.alloc != nil {
		p.mem.forget()
	}
}

func (p *prefillRank) enqueue(now micros, r *request) {
	r.handed = true
	p.node.c.owners.hold(r.owner, 1) // it may write after the client has gone
	p.queue = append(p.queue, r)
	p.kick(now)
}

// probe sends a health check, which is a prompt of one token.
func (p *prefillRank) probe(now micros) {
	p.node.c.number++
	p.node.active++
	r := &request{arrival: arrival{kind: probe, prompt: 1}, number: p.node.c.number, owner: engine, p: p}
	p.node.log.probed(now)
	p.enqueue(now, r)
}

// chunk is the part of a prompt that one batch computes.
type chunk struct {
	req      *request
	from, to int
}

const maxBatchRequests = 32

// kick starts a batch if the node is idle and has work.
func (p *prefillRank) kick(now micros) {
	if p.busy {
		return
	}
	c := p.node.c
	var batch []chunk
	cachedTokens := 0
	for budget := c.cfg.Engine.ChunkedPrefill; len(p.queue) > 0 && budget > 0 && len(batch) < maxBatchRequests; {
		r := p.queue[0]
		if r.stage == done && r.kind != probe && r.computed == 0 {
			p.queue = slices.Delete(p.queue, 0, 1)
			p.part(r)
			continue
		}
		if r.computed == 0 {
			if !p.place(r) {
				break
			}
			r.startedAt = now
			cachedTokens += r.cached
			r.computed = r.cached
		}
		n := min(r.promptOn()-r.computed, budget)
		batch = append(batch, chunk{r, r.computed, r.computed + n})
		budget -= p.node.ceilPage(n)
		r.computed += n
		if r.computed < r.promptOn() {
			break
		}
		p.queue = slices.Delete(p.queue, 0, 1)
	}
	if len(batch) == 0 {
		return
	}
	p.busy = true
	p.node.log.prefillBatch(now, p, batch, cachedTokens)
	c.at(now+c.computeTime(batch), func(now micros) { p.batchDone(now, batch) })
}

func (n *node) ceilPage(tokens int) int {
	ps := n.c.cfg.Engine.PageSize
	return (tokens + ps - 1) / ps * ps
}

// computeTime is the cost of a batch. Noise only ever adds to it.
func (c *cluster) computeTime(batch []chunk) micros {
	l := &c.cfg.Load
	cost := 0.012 // s
	for _, k := range batch {
		from, to := float64(k.from), float64(k.to)
		cost += l.PrefillPerToken.Seconds()*(to-from) + l.PrefillSquare*(to*to-from*from)
	}
	return micros(cost * float64(second) * math.Exp(0.12*math.Abs(c.rng.NormFloat64())))
}

// place takes pages for the part of a prompt that is not cached, evicting what
// was used longest ago.
func (p *prefillRank) place(r *request) bool {
	if p.alloc == nil {
		return true
	}
	if r.promptOn() > 1 {
		r.entry, r.cached = p.cache.match(r.session, min(r.shared, r.prompt-1)/p.ps*p.ps)
		p.cache.lock(r.entry)
	}
	tokens := r.promptOn() - r.cached
	pages := p.pagesFor(tokens)
	for p.alloc.available() < pages {
		evicted := p.cache.evict()
		if evicted == nil {
			break
		}
		p.alloc.release(evicted)
	}
	var ok bool
	if r.ownPages, ok = p.alloc.extend(nil, pages, tokens, 1); !ok {
		p.cache.unlock(r.entry)
		r.entry, r.cached = nil, 0
	}
	return ok
}

// batchDone has the KV of a batch. Requests that are complete are copied to
// their decode nodes.
func (p *prefillRank) batchDone(now micros, batch []chunk) {
	p.busy = false
	for _, k := range batch {
		if r := k.req; k.to == r.promptOn() {
			p.complete(now, r)
		}
	}
	p.kick(now)
}

func (p *prefillRank) complete(now micros, r *request) {
	if p.alloc == nil {
		if r.stage == reserved {
			r.d.landed(now, r)
		}
		p.part(r)
		return
	}
	p.mem.write(r.ownPages, 0, r.promptOn()-r.cached, r.owner, r.cached)
	p.overwriteFreed(now, r)
	switch {
	case r.kind == probe:
		p.settle(now, r)
	case r.stage == done:
		p.node.log.transferFailed(now, p.index, r, "Aborted by AbortReq.")
		p.settle(now, r)
	default:
		p.fly(now, r)
	}
}

// settle ends what the prefill node has to do with r.
func (p *prefillRank) settle(now micros, r *request) {
	if !r.freedEarly {
		p.alloc.release(p.cache.insert(r, p.ps))
	}
	p.cache.unlock(r.entry)
	p.part(r)
	p.kick(now)
}

// part lets go of a request that was handed over.
func (p *prefillRank) part(r *request) {
	p.node.active--
	p.node.c.owners.drop(r.owner)
}

// fly begins to copy r's KV.
func (p *prefillRank) fly(now micros, r *request) {
	c := p.node.c
	faults := &c.cfg.Faults
	length := c.transferTime(r.promptOn())
	dice := c.rng.Float64()
	slow := second + micros(c.rng.Float64()*float64(faults.FlightWindow.Microseconds()-second))
	if r.kind == ordinary && !r.left {
		switch {
		case dice < faults.AbortInFlight:
			length = slow
			c.at(now+micros(c.rng.Float64()*float64(length)), r.abort)
		case dice < faults.AbortInFlight+faults.EarlyRelease:
			length = slow
			c.at(now+micros(c.rng.Float64()*0.5*float64(length)), func(now micros) { p.releaseEarly(now, r) })
		}
	}
	r.flying, r.flightFrom, r.flightTo = true, now, now+length
	p.inFlight++
	r.d.node.active++
	if r.placeholder && c.cfg.Engine.StateIndices {
		p.node.log.stateIndex(now, p.index, r.d.pagesFor(r.prompt))
	}
	c.at(r.flightTo, func(now micros) { p.landed(now, r) })
}

// landed is the end of the copy.
func (p *prefillRank) landed(now micros, r *request) {
	c := p.node.c
	failed := r.kind == ordinary && c.rng.Float64() < c.cfg.Faults.Error500
	r.flying = false
	p.inFlight--
	switch {
	case r.stage == done:
		p.node.log.transferFailed(now, p.index, r, "Aborted by AbortReq.")
		r.d.landLate(now, r)
	case failed:
		r.d.node.log.transferFailed(now, r.d.index, r, "Failed to get kvcache from prefill instance, it might be dead")
		r.d.withdraw(now, r)
		r.finish(c, now, 500, "error")
	default:
		if r.placeholder {
			r.d.receivePlaceholder(r, p.mem.rows(r.ownPages[0].start, nil))
		}
		p.node.log.prefilled(now, r)
		r.d.landed(now, r)
	}
	r.d.node.active--
	p.freed = slices.DeleteFunc(p.freed, func(f *request) bool { return f == r })
	p.settle(now, r)
}

// releaseEarly frees pages that are still being copied.
func (p *prefillRank) releaseEarly(now micros, r *request) {
	if !r.flying || r.stage == done {
		return
	}
	p.node.log.transferFailed(now, p.index, r, "Aborted by AbortReq.")
	r.freedEarly = true
	p.freed = append(p.freed, r)
	p.alloc.release(r.ownPages)
	p.kick(now)
}

// overwriteFreed notes which pages of copies that still run now hold r's rows.
func (p *prefillRank) overwriteFreed(now micros, r *request) {
	for _, f := range p.freed {
		total := p.pagesFor(f.prompt)
		overlap(f.ownPages, r.ownPages, func(_ uint32, i, j int) {
			i += f.cached / p.ps
			readAt := f.flightFrom + (f.flightTo-f.flightFrom)*micros(i+1)/micros(total)
			if f.stage != reserved || readAt <= now {
				return
			}
			written := min(p.ps, r.promptOn()-r.cached-j*p.ps)
			piece, ok := row{0, uint16(written), r.owner, uint32(r.cached + j*p.ps)}.cut(0, f.prompt-i*p.ps)
			if ok && r.kind != probe {
				f.exposure(AbortEarlyRelease).add(p.node.c, []row{piece}, 0, int(piece.to), false)
				f.patch(p.node.c, pageAt(f.pages, i), piece)
			}
		})
	}
}

// pageAt gives the i-th page of a list of runs.
func pageAt(runs []run, i int) uint32 {
	for _, r := range runs {
		if i < int(r.count) {
			return r.start + uint32(i)
		}
		i -= int(r.count)
	}
	panic("sim: page index out of range")
}

// bootstrapTimedOut ends the prefill side of a request that the decode side
// has refused.
func (p *prefillRank) bootstrapTimedOut(now micros, r *request) {
	p.bootstrapping--
	p.node.active--
	p.node.log.bootstrapTimedOut(now, p.index, r)
}

package sim

import "slices"

// pool is the KV memory of one rank and the allocator of its pages.
type pool struct {
	alloc  allocator
	mem    *memory
	tokens int
	pages  int
	ps     int
}

func newPool(c *cluster, tokens int, sorted bool) pool {
	ps := c.cfg.Engine.PageSize
	p := pool{tokens: tokens, pages: tokens / ps, ps: ps, mem: newMemory(tokens/ps, ps, c.owners)}
	if sorted {
		p.alloc = newSweep(p.pages, ps)
	} else {
		p.alloc = newLIFO(p.pages)
	}
	return p
}

// used counts the tokens of pages that are taken.
func (p *pool) used() int { return (p.pages - p.alloc.available()) * p.ps }

func (p *pool) pagesFor(tokens int) int { return (tokens + p.ps - 1) / p.ps }

// decodeRank is one data-parallel rank of a decode or unified node.
type decodeRank struct {
	pool
	node  *node
	index int

	waiting   []*request // for pages, first come first served
	transfers []*request // pages reserved, KV on its way
	inFlight  int        // prompt tokens of transfers
	running   []*request // the batch, in order of joining
	ghosts    []*request // running, with pages that offload has freed
	retracted int        // of the waiting ones
	joins     uint64

	// The batch runs in steps of equal length, until its composition changes:
	// step `step` begins at stepAt.
	step    int64
	stepAt  micros
	stepLen micros
	due     queue[dueStep]
	wakeAt  micros
	wakeGen uint32

	logStep   int64  // of the last Decode batch line
	logAt     micros // and its instant
	generated int    // tokens since then
}

// dueStep is a step at which a request needs a page or ends.
type dueStep struct {
	step  int64
	grows bool
	order uint64
	gen   uint32
	req   *request
}

func (a dueStep) Less(b dueStep) bool {
	switch {
	case a.step != b.step:
		return a.step < b.step
	case a.grows != b.grows:
		return !a.grows // ends come first: they free pages
	default:
		return a.order < b.order
	}
}

func newDecodeRank(n *node, index int) *decodeRank {
	return &decodeRank{node: n, index: index, pool: newPool(n.c, n.pool, !n.unified()), wakeAt: -1}
}

// room is how long the answer to a prompt may be, in tokens, as the engine
// clips it.
func (d *decodeRank) room(prompt int) int {
	longest := min(d.node.c.cfg.Engine.ContextLen, d.tokens) - 1
	return min(longest-prompt-1, d.tokens-d.node.ceilPage(prompt)-d.ps-1)
}

// enqueue lets r wait for its pages.
func (d *decodeRank) enqueue(now micros, r *request) {
	d.waiting = append(d.waiting, r)
	d.admit(now)
}

// reservedDecodeTokens is the engine's num_reserved_decode_tokens: what it
// keeps free for each admitted request to grow.
const reservedDecodeTokens = 512

// admit reserves pages for waiting requests until one does not fit.
func (d *decodeRank) admit(now micros) {
	for len(d.waiting) > 0 {
		r := d.waiting[0]
		tokens := r.prompt + max(r.produced-1, 0)
		others := len(d.running) + len(d.transfers)
		budget := d.alloc.available()*d.ps - reservedDecodeTokens*others
		if others > 0 && tokens+reservedDecodeTokens > budget {
			return
		}
		pages, ok := d.alloc.extend(nil, d.pagesFor(tokens), tokens, 1)
		if !ok {
			return
		}
		d.waiting = slices.Delete(d.waiting, 0, 1)
		r.pages = pages
		if r.produced > 0 {
			d.retracted--
			d.join(now, r)
			continue
		}
		r.stage, r.reservedAt = reserved, now
		d.transfers = append(d.transfers, r)
		d.inFlight += r.prompt
		if r.placeholder {
			d.exposeReserved(r)
		}
		r.p.bootstrapping--
		r.p.enqueue(now, r)
		d.rewake(now)
	}
}

// withdraw takes back a request that has not begun to run.
func (d *decodeRank) withdraw(now micros, r *request) {
	switch r.stage {
	case waiting:
		d.waiting = remove(d.waiting, r)
		if r.produced > 0 {
			d.retracted--
		} else {
			r.p.bootstrapping--
		}
	case reserved:
		d.endTransfer(r)
		d.alloc.release(r.pages)
	}
	d.admit(now)
}

func (d *decodeRank) endTransfer(r *request) {
	d.transfers = remove(d.transfers, r)
	d.inFlight -= r.prompt
}

func remove(list []*request, r *request) []*request {
	i := slices.Index(list, r)
	return slices.Delete(list, i, i+1)
}

// landed begins decoding: the KV is there, and with it the first token.
func (d *decodeRank) landed(now micros, r *request) {
	d.endTransfer(r)
	r.firstAt, r.produced = now+2*millisecond, 1
	d.join(now, r)
	d.scheduleOffload(now, r)
}

// join puts r into the batch from the next step on.
func (d *decodeRank) join(now micros, r *request) {
	d.catchUp(now)
	d.rebase(d.nextStep(now))
	d.joins++
	r.stage, r.joined, r.joinStep = running, d.joins, d.step
	r.gen++
	r.endStep = d.step + int64(r.target-r.produced)
	d.running = append(d.running, r)
	held := r.tokensHeld()
	d.due.push(dueStep{step: r.endStep, order: r.joined, gen: r.gen, req: r})
	d.growAt(r, d.step+int64((d.ps-held%d.ps)%d.ps))
	d.pace()
	d.rewake(now)
}

// growAt notes that r needs a page for its token of that step.
func (d *decodeRank) growAt(r *request, step int64) {
	if step < r.endStep {
		d.due.push(dueStep{step: step, grows: true, order: r.joined, gen: r.gen, req: r})
	}
}

// nextStep gives the first step that begins at or after now, and its instant.
func (d *decodeRank) nextStep(now micros) (int64, micros) {
	if len(d.running) == 0 {
		return d.step, now
	}
	n := (now - d.stepAt + d.stepLen - 1) / d.stepLen
	return d.step + max(n, 0), d.stepAt + max(n, 0)*d.stepLen
}

// rebase counts steps from a new origin, crediting the batch with the tokens
// of the steps in between.
func (d *decodeRank) rebase(step int64, at micros) {
	passed := int(step - d.step)
	if passed > 0 {
		for _, r := range d.running {
			r.produced += passed
		}
		d.generated += passed * len(d.running)
	}
	d.step, d.stepAt = step, at
}

// pace sets the length of a step for the present batch.
func (d *decodeRank) pace() {
	d.stepLen = 16*millisecond + 300*micros(len(d.running))
}

// stopSoon ends a running request after one more step.
func (d *decodeRank) stopSoon(now micros, r *request) {
	d.catchUp(now)
	step, _ := d.nextStep(now + 1)
	if r.stage != running || step+1 >= r.endStep {
		return
	}
	r.gen++
	r.endStep = step + 1
	d.due.push(dueStep{step: r.endStep, order: r.joined, gen: r.gen, req: r})
	held := r.tokensHeld() + int(step-d.step)
	d.growAt(r, step+int64((d.ps-held%d.ps)%d.ps))
	d.rewake(now)
}

// catchUp plays a step that begins now before anything else of this instant.
func (d *decodeRank) catchUp(now micros) {
	if d.wakeAt >= 0 && d.wakeAt <= now {
		d.wake(now)
	}
}

// sync brings the batch's token counts up to the step that runs now.
func (d *decodeRank) sync(now micros) {
	d.catchUp(now)
	if len(d.running) > 0 && now > d.stepAt {
		n := (now - d.stepAt) / d.stepLen
		d.rebase(d.step+n, d.stepAt+n*d.stepLen)
	}
}

// rewake schedules the next step at which something happens.
func (d *decodeRank) rewake(now micros) {
	d.wakeGen++
	d.wakeAt = -1
	if len(d.running) == 0 {
		return
	}
	for d.due.items[0].gen != d.due.items[0].req.gen {
		d.due.pop()
	}
	interval := int64(d.node.c.cfg.Engine.DecodeLogInterval)
	next := min(d.due.items[0].step, d.logStep+interval)
	if d.alloc.wantsStep(len(d.running)) {
		step, _ := d.nextStep(now + 1)
		next = min(next, step)
	}
	gen := d.wakeGen
	d.wakeAt = d.stepAt + (next-d.step)*d.stepLen
	d.node.c.at(d.wakeAt, func(now micros) {
		if gen == d.wakeGen {
			d.wake(now)
		}
	})
}

// wake plays the beginning of a step: the results of the last one, then new
// admissions, then the pages for this one.
func (d *decodeRank) wake(now micros) {
	d.wakeAt = -1
	d.rebase(d.step+(now-d.stepAt)/d.stepLen, now)
	d.finishDue(now)
	if d.step-d.logStep >= int64(d.node.c.cfg.Engine.DecodeLogInterval) {
		d.node.log.decodeBatch(now, d)
		d.logStep, d.logAt, d.generated = d.step, now, 0
	}
	d.admit(now)
	d.alloc.prepareStep(len(d.running))
	d.growDue(now)
	if len(d.running) > 0 {
		d.pace()
	}
	d.rewake(now)
}

// nextDue gives the request whose end (or page) is due at this step.
func (d *decodeRank) nextDue(grows bool) *request {
	for len(d.due.items) > 0 {
		top := d.due.items[0]
		stale := top.gen != top.req.gen
		if !stale && (top.step > d.step || top.grows != grows) {
			return nil
		}
		d.due.pop()
		if !stale {
			return top.req
		}
	}
	return nil
}

// finishDue ends requests; the pages of all that end in one step are released
// together.
func (d *decodeRank) finishDue(now micros) {
	var freed []run
	for r := d.nextDue(false); r != nil; r = d.nextDue(false) {
		freed = append(freed, d.leave(r)...)
		status, reason := 200, "stop"
		switch {
		case r.left:
			status, reason = 499, "abort"
		case r.produced >= r.maxNew || r.target < r.answer:
			reason = "length"
		}
		r.finish(d.node.c, now+millisecond, status, reason)
	}
	if freed != nil {
		d.alloc.release(freed)
	}
}

func (d *decodeRank) growDue(now micros) {
	for r := d.nextDue(true); r != nil; r = d.nextDue(true) {
		page, ok := d.alloc.grow()
		for !ok && d.retract(now, r) {
			d.alloc.prepareStep(len(d.running))
			page, ok = d.alloc.grow()
		}
		if !ok {
			d.alloc.release(d.leave(r))
			r.finish(d.node.c, now+millisecond, 500, "error")
			continue
		}
		r.pages = appendRun(r.pages, run{page, 1})
		d.growAt(r, d.step+int64(d.ps))
	}
}

// retract sets aside the request with the shortest answer in favour of r. Its
// rows return with it, so those with foreign rows are left alone.
func (d *decodeRank) retract(now micros, r *request) bool {
	var victim *request
	for _, v := range d.running {
		if v == r || v.left || v.placeholder || v.patches != nil || v.ghost != nil {
			continue
		}
		if victim == nil || v.produced <= victim.produced {
			victim = v
		}
	}
	if victim == nil {
		return false
	}
	d.alloc.release(d.leave(victim))
	victim.stage = waiting
	d.waiting = slices.Insert(d.waiting, 0, victim)
	d.retracted++
	d.node.log.retracted(now, d)
	return true
}

// leave takes r out of the batch, its rows now lying in memory, and gives the
// pages to release.
func (d *decodeRank) leave(r *request) []run {
	d.running = remove(d.running, r)
	r.gen++
	d.commit(r)
	if r.ghost != nil {
		d.endGhost(r)
	}
	return r.pages
}

package sim

import (
	"math"

	"kvforensics/internal/evidence"
)

// stage is how far a request has come.
type stage uint8

const (
	arriving stage = iota // on its way to the engine
	waiting               // for pages of the decode pool
	reserved              // pages taken, KV not there
	running
	done
)

// request is one request on its way through the cluster.
type request struct {
	arrival
	number uint64
	owner  ownerID
	p      *prefillRank
	d      *decodeRank
	room   uint64
	stage  stage

	placeholder bool // rejected by the prefill node, runs as one token there
	status      int
	reason      string

	reservedAt, firstAt, doneAt micros
	left                        bool // the client has gone

	// On the decode node.
	pages    []run
	produced int // answer tokens so far
	target   int // answer tokens at the end
	joinStep int64
	endStep  int64
	joined   uint64 // order of joining the batch
	gen      uint32 // voids entries of the step queue
	patches  []patch
	ghost    []run // pages freed by offload that it still attends to
	exposed  []*exposure

	prefillState
}

// tokensHeld is the length of the request's KV on the decode node.
func (r *request) tokensHeld() int {
	if r.stage != running {
		return 0
	}
	return r.prompt + r.produced - 1
}

// receive takes a request in at the gateway and sends it to its workers.
func (c *cluster) receive(a arrival) {
	c.number++
	r := &request{arrival: a, number: c.number, target: min(a.answer, a.maxNew)}
	if a.kind == ordinary && c.rng.Float64() < c.cfg.Faults.Error503 || !c.route(r) {
		r.finish(c, c.now+micros(c.rng.Int64N(5*millisecond))+millisecond, 503, "error")
		return
	}
	r.owner = c.owners.add(r.number, r.tenant, r.prompt)
	r.p.node.active++
	r.d.node.active++
	if a.kind == ordinary && c.rng.Float64() < c.cfg.Faults.Abort {
		patience := micros(float64(6*second) * c.rng.ExpFloat64())
		c.at(c.now+patience, func(now micros) { r.abort(now) })
	}
	const perToken = 1.2 // µs of tokenization
	c.at(c.now+2*millisecond+c.rng.Int64N(3*millisecond)+micros(perToken*float64(a.prompt)), r.intake)
}

// route picks workers, or gives false where none is up.
func (c *cluster) route(r *request) bool {
	isUnified := r.kind == unifiedServed || r.kind == unifiedRefused ||
		r.kind == ordinary && c.rng.Float64() < c.cfg.Load.UnifiedShare
	if isUnified {
		if n := c.pick(func(n *node) bool { return n.unified() }); n != nil {
			rank := c.rng.IntN(len(n.decode))
			r.p, r.d = n.prefill[rank], n.decode[rank]
			return true
		}
		if r.kind != ordinary {
			return false
		}
	}
	pn := c.pickPrefill(r.session)
	dn := c.pick(func(n *node) bool { return n.cfg.Role == evidence.RoleDecode && n.suits(r) })
	if pn == nil || dn == nil {
		return false
	}
	r.p = pn.prefill[c.homeOf(r.session, len(pn.prefill))]
	r.d = dn.decode[c.rng.IntN(len(dn.decode))]
	r.room = mix(c.cfg.Seed, r.number, saltRoom) >> 1
	r.room += uint64(r.p.index) - r.room%uint64(len(pn.prefill)) // as follow_bootstrap_room does it
	return true
}

// suits tells whether sending r to decode node n serves the purpose that it
// was injected for.
func (n *node) suits(r *request) bool {
	switch r.kind {
	case oversizeServed:
		return r.prompt < n.limit
	case oversizeSmall:
		return r.prompt >= n.limit
	}
	return true
}

// pick gives a random node that is up and fits.
func (c *cluster) pick(fits func(*node) bool) *node {
	var chosen *node
	seen := 0
	for _, n := range c.nodes {
		if n.draining || !fits(n) {
			continue
		}
		seen++
		if c.rng.IntN(seen) == 0 {
			chosen = n
		}
	}
	return chosen
}

// pickPrefill mostly sends a session where its prefix is cached.
func (c *cluster) pickPrefill(session uint64) *node {
	if session != 0 && c.rng.Float64() < 0.95 {
		var up []*node
		for _, n := range c.nodes {
			if n.cfg.Role == evidence.RolePrefill {
				up = append(up, n)
			}
		}
		if n := up[c.homeOf(session>>8, len(up))]; !n.draining {
			return n
		}
	}
	return c.pick(func(n *node) bool { return n.cfg.Role == evidence.RolePrefill })
}

func (c *cluster) homeOf(session uint64, n int) int {
	return int(mix(c.cfg.Seed, session, saltHome) % uint64(n))
}

// intake is the arrival at both engines, after tokenization.
func (r *request) intake(now micros) {
	if r.stage == done {
		return
	}
	c := r.d.node.c
	pRejects, dRejects := r.prompt >= r.p.node.limit, r.prompt >= r.d.node.limit
	switch {
	case r.prompt >= c.cfg.Engine.ContextLen:
		r.finish(c, now+3*millisecond, 400, "error")
		return
	case dRejects:
		if pRejects && !r.d.node.unified() {
			r.p.node.log.rejected(now, r.p.index, r)
		} else if !pRejects {
			// The prefill side waits for a handshake that never comes.
			r.p.bootstrapping++
			p := r.p
			p.node.active++
			c.at(now+300*second, func(now micros) { p.bootstrapTimedOut(now, r) })
		}
		r.d.node.log.rejected(now, r.d.index, r)
		r.finish(c, now+8*millisecond, 400, "error")
		return
	case pRejects:
		r.placeholder = true
		r.p.node.log.rejected(now, r.p.index, r)
	}
	r.target = max(1, min(r.target, r.d.room(r.prompt)))
	r.stage = waiting
	r.p.bootstrapping++
	r.d.enqueue(now, r)
}

// abort is the client leaving. The gateway cancels the decode side.
func (r *request) abort(now micros) {
	if r.stage == done || r.left {
		return
	}
	r.left = true
	if r.stage == running {
		r.d.stopSoon(now, r)
		return
	}
	c := r.d.node.c
	if r.stage != arriving {
		r.d.node.log.transferFailed(now, r.d.index, r, "Aborted by AbortReq.")
	}
	if r.flying {
		r.lateFrom = r.promptOn() * int(now-r.flightFrom) / int(r.flightTo-r.flightFrom) / r.d.ps * r.d.ps
		r.d.mem.write(r.pages, 0, r.lateFrom, r.owner, 0)
	}
	r.d.withdraw(now, r)
	r.finish(c, now, 499, "abort")
}

// finish ends the request for its client.
func (r *request) finish(c *cluster, now micros, status int, reason string) {
	r.stage, r.doneAt, r.status, r.reason = done, now, status, reason
	if r.d != nil {
		if !r.handed {
			r.p.node.active--
		}
		c.at(now, func(now micros) {
			r.d.node.log.answered(now, r)
			r.d.node.active--
		})
		c.owners.drop(r.owner)
	}
	c.gateway.row(r)
	c.truth.ended(r)
}

// transferTime is how long copying so many tokens takes when all is well.
func (c *cluster) transferTime(tokens int) micros {
	const perToken = 6 // µs
	noise := math.Exp(0.3 * math.Abs(c.rng.NormFloat64()))
	return 4*millisecond + micros(float64(perToken*tokens)*noise)
}

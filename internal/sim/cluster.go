package sim

import (
	"context"
	"math"
	"math/rand/v2"

	"kvforensics/internal/evidence"
)

// cluster is the whole simulation.
type cluster struct {
	cfg      *Config
	now      micros
	events   queue[event]
	order    uint64
	work     *workload
	owners   *owners
	nodes    []*node
	rng      *rand.Rand
	gateway  *gateway
	truth    *truthWriter
	number   uint64 // requests so far
	upcoming arrival
	arriving bool // upcoming is an arrival that has not happened
	err      error
}

// node is one worker process.
type node struct {
	c        *cluster
	cfg      *Node
	index    int
	limit    int // M, of the present boot
	pool     int // tokens per rank, of the present boot
	boots    int
	draining bool // the router sends nothing more
	active   int  // requests and copies that still touch the node
	prefill  []*prefillRank
	decode   []*decodeRank
	log      *nodeLog
}

func (n *node) unified() bool { return n.cfg.Role == evidence.RoleUnified }

func newCluster(cfg *Config, work *workload) *cluster {
	return &cluster{cfg: cfg, work: work, owners: newOwners(), rng: newRand(cfg.Seed, streamCluster, 0)}
}

// at schedules do.
func (c *cluster) at(t micros, do func(now micros)) {
	c.order++
	c.events.push(event{max(t, c.now), c.order, do})
}

// run plays all events. Arrivals are drawn one ahead, so that the queue holds
// the cluster's state and not the workload.
func (c *cluster) run(ctx context.Context) error {
	c.nextArrival()
	for n := 0; len(c.events.items) > 0 && c.err == nil; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := c.events.pop()
		c.now = e.at
		e.do(e.at)
	}
	return c.err
}

func (c *cluster) nextArrival() {
	c.upcoming, c.arriving, c.err = c.work.next()
	if c.arriving && c.err == nil {
		c.at(c.upcoming.at, func(micros) {
			a := c.upcoming
			c.nextArrival()
			c.receive(a)
		})
	}
}

// over tells that no request is left to come, so that what repeats may stop.
func (c *cluster) over() bool { return !c.arriving }

// boot builds the nodes and schedules what happens to them.
func (c *cluster) boot(logs *logFiles) {
	from := c.cfg.From.UnixMicro()
	for i := range c.cfg.Nodes {
		n := &node{c: c, cfg: &c.cfg.Nodes[i], index: i}
		n.log = newNodeLog(c, n, logs)
		c.nodes = append(c.nodes, n)
		n.start(from - 10*minute + micros(c.rng.Int64N(5*minute)))
	}
	c.scheduleProbes(from)
	length := c.cfg.To.UnixMicro() - from
	for range c.cfg.Faults.Restarts {
		c.at(from+length/10+c.rng.Int64N(length*8/10), c.restartSome)
	}
	for range c.cfg.Faults.Flushes {
		n := c.nodes[c.rng.IntN(len(c.nodes))]
		c.at(from+length/10+c.rng.Int64N(length*8/10), func(now micros) { n.flush(now, 20) })
	}
}

// start boots the node at t: new pools of zeros, of a size that is measured
// anew, and start-up lines. It returns the instant when the node is ready.
func (n *node) start(t micros) (ready micros) {
	c := n.c
	n.pool = n.cfg.PoolTokens
	if n.boots > 0 && n.cfg.Role == evidence.RoleDecode {
		share := (2*c.rng.Float64() - 1) * c.cfg.Engine.PoolJitter
		pages := int(math.Round(float64(n.pool) * (1 + share) / float64(c.cfg.Engine.PageSize)))
		n.pool = pages * c.cfg.Engine.PageSize
	}
	n.boots++
	n.limit = inputLimit(c.cfg.Engine.ContextLen, n.pool)
	for _, d := range n.decode {
		d.mem.forget()
	}
	for _, p := range n.prefill {
		p.forget()
	}
	n.prefill, n.decode = nil, nil
	for rank := range n.cfg.Ranks {
		if n.cfg.Role != evidence.RoleDecode {
			n.prefill = append(n.prefill, newPrefillRank(n, rank))
		}
		if n.cfg.Role != evidence.RolePrefill {
			n.decode = append(n.decode, newDecodeRank(n, rank))
		}
	}
	return n.log.startup(t)
}

// restartSome drains and restarts a node of which others like it stay up, or
// tries again later.
func (c *cluster) restartSome(now micros) {
	var candidates []*node
	for _, n := range c.nodes {
		if !n.draining && !n.unified() && c.peersUp(n) > 0 {
			candidates = append(candidates, n)
		}
	}
	if len(candidates) == 0 {
		if !c.over() {
			c.at(now+10*minute, c.restartSome)
		}
		return
	}
	n := candidates[c.rng.IntN(len(candidates))]
	n.draining = true
	n.restartWhenIdle(now)
}

// peersUp counts the other nodes that are like n.
func (c *cluster) peersUp(n *node) (up int) {
	for _, other := range c.nodes {
		if other != n && !other.draining && other.cfg.Role == n.cfg.Role && other.cfg.PoolTokens == n.cfg.PoolTokens {
			up++
		}
	}
	return up
}

func (n *node) restartWhenIdle(now micros) {
	if n.active > 0 {
		n.c.at(now+5*second, n.restartWhenIdle)
		return
	}
	n.c.at(n.start(now+20*second), func(micros) { n.draining = false })
}

// flush resets the order of the free lists and drops caches, if the node is
// idle. No memory is cleared.
func (n *node) flush(now micros, tries int) {
	if n.draining || n.active > 0 {
		if !n.draining {
			n.log.notFlushed(now)
		}
		if tries > 0 {
			n.c.at(now+minute, func(now micros) { n.flush(now, tries-1) })
		}
		return
	}
	for _, d := range n.decode {
		d.alloc.reset()
	}
	for _, p := range n.prefill {
		if p.alloc != nil {
			p.cache.clear()
			p.alloc.reset()
		}
	}
	n.log.flushed(now)
}

// scheduleProbes sends each prefill node a one-token prompt now and then.
func (c *cluster) scheduleProbes(from micros) {
	every := c.cfg.Faults.ProbeEvery.Microseconds()
	if every <= 0 {
		return
	}
	for _, n := range c.nodes {
		if n.cfg.Role != evidence.RolePrefill {
			continue
		}
		turn := 0
		var send func(micros)
		send = func(now micros) {
			if c.over() {
				return
			}
			if !n.draining {
				n.prefill[turn%len(n.prefill)].probe(now)
				turn++
			}
			c.at(now+every, send)
		}
		c.at(from+c.rng.Int64N(every), send)
	}
}

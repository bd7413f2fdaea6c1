// Package measure derives what the evidence measured: the KV pools of every
// boot, and the time that a prompt needs at least.
package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kvforensics/internal/evidence"
	"kvforensics/internal/incident"
)

// Pools gives one row per node, rank and boot. Starts are the start-up events
// of all engine logs (launch, pool, kv_alloc, role_hint) with At set where the
// clock is known; seenAs gives the roles in which gateway rows name nodes.
//
// What a log states wins over incident.yaml, and a difference is noted.
func Pools(starts []evidence.PlacedEvent, in *incident.Incident, seenAs map[string]evidence.Role) []evidence.Pool {
	var pools []evidence.Pool
	for _, log := range byLog(starts) {
		pools = append(pools, measureLog(log)...)
	}
	stated := map[string]incident.Node{}
	for _, n := range in.Nodes {
		stated[n.Name] = n
	}
	for i := range pools {
		if n, ok := stated[pools[i].Node]; ok {
			supplement(&pools[i], n)
		}
	}
	pools = append(pools, unlogged(pools, in.Nodes)...)
	for i := range pools {
		fillRole(&pools[i], seenAs)
		pools[i].Derive()
		pools[i].ID = i + 1
	}
	return pools
}

// byLog groups events of one node, or of one unplaced source, in time order.
func byLog(starts []evidence.PlacedEvent) [][]evidence.PlacedEvent {
	groups := map[string][]evidence.PlacedEvent{}
	for _, e := range starts {
		key := "node " + e.Node
		if e.Node == "" {
			key = fmt.Sprintf("source %09d", e.SourceID)
		}
		groups[key] = append(groups[key], e)
	}
	var keys []string
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var list [][]evidence.PlacedEvent
	for _, k := range keys {
		list = append(list, inOrder(groups[k]))
	}
	return list
}

// inOrder sorts sources by their first stamp and keeps the lines of each in
// their order, which a clock that steps back must not change.
func inOrder(log []evidence.PlacedEvent) []evidence.PlacedEvent {
	first := map[int]evidence.Micros{}
	for _, e := range log {
		if at, seen := first[e.SourceID]; !seen || e.At.V < at {
			first[e.SourceID] = e.At.V
		}
	}
	slices.SortStableFunc(log, func(a, b evidence.PlacedEvent) int {
		return cmp.Or(cmp.Compare(first[a.SourceID], first[b.SourceID]), cmp.Compare(a.SourceID, b.SourceID), cmp.Compare(a.Line, b.Line))
	})
	return log
}

// boot is one start of a node: its launch line and what followed.
type boot struct {
	launch *evidence.PlacedEvent
	pools  []*evidence.PlacedEvent // first summary line of each rank
	allocs []*evidence.PlacedEvent // first allocation line of each rank and shard
	hints  []*evidence.PlacedEvent
}

func (b *boot) first() *evidence.PlacedEvent {
	var list []*evidence.PlacedEvent
	if b.launch != nil {
		list = append(list, b.launch)
	}
	list = slices.Concat(list, b.pools, b.allocs)
	if len(list) == 0 {
		return nil
	}
	return slices.MinFunc(list, func(x, y *evidence.PlacedEvent) int { return cmp.Compare(x.At.V, y.At.V) })
}

// splitBoots cuts a log at launch lines. Where none is logged, a second
// summary line of the same rank shows the restart.
func splitBoots(log []evidence.PlacedEvent) []*boot {
	var boots []*boot
	current := &boot{}
	next := func() {
		if current.first() != nil {
			boots = append(boots, current)
		}
		current = &boot{hints: nil}
	}
	for i := range log {
		e := &log[i]
		switch e.Kind {
		case evidence.EventLaunch:
			// One start prints its arguments more than once (command line,
			// server_args), before any pool line.
			if len(current.pools) > 0 || len(current.allocs) > 0 || contradicts(current.launch, e) {
				next()
			}
			current.launch = mergeLaunch(current.launch, e)
			if e.Launch.PoolTokens.Known {
				current.pools = append(current.pools, e)
			}
		case evidence.EventPool:
			switch {
			case holds(current.pools, e, sameShard):
				if !e.Launch.ContextLen.Known {
					continue // a leak check repeats the pool of the running boot
				}
				next()
			case holds(current.pools, e, sameRank):
				continue // another shard of the rank repeats the line
			}
			current.pools = append(current.pools, e)
		case evidence.EventKVAlloc:
			if !holds(current.allocs, e, sameShard) { // a second one is the draft model's
				current.allocs = append(current.allocs, e)
			}
		case evidence.EventRoleHint, evidence.EventPrefillBatch, evidence.EventDecodeBatch:
			current.hints = append(current.hints, e)
		}
	}
	if len(boots) > 0 && current.first() == nil {
		last := boots[len(boots)-1]
		last.hints = append(last.hints, current.hints...)
	}
	next()
	return boots
}

func mergeLaunch(have, more *evidence.PlacedEvent) *evidence.PlacedEvent {
	if have == nil {
		return more
	}
	merged := *have
	h, m := &merged.Launch, more.Launch
	h.Engine, h.Version = cmp.Or(h.Engine, m.Engine), cmp.Or(h.Version, m.Version)
	h.TransferBackend, h.Flags = cmp.Or(h.TransferBackend, m.TransferBackend), cmp.Or(h.Flags, m.Flags)
	for _, pair := range [][2]*evidence.Opt[int64]{
		{&h.PageSize, &m.PageSize}, {&h.ContextLen, &m.ContextLen}, {&h.PoolTokens, &m.PoolTokens},
		{&h.MaxInputLen, &m.MaxInputLen}, {&h.DPSize, &m.DPSize},
	} {
		*pair[0] = either(*pair[0], *pair[1])
	}
	merged.Role = cmp.Or(merged.Role, more.Role)
	return &merged
}

// contradicts reports whether two launch lines can't be of one start: the first
// start then died before it measured a pool.
func contradicts(have, e *evidence.PlacedEvent) bool {
	if have == nil {
		return false
	}
	a, b := have.Launch, e.Launch
	differ := func(x, y evidence.Opt[int64]) bool { return x.Known && y.Known && x.V != y.V }
	return have.Role != "" && e.Role != "" && have.Role != e.Role ||
		a.Version != "" && b.Version != "" && a.Version != b.Version ||
		differ(a.PageSize, b.PageSize) || differ(a.ContextLen, b.ContextLen) || differ(a.DPSize, b.DPSize)
}

func either[T any](a, b evidence.Opt[T]) evidence.Opt[T] {
	if a.Known {
		return a
	}
	return b
}

func sameRank(a, b *evidence.PlacedEvent) bool { return a.DP == b.DP }

func sameShard(a, b *evidence.PlacedEvent) bool {
	return a.DP == b.DP && a.TP == b.TP && a.PP == b.PP
}

func holds(list []*evidence.PlacedEvent, e *evidence.PlacedEvent, same func(a, b *evidence.PlacedEvent) bool) bool {
	return slices.ContainsFunc(list, func(x *evidence.PlacedEvent) bool { return same(x, e) })
}

// measureLog gives the pools of all boots of one log. A boot ends where the
// next begins, unless that is not certain: then both stay open, so that
// requests are held against either.
func measureLog(log []evidence.PlacedEvent) []evidence.Pool {
	var all []evidence.Pool
	boots := splitBoots(log)
	open := "" // why the coming boot's start is not relied on
	for i, b := range boots {
		rows := b.measure()
		if open != "" {
			bound(rows, func(p *evidence.Pool) { p.ValidFrom = evidence.Opt[evidence.Micros]{} }, open)
		}
		open = ""
		if i+1 < len(boots) {
			end := boots[i+1].first().At
			switch {
			case end.Known && end.V < b.first().At.V:
				open = "the clock steps back between this start and its neighbour: which of them was in force when is not known"
			case boots[i+1].launch == nil && b.launch != nil:
				open = "a pool line without a start of its own: the pool before it may still be in force"
			}
			bound(rows, func(p *evidence.Pool) {
				if open == "" {
					p.ValidTo = end
				}
			}, open)
		}
		all = append(all, rows...)
	}
	return all
}

func bound(rows []evidence.Pool, set func(*evidence.Pool), note string) {
	for i := range rows {
		set(&rows[i])
		if note != "" {
			rows[i].Notes = append(slices.Clone(rows[i].Notes), note)
		}
	}
}

func (b *boot) measure() []evidence.Pool {
	base := b.base()
	var rows []evidence.Pool
	for _, e := range b.perRank() {
		p := base
		p.Rank, p.SourceID, p.Line = e.DP, evidence.Some(int64(e.SourceID)), e.Line
		p.PoolTokens = e.Launch.PoolTokens
		p.ContextLen = either(e.Launch.ContextLen, base.ContextLen)
		p.InputLimit = either(e.Launch.MaxInputLen, base.InputLimit)
		if e.Kind == evidence.EventKVAlloc {
			p.Notes = append(slices.Clone(p.Notes), "pool from the allocation line: no summary line in the log")
		}
		rows = append(rows, p)
	}
	if len(rows) == 0 {
		base.Origin = "nothing"
		base.Notes = append(base.Notes, "a start without a pool line")
		return []evidence.Pool{base}
	}
	noteDisagreement(rows)
	return rows
}

// base is what all ranks of a boot share.
func (b *boot) base() evidence.Pool {
	first := b.first()
	p := evidence.Pool{
		Node: first.Node, ValidFrom: first.At, Origin: "log", Engine: "sglang",
		SourceID: evidence.Some(int64(first.SourceID)), Line: first.Line,
	}
	if l := b.launch; l != nil {
		p.Engine = cmp.Or(l.Launch.Engine, p.Engine)
		p.EngineVersion, p.TransferBackend, p.Flags = l.Launch.Version, l.Launch.TransferBackend, l.Launch.Flags
		p.PageSize, p.ContextLen, p.InputLimit = l.Launch.PageSize, l.Launch.ContextLen, l.Launch.MaxInputLen
		p.Ranks = l.Launch.DPSize
		if l.Role != evidence.RoleUnknown {
			p.Role, p.RoleHow = l.Role, "start-up arguments"
		}
		if p.EngineVersion != "" {
			p.VersionHow = "log"
		}
	}
	for _, h := range b.hints {
		if p.Role == evidence.RoleUnknown && h.Role != evidence.RoleUnknown {
			p.Role, p.RoleHow = h.Role, "a line that only this role prints"
		}
	}
	return p
}

// perRank gives the line that states each rank's pool: the summary line, or
// without one the smallest allocation of the rank's shards.
func (b *boot) perRank() []*evidence.PlacedEvent {
	rows := slices.Clone(b.pools)
	for _, e := range b.allocs {
		at := slices.IndexFunc(rows, func(x *evidence.PlacedEvent) bool { return sameRank(x, e) })
		switch {
		case at < 0:
			rows = append(rows, e)
		case rows[at].Kind == evidence.EventKVAlloc && e.Launch.PoolTokens.V < rows[at].Launch.PoolTokens.V:
			rows[at] = e
		}
	}
	slices.SortStableFunc(rows, func(x, y *evidence.PlacedEvent) int { return cmp.Compare(x.DP.V, y.DP.V) })
	return rows
}

func noteDisagreement(rows []evidence.Pool) {
	low, high := rows[0].PoolTokens.V, rows[0].PoolTokens.V
	for _, r := range rows {
		low, high = min(low, r.PoolTokens.V), max(high, r.PoolTokens.V)
	}
	if low == high {
		return
	}
	for i := range rows {
		rows[i].Notes = append(slices.Clone(rows[i].Notes), fmt.Sprintf("ranks disagree: pools from %d to %d tokens", low, high))
	}
}

// supplement adds what incident.yaml states of a node that has a log.
func supplement(p *evidence.Pool, n incident.Node) {
	if p.Role == evidence.RoleUnknown && n.Role != evidence.RoleUnknown {
		p.Role, p.RoleHow = n.Role, "incident.yaml"
	}
	if p.EngineVersion == "" && n.Version != "" {
		p.EngineVersion, p.VersionHow = n.Version, "incident.yaml"
	}
	p.TransferBackend = cmp.Or(p.TransferBackend, n.TransferBackend)
	p.Flags = cmp.Or(p.Flags, statedFlags(n.Flags))
	if !p.PoolTokens.Known && n.PoolTokens.Known {
		p.PoolTokens, p.Origin = n.PoolTokens, "incident.yaml"
	}
	p.ContextLen, p.PageSize, p.Ranks = either(p.ContextLen, n.ContextLen), either(p.PageSize, n.PageSize), either(p.Ranks, n.Ranks)
	p.Notes = append(slices.Clone(p.Notes), differences(*p, n)...)
}

func differences(p evidence.Pool, n incident.Node) []string {
	var notes []string
	number := func(what string, log, stated evidence.Opt[int64]) {
		if log.Known && stated.Known && log.V != stated.V {
			notes = append(notes, fmt.Sprintf("incident.yaml states %s %d, the log %d", what, stated.V, log.V))
		}
	}
	number("pool_tokens", p.PoolTokens, n.PoolTokens)
	number("page_size", p.PageSize, n.PageSize)
	number("context_len", p.ContextLen, n.ContextLen)
	number("ranks", p.Ranks, n.Ranks)
	word := func(what, log, stated string) {
		if stated != "" && log != "" && stated != log {
			notes = append(notes, fmt.Sprintf("incident.yaml states %s %s, the log %s", what, stated, log))
		}
	}
	word("role", string(p.Role), string(n.Role))
	word("version", p.EngineVersion, n.Version)
	word("transfer_backend", p.TransferBackend, n.TransferBackend)
	return notes
}

func statedFlags(f incident.Flags) string {
	var parts []string
	boolean := func(name string, v evidence.Opt[bool]) {
		if v.Known {
			parts = append(parts, fmt.Sprintf("%q:%t", name, v.V))
		}
	}
	boolean("deferred_kv_release", f.DeferredKVRelease)
	boolean("kv_checksum", f.KVChecksum)
	if f.KVCanary != "" {
		parts = append(parts, fmt.Sprintf("%q:%q", "kv_canary", f.KVCanary))
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// unlogged gives a row for each stated node whose logs measured nothing.
func unlogged(measured []evidence.Pool, nodes []incident.Node) []evidence.Pool {
	var rows []evidence.Pool
	for _, n := range nodes {
		if slices.ContainsFunc(measured, func(p evidence.Pool) bool { return p.Node == n.Name }) {
			continue
		}
		p := evidence.Pool{Node: n.Name, Engine: n.Engine, Origin: "nothing", Notes: []string{"no start-up line in any log"}}
		supplement(&p, n)
		rows = append(rows, p)
	}
	return rows
}

func fillRole(p *evidence.Pool, seenAs map[string]evidence.Role) {
	if role, ok := seenAs[p.Node]; ok && p.Role == evidence.RoleUnknown && p.Node != "" {
		p.Role, p.RoleHow = role, "gateway rows"
	}
	if p.Role == evidence.RoleUnknown {
		p.RoleHow = "not stated"
	}
	if p.EngineVersion == "" {
		p.VersionHow = "not stated"
	}
}

package pairing

import (
	"cmp"
	"slices"
	"time"
)

// window is a stretch of one rank's history that is replayed for the suspects
// that lie in it.
type window struct {
	key      rankKey
	boot     boot
	ranks    int // data-parallel ranks of the node
	since    micros
	until    micros
	fromBoot bool    // it begins with the boot, in a pool of zeros
	sweeps   float64 // pools' worth of reservations that it reaches back before each suspect
	targets  []int   // suspects, by index
	flushes  []micros
	rows     []row
	figures  []figure
	anchors  *anchors // made of figures
}

const (
	tenMinutes = micros(10 * time.Minute / time.Microsecond)
	second     = micros(time.Second / time.Microsecond)
	// firstSweeps is how far back a window reaches at first, in pools' worth of
	// reserved tokens; windows in which that does not suffice are doubled.
	firstSweeps = 3
)

// planner cuts windows.
type planner struct {
	boots    map[rankKey][]boot
	volumes  map[string][]volume
	flushes  map[string][]micros
	suspects []suspect // flagged by rules
	triggers []trigger
	trigger  map[flag]*trigger
	placings placings
	earliest micros // first request of the evidence
}

// ranksFor gives the ranks that may have served a suspect, and its boot there.
func (p *planner) ranksFor(s *suspect) (keys []rankKey) {
	for k := range p.boots {
		if s.node != "" && k.node != s.node || s.rank.Known && k.rank != s.rank.V {
			continue
		}
		b := p.bootAt(k, s.received.V)
		switch {
		case b == nil, s.node == "" && b.limit.Known && s.prompt >= b.limit.V:
		case s.node == "" && b.policy == LIFO && s.defect != offloadSlotReuse:
			// A unified node has no transfer, and so none of the other defects.
		default:
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, rankKey.compare)
	return keys
}

func (p *planner) bootAt(k rankKey, at micros) *boot {
	for i := range p.boots[k] {
		if b := &p.boots[k][i]; b.covers(at) {
			return b
		}
	}
	return nil
}

func (p *planner) ranks(node string) (n int) {
	for k := range p.boots {
		if k.node == node {
			n++
		}
	}
	return n
}

// plan gives the windows of suspects, merged where they overlap. sweeps
// says how far each suspect's window on a rank reaches back.
func (p *planner) plan(suspects []suspect, sweeps func(suspect int, k rankKey) float64) []*window {
	var list []*window
	for i := range suspects {
		s := &suspects[i]
		if !s.received.Known {
			continue
		}
		for _, k := range p.ranksFor(s) {
			w := &window{key: k, boot: *p.bootAt(k, s.received.V), ranks: p.ranks(k.node), until: s.until(), targets: []int{i}, sweeps: sweeps(i, k)}
			w.since, w.fromBoot = p.start(w, s.received.V)
			w.flushes = slices.DeleteFunc(slices.Clone(p.flushes[k.node]), func(at micros) bool { return at < w.since })
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b *window) int {
		return cmp.Or(a.key.compare(b.key), cmp.Compare(a.since, b.since), cmp.Compare(a.until, b.until))
	})
	return merged(list)
}

func merged(list []*window) (out []*window) {
	for _, w := range list {
		if n := len(out); n > 0 {
			if last := out[n-1]; last.key == w.key && w.since <= last.until && last.boot == w.boot {
				last.until = max(last.until, w.until)
				last.sweeps = max(last.sweeps, w.sweeps)
				last.targets = append(last.targets, w.targets...)
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

// start goes back from a suspect until so many pools' worth of tokens have been
// reserved, or to the boot.
func (p *planner) start(w *window, at micros) (since micros, fromBoot bool) {
	need := int64(w.sweeps * float64(w.boot.pages*w.boot.pageSize))
	list := p.volumes[w.key.node]
	i, _ := slices.BinarySearchFunc(list, at/tenMinutes*tenMinutes, func(v volume, at micros) int { return cmp.Compare(v.at, at) })
	since = p.earliest
	for i--; i >= 0; i-- {
		switch list[i].rank {
		case w.key.rank:
			need -= list[i].tokens
		case -1:
			need -= list[i].tokens / int64(w.ranks)
		}
		if need <= 0 {
			since = list[i].at
			break
		}
	}
	if since = max(since, p.earliest); w.boot.from.Known && w.boot.from.V >= since {
		return w.boot.from.V, true
	}
	if since == p.earliest && w.boot.from.Known && !w.boot.servedBefore {
		return since, true // between the boot and the first request nothing was served
	}
	return since, false
}

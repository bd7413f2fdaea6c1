package pairing

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"
)

// trigger is a request by which KV may have come into pages that were not its
// own: an abort while KV was on its way, or a prompt that was offloaded while
// its request ran.
type trigger struct {
	suspect // its place in time and on ranks; finished is when the last KV may have come
	rule    string
	ended   micros
	landed  instant // when its writes were over, if the prefill node says
}

// flightWindow is how long KV may be on its way after an abort: the engine's
// own limit for one transfer (SGLang, 30 s).
const flightWindow = micros(30 * time.Second / time.Microsecond)

// crossRows bounds the requests that are replayed for triggers, and crossWork
// the product with orderings.
const (
	crossRows = 600_000
	crossWork = 64 * 200_000
)

func loadTriggers(ctx context.Context, c Case) (list []trigger, err error) {
	err = c.SelectStep(ctx, "pairing_triggers", func(scan func(...any) error) error {
		var t trigger
		var node sql.NullString
		var rank, prompt, received, ended, landed sql.Null[int64]
		if err := scan(&t.defect, &t.source, &t.line, &t.rule, &t.probability, &node, &rank, &prompt, &received, &ended, &landed); err != nil {
			return err
		}
		t.node, t.rank, t.prompt = node.String, opt(rank, same), prompt.V
		t.received, t.landed = opt(received, toMicros), opt(landed, toMicros)
		t.ended = micros(ended.V)
		t.finished = opt(ended, toMicros)
		if t.defect == abortLateWrite {
			t.finished.V += flightWindow
		}
		list = append(list, t)
		return nil
	})
	return list, err
}

// chosen gives the windows in which triggers are replayed, and the triggers for
// which there is no room: those after which least was reserved while their KV
// was on its way, as pages that nobody takes harm nobody.
func (p *planner) chosen() (windows []*window, left []trigger) {
	order := slices.Clone(p.triggers)
	busy := map[place]float64{}
	for i := range order {
		busy[order[i].place] = p.turnover(&order[i])
	}
	slices.SortStableFunc(order, func(a, b trigger) int { return cmp.Compare(busy[b.place], busy[a.place]) })
	sweeps := func(int, rankKey) float64 { return firstSweeps }
	type bin struct {
		key rankKey
		at  micros
	}
	covered := map[bin]bool{}
	var taken []suspect
	rows := int64(0)
	for i := range order {
		own := p.plan([]suspect{order[i].suspect}, sweeps)
		if len(own) == 0 || rows > crossRows {
			left = append(left, order[i])
			continue
		}
		for _, w := range own {
			for _, v := range p.volumesIn(w.key.node, w.since, w.until) {
				if b := (bin{w.key, v.at}); !covered[b] && (v.rank < 0 || v.rank == w.key.rank) {
					covered[b] = true
					rows += v.requests
				}
			}
		}
		taken = append(taken, order[i].suspect)
	}
	return p.plan(taken, sweeps), left
}

// turnover gives the share of a trigger's pool that is usually reserved while
// its KV may come, at the node that served it.
func (p *planner) turnover(t *trigger) (most float64) {
	for _, k := range p.ranksFor(&t.suspect) {
		tokens := int64(0)
		for _, v := range p.volumesIn(k.node, t.ended, t.until()) {
			tokens += v.tokens
		}
		b := p.bootAt(k, t.received.V)
		most = max(most, float64(tokens)/float64(b.pages*b.pageSize))
	}
	return most
}

// volumesIn gives a node's volumes from since to until.
func (p *planner) volumesIn(node string, since, until micros) []volume {
	list := p.volumes[node]
	at := func(v volume, at micros) int { return cmp.Compare(v.at, at) }
	from, _ := slices.BinarySearchFunc(list, since/tenMinutes*tenMinutes, at)
	to, _ := slices.BinarySearchFunc(list, until+1, at)
	return list[from:max(from, to)]
}

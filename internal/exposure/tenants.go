package exposure

import (
	"fmt"
	"math"
	"strings"

	"kvforensics/internal/estimate"
	"kvforensics/internal/evidence"
)

const (
	// modelError is the share of pairs that the replay is sure of and that are
	// wrong all the same, measured on simulated incidents (docs/accuracy.md).
	// Probabilities are taken to be no surer than that.
	modelError = 0.015
	// tail is the chance that a count lies below its floor, or above its ceiling.
	tail = 0.01
	// noticed is the probability from which a reading counts for first and last
	// times.
	noticed = 0.05
)

// range_ is one tenant's count in one direction.
type range_ struct {
	tenant, direction string
	floor, ceiling    int64
	best              float64
	estimated         bool // best means something
	tokens            float64
	first, last       any
	state             string
	reason            string
}

func (r range_) row(defect string) []any {
	var best any
	if r.estimated {
		best = r.best
	}
	return []any{r.tenant, r.direction, defect, r.floor, best, r.ceiling, r.tokens, r.first, r.last, r.state, r.reason}
}

// ranges gives both directions of every tenant that has a name.
func (n *count) ranges() (list []range_) {
	var requests, suspects int64
	for _, t := range n.tenants {
		requests += t.touched
		suspects += int64(len(t.suspects))
	}
	for _, t := range n.tenants {
		if t.id != "" {
			list = append(list, n.asSource(t, requests), n.asRecipient(t, requests, suspects))
		}
	}
	return list
}

// asSource counts requests of a tenant that other tenants' suspects attended to.
func (n *count) asSource(t *tenant, allTouched int64) range_ {
	r := range_{tenant: t.id, direction: source, state: notRuledOut, estimated: n.paired || n.ran}
	var sure []float64
	var times []evidence.Opt[evidence.Micros]
	for _, x := range t.reads {
		r.best += x.cross
		r.tokens += x.tokens
		sure = append(sure, min(x.cross, 1-modelError))
		if x.cross >= noticed {
			times = append(times, x.at)
		}
		if x.firm >= n.options.Threshold {
			r.state = exposed
		}
	}
	r.first, r.last = span(times)
	r.floor = int64(estimate.NewPoissonBinomial(sure).Quantile(tail))
	named := int64(len(t.reads))
	hidden := n.hidden(t, allTouched, n.unknown.requests)
	r.ceiling = max(named, r.floor) + hidden
	var why []string
	if !n.ran {
		r.ceiling = max(r.ceiling, t.touched)
		why = append(why, "no rule could look for this defect (kvforensics query rules)")
	}
	if n.unknown.unpaired > 0 {
		r.ceiling = max(r.ceiling, t.touched)
		why = append(why, n.unreplayed())
	}
	if d := named - r.floor; d > 0 {
		why = append(why, fmt.Sprintf("%d of %d candidate requests are not sure", d, named))
	}
	if hidden > 0 {
		why = append(why, fmt.Sprintf("up to %d more among rows whose owner no log names", hidden))
	}
	return n.judge(t, r, why)
}

// asRecipient counts requests of a tenant that attended to other tenants' rows.
func (n *count) asRecipient(t *tenant, allTouched, suspects int64) range_ {
	r := range_{tenant: t.id, direction: recipient, state: notRuledOut, estimated: n.ran}
	var sure []float64
	var times []evidence.Opt[evidence.Micros]
	for _, s := range t.suspects {
		p := min(s.probability, s.cross)
		r.best += p
		r.tokens += s.tokens * s.probability
		times = append(times, s.at)
		if s.level == "certain" {
			sure = append(sure, min(p, 1-modelError))
		}
		if s.level != "possible" && p >= n.options.Threshold {
			r.state = exposed
		}
	}
	r.first, r.last = span(times)
	r.floor = int64(estimate.NewPoissonBinomial(sure).Quantile(tail))
	hidden := n.hidden(t, allTouched, n.unlogged(suspects))
	r.ceiling = max(int64(len(t.suspects)), r.floor) + t.blind + hidden
	var why []string
	if !n.ran {
		r.ceiling = max(r.ceiling, t.touched)
		why = append(why, "no rule could look for this defect (kvforensics query rules)")
	}
	if n.unknown.unpaired > 0 && n.foundByReplay() {
		r.ceiling = max(r.ceiling, t.touched)
		why = append(why, n.unreplayed())
	}
	if d := int64(len(t.suspects)) - r.floor; d > 0 {
		why = append(why, fmt.Sprintf("%d suspects are not sure", d))
	}
	if t.blind > 0 {
		why = append(why, fmt.Sprintf("%d rows lack length, status or time", t.blind))
	}
	if hidden > 0 {
		why = append(why, fmt.Sprintf("up to %d more among requests that the rows lack", hidden))
	}
	return n.judge(t, r, why)
}

// foundByReplay tells that no rule, but the replay finds the defect's suspects.
func (n *count) foundByReplay() bool {
	return n.defect == "abort-late-write" || n.defect == "offload-slot-reuse"
}

func (n *count) unreplayed() string {
	if n.foundByReplay() {
		return fmt.Sprintf("%d requests that may have started it were not replayed: they may have met any request", n.unknown.unpaired)
	}
	return fmt.Sprintf("%d suspects could not be replayed: they may have read any request", n.unknown.unpaired)
}

// hidden gives how many of so many requests without a name may be a tenant's, if
// they are spread over tenants as the traffic is.
func (n *count) hidden(t *tenant, all int64, unnamed float64) int64 {
	if unnamed <= 0 || all == 0 {
		return 0
	}
	most := estimate.PoissonQuantile(unnamed, 1-tail)
	_, share := estimate.Wilson(int(t.touched), int(all), 0.95)
	return int64(estimate.BinomialQuantile(most, share, 1-tail))
}

// judge gives the state and says why floor and ceiling differ. Only positive
// evidence rules a tenant out: all its requests lie where the defect does not
// exist, and the evidence is whole.
func (n *count) judge(t *tenant, r range_, why []string) range_ {
	doubts := n.gaps.doubts()
	if r.state == notRuledOut && t.requests > 0 && t.touched == 0 && len(t.reads) == 0 && len(t.suspects) == 0 && len(doubts) == 0 {
		r.state, r.ceiling = ruledOut, 0
		r.reason = fmt.Sprintf("all %d requests were served where this defect does not exist, and the evidence has no gaps", t.requests)
		return r
	}
	if t.requests == 0 {
		why = append(why, "the evidence has no request of this tenant")
	}
	if t.touched > 0 && len(t.reads) == 0 && r.direction == source && n.ran {
		why = append(why, "no request of it was found among the sources; its traffic ran where the defect exists")
	}
	if r.state != exposed {
		why = append(why, doubts...)
	} else if n.gaps.silent > 0 {
		why = append(why, fmt.Sprintf("engines worked in %d hours of which no gateway row tells: no count bounds what happened then", n.gaps.silent))
	}
	r.reason = strings.Join(why, "; ")
	return r
}

func (g gaps) doubts() (list []string) {
	for _, d := range []struct {
		n    int64
		text string
	}{
		{g.unread, "%d files were not wholly read"},
		{g.rejected, "%d records were rejected"},
		{g.unplaced, "%d requests have no place in time"},
		{g.engineOnly, "%d requests are known from engines alone, without a tenant"},
		{int64(math.Ceil(g.lost - 0.5)), "about %d requests that engines served are not in the rows"},
		{g.unmatched, "%d prompts that a prefill node rejected have no gateway row: whoever sent them may have been answered"},
		{g.silent, "engines worked in %d hours of which no gateway row tells: no count bounds what happened then"},
	} {
		if d.n > 0 {
			list = append(list, fmt.Sprintf(d.text, d.n))
		}
	}
	return list
}

package exposure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func counted(tenants ...*tenant) *count {
	return &count{defect: "oversize-placeholder", tenants: tenants, ran: true, paired: true, options: Options{Threshold: 0.95}}
}

func rangeOf(t *testing.T, n *count, id, direction string) range_ {
	t.Helper()
	for _, r := range n.ranges() {
		if r.tenant == id && r.direction == direction {
			return r
		}
	}
	t.Fatalf("no range of %s as %s", id, direction)
	return range_{}
}

// The best estimate is the sum of probabilities, the floor what all but one in a
// hundred draws of them reach, the ceiling every candidate.
func TestSourceCountsAreThoseOfDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a := &tenant{id: "a", requests: 100, touched: 100}
		sum := 0.0
		for range 1 + rng.IntN(40) {
			p := rng.Float64()
			a.reads = append(a.reads, reading{cross: p})
			sum += p
		}
		r := rangeOf(t, counted(a), "a", source)
		const draws = 20_000
		below := 0
		for range draws {
			n := 0
			for _, x := range a.reads {
				if rng.Float64() < min(x.cross, 1-modelError) {
					n++
				}
			}
			if int64(n) < r.floor {
				below++
			}
		}
		if share := float64(below) / draws; share > tail+0.004 || math.Abs(r.best-sum) > 1e-9 || r.ceiling != int64(len(a.reads)) {
			t.Errorf("%d – %.2f – %d: %.4f of the draws lie below the floor, the sum is %.2f of %d", r.floor, r.best, r.ceiling, share, sum, len(a.reads))
		}
	}
}

// States follow the method: exposed from the threshold on and only by firm
// suspects, ruled out only on positive evidence.
func TestStates(t *testing.T) {
	safe := func() *tenant { return &tenant{id: "a", requests: 10} }
	for name, x := range map[string]struct {
		tenant *tenant
		gaps   gaps
		want   string
	}{
		"firm pair at the threshold":       {&tenant{id: "a", requests: 10, touched: 10, reads: []reading{{cross: 0.95, firm: 0.95}}}, gaps{}, exposed},
		"firm pair below":                  {&tenant{id: "a", requests: 10, touched: 10, reads: []reading{{cross: 0.94, firm: 0.94}}}, gaps{}, notRuledOut},
		"pair of possible suspects alone":  {&tenant{id: "a", requests: 10, touched: 10, reads: []reading{{cross: 1}}}, gaps{}, notRuledOut},
		"no pair, affected nodes":          {&tenant{id: "a", requests: 10, touched: 10}, gaps{}, notRuledOut},
		"nothing touched, whole evidence":  {safe(), gaps{}, ruledOut},
		"nothing touched, a file unread":   {safe(), gaps{unread: 1}, notRuledOut},
		"nothing touched, records refused": {safe(), gaps{rejected: 1}, notRuledOut},
		"nothing touched, rows lost":       {safe(), gaps{lost: 3, held: 100}, notRuledOut},
		"nothing touched, engine only":     {safe(), gaps{engineOnly: 1}, notRuledOut},
		"no request in the evidence":       {&tenant{id: "a"}, gaps{}, notRuledOut},
	} {
		n := counted(x.tenant, &tenant{id: "b", requests: 90, touched: 90})
		n.gaps = x.gaps
		r := rangeOf(t, n, "a", source)
		if r.state != x.want {
			t.Errorf("%s: %s, want %s", name, r.state, x.want)
		}
		if r.state == ruledOut && r.ceiling != 0 || r.state != ruledOut && r.reason == "" && r.floor != r.ceiling {
			t.Errorf("%s: %d – %.2f – %d without a reason", name, r.floor, r.best, r.ceiling)
		}
	}
}

// What has no named owner, and what was not replayed, raises ceilings.
func TestCeilingsCarryWhatIsNotKnown(t *testing.T) {
	a, b := &tenant{id: "a", requests: 100, touched: 100}, &tenant{id: "b", requests: 300, touched: 300}
	n := counted(a, b)
	if r := rangeOf(t, n, "a", source); r.ceiling != 0 {
		t.Errorf("ceiling %d of nothing", r.ceiling)
	}
	n.unknown.requests = 40
	small, large := rangeOf(t, n, "a", source), rangeOf(t, n, "b", source)
	if small.ceiling < 10 || large.ceiling < 30 || small.ceiling >= large.ceiling || small.ceiling > 40 {
		t.Errorf("of 40 requests without an owner up to %d and %d", small.ceiling, large.ceiling)
	}
	n.unknown.unpaired = 1
	if r := rangeOf(t, n, "a", source); r.ceiling != 100 || !strings.Contains(r.reason, "could not be replayed") {
		t.Errorf("%d, %s: a suspect that was not replayed may have read any request", r.ceiling, r.reason)
	}
	n.defect = "abort-late-write"
	if r := rangeOf(t, n, "b", recipient); r.ceiling != 300 {
		t.Errorf("ceiling %d as recipient: an abort that was not replayed may have met any request", r.ceiling)
	}
	n.ran = false
	n.unknown = unknownOwner{}
	if r := rangeOf(t, n, "b", source); r.ceiling != 300 || r.state != notRuledOut {
		t.Errorf("%d, %s without a rule that looked", r.ceiling, r.state)
	}
}

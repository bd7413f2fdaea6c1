package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
	"kvforensics/internal/incident"
)

type event = evidence.PlacedEvent

// said makes a start-up event of node n at second t, in source 1.
func said(n string, t int64, kind evidence.EventKind, fill func(e *event)) event {
	e := event{SourceID: 1, Node: n}
	e.Kind, e.Line = kind, t
	e.At = evidence.Some(evidence.Micros(t * 1e6))
	if fill != nil {
		fill(&e)
	}
	return e
}

func launch(role evidence.Role, page int64) func(*event) {
	return func(e *event) {
		e.Role = role
		e.Launch.PageSize, e.Launch.DPSize, e.Launch.TransferBackend = evidence.Some(page), evidence.Some(int64(2)), "mooncake"
	}
}

func pool(rank, tp, tokens, context int64) func(*event) {
	return func(e *event) {
		e.DP, e.TP = evidence.Some(rank), evidence.Some(tp)
		e.Launch.PoolTokens, e.Launch.ContextLen = evidence.Some(tokens), evidence.Some(context)
	}
}

func alloc(rank, tp, tokens int64) func(*event) {
	return func(e *event) {
		e.DP, e.TP = evidence.Some(rank), evidence.Some(tp)
		e.Launch.PoolTokens = evidence.Some(tokens)
	}
}

func TestBootsRanksAndRestart(t *testing.T) {
	got := Pools([]event{
		said("pre-0", 10, evidence.EventLaunch, launch(evidence.RolePrefill, 64)),
		said("pre-0", 11, evidence.EventKVAlloc, alloc(0, 0, 1000)),
		said("pre-0", 12, evidence.EventKVAlloc, alloc(0, 0, 500)), // the draft model's
		said("pre-0", 13, evidence.EventPool, pool(0, 0, 1000, 4096)),
		said("pre-0", 14, evidence.EventPool, pool(1, 4, 1000, 4096)),
		said("pre-0", 50, evidence.EventLaunch, launch(evidence.RolePrefill, 64)),
		said("pre-0", 51, evidence.EventPool, pool(0, 0, 900, 4096)),
		said("pre-0", 52, evidence.EventPool, pool(1, 4, 800, 4096)),
	}, &incident.Incident{}, nil)
	if len(got) != 4 {
		t.Fatalf("%d pools: %+v", len(got), got)
	}
	first, last := got[0], got[3]
	if first.InputLimit != evidence.Some(int64(994)) || first.CapacityGap != evidence.Some(true) || first.PageSize.V != 64 || first.Ranks.V != 2 {
		t.Errorf("first boot: %+v", first)
	}
	if first.ValidFrom.V != 10e6 || first.ValidTo.V != 50e6 || last.ValidTo.Known {
		t.Errorf("intervals: %+v, %+v", first, last)
	}
	if last.Rank.V != 1 || last.PoolTokens.V != 800 || !strings.Contains(strings.Join(last.Notes, ";"), "ranks disagree: pools from 800 to 900 tokens") {
		t.Errorf("second boot: %+v", last)
	}
}

func TestARestartWithoutLaunchLineIsSeen(t *testing.T) {
	got := Pools([]event{
		said("dec-0", 1, evidence.EventPool, pool(0, 0, 1000, 512)),
		said("dec-0", 2, evidence.EventPool, pool(0, 1, 1000, 512)), // another shard repeats it
		said("dec-0", 9, evidence.EventPool, pool(0, 0, 990, 512)),
	}, &incident.Incident{}, map[string]evidence.Role{"dec-0": evidence.RoleDecode})
	if len(got) != 2 || got[1].PoolTokens.V != 990 || got[0].ValidTo.V != 9e6 {
		t.Fatalf("%+v", got)
	}
	if got[0].Role != evidence.RoleDecode || got[0].RoleHow != "gateway rows" || got[0].CapacityGap != evidence.Some(false) {
		t.Errorf("%+v", got[0])
	}
}

func TestAllocationsStandInForMissingSummaries(t *testing.T) {
	got := Pools([]event{
		said("", 1, evidence.EventKVAlloc, alloc(0, 0, 1000)),
		said("", 2, evidence.EventKVAlloc, alloc(0, 1, 960)),
		said("", 3, evidence.EventKVAlloc, alloc(1, 2, 1000)),
	}, &incident.Incident{}, nil)
	if len(got) != 2 || got[0].PoolTokens.V != 960 || got[0].InputLimit.Known || got[0].Node != "" {
		t.Fatalf("%+v", got)
	}
}

func TestIncidentFillsGapsAndDifferencesAreSaid(t *testing.T) {
	in := &incident.Incident{Nodes: []incident.Node{
		{Name: "dec-0", Role: evidence.RoleDecode, Version: "0.5.18", PoolTokens: evidence.Some(int64(2000)), ContextLen: evidence.Some(int64(512))},
		{Name: "dec-1", Role: evidence.RoleDecode, PoolTokens: evidence.Some(int64(2000)), ContextLen: evidence.Some(int64(4096))},
	}}
	got := Pools([]event{said("dec-0", 1, evidence.EventPool, pool(0, 0, 1000, 512))}, in, nil)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	logged, stated := got[0], got[1]
	if logged.PoolTokens.V != 1000 || logged.Origin != "log" || !slices.Contains(logged.Notes, "incident.yaml states pool_tokens 2000, the log 1000") ||
		logged.EngineVersion != "0.5.18" || logged.VersionHow != "incident.yaml" {
		t.Errorf("logged: %+v", logged)
	}
	if stated.Origin != "incident.yaml" || stated.InputLimit.V != 1994 || !stated.CapacityGap.V || stated.SourceID.Known {
		t.Errorf("stated: %+v", stated)
	}
}

// The envelope must lie under the true cost at every length, within the
// evidence and past it, and yet bound something.
func TestEnvelopeLiesUnderTheCost(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		fixed, linear, square := random.Float64()*200, 0.01+random.Float64()*0.1, random.Float64()*1e-7
		cost := func(n float64) float64 { return fixed + linear*n + square*n*n }
		bins := map[int]*Bin{}
		largest := 0.0
		values := map[int][]float64{}
		for range 500 + random.IntN(5000) {
			n := math.Exp(random.NormFloat64()*1.2 + 8)
			largest = max(largest, n)
			k := int(math.Floor(math.Log2(n) * 4))
			if bins[k] == nil {
				bins[k] = &Bin{Node: "p"}
			}
			bins[k].MaxTokens = max(bins[k].MaxTokens, int64(n))
			bins[k].Requests++
			values[k] = append(values[k], cost(n)*(1+random.ExpFloat64()*0.3))
		}
		var list []Bin
		for k, b := range bins {
			slices.Sort(values[k])
			b.LowMs = values[k][(len(values[k])-1)/100]
			list = append(list, *b)
		}
		slices.SortFunc(list, func(a, b Bin) int { return int(a.MaxTokens - b.MaxTokens) })
		checkEnvelope(t, Envelope("p", list), cost, largest)
	}
}

func checkEnvelope(t *testing.T, knots []Knot, cost func(float64) float64, largest float64) {
	t.Helper()
	if len(knots) < 2 || !knots[len(knots)-1].Extrapolated {
		t.Fatalf("knots %+v", knots)
	}
	for i, k := range knots {
		if i > 0 && k.BoundMs < knots[i-1].BoundMs {
			t.Fatalf("not monotone at %d: %+v", i, knots)
		}
		// The first percentile of noisy values may lie a little over the cost
		// of the bin's shortest prompt; a later prompt costs more anyhow.
		if k.BoundMs > cost(float64(k.FromTokens))*1.25 {
			t.Fatalf("knot over the cost: %+v, cost %f", k, cost(float64(k.FromTokens)))
		}
	}
	last := knots[len(knots)-1]
	for _, n := range []float64{largest, 2 * largest, 10 * largest, 100 * largest} {
		bound := last.BoundMs + last.SlopeMs*(n-float64(last.FromTokens))
		if bound > cost(n)*1.25 {
			t.Fatalf("extrapolated to %f: bound %f, cost %f", n, bound, cost(n))
		}
	}
	if last.BoundMs < cost(float64(last.FromTokens))*0.3 {
		t.Fatalf("the envelope bounds next to nothing: %+v", last)
	}
}

func TestTooLittleSupportBoundsNothing(t *testing.T) {
	if k := Envelope("p", []Bin{{MaxTokens: 100, LowMs: 1, Requests: 100}, {MaxTokens: 200, LowMs: 2, Requests: 99}}); k != nil {
		t.Errorf("%+v", k)
	}
	if k := Envelope("p", []Bin{{MaxTokens: 100, LowMs: 1, Requests: 500}}); k != nil {
		t.Errorf("%+v", k)
	}
}

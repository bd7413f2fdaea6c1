package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// Random truths and predictions against a second computation that goes over
// plain lists, pair by pair, and shares no code with the first.
func TestScoresAgainstSlowComputation(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		truth, p := randomCase(r)
		report := Evaluate(truth, p)
		for _, d := range report.Defects {
			t.Run(fmt.Sprintf("seed %d %s", seed, d.Defect), func(t *testing.T) {
				checkSuspects(t, truth, p, d)
				checkPairs(t, truth, p, d)
				checkTenants(t, truth, p, d)
			})
		}
		shuffle(r, p.Suspects)
		shuffle(r, p.Methods[0].Pairs)
		shuffle(r, p.Tenants)
		shuffle(r, truth.Suspects)
		if again := Evaluate(truth, p); !sameBits(report, again) {
			t.Fatalf("seed %d: another order gives another report", seed)
		}
	}
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// sameBits compares reports in which NaN equals NaN.
func sameBits(a, b Report) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// randomCase names requests r0 to r29, of which some are not in the evidence,
// and tenants t0 to t7.
func randomCase(r *rand.Rand) (Truth, Prediction) {
	var truth Truth
	p := Prediction{Known: map[string]bool{}}
	id := func() string { return fmt.Sprintf("r%d", r.IntN(30)) }
	var ids []string
	for i := range 30 {
		if r.IntN(5) > 0 {
			ids = append(ids, fmt.Sprintf("r%d", i))
			p.Known[ids[len(ids)-1]] = true
		}
	}
	knownID := func() string { return ids[r.IntN(len(ids))] }
	defects := []string{"d1", "d2"}
	taken := map[string]bool{}
	for range r.IntN(12) {
		s := TrueSuspect{RequestID: id(), Defect: defects[r.IntN(2)]}
		if taken[s.RequestID+s.Defect] {
			continue
		}
		taken[s.RequestID+s.Defect] = true
		for _, n := range r.Perm(30)[:r.IntN(8)] {
			from := r.Int64N(100)
			s.Sources = append(s.Sources, TrueSource{fmt.Sprintf("r%d", n), r.Int64N(50) + 1, from, from + r.Int64N(50)})
		}
		truth.Suspects = append(truth.Suspects, s)
	}
	for range r.IntN(20) {
		p.Suspects = append(p.Suspects, Suspect{knownID(), defects[r.IntN(2)], []string{"context", "possible", "strong", "certain"}[r.IntN(4)]})
	}
	method := Method{Name: "ours"}
	paired := map[string]bool{}
	for range r.IntN(60) {
		from := r.Int64N(100)
		pair := Pair{knownID(), defects[r.IntN(2)], knownID(), float64(r.IntN(21)) / 20, r.Float64() * 60, from, from + r.Int64N(40)}
		// Half of the true pairs are met on purpose, for chance finds few.
		if len(truth.Suspects) > 0 && r.IntN(2) == 0 {
			s := truth.Suspects[r.IntN(len(truth.Suspects))]
			if len(s.Sources) > 0 {
				pair.SuspectID, pair.Defect, pair.SourceID = s.RequestID, s.Defect, s.Sources[r.IntN(len(s.Sources))].RequestID
			}
		}
		key := pair.SuspectID + " " + pair.Defect + " " + pair.SourceID
		if paired[key] || !p.Known[pair.SuspectID] || !p.Known[pair.SourceID] {
			continue
		}
		paired[key] = true
		method.Pairs = append(method.Pairs, pair)
	}
	p.Methods = []Method{method}
	for i := range 8 {
		name := fmt.Sprintf("t%d", i)
		truth.Tenants = append(truth.Tenants, TrueTenant{name, map[string]int{"d1": r.IntN(4), "d2": r.IntN(2)}, map[string]int{"d1": r.IntN(6)}})
		for _, direction := range []string{"source", "recipient"} {
			for _, defect := range defects {
				if r.IntN(3) > 0 {
					floor := float64(r.IntN(4))
					best := floor + r.Float64()*3
					p.Tenants = append(p.Tenants, Tenant{name, direction, defect, floor, best, best + float64(r.IntN(3)), []string{"exposed", "ruled out"}[r.IntN(2)]})
				}
			}
		}
	}
	return truth, p
}

func checkSuspects(t *testing.T, truth Truth, p Prediction, d DefectReport) {
	counts := map[string][]string{"certain": {"certain"}, "strong": {"certain", "strong"}, "possible": {"certain", "strong", "possible"}}
	for _, got := range d.Suspects {
		var predicted, named, lost []string
		for _, s := range p.Suspects {
			if s.Defect == d.Defect && slices.Contains(counts[got.Level], s.Level) && !slices.Contains(predicted, s.RequestID) {
				predicted = append(predicted, s.RequestID)
			}
		}
		hits := 0
		for _, s := range truth.Suspects {
			switch {
			case s.Defect != d.Defect:
			case !p.Known[s.RequestID]:
				lost = append(lost, s.RequestID)
			default:
				named = append(named, s.RequestID)
				if slices.Contains(predicted, s.RequestID) {
					hits++
				}
			}
		}
		if got.True != len(named) || got.Lost != len(lost) || got.Predicted != len(predicted) || got.Hits != hits {
			t.Errorf("%+v, want true %d, lost %d, predicted %d, hits %d", got, len(named), len(lost), len(predicted), hits)
		}
		near(t, "precision", got.Precision, float64(hits)/float64(len(predicted)))
		near(t, "recall", got.Recall, float64(hits)/float64(len(named)))
		near(t, "recall with lost", got.RecallWithLost, float64(hits)/float64(len(named)+len(lost)))
	}
}

// event is one pair of the union of predicted and true pairs.
type event struct {
	p, tokens             float64
	from, to              int64
	predicted, true_      bool
	slots, tFrom, tTo     int64
	suspectID, sourceName string
}

func checkPairs(t *testing.T, truth Truth, p Prediction, d DefectReport) {
	got := d.Pairs[0]
	var events []event
	for _, pair := range p.Methods[0].Pairs {
		if pair.Defect == d.Defect {
			events = append(events, event{p: pair.Probability, tokens: pair.Tokens, from: pair.From, to: pair.To, predicted: true, suspectID: pair.SuspectID, sourceName: pair.SourceID})
		}
	}
	lost := 0
	for _, s := range truth.Suspects {
		if s.Defect != d.Defect {
			continue
		}
	sources:
		for _, source := range s.Sources {
			if !p.Known[s.RequestID] || !p.Known[source.RequestID] {
				lost++
				continue
			}
			for i := range events {
				e := &events[i]
				if e.suspectID == s.RequestID && e.sourceName == source.RequestID {
					e.true_, e.slots, e.tFrom, e.tTo = true, source.Slots, source.FromToken, source.ToToken
					continue sources
				}
			}
			events = append(events, event{true_: true, slots: source.Slots, suspectID: s.RequestID, sourceName: source.RequestID})
		}
	}
	var trues, named, hits, brier, logs, trueTokens, tokens, shared, both, either float64
	bins := make([][]event, 10)
	for _, e := range events {
		y := 0.0
		if e.true_ {
			y = 1
			trues++
			trueTokens += float64(e.slots)
		}
		if e.predicted {
			tokens += e.tokens
			for i := range bins {
				if e.p >= float64(i)/10 && (e.p < float64(i+1)/10 || i == 9) {
					bins[i] = append(bins[i], e)
				}
			}
		}
		if e.predicted && e.p >= 0.5 {
			named++
			hits += y
		}
		brier += math.Pow(e.p-y, 2)
		clipped := math.Max(0.001, math.Min(0.999, e.p))
		logs += -y*math.Log(clipped) - (1-y)*math.Log(1-clipped)
		if e.true_ && e.predicted {
			shared += math.Min(e.tokens, float64(e.slots))
			if e.to > e.from && e.tTo > e.tFrom {
				for token := int64(0); token < 300; token++ {
					a, b := token >= e.from && token < e.to, token >= e.tFrom && token < e.tTo
					if a && b {
						both++
					}
					if a || b {
						either++
					}
				}
			}
		}
	}
	n := float64(len(events))
	if got.True != int(trues) || got.Lost != lost || got.Named != int(named) || got.Hits != int(hits) || got.Scored != len(events) {
		t.Errorf("%+v, want true %v, lost %d, named %v, hits %v, scored %v", got, trues, lost, named, hits, n)
	}
	near(t, "precision", got.Precision, hits/named)
	near(t, "recall", got.Recall, hits/trues)
	near(t, "recall with lost", got.RecallWithLost, hits/(trues+float64(lost)))
	near(t, "brier", got.Brier, brier/n)
	near(t, "log score", got.LogScore, logs/n)
	perTrue := func(sum float64) float64 {
		if trues == 0 {
			return math.NaN() // not infinite: without true pairs it is not defined
		}
		return sum / trues
	}
	near(t, "brier per true pair", got.BrierPerTrue, perTrue(brier))
	near(t, "log score per true pair", got.LogPerTrue, perTrue(logs))
	near(t, "token recall", got.TokenRecall, shared/trueTokens)
	near(t, "token precision", got.TokenPrecision, shared/tokens)
	near(t, "range overlap", got.RangeOverlap, both/either)
	for i, list := range bins {
		mean, share := 0.0, 0.0
		for _, e := range list {
			mean += e.p
			if e.true_ {
				share++
			}
		}
		if got.Bins[i].Count != len(list) {
			t.Errorf("bin %d: %d pairs, want %d", i, got.Bins[i].Count, len(list))
		}
		near(t, "bin mean", got.Bins[i].Mean, mean/float64(len(list)))
		near(t, "bin share", got.Bins[i].True, share/float64(len(list)))
	}
}

func checkTenants(t *testing.T, truth Truth, p Prediction, d DefectReport) {
	for _, got := range d.Tenants {
		var want TenantScore
		want.Direction = got.Direction
		distance, rows := 0.0, 0
		for _, tenant := range truth.Tenants {
			count := map[string]map[string]int{"source": tenant.SourceCross, "recipient": tenant.RecipientCross}[got.Direction][d.Defect]
			at := slices.IndexFunc(p.Tenants, func(row Tenant) bool {
				return row.TenantID == tenant.TenantID && row.Direction == got.Direction && row.Defect == d.Defect
			})
			switch {
			case at >= 0:
				row := p.Tenants[at]
				want.Tenants++
				rows++
				distance += math.Abs(row.Best - float64(count))
				if float64(count) >= row.Floor && float64(count) <= row.Ceiling {
					want.Within++
				}
				if count > 0 && row.State == "ruled out" {
					want.RuledOut = append(want.RuledOut, tenant.TenantID)
				}
			case count > 0:
				want.Tenants++
				want.Missing = append(want.Missing, tenant.TenantID)
			}
		}
		near(t, "share", got.Share, float64(want.Within)/float64(want.Tenants))
		near(t, "mean error", got.MeanError, distance/float64(rows))
		got.Share, got.MeanError = 0, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

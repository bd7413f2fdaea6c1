package score

import (
	"math"
	"slices"
)

// ruledOut is the state of a tenant that was certainly not exposed.
const ruledOut = "ruled out"

// Tenant is a predicted tenant: how many of its requests were exposed to
// another tenant, for one direction (source, recipient) and defect. A bound
// that was not stated is NaN and holds no count.
type Tenant struct {
	TenantID, Direction, Defect string
	Floor, Best, Ceiling        float64 // requests
	State                       string
}

// TenantScore holds tenants' counts against the truth. Tenants are those with a
// row and those that have none although they were exposed.
type TenantScore struct {
	Direction string
	Tenants   int
	Within    int      // true count between floor and ceiling
	Share     float64  // within of tenants
	MeanError float64  // mean distance of best from the true count, in requests, over tenants with a best
	RuledOut  []string // exposed tenants that were ruled out: there must be none
	Missing   []string // exposed tenants without a row
}

func scoreTenants(t Truth, p Prediction, defect, direction string) TenantScore {
	s := TenantScore{Direction: direction}
	truth := map[string]int{}
	for _, tenant := range t.Tenants {
		counts := tenant.SourceCross
		if direction == "recipient" {
			counts = tenant.RecipientCross
		}
		truth[tenant.TenantID] += counts[defect]
	}
	var distances []float64
	seen := map[string]bool{}
	for _, row := range p.Tenants {
		if row.Defect != defect || row.Direction != direction {
			continue
		}
		count := float64(truth[row.TenantID])
		seen[row.TenantID] = true
		s.Tenants++
		if row.Floor <= count && count <= row.Ceiling {
			s.Within++
		}
		if !math.IsNaN(row.Best) {
			distances = append(distances, math.Abs(row.Best-count))
		}
		if row.State == ruledOut && count > 0 {
			s.RuledOut = append(s.RuledOut, row.TenantID)
		}
	}
	for id, count := range truth {
		if count > 0 && !seen[id] {
			s.Tenants++
			s.Missing = append(s.Missing, id)
		}
	}
	slices.Sort(s.RuledOut)
	slices.Sort(s.Missing)
	slices.Sort(distances) // sums of floats depend on their order
	sum := 0.0
	for _, e := range distances {
		sum += e
	}
	s.Share, s.MeanError = ratio(s.Within, s.Tenants), ratio(sum, float64(len(distances)))
	return s
}

package score

import (
	"maps"
	"math"
	"slices"
)

// Prediction is what a case says.
type Prediction struct {
	Known    map[string]bool // ids of the requests in the evidence; holds every id that is predicted
	Suspects []Suspect
	Methods  []Method // ways to name sources, the case's own first
	Tenants  []Tenant
}

// Method is a way to name the sources of suspects, with what it names.
type Method struct {
	Name  string
	Pairs []Pair
}

// Report scores each defect class apart, in order of name.
type Report struct{ Defects []DefectReport }

// DefectReport scores one defect class.
type DefectReport struct {
	Defect   string
	Suspects []SuspectScore // by lowest level that counts as predicted: certain, strong, possible
	Pairs    []PairScore    // in the order of Prediction.Methods
	Tenants  []TenantScore  // by direction: source, recipient
}

// Empty tells that neither the truth nor the prediction has a suspect, and that
// no tenant's count misses the truth.
func (d DefectReport) Empty() bool {
	for _, s := range d.Suspects {
		if s.True > 0 || s.Predicted > 0 {
			return false
		}
	}
	for _, t := range d.Tenants {
		if t.Within < t.Tenants || len(t.Missing) > 0 {
			return false
		}
	}
	return true
}

// Evaluate holds a prediction against the truth. The order of its lists does
// not matter: the same rows give the same numbers to the last bit.
func Evaluate(t Truth, p Prediction) Report {
	var report Report
	for _, defect := range defectsOf(t, p) {
		d := DefectReport{Defect: defect, Suspects: scoreSuspects(t, p, defect)}
		pairs := truePairs(t, defect)
		for _, m := range p.Methods {
			s := scorePairs(pairs, p.Known, predictedPairs(m.Pairs, defect))
			s.Method = m.Name
			d.Pairs = append(d.Pairs, s)
		}
		for _, direction := range []string{"source", "recipient"} {
			d.Tenants = append(d.Tenants, scoreTenants(t, p, defect, direction))
		}
		report.Defects = append(report.Defects, d)
	}
	return report
}

// defectsOf gives the defects of truth and prediction, sorted.
func defectsOf(t Truth, p Prediction) []string {
	seen := map[string]bool{}
	for _, s := range t.Suspects {
		seen[s.Defect] = true
	}
	for _, tenant := range t.Tenants {
		for defect := range tenant.SourceCross {
			seen[defect] = true
		}
		for defect := range tenant.RecipientCross {
			seen[defect] = true
		}
	}
	for _, s := range p.Suspects {
		seen[s.Defect] = true
	}
	for _, m := range p.Methods {
		for _, pair := range m.Pairs {
			seen[pair.Defect] = true
		}
	}
	for _, tenant := range p.Tenants {
		seen[tenant.Defect] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// ratio gives a share, NaN where there is nothing to take a share of.
func ratio[T int | int64 | float64](part, whole T) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
}

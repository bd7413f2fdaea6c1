// Package estimate turns counts into intervals and bounds: proportions, sums of
// unequal chances, and how much several detectors missed together.
package estimate

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// z gives how many standard deviations a two-sided interval of a confidence spans.
func z(confidence float64) float64 { return distuv.UnitNormal.Quantile((1 + confidence) / 2) }

// Wilson gives the two-sided score interval of a proportion of which k of n
// were seen (Wilson 1927). With n = 0 it is 0 to 1.
func Wilson(k, n int, confidence float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	z := z(confidence)
	p, m := float64(k)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, centre-half), min(1, centre+half)
}

// ClopperPearson gives the two-sided exact interval of a proportion of which k
// of n were seen, for sentences that say "at least" or "at most": it covers at
// least as often as it claims (Clopper and Pearson 1934).
func ClopperPearson(k, n int, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return low, high
}

// PoissonQuantile gives the least count that a Poisson variable of the mean does
// not exceed with probability q or more, 0 < q < 1.
func PoissonQuantile(mean, q float64) int {
	if mean <= 0 {
		return 0
	}
	most := int(mean + 10*math.Sqrt(mean) + 50)
	return sort.Search(most, func(k int) bool { return distuv.Poisson{Lambda: mean}.CDF(float64(k)) >= q })
}

// BinomialQuantile gives the least count that a binomial variable of n trials
// with chance p does not exceed with probability q or more, 0 < q < 1.
func BinomialQuantile(n int, p, q float64) int {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	}
	return sort.Search(n, func(k int) bool { return distuv.Binomial{N: float64(n), P: p}.CDF(float64(k)) >= q })
}

// PoissonBinomial is the distribution of how many of several independent events
// happen whose chances differ.
type PoissonBinomial struct {
	first int       // counts below it have no chance worth keeping
	mass  []float64 // chance of count first, first+1, …
}

// negligible is chance that may be dropped from either end of a distribution.
const negligible = 1e-18

// NewPoissonBinomial takes the chance of each event.
func NewPoissonBinomial(chances []float64) PoissonBinomial {
	d := PoissonBinomial{mass: []float64{1}}
	for _, p := range chances {
		d.mass = append(d.mass, 0)
		for k := len(d.mass) - 1; k >= 0; k-- {
			d.mass[k] *= 1 - p
			if k > 0 {
				d.mass[k] += p * d.mass[k-1]
			}
		}
		for len(d.mass) > 1 && d.mass[0] < negligible {
			d.first, d.mass = d.first+1, d.mass[1:]
		}
		for len(d.mass) > 1 && d.mass[len(d.mass)-1] < negligible {
			d.mass = d.mass[:len(d.mass)-1]
		}
	}
	return d
}

// Quantile gives the least count that is not exceeded with probability q or
// more, 0 < q < 1.
func (d PoissonBinomial) Quantile(q float64) int {
	sum := 0.0
	for k, p := range d.mass {
		if sum += p; sum >= q {
			return d.first + k
		}
	}
	return d.first + len(d.mass) - 1
}

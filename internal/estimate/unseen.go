package estimate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Unseen is how many events no detector caught.
type Unseen struct {
	Best, Low, High float64
	Method          string
	Assumptions     []string
}

var errNoOverlap = errors.New("not estimable: no event was caught twice")

// Chapman estimates what two detectors both missed, from how many events each
// caught alone and both caught (Chapman 1951). The interval is that of the
// profile likelihood (Cormack 1992), which holds for small counts too.
func Chapman(only1, only2, both int, confidence float64) (Unseen, error) {
	if both == 0 {
		return Unseen{}, errNoOverlap
	}
	n1, n2, m := float64(only1+both), float64(only2+both), float64(both)
	caught := float64(only1 + only2 + both)
	u := Unseen{
		Best:   (n1+1)*(n2+1)/(m+1) - 1 - caught,
		Method: "Chapman, two detectors",
		Assumptions: []string{
			"the two kinds of evidence catch an event independently of each other, each with the same chance for every event; where both tend to miss the same events, more are unseen",
			"no event that was caught is a false one",
		},
	}
	u.Low, u.High = profile(caught, []float64{n1, n2}, confidence)
	u.Best = max(u.Low, min(u.Best, u.High))
	return u, nil
}

// profile gives the interval of the number of uncaught events in which the
// likelihood of independent detectors, of which each caught so many, is close to
// its maximum.
func profile(caught float64, by []float64, confidence float64) (low, high float64) {
	likelihood := func(unseen float64) float64 {
		n := caught + unseen
		l := lgamma(n+1) - lgamma(unseen+1)
		for _, k := range by {
			l += xlogy(k, k/n) + xlogy(n-k, 1-k/n)
		}
		return l
	}
	// The likelihood has one peak. Search by doubling, then by halving.
	peak := 0.0
	for step := math.Exp2(math.Ceil(math.Log2(caught + 1))); step >= 0.01; step /= 2 {
		for likelihood(peak+step) > likelihood(peak) {
			peak += step
		}
		for peak-step >= 0 && likelihood(peak-step) > likelihood(peak) {
			peak -= step
		}
	}
	least := likelihood(peak) - distuv.ChiSquared{K: 1}.Quantile(confidence)/2
	high = peak + 1
	for likelihood(high) > least {
		high = peak + 2*(high-peak)
	}
	return cross(likelihood, least, peak, 0), cross(likelihood, least, peak, high)
}

// cross gives where f falls to level between inside, where it is above, and
// outside; outside itself if f is above there too.
func cross(f func(float64) float64, level, inside, outside float64) float64 {
	if f(outside) >= level {
		return outside
	}
	for math.Abs(outside-inside) > 0.01 {
		if mid := (inside + outside) / 2; f(mid) >= level {
			inside = mid
		} else {
			outside = mid
		}
	}
	return inside
}

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

func xlogy(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

// Chao gives a lower bound of what several detectors all missed, which holds
// even where some events are harder to catch than others (Chao 1989, for
// detectors of unequal reach; with two it is Chapman's estimate). caught tells
// for each event which detectors caught it. The interval is that of the bound.
func Chao(caught [][]bool, confidence float64) (Unseen, error) {
	var alone []float64 // events that only this detector caught
	var by []float64    // events that it caught
	var twice float64   // events that exactly two caught
	overlap := false
	for _, c := range caught {
		for len(alone) < len(c) {
			alone, by = append(alone, 0), append(by, 0)
		}
		n, last := 0, 0
		for i, hit := range c {
			if hit {
				n, last = n+1, i
				by[i]++
			}
		}
		overlap = overlap || n > 1
		switch n {
		case 1:
			alone[last]++
		case 2:
			twice++
		}
	}
	if !overlap {
		return Unseen{}, errNoOverlap
	}
	best, once := chao(alone, twice)
	u := Unseen{
		Best:   best,
		Method: "Chao, lower bound",
		Assumptions: []string{
			"a lower bound: some events may be easier to catch than others, but kinds of evidence catch them independently of one another",
			"no event that was caught is a false one",
		},
	}
	if best == 0 {
		// At most one detector caught something alone: what is left is chance.
		u.Low, u.High = profile(float64(len(caught)), by, confidence)
		return u, nil
	}
	variance := twice * best * best / ((twice + 1) * (twice + 1))
	for _, k := range alone {
		slope := (once - k) / (twice + 1)
		variance += k * slope * slope
	}
	spread := math.Exp(z(confidence) * math.Sqrt(math.Log(1+variance/(best*best))))
	u.Low, u.High = best/spread, best*spread
	return u, nil
}

// chao gives the bound, and how many events were caught just once.
func chao(alone []float64, twice float64) (bound, once float64) {
	for _, k := range alone {
		bound += k * once
		once += k
	}
	return bound / (twice + 1), once
}

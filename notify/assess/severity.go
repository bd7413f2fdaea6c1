package assess

import (
	"fmt"
	"slices"
)

// Quarters is a number of quarter points. All ENISA values are multiples of a
// quarter, so that the limits of the bands are met exactly.
type Quarters int

// Points gives the value in points; it is exact.
func (q Quarters) Points() float64 { return float64(q) / 4 }

// String gives the value in points with two decimals, like 1.25.
func (q Quarters) String() string { return fmt.Sprintf("%.2f", q.Points()) }

// Circumstance is what one circumstance of a breach adds to its severity.
type Circumstance int

// The levels of a circumstance. Zero is no level, so that a circumstance that
// nobody looked at cannot pass for one that adds nothing.
const (
	NotStated Circumstance = iota
	AddsNothing
	AddsQuarter
	AddsHalf
)

func (c Circumstance) quarters() int { return int(c) - 1 }

// Inputs are the inputs of the ENISA severity method (December 2013, version
// 1.0): severity = context × identification + circumstances.
type Inputs struct {
	Context         int      // data processing context, 1 to 4 points; 0: not set
	Identification  Quarters // ease of identification, 1 (negligible) to 4 (maximum) quarters; 0: not set
	Confidentiality Circumstance
	Integrity       Circumstance
	Availability    Circumstance
	Malice          Circumstance // adds nothing or a half
}

func (in Inputs) values() [len(inputs)]int {
	return [len(inputs)]int{
		in.Context, int(in.Identification),
		in.Confidentiality.quarters(), in.Integrity.quarters(), in.Availability.quarters(), in.Malice.quarters(),
	}
}

// inputs is the method's table of values. The context counts points and the
// rest quarters of a point.
var inputs = [6]struct {
	name     string
	perPoint int
	allowed  []int
}{
	{"data processing context", 1, []int{1, 2, 3, 4}},
	{"ease of identification", 4, []int{1, 2, 3, 4}},
	{"loss of confidentiality", 4, []int{0, 1, 2}},
	{"loss of integrity", 4, []int{0, 1, 2}},
	{"loss of availability", 4, []int{0, 1, 2}},
	{"malicious intent", 4, []int{0, 2}},
}

// Score gives the severity in quarter points, from 1 to 24. The error names
// every input that is not set or not in the method's table; there is no score
// then.
func Score(in Inputs) (Quarters, error) {
	v := in.values()
	var f faults
	for i, input := range inputs {
		if !slices.Contains(input.allowed, v[i]) {
			f.addf("%s is not set to a value of the method", input.name)
		}
	}
	if f != nil {
		return 0, f.err("score severity")
	}
	return Quarters(v[0]*v[1] + v[2] + v[3] + v[4] + v[5]), nil
}

// Band is a band of severity; a higher band is a greater number.
type Band int

// The bands of the method.
const (
	Low Band = iota + 1
	Medium
	High
	VeryHigh
)

// bands go from the highest down. A band begins at its limit: 2.00 is medium.
var bands = []struct {
	from Quarters
	band Band
	name string
}{
	{16, VeryHigh, "very high"},
	{12, High, "high"},
	{8, Medium, "medium"},
	{0, Low, "low"},
}

// String gives the name of the band, or "no band".
func (b Band) String() string {
	for _, row := range bands {
		if row.band == b {
			return row.name
		}
	}
	return "no band"
}

// BandOf gives the band of a score.
func BandOf(score Quarters) Band {
	for _, row := range bands {
		if score >= row.from {
			return row.band
		}
	}
	return Low
}

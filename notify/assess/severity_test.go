package assess

import (
	"math/big"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
)

const (
	n = AddsNothing
	q = AddsQuarter
	h = AddsHalf
)

func TestSeverityVectors(t *testing.T) {
	for name, tt := range map[string]struct {
		in    Inputs
		score string
		band  string
	}{
		"E1 public URL":          {Inputs{1, 4, h, n, n, n}, "1.50", "low"},
		"E2 same, malicious":     {Inputs{1, 4, h, n, n, h}, "2.00", "medium"},
		"E3 supermarket list":    {Inputs{1, 4, q, n, n, n}, "1.25", "low"},
		"E4 week of calls":       {Inputs{2, 2, q, n, n, n}, "1.25", "low"},
		"E5 year of statements":  {Inputs{4, 4, q, n, n, n}, "4.25", "very high"},
		"E6 blood test, alias":   {Inputs{4, 1, q, n, n, n}, "1.25", "low"},
		"E7 disease test":        {Inputs{3, 3, q, n, n, n}, "2.50", "medium"},
		"E8 month of balances":   {Inputs{3, 4, n, n, n, n}, "3.00", "high"},
		"E9 balances, malicious": {Inputs{3, 4, h, n, n, h}, "4.00", "very high"},
		"E10 minimum":            {Inputs{1, 1, n, n, n, n}, "0.25", "low"},
		"E11 maximum":            {Inputs{4, 4, h, h, h, h}, "6.00", "very high"},
	} {
		t.Run(name, func(t *testing.T) {
			score, err := Score(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if score.String() != tt.score || BandOf(score).String() != tt.band {
				t.Errorf("got %s %s, want %s %s", score, BandOf(score), tt.score, tt.band)
			}
		})
	}
}

// E12, and all else that is not in the method's table.
func TestNoScoreWithoutInputs(t *testing.T) {
	for fault, in := range map[string]Inputs{
		"data processing context": {0, 4, n, n, n, n},
		"context is not set":      {5, 4, n, n, n, n},
		"ease of identification":  {1, 0, n, n, n, n},
		"identification is not":   {1, 5, n, n, n, n},
		"loss of confidentiality": {1, 4, NotStated, n, n, n},
		"confidentiality is not":  {1, 4, AddsHalf + 1, n, n, n},
		"loss of integrity":       {1, 4, n, NotStated, n, n},
		"loss of availability":    {1, 4, n, n, NotStated, n},
		"malicious intent":        {1, 4, n, n, n, NotStated},
		"malicious intent is not": {1, 4, n, n, n, AddsQuarter},
	} {
		score, err := Score(in)
		if err == nil || score != 0 || !strings.Contains(err.Error(), fault) {
			t.Errorf("Score(%+v) = %s, %v; want an error about %q", in, score, err, fault)
		}
	}
	if _, err := Score(Inputs{}); strings.Count(err.Error(), "is not set") != 6 {
		t.Errorf("error does not name all inputs: %v", err)
	}
}

// eachInput gives every combination of the method's values.
func eachInput(each func(Inputs)) {
	for context := 1; context <= 4; context++ {
		for id := Quarters(1); id <= 4; id++ {
			for c := n; c <= h; c++ {
				for i := n; i <= h; i++ {
					for a := n; a <= h; a++ {
						each(Inputs{context, id, c, i, a, n})
						each(Inputs{context, id, c, i, a, h})
					}
				}
			}
		}
	}
}

func TestScoreAgainstRationals(t *testing.T) {
	points := map[Circumstance]*big.Rat{n: big.NewRat(0, 1), q: big.NewRat(1, 4), h: big.NewRat(1, 2)}
	count := 0
	eachInput(func(in Inputs) {
		count++
		want := new(big.Rat).Mul(big.NewRat(int64(in.Context), 1), big.NewRat(int64(in.Identification), 4))
		for _, c := range []Circumstance{in.Confidentiality, in.Integrity, in.Availability, in.Malice} {
			want.Add(want, points[c])
		}
		below := func(limit int64) bool { return want.Cmp(big.NewRat(limit, 1)) < 0 }
		band := VeryHigh
		switch {
		case below(2):
			band = Low
		case below(3):
			band = Medium
		case below(4):
			band = High
		}
		got, err := Score(in)
		if err != nil || got.String() != want.FloatString(2) || BandOf(got) != band {
			t.Errorf("%+v: got %s %s %v, want %s %s", in, got, BandOf(got), err, want.FloatString(2), band)
		}
		if exact, _ := want.Float64(); exact != got.Points() {
			t.Errorf("%+v: %v points, want %v", in, got.Points(), exact)
		}
	})
	if count != 4*4*3*3*3*2 {
		t.Errorf("tried %d combinations", count)
	}
}

func TestAddingACircumstanceNeverLowersTheBand(t *testing.T) {
	eachInput(func(in Inputs) {
		before, err := Score(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []func(*Inputs) *Circumstance{
			func(in *Inputs) *Circumstance { return &in.Confidentiality },
			func(in *Inputs) *Circumstance { return &in.Integrity },
			func(in *Inputs) *Circumstance { return &in.Availability },
			func(in *Inputs) *Circumstance { return &in.Malice },
		} {
			for level := *c(&in) + 1; level <= AddsHalf; level++ {
				more := in
				*c(&more) = level
				after, err := Score(more)
				if err != nil {
					continue // malice has no quarter
				}
				if after <= before || BandOf(after) < BandOf(before) {
					t.Errorf("%+v gives %s %s, %+v gives %s %s", in, before, BandOf(before), more, after, BandOf(after))
				}
			}
		}
	})
}

func TestFlagsStandBesideTheScore(t *testing.T) {
	for _, tt := range []struct {
		people evidence.Opt[int64]
		want   Answer
	}{
		{evidence.Some[int64](100), No},
		{evidence.Some[int64](101), Yes},
		{evidence.Opt[int64]{}, NotYetKnown},
	} {
		// E6: a low band does not hide health data.
		s, err := Scored{Name: "patients", Inputs: Inputs{4, 1, q, n, n, n}, People: tt.people, Article9: Yes, Unintelligible: No}.Assess()
		if err != nil {
			t.Fatal(err)
		}
		if s.ManyPeople != tt.want || s.Article9 != Yes || s.Unintelligible != No || s.Band != Low || s.Score != 5 {
			t.Errorf("%+v people: got %+v", tt.people, s)
		}
	}
}

func TestOverrideNeedsBandAndReason(t *testing.T) {
	group := Scored{Name: "all", Inputs: Inputs{1, 4, n, n, n, n}}
	for _, tt := range []struct {
		override Override
		ok       bool
	}{
		{Override{High, "half-readable data was published"}, true},
		{Override{High, " \t"}, false},
		{Override{0, "no band"}, false},
		{Override{VeryHigh + 1, "no band"}, false},
	} {
		group.Override = &tt.override
		s, err := group.Assess()
		if (err == nil) != tt.ok {
			t.Fatalf("%+v: error is %v", tt.override, err)
		}
		if tt.ok && (s.Band != High || s.Computed != Low || s.Score != 4 || s.Reason != tt.override.Reason) {
			t.Errorf("%+v: got %+v", tt.override, s)
		}
	}
}

func TestWorstGroupDrives(t *testing.T) {
	low := Scored{Name: "250,000 customers", Inputs: Inputs{1, 4, q, n, n, n}}
	few := Scored{Name: "12 secret addresses", Inputs: Inputs{4, 3, q, n, n, n}}
	for _, groups := range [][]Scored{{low, few}, {few, low}} {
		all, worst, err := AssessAll(groups)
		if err != nil || len(all) != 2 || worst.Name != few.Name || worst.Band != High {
			t.Errorf("got worst %+v of %d, %v", worst, len(all), err)
		}
	}
	raised := low
	raised.Override = &Override{VeryHigh, "they are witnesses"}
	if _, worst, err := AssessAll([]Scored{raised, few}); err != nil || worst.Name != low.Name {
		t.Errorf("an override does not count: worst is %+v, %v", worst, err)
	}
	higher := Scored{Name: "higher score", Inputs: Inputs{4, 3, h, n, n, n}}
	if _, worst, err := AssessAll([]Scored{few, higher}); err != nil || worst.Name != higher.Name {
		t.Errorf("score does not break the tie: worst is %+v, %v", worst, err)
	}
	for _, groups := range [][]Scored{nil, {few, {Name: "not scored"}}, {{Name: "below 0", Inputs: few.Inputs, People: evidence.Some[int64](-1)}}} {
		if all, _, err := AssessAll(groups); err == nil || all != nil {
			t.Errorf("%+v: got %+v without an error", groups, all)
		}
	}
}

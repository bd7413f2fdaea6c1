package score

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// known names requests of one letter each.
func known(ids string) map[string]bool {
	m := map[string]bool{}
	for _, id := range ids {
		m[string(id)] = true
	}
	return m
}

func TestReadTruth(t *testing.T) {
	truth, err := ReadTruth(strings.NewReader(`{"version":9,"new":[1],"suspects":[
		{"request_id":"s","defect":"d","sources":[{"source_request_id":"a","slots":7,"from_token":1,"to_token":9,"part":"both"}]},
		{"request_id":"u"}],
		"tenants":[{"tenant_id":"t","source_cross_tenant":{"d":2}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if s := truth.Suspects; len(s) != 2 || s[0].Sources[0] != (TrueSource{"a", 7, 1, 9}) || s[1].Defect != "" {
		t.Errorf("suspects %+v", s)
	}
	if n := truth.Tenants[0].SourceCross["d"]; n != 2 {
		t.Errorf("source_cross_tenant %d, want 2", n)
	}
}

func TestReadTruthRefusesBrokenText(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "line 1, byte offset 0: ",
		"{\n\"suspects\":[}":          "line 2, byte offset 15: ",
		`{"suspects":[{"request_id":`: "line 1, byte offset 27: ",
		`{"suspects":"none"}`:         "line 1, byte offset 18: ",
		`{} {}`:                       "line 1, byte offset 4: ",
		`[]`:                          "line 1, byte offset 1: ",
	} {
		if _, err := ReadTruth(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	unreadable := errors.New("unreadable")
	if _, err := ReadTruth(iotest.ErrReader(unreadable)); !errors.Is(err, unreadable) {
		t.Errorf("error %v, want the reader's own", err)
	}
}

// Four true suspects, one of them lost; five predicted, of which one is no
// prediction by its level, one is of another defect and one is false.
func TestSuspectsByHand(t *testing.T) {
	truth := Truth{Suspects: []TrueSuspect{{"a", "d", nil}, {"b", "d", nil}, {"c", "d", nil}, {"lost", "d", nil}}}
	p := Prediction{Known: known("abcxyz"), Suspects: []Suspect{
		{"a", "d", "possible"}, {"a", "d", "certain"}, {"b", "d", "strong"}, {"x", "d", "possible"}, {"y", "d", "context"}, {"c", "other", "certain"},
	}}
	report := Evaluate(truth, p)
	if len(report.Defects) != 2 || report.Defects[0].Defect != "d" || report.Defects[1].Defect != "other" {
		t.Fatalf("defects %+v", report.Defects)
	}
	for i, want := range []SuspectScore{
		{"certain", 3, 1, 1, 1, 1, 1.0 / 3, 1.0 / 4},
		{"strong", 3, 1, 2, 2, 1, 2.0 / 3, 2.0 / 4},
		{"possible", 3, 1, 3, 2, 2.0 / 3, 2.0 / 3, 2.0 / 4},
	} {
		if got := report.Defects[0].Suspects[i]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	other := report.Defects[1].Suspects[0]
	near(t, "precision of a false class", other.Precision, 0)
	near(t, "recall where nothing is true", other.Recall, math.NaN())
}

// The suspect s has the true sources a (100 tokens), b (50), c (30) and one
// that was lost (20). Predicted: a at 0.9, b at 0.4, the false x at 0.6.
func TestPairsByHand(t *testing.T) {
	truth := Truth{Suspects: []TrueSuspect{{"s", "d", []TrueSource{{"a", 100, 0, 100}, {"b", 50, 10, 60}, {"c", 30, 0, 30}, {"lost", 20, 0, 20}}}}}
	p := Prediction{Known: known("sabcx"), Methods: []Method{{"ours", []Pair{
		{"s", "d", "a", 0.9, 80, 50, 150}, {"s", "d", "b", 0.4, 60, 0, 0}, {"s", "d", "x", 0.6, 20, 0, 20}, {"s", "other", "a", 1, 1, 0, 1},
	}}, {"none", nil}}}
	d := Evaluate(truth, p).Defects[0]
	s := d.Pairs[0]
	if s.Method != "ours" || s.True != 3 || s.Lost != 1 || s.Predicted != 3 || s.Named != 2 || s.Hits != 1 || s.Scored != 4 || s.TrueTokens != 180 || s.LostTokens != 20 {
		t.Errorf("%+v", s)
	}
	near(t, "precision", s.Precision, 1.0/2)
	near(t, "recall", s.Recall, 1.0/3)
	near(t, "recall with lost", s.RecallWithLost, 1.0/4)
	near(t, "brier", s.Brier, (0.01+0.36+0.36+1)/4)
	near(t, "log score", s.LogScore, -(math.Log(0.9)+math.Log(0.4)+math.Log(0.4)+math.Log(0.001))/4)
	near(t, "brier per true pair", s.BrierPerTrue, (0.01+0.36+0.36+1)/3)
	near(t, "log score per true pair", s.LogPerTrue, -(math.Log(0.9)+math.Log(0.4)+math.Log(0.4)+math.Log(0.001))/3)
	near(t, "predicted tokens", s.PredictedTokens, 160)
	near(t, "token recall", s.TokenRecall, (80.0+50)/180)
	near(t, "token precision", s.TokenPrecision, (80.0+50)/160)
	near(t, "range overlap", s.RangeOverlap, 50.0/150)
	for i, want := range map[int]Bin{4: {1, 0.4, 1}, 6: {1, 0.6, 0}, 9: {1, 0.9, 1}} {
		if s.Bins[i] != want {
			t.Errorf("bin %d: %+v, want %+v", i, s.Bins[i], want)
		}
	}
	if s.Bins[0].Count != 0 || !math.IsNaN(s.Bins[0].Mean) {
		t.Errorf("bin 0: %+v, want none: what was not predicted has no probability to be right", s.Bins[0])
	}
	none := d.Pairs[1]
	near(t, "precision of nothing", none.Precision, math.NaN())
	near(t, "recall of nothing", none.Recall, 0)
	near(t, "brier of nothing", none.Brier, 1)
	near(t, "token recall of nothing", none.TokenRecall, 0)
}

// A sure and right prediction scores best, a sure and wrong one worst.
func TestPairsAtTheEnds(t *testing.T) {
	truth := Truth{Suspects: []TrueSuspect{{"s", "d", []TrueSource{{"a", 10, 0, 10}}}}}
	right := Evaluate(truth, Prediction{Known: known("sax"), Methods: []Method{{"", []Pair{{"s", "d", "a", 1, 10, 0, 10}, {"s", "d", "x", 0, 0, 0, 0}}}}}).Defects[0].Pairs[0]
	near(t, "brier", right.Brier, 0)
	near(t, "log score", right.LogScore, -math.Log(0.999))
	near(t, "overlap", right.RangeOverlap, 1)
	if right.Bins[9] != (Bin{1, 1, 1}) || right.Bins[0] != (Bin{1, 0, 0}) {
		t.Errorf("bins %+v", right.Bins)
	}
	wrong := Evaluate(truth, Prediction{Known: known("sax"), Methods: []Method{{"", []Pair{{"s", "d", "a", 0, 0, 0, 0}, {"s", "d", "x", 1, 10, 0, 10}}}}}).Defects[0].Pairs[0]
	near(t, "brier", wrong.Brier, 1)
	near(t, "log score", wrong.LogScore, -math.Log(0.001))
}

// Listing pairs of no weight flatters the means, not what methods are compared
// by.
func TestPaddingDoesNotHelp(t *testing.T) {
	truth := Truth{Suspects: []TrueSuspect{{"s", "d", []TrueSource{{"a", 10, 0, 10}}}}}
	plain, padded := []Pair{{"s", "d", "a", 0.5, 10, 0, 10}}, []Pair{{"s", "d", "a", 0.5, 10, 0, 10}, {"s", "d", "x", 0, 0, 0, 0}}
	scores := Evaluate(truth, Prediction{Known: known("sax"), Methods: []Method{{"plain", plain}, {"padded", padded}}}).Defects[0].Pairs
	near(t, "mean of plain", scores[0].Brier, 0.25)
	near(t, "mean of padded", scores[1].Brier, 0.125)
	near(t, "plain per true pair", scores[0].BrierPerTrue, 0.25)
	near(t, "padded per true pair", scores[1].BrierPerTrue, 0.25)
}

// Two records with one id are one request.
func TestPairsOfRepeatedIDs(t *testing.T) {
	truth := Truth{Suspects: []TrueSuspect{{"s", "d", []TrueSource{{"a", 6, 0, 6}, {"a", 4, 10, 14}}}}}
	s := Evaluate(truth, Prediction{Known: known("sa"), Methods: []Method{{"", []Pair{{"s", "d", "a", 0.25, 3, 0, 3}, {"s", "d", "a", 0.75, 2, 12, 14}}}}}).Defects[0].Pairs[0]
	if s.True != 1 || s.Predicted != 1 || s.TrueTokens != 10 {
		t.Errorf("%+v", s)
	}
	near(t, "brier", s.Brier, 0.0625)
	near(t, "token recall", s.TokenRecall, 0.5)
	near(t, "range overlap", s.RangeOverlap, 1)
}

func TestTenantsByHand(t *testing.T) {
	truth := Truth{Tenants: []TrueTenant{
		{"t1", map[string]int{"d": 1}, map[string]int{"d": 5}},
		{"t2", nil, map[string]int{"d": 2}},
		{"t3", nil, map[string]int{"d": 4}},
		{"t4", nil, nil},
	}}
	p := Prediction{Tenants: []Tenant{
		{"t1", "source", "d", 1, 4, 5, "exposed"},
		{"t2", "source", "d", 0, 0, 0, "ruled out"},
		{"t4", "source", "d", 0, math.NaN(), 3, "not ruled out"},
		{"t9", "source", "d", 1, 1, 2, "exposed"},
		{"t4", "source", "d", math.NaN(), math.NaN(), math.NaN(), "not ruled out"},
		{"t4", "recipient", "d", 0, 0, 0, "ruled out"},
	}}
	d := Evaluate(truth, p).Defects[0]
	s := d.Tenants[0]
	if s.Direction != "source" || s.Tenants != 6 || s.Within != 2 || !slices.Equal(s.RuledOut, []string{"t2"}) || !slices.Equal(s.Missing, []string{"t3"}) {
		t.Errorf("%+v", s)
	}
	near(t, "share", s.Share, 2.0/6)
	near(t, "mean error", s.MeanError, (1.0+2+1)/3)
	r := d.Tenants[1]
	if r.Direction != "recipient" || r.Tenants != 2 || r.Within != 1 || len(r.RuledOut) != 0 || !slices.Equal(r.Missing, []string{"t1"}) {
		t.Errorf("%+v", r)
	}
}

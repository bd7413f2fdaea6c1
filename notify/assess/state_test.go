package assess

import (
	"math"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
)

func TestExposureMustStandOnItsBasis(t *testing.T) {
	ids, share := []string{"EV-1"}, evidence.Some[float64]
	for name, tt := range map[string]struct {
		exposure Exposure
		fault    string
	}{
		"confirmed":            {Exposure{State: Confirmed, EvidenceIDs: ids, Method: "hash match", Coverage: share(0.1)}, ""},
		"no logs at all":       {Exposure{State: NotRuledOut, Method: "no logs"}, ""},
		"ruled out":            {Exposure{State: RuledOut, EvidenceIDs: ids, Method: "all logs read", Coverage: share(1)}, ""},
		"L3 no evidence id":    {Exposure{State: RuledOut, Method: "all logs read", Coverage: share(1)}, "without an evidence id"},
		"confirmed on nothing": {Exposure{State: Confirmed, Method: "hash match"}, "without an evidence id"},
		"blank evidence id":    {Exposure{State: RuledOut, EvidenceIDs: []string{" "}, Method: "m", Coverage: share(1)}, "is blank"},
		"ruled out on 40 %":    {Exposure{State: RuledOut, EvidenceIDs: ids, Method: "m", Coverage: share(0.4)}, "coverage is 40 %"},
		"nearly all logs":      {Exposure{State: RuledOut, EvidenceIDs: ids, Method: "m", Coverage: share(math.Nextafter(1, 0))}, "coverage is 99.9 %"},
		"coverage not known":   {Exposure{State: RuledOut, EvidenceIDs: ids, Method: "m"}, "coverage is " + NotYetKnown},
		"above the whole":      {Exposure{State: NotRuledOut, Method: "m", Coverage: share(1.01)}, "want 0 to 1"},
		"not a number":         {Exposure{State: RuledOut, EvidenceIDs: ids, Method: "m", Coverage: share(math.NaN())}, "want 0 to 1"},
		"no method":            {Exposure{State: NotRuledOut}, "method is not stated"},
		"no state":             {Exposure{Method: "m"}, `state is ""`},
	} {
		err := tt.exposure.Check()
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: error is %v, want %q", name, err, tt.fault)
		}
	}
}

func TestProgramStates(t *testing.T) {
	for word, want := range map[string]struct {
		state State
		show  string
	}{
		"confirmed":     {Confirmed, "confirmed"},
		"exposed":       {NotRuledOut, "exposed (disclosure not ruled out)"},
		"not ruled out": {NotRuledOut, "not ruled out"},
		"ruled out":     {RuledOut, "ruled out"},
	} {
		if state, show, err := FromProgram(word); err != nil || state != want.state || show != want.show {
			t.Errorf("%s: got %s %q %v", word, state, show, err)
		}
	}
	for _, word := range []string{"", "Exposed", "RULED_OUT"} {
		if state, _, err := FromProgram(word); err == nil || state != "" {
			t.Errorf("%q is taken for %q", word, state)
		}
	}
}

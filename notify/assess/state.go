package assess

import (
	"fmt"
	"slices"
	"time"

	"kvforensics/internal/evidence"
)

// State says whether data was disclosed (section 5.4).
type State string

// The states. Missing logs never make RuledOut.
const (
	Confirmed   State = "CONFIRMED"
	NotRuledOut State = "NOT_RULED_OUT"
	RuledOut    State = "RULED_OUT"
)

// Exposure is a state with what it rests on.
type Exposure struct {
	State       State
	EvidenceIDs []string
	Method      string                // how the state was found
	Coverage    evidence.Opt[float64] // share of requests with usable logs, 0 to 1
	Limits      string                // false positives and negatives, other explanations and their tests
	Analyst     string
	At          time.Time // when the analyst found it
}

// Check reports everything that keeps the state from standing.
func (e Exposure) Check() error {
	var f faults
	switch e.State {
	case Confirmed, RuledOut:
		if len(e.EvidenceIDs) == 0 {
			f.addf("%s without an evidence id", e.State)
		}
	case NotRuledOut:
	default:
		f.addf("state is %q, want %s, %s or %s", e.State, Confirmed, NotRuledOut, RuledOut)
	}
	if slices.ContainsFunc(e.EvidenceIDs, blank) {
		f.addf("an evidence id is blank")
	}
	if blank(e.Method) {
		f.addf("method is not stated")
	}
	// Written so that NaN fails too.
	if e.Coverage.Known && !(e.Coverage.V >= 0 && e.Coverage.V <= 1) {
		f.addf("coverage is %v, want 0 to 1", e.Coverage.V)
	}
	if complete := e.Coverage.Known && e.Coverage.V >= 1; e.State == RuledOut && !complete {
		f.addf("%s needs usable logs of every request, coverage is %s", RuledOut, e.coverage())
	}
	return f.err("check exposure")
}

// coverage gives the share in percent, never rounded up to the whole.
func (e Exposure) coverage() string {
	if !e.Coverage.Known {
		return NotYetKnown
	}
	return fmt.Sprintf("%v %%", float64(int64(e.Coverage.V*1000))/10)
}

// disclosed gives the state as an answer.
func (e Exposure) disclosed() Answer {
	switch e.State {
	case Confirmed:
		return Yes
	case RuledOut:
		return No
	}
	return NotYetKnown
}

// FromProgram translates a state of kvforensics' own exposure count, and gives
// the words to show for it. Exposed data could be read; that it was is another
// matter, so exposed is not Confirmed.
func FromProgram(word string) (state State, show string, err error) {
	switch word {
	case "confirmed":
		return Confirmed, word, nil
	case "exposed":
		return NotRuledOut, "exposed (disclosure not ruled out)", nil
	case "not ruled out":
		return NotRuledOut, word, nil
	case "ruled out":
		return RuledOut, word, nil
	}
	return "", "", fmt.Errorf("translate exposure state: %q is unknown", word)
}

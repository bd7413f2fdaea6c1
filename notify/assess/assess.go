// Package assess holds the arithmetic and the logic of assessing a personal
// data breach under the UK GDPR: how severe it is, which clocks run, whether
// data reached others, and what follows for the notices of Art. 33 and 34.
//
// It proposes and shows its working; a named person decides. What is not known
// stays "Not yet known" and never counts in favour of silence. Time is always a
// parameter. Sections named in comments are those of the project's UK GDPR
// reference.
package assess

import (
	"fmt"
	"strings"
)

// NotYetKnown is the word for a fact that nobody has settled yet. Any Answer,
// Likelihood or Harm may hold it, and an empty one means the same.
const NotYetKnown = "Not yet known"

// Answer answers a question of fact.
type Answer string

// The answers beside NotYetKnown.
const (
	Yes Answer = "Yes"
	No  Answer = "No"
)

func (a Answer) valid() bool { return a == Yes || a == No || a == NotYetKnown || a == "" }

func (a Answer) String() string { return shown(a) }

func answerOf(b bool) Answer {
	if b {
		return Yes
	}
	return No
}

// shown gives the word of an answer or of a step of a scale.
func shown[T ~string](word T) string {
	if word == "" {
		return NotYetKnown
	}
	return string(word)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// faults gathers what is wrong with a value, so that all of it is said at once.
type faults []string

func (f *faults) addf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *faults) checkAnswer(what string, a Answer) {
	if !a.valid() {
		f.addf("%s is %q, want %s, %s or %s", what, string(a), Yes, No, NotYetKnown)
	}
}

// err gives the faults as one error about the action, or nil.
func (f faults) err(action string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", action, strings.Join(f, "; "))
}

package assess

// Answer is yes, no or not yet known; a fact that nobody has stated is not
// known.
type Answer int

// The answers to a question of fact.
const (
	Unknown Answer = iota
	No
	Yes
)

// String gives the answer as a pick-list has it.
func (a Answer) String() string {
	switch a {
	case No:
		return "No"
	case Yes:
		return "Yes"
	}
	return NotYetKnown
}

// NotYetKnown is the choice that stands in every pick-list.
const NotYetKnown = "Not yet known"

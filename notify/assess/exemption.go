package assess

import "slices"

// ExemptionKind is a letter of Art. 34(3), or "" for none.
type ExemptionKind string

// The exemptions from telling people.
const (
	NoExemption    ExemptionKind = ""
	Unintelligible ExemptionKind = "a" // measures applied before made the data unintelligible
	Mitigated      ExemptionKind = "b" // measures taken since: the high risk is no longer likely
	Disproportion  ExemptionKind = "c" // disproportionate effort: a public communication instead
)

// Exemption is a claim that people need not be told of a high risk.
type Exemption struct {
	Kind     ExemptionKind
	Measure  string // what was applied (a), done since (b), or how the public is told (c)
	Evidence []string

	DataUnintelligible Answer // (a): to everyone whom it reached
	KeyApart           Answer // (a): kept off the exposed host, out of the recipients' reach
	HighRiskGone       Answer // (b)
	Effort             string // (c): why telling each person would be disproportionate
}

func (e Exemption) check(f *faults) {
	if !slices.Contains([]ExemptionKind{NoExemption, Unintelligible, Mitigated, Disproportion}, e.Kind) {
		f.addf("exemption is %q, want a, b, c or none", string(e.Kind))
	}
	f.checkAnswer("exemption (a): data unintelligible", e.DataUnintelligible)
	f.checkAnswer("exemption (a): key kept apart", e.KeyApart)
	f.checkAnswer("exemption (b): high risk gone", e.HighRiskGone)
}

// assess gives why the claim fails, and what it still lacks. It holds when both
// are empty.
func (e Exemption) assess() (against, missing []string) {
	require := func(what string, a Answer) {
		switch a {
		case Yes:
		case No:
			against = append(against, what+": No")
		default:
			missing = append(missing, what)
		}
	}
	state := func(what, text string) {
		if blank(text) {
			missing = append(missing, what)
		}
	}
	switch e.Kind {
	case Unintelligible:
		state("which measure was applied", e.Measure)
		require("data unintelligible to everyone whom it reached", e.DataUnintelligible)
		require("key kept off the exposed host and out of the recipients' reach", e.KeyApart)
	case Mitigated:
		state("which measures were taken since", e.Measure)
		require("high risk no longer likely", e.HighRiskGone)
	case Disproportion:
		state("how the public is told instead", e.Measure)
		state("why telling each person is disproportionate", e.Effort)
	}
	if len(e.Evidence) == 0 || slices.ContainsFunc(e.Evidence, blank) {
		missing = append(missing, "evidence for the exemption")
	}
	return against, missing
}

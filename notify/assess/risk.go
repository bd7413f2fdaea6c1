package assess

import (
	"fmt"
	"slices"

	"kvforensics/internal/evidence"
	"kvforensics/internal/strictyaml"
)

// Likelihood is one of the ICO's words, or NotYetKnown.
type Likelihood string

// The likelihoods beside NotYetKnown.
const (
	VeryUnlikely Likelihood = "Very unlikely"
	Unlikely     Likelihood = "Unlikely"
	Neutral      Likelihood = "Neutral (neither)"
	Likely       Likelihood = "Likely"
	VeryLikely   Likelihood = "Very likely"
)

var likelihoods = []Likelihood{VeryUnlikely, Unlikely, Neutral, Likely, VeryLikely}

// Harm says how severe harm to people would be, or NotYetKnown (section 5.1).
type Harm string

// The severities of harm beside NotYetKnown.
const (
	NoHarm       Harm = "none"
	MinorHarm    Harm = "minor"
	ModerateHarm Harm = "moderate"
	SeriousHarm  Harm = "serious"
	SevereHarm   Harm = "severe"
)

var harms = []Harm{NoHarm, MinorHarm, ModerateHarm, SeriousHarm, SevereHarm}

// steps gives the steps of a scale that a word may stand for: all of them where
// it is not yet known.
func steps[T ~string](scale []T, word T) []T {
	if shown(word) == NotYetKnown {
		return scale
	}
	return []T{word}
}

func known[T ~string](word T) bool { return shown(word) != NotYetKnown }

// Level is how much risk a breach means for people. The zero value means that
// none was proposed.
type Level int

// The levels, from the lowest.
const (
	RiskUnlikely Level = iota + 1
	RiskLikely
	HighRisk
)

// String gives the level's words.
func (l Level) String() string {
	switch l {
	case RiskUnlikely:
		return "risk unlikely"
	case RiskLikely:
		return "risk likely"
	case HighRisk:
		return "high risk"
	}
	return "none"
}

// UnmarshalText reads what String gives.
func (l *Level) UnmarshalText(text []byte) error {
	for level := RiskUnlikely; level <= HighRisk; level++ {
		if level.String() == string(text) {
			*l = level
			return nil
		}
	}
	return fmt.Errorf("want %s, %s or %s, not %q", RiskUnlikely, RiskLikely, HighRisk, text)
}

// Matrix gives the level of every severity and likelihood of harm.
type Matrix struct {
	Mark   Mark                          `yaml:"mark,required"`
	Source string                        `yaml:"source,required"`
	Levels map[Harm]map[Likelihood]Level `yaml:"levels,required"`
}

// Check implements strictyaml.Checker: every pair has a level, and more harm or
// more likelihood never means less risk.
func (m *Matrix) Check(report *strictyaml.Report) {
	for i, h := range harms {
		if len(m.Levels[h]) != len(likelihoods) {
			report.Addf("levels", "severity %q has %d likelihoods, want %d", h, len(m.Levels[h]), len(likelihoods))
		}
		for j, l := range likelihoods {
			level := m.Levels[h][l]
			switch {
			case level == 0:
				report.Addf("levels", "severity %q and likelihood %q have no level", h, l)
			case i > 0 && level < m.Levels[harms[i-1]][l], j > 0 && level < m.Levels[h][likelihoods[j-1]]:
				report.Addf("levels", "severity %q and likelihood %q have less risk than a milder pair", h, l)
			}
		}
	}
	if len(m.Levels) != len(harms) {
		report.Addf("levels", "have %d severities, want %d", len(m.Levels), len(harms))
	}
}

// between gives the lowest and the highest level that a severity and a
// likelihood allow, either of which may not be known yet.
func (m Matrix) between(h Harm, l Likelihood) (low, high Level) {
	low = HighRisk
	for _, h := range steps(harms, h) {
		for _, l := range steps(likelihoods, l) {
			low, high = min(low, m.Levels[h][l]), max(high, m.Levels[h][l])
		}
	}
	return low, high
}

// Group is people whose risk is judged together, apart from others'.
type Group struct {
	Name       string
	People     evidence.Opt[int64] // the most that could be affected
	Article9   Answer
	Article10  Answer
	Vulnerable Answer // children among them too

	// Whether their data was in fact disclosed is shown, and does not soften
	// the result: the worst credible case drives it.
	Disclosure Likelihood
	Likelihood Likelihood // of harm, if it was
	Severity   Harm       // of that harm
	Reason     string     // for likelihood and severity; mandatory for severity none
}

func (g Group) check(f *faults) {
	if blank(g.Name) {
		f.addf("a group has no name")
	}
	if g.People.V < 0 {
		f.addf("group %q: number of people is %d", g.Name, g.People.V)
	}
	f.checkAnswer(fmt.Sprintf("group %q: article 9", g.Name), g.Article9)
	f.checkAnswer(fmt.Sprintf("group %q: article 10", g.Name), g.Article10)
	f.checkAnswer(fmt.Sprintf("group %q: vulnerable", g.Name), g.Vulnerable)
	for _, l := range []Likelihood{g.Disclosure, g.Likelihood} {
		if known(l) && !slices.Contains(likelihoods, l) {
			f.addf("group %q: likelihood is %q, want one of %q", g.Name, l, likelihoods)
		}
	}
	if known(g.Severity) && !slices.Contains(harms, g.Severity) {
		f.addf("group %q: severity is %q, want one of %q", g.Name, g.Severity, harms)
	}
}

// sensitivity says why the group's data cannot count as of low sensitivity, or "".
func (g Group) sensitivity() string {
	for _, q := range []struct {
		what   string
		answer Answer
	}{
		{"special-category data (Art. 9)", g.Article9},
		{"data on criminal convictions or offences (Art. 10)", g.Article10},
		{"children or vulnerable people", g.Vulnerable},
	} {
		switch q.answer {
		case No:
		case Yes:
			return "it includes " + q.what
		default:
			return "whether it includes " + q.what + " is not yet known"
		}
	}
	return ""
}

// title names the group with its size.
func (g Group) title() string {
	if !g.People.Known {
		return g.Name + " (number not yet known)"
	}
	return fmt.Sprintf("%s (at most %d)", g.Name, g.People.V)
}

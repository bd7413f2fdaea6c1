package assess

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kvforensics/internal/evidence"
)

// manyPeople is the number above which the ENISA method raises a flag.
const manyPeople = 100

// Scored is a group of people whose severity is scored apart from others'.
type Scored struct {
	Name           string
	Inputs         Inputs
	People         evidence.Opt[int64] // the most that could be affected
	Unintelligible Answer              // encrypted or the like, and the key is safe
	Article9       Answer
	Override       *Override
}

// Override is the band that an assessor sets against the score.
type Override struct {
	Band   Band
	Reason string
}

// Severity is the severity of a group. Its flags stand beside the score and do
// not change it.
type Severity struct {
	Name           string
	Score          Quarters
	Computed       Band   // what the score says
	Band           Band   // what the assessor says, else Computed
	Reason         string // of the assessor
	ManyPeople     Answer // more than 100
	Unintelligible Answer
	Article9       Answer
}

// Assess scores the group. It is an error to have no score, a number of people
// below 0, an answer out of its list, or an override without a band and a
// reason.
func (g Scored) Assess() (Severity, error) {
	var f faults
	score, err := Score(g.Inputs)
	if err != nil {
		f.addf("%v", err)
	}
	if g.People.V < 0 {
		f.addf("number of people is %d", g.People.V)
	}
	f.checkAnswer("data unintelligible", g.Unintelligible)
	f.checkAnswer("article 9", g.Article9)
	s := Severity{
		Name: g.Name, Score: score, Computed: BandOf(score), Band: BandOf(score),
		ManyPeople: NotYetKnown, Unintelligible: g.Unintelligible, Article9: g.Article9,
	}
	if g.People.Known {
		s.ManyPeople = answerOf(g.People.V > manyPeople)
	}
	if o := g.Override; o != nil {
		if o.Band < Low || o.Band > VeryHigh {
			f.addf("override has no band")
		}
		if blank(o.Reason) {
			f.addf("override has no reason")
		}
		s.Band, s.Reason = o.Band, o.Reason
	}
	if f != nil {
		return Severity{}, f.err(fmt.Sprintf("assess severity of group %q", g.Name))
	}
	return s, nil
}

// AssessAll scores the groups in their order and gives the worst: that of the
// highest band, then of the highest score. People are not averaged away: a
// group that has no score leaves the whole without one, for it may be the worst.
func AssessAll(groups []Scored) (all []Severity, worst Severity, err error) {
	var faults []error
	for _, g := range groups {
		s, err := g.Assess()
		faults = append(faults, err)
		all = append(all, s)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, Severity{}, err
	}
	if len(all) == 0 {
		return nil, Severity{}, errors.New("assess severity: there are no groups")
	}
	worst = slices.MaxFunc(all, func(a, b Severity) int {
		return cmp.Or(cmp.Compare(a.Band, b.Band), cmp.Compare(a.Score, b.Score))
	})
	return all, worst, nil
}

package assess

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// manyPeople is the number above which the ENISA method raises a flag.
const manyPeople = 100

// Group is a part of the people affected that is scored apart.
type Group struct {
	Name           string
	Inputs         Inputs
	People         *int   // most people that can be affected; nil: not yet known
	Unintelligible Answer // encrypted or the like, and the key is safe
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
	Scored         Band // what the score says
	Band           Band // what the assessor says, else Scored
	Reason         string
	ManyPeople     Answer // more than 100
	Unintelligible Answer
	Article9       Answer
}

// Assess scores the group. It is an error to have no score, a negative number
// of people, or an override without a band and a reason.
func (g Group) Assess() (Severity, error) {
	score, err := Score(g.Inputs)
	if err != nil {
		return Severity{}, fmt.Errorf("assess group %q: %w", g.Name, err)
	}
	s := Severity{
		Name: g.Name, Score: score, Scored: BandOf(score), Band: BandOf(score),
		Unintelligible: g.Unintelligible, Article9: g.Article9,
	}
	if g.People != nil {
		switch {
		case *g.People < 0:
			return Severity{}, fmt.Errorf("assess group %q: %d people", g.Name, *g.People)
		case *g.People > manyPeople:
			s.ManyPeople = Yes
		default:
			s.ManyPeople = No
		}
	}
	if o := g.Override; o != nil {
		if o.Band < Low || o.Band > VeryHigh {
			return Severity{}, fmt.Errorf("assess group %q: override has no band", g.Name)
		}
		if strings.TrimSpace(o.Reason) == "" {
			return Severity{}, fmt.Errorf("assess group %q: override has no reason", g.Name)
		}
		s.Band, s.Reason = o.Band, o.Reason
	}
	return s, nil
}

// AssessAll scores the groups in their order and gives the worst: that of the
// highest band, then of the highest score. People are not averaged away: a
// group that has no score leaves the whole without one, for it may be the worst.
func AssessAll(groups []Group) (all []Severity, worst Severity, err error) {
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
		return nil, Severity{}, errors.New("assess groups: there are none")
	}
	worst = slices.MaxFunc(all, func(a, b Severity) int {
		return cmp.Or(cmp.Compare(a.Band, b.Band), cmp.Compare(a.Score, b.Score))
	})
	return all, worst, nil
}

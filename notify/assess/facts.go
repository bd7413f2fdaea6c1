package assess

import (
	"errors"
	"fmt"
	"slices"
)

// Role is the part that the provider has in the processing.
type Role string

// The roles. A processor's tenant is the controller.
const (
	Controller Role = "controller"
	Processor  Role = "processor"
)

// Facts are what a proposal rests on.
type Facts struct {
	Role            Role
	SecurityFailure Answer
	PersonalData    Answer
	Exposure        Exposure // says whether confidentiality is lost
	Integrity       Answer   // lost?
	Availability    Answer   // lost?
	Groups          []RiskGroup
	Recipients      []Recipient
	Exemption       *Exemption // from telling the people; nil: none is claimed
}

// RiskGroup is a part of the people affected whose risk is judged apart.
type RiskGroup struct {
	Name       string
	Likelihood Likelihood // of harm, should the data have been disclosed
	Harm       Harm
	Article9   Answer // special category data
	Article10  Answer // criminal convictions and offences
}

// sensitive counts what is not known as sensitive: a prompt may hold anything.
func (g RiskGroup) sensitive() bool { return g.Article9 != No || g.Article10 != No }

// Relation says how a recipient stands to the controller.
type Relation string

// The relations.
const (
	Inside  Relation = "inside the organisation"
	Bound   Relation = "bound by contract and secrecy"
	Outside Relation = "outside"
)

// Deletion says what a recipient has said about deleting the data.
type Deletion string

// The deletions.
const (
	DeletionUnknown   Deletion = NotYetKnown
	DeletionPromised  Deletion = "promised"
	DeletionConfirmed Deletion = "confirmed in writing"
)

// Recipient is one whom the data reached or may have reached.
type Recipient struct {
	Pseudonym string
	Relation  Relation
	Deletion  Deletion
	PassedOn  Answer
	Grounds   string // why it can be trusted; "": nobody says that it can
}

// Doubts gives every reason not to call the recipient trusted, in the sense of
// EDPB guidelines 9/2022.
func (r Recipient) Doubts() []string {
	var doubts []string
	if blank(r.Grounds) {
		doubts = append(doubts, "no grounds for trust are stated")
	}
	if r.Relation == Outside {
		doubts = append(doubts, "it stands outside")
	}
	if r.Deletion != DeletionConfirmed {
		doubts = append(doubts, "deletion is not confirmed in writing")
	}
	switch r.PassedOn {
	case Yes:
		doubts = append(doubts, "it passed the data on")
	case Unknown:
		doubts = append(doubts, "it is not known whether it passed the data on")
	}
	return doubts
}

// Ground is a ground on which the people need not be told.
type Ground string

// The grounds of Art. 34(3).
const (
	GroundUnintelligible Ground = "a" // measures before made the data unintelligible
	GroundRiskRemoved    Ground = "b" // later measures removed the high risk
	GroundEffort         Ground = "c" // telling each would be disproportionate effort
)

// Exemption is a claim that the people need not be told. Each ground has its
// own fields.
type Exemption struct {
	Ground   Ground
	Evidence []string

	Unintelligible Answer // (a) to whoever has it
	KeyApart       Answer // (a) the key was on no host that the breach touched

	Measures       string // (b)
	RiskNowRemoved Answer // (b)

	Effort        string // (c) why it is disproportionate
	PublicMessage string // (c) the public or equally effective message instead
}

// Doubts gives every reason to reject the claim.
func (e Exemption) Doubts() []string {
	var doubts []string
	doubt := func(rejects bool, why string) {
		if rejects {
			doubts = append(doubts, why)
		}
	}
	doubt(len(e.Evidence) == 0, "no evidence is named")
	switch e.Ground {
	case GroundUnintelligible:
		doubt(e.Unintelligible != Yes, "it is not shown that the data is unintelligible")
		doubt(e.KeyApart != Yes, "it is not shown that the key was apart from the hosts that the breach touched")
	case GroundRiskRemoved:
		doubt(blank(e.Measures), "no later measures are stated")
		doubt(e.RiskNowRemoved != Yes, "it is not shown that the high risk is no longer likely")
	case GroundEffort:
		doubt(blank(e.Effort), "it is not stated why the effort is disproportionate")
		doubt(blank(e.PublicMessage), "no public or equally effective message is stated")
	}
	return doubts
}

func (f Facts) validate() error {
	faults := []error{f.Exposure.Validate()}
	oneOf := func(ok bool, what string, value any) {
		if !ok {
			faults = append(faults, fmt.Errorf("validate facts: %s %q is not in its list", what, value))
		}
	}
	oneOf(f.Role == Controller || f.Role == Processor, "role", f.Role)
	for _, g := range f.Groups {
		oneOf(slices.Contains(likelihoods, g.Likelihood), "likelihood", g.Likelihood)
		oneOf(g.Harm == HarmUnknown || slices.Contains(harms, g.Harm), "harm", g.Harm)
	}
	for _, r := range f.Recipients {
		oneOf(slices.Contains([]Relation{Inside, Bound, Outside}, r.Relation), "relation", r.Relation)
		oneOf(slices.Contains([]Deletion{DeletionUnknown, DeletionPromised, DeletionConfirmed}, r.Deletion), "deletion", r.Deletion)
	}
	if e := f.Exemption; e != nil {
		oneOf(slices.Contains([]Ground{GroundUnintelligible, GroundRiskRemoved, GroundEffort}, e.Ground), "exemption", e.Ground)
	}
	return errors.Join(faults...)
}

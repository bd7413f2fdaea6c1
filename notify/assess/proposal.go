package assess

import (
	"errors"
	"fmt"
	"strings"
)

// Proposal is a proposed answer to one of the questions that a controller
// decides. Its texts are plain sentences.
type Proposal struct {
	Duty           Duty
	Question       string
	DecidedBy      string // "controller", "tenant" or "provider"
	Risk           Risk
	Facts          []string // what the answer rests on
	Working        []string // how it follows
	Word           string   // the proposed answer
	Missing        []string // what is not known
	Groups         []string // the groups of people whom the answer means; none: all
	ReasonRequired bool     // the one who decides must state a reason
}

// Duty names the question of a proposal. But for Breach it is the article of
// the UK GDPR.
type Duty string

// The duties, in the order of their proposals.
const (
	Breach          Duty = "breach"
	NotifyTenant    Duty = "33(2)"
	NotifyRegulator Duty = "33(1)"
	TellPeople      Duty = "34"
)

// The words of the proposals. None of them closes a case: that is for the
// controller.
const (
	WordNoBreach        = "proposal: not a personal data breach – the controller decides; log it as a near miss with the reason"
	WordBreach          = "proposal: a personal data breach – the controller decides"
	WordBreachUnknown   = "proposal: treat it as a personal data breach until that is excluded – the controller decides"
	WordUnlikely        = "proposal: unlikely to result in a risk – the controller decides; record it under Art. 33(5)"
	WordUnknown         = "proposal: not yet known – the controller decides; in doubt notify, in phases under Art. 33(4)"
	WordRisk            = "proposal: risk likely, notify the regulator – the controller decides"
	WordHighRisk        = "proposal: high risk likely, notify the regulator – the controller decides"
	WordTell            = "proposal: high risk likely, tell the people without undue delay – the controller decides"
	WordExempt          = "proposal: high risk likely, but an exemption under Art. 34(3) is shown – the controller decides"
	WordTellUnknown     = "proposal: not yet known whether a high risk is likely – the controller decides"
	WordNoHighRisk      = "proposal: a high risk is not likely on the facts so far – the controller decides; reassess when facts change"
	WordProcessorNotice = "required: tell the tenant without undue delay, whatever the risk"
)

// ProcessorNotice is the answer on Art. 33(2). It takes no facts, for a notice
// must not wait for an assessment.
func ProcessorNotice() Proposal {
	return Proposal{
		Duty:      NotifyTenant,
		Question:  "Must the provider, as processor, tell the tenant?",
		DecidedBy: "provider",
		Working:   []string{"Art. 33(2) has no threshold of risk, and whether to notify the regulator is for the tenant."},
		Word:      WordProcessorNotice,
	}
}

// Propose gives the proposals in the order of the duties; the one on Art. 33(2)
// only for a processor. The matrix is a table of judgement and comes from the
// configuration. The error names every fact that is not in its list and every
// fault of the exposure's basis and of the matrix.
func Propose(f Facts, m Matrix) ([]Proposal, error) {
	if err := errors.Join(f.validate(), m.Validate()); err != nil {
		return nil, fmt.Errorf("propose answers: %w", err)
	}
	breach := f.breach()
	risks := make([]groupRisk, len(f.Groups))
	for i, g := range f.Groups {
		risks[i] = f.risk(g, m)
	}
	regulator, people := f.regulator(risks), f.people(risks)
	if breach.Risk == NoBreach {
		regulator, people = noBreach(regulator), noBreach(people)
	}
	proposals := []Proposal{breach, regulator, people}
	for i := range proposals {
		proposals[i].DecidedBy = "controller"
		if f.Role == Processor {
			proposals[i].DecidedBy = "tenant"
		}
	}
	if f.Role == Processor {
		return []Proposal{proposals[0], ProcessorNotice(), proposals[1], proposals[2]}, nil
	}
	return proposals, nil
}

// noBreach answers a question that does not arise.
func noBreach(p Proposal) Proposal {
	return Proposal{
		Duty: p.Duty, Question: p.Question, Risk: NoBreach, Word: WordNoBreach, ReasonRequired: true,
		Working: []string{"The question does not arise without a personal data breach."},
	}
}

// breach answers the gate: a failure of security that has an effect on personal
// data.
func (f Facts) breach() Proposal {
	confidentiality := map[State]Answer{Confirmed: Yes, NotRuledOut: Unknown, RuledOut: No}[f.Exposure.State]
	gates := []struct {
		question string
		answer   Answer
	}{
		{"a failure of security", f.SecurityFailure},
		{"personal data", f.PersonalData},
		{"a loss of confidentiality, integrity or availability", anyOf(confidentiality, f.Integrity, f.Availability)},
	}
	p := Proposal{
		Duty: Breach, Question: "Is it a personal data breach?",
		Facts: []string{
			f.exposureFact(),
			"Integrity lost: " + f.Integrity.String() + ".",
			"Availability lost: " + f.Availability.String() + ".",
		},
	}
	lowest := Yes
	for _, gate := range gates {
		p.Facts = append(p.Facts, fmt.Sprintf("There is %s: %s.", gate.question, gate.answer))
		switch gate.answer {
		case No:
			p.Working = append(p.Working, fmt.Sprintf("Without %s it is not a personal data breach.", gate.question))
			lowest = No
		case Unknown:
			p.Missing = append(p.Missing, "whether there is "+gate.question)
			lowest = min(lowest, max(Unknown, lowestUnless(No, lowest)))
		}
	}
	switch lowest {
	case No:
		p.Risk, p.Word, p.ReasonRequired = NoBreach, WordNoBreach, true
	case Unknown:
		p.Risk, p.Word = RiskUnknown, WordBreachUnknown
	default:
		p.Risk, p.Word = RiskUnlikely, WordBreach
	}
	return p
}

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
	DecidedBy      string   // "controller", "tenant" or, for NotifyTenant, "provider"
	Facts          []string // what the answer rests on
	Working        []string // how it follows
	Word           string   // the proposed answer
	Missing        []string // what is not yet known
	Low, High      Level    // what the risk can be, for what is missing; 0 where the question does not judge it
	Groups         []string // the groups at high risk, for TellPeople
	ReasonRequired bool     // the one who decides must state a reason
}

// Duty names the question of a proposal. But for Breach it is an article of the
// UK GDPR.
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
	WordNoBreach      = "proposal: not a personal data breach – the controller decides; log it as a near miss with the reason"
	WordBreach        = "proposal: a personal data breach – the controller decides"
	WordBreachUnknown = "proposal: treat it as a personal data breach until that is excluded – the controller decides"

	WordUnlikely = "proposal: unlikely to result in a risk – the controller decides; record it under Art. 33(5)"
	WordUnknown  = "proposal: not yet known – the controller decides; in doubt notify, in phases under Art. 33(4)"
	WordRisk     = "proposal: risk likely, notify the regulator – the controller decides"
	WordHighRisk = "proposal: high risk likely, notify the regulator – the controller decides"

	WordNoHighRisk  = "proposal: no high risk on the facts so far – the controller decides; reassess when facts change"
	WordTellUnknown = "proposal: not yet known whether the risk is high – the controller decides; in doubt tell the people"
	WordTell        = "proposal: high risk likely, tell the people without undue delay – the controller decides"
	WordExempt      = "proposal: high risk likely, but an exemption under Art. 34(3) is shown – the controller decides"

	WordNotice = "required: tell the tenant without undue delay, whatever the risk"
)

// Propose gives the proposals in the order of the duties; the one on Art. 33(2)
// only for a processor. The error names every fault of the facts, or says that
// the matrix has gaps. It is not an error that facts are not yet known: what
// they may turn out to be counts, the worst first.
func Propose(f Facts, m Matrix) ([]Proposal, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("propose answers: %w", err)
	}
	if low, _ := m.between(NotYetKnown, NotYetKnown); low < RiskUnlikely {
		return nil, errors.New("propose answers: the matrix has gaps")
	}
	breach := f.breach()
	regulator, people := f.regulator(m), f.people(m)
	if breach.Word == WordNoBreach {
		regulator, people = notAsked(regulator), notAsked(people)
	}
	decidedBy := "controller"
	if f.Role == Processor {
		decidedBy = "tenant"
	}
	breach.DecidedBy, regulator.DecidedBy, people.DecidedBy = decidedBy, decidedBy, decidedBy
	if f.Role == Processor {
		return []Proposal{breach, ProcessorNotice(), regulator, people}, nil
	}
	return []Proposal{breach, regulator, people}, nil
}

// ProcessorNotice is the answer on Art. 33(2). It takes no facts, for a notice
// must not wait for an assessment.
func ProcessorNotice() Proposal {
	return Proposal{
		Duty:      NotifyTenant,
		Question:  "Must the provider, as processor, tell the tenant?",
		DecidedBy: "provider",
		Working:   []string{"Art. 33(2) has no threshold of risk, and the decision on Art. 33(1) is the tenant's."},
		Word:      WordNotice,
	}
}

// notAsked answers a question that does not arise.
func notAsked(p Proposal) Proposal {
	return Proposal{
		Duty: p.Duty, Question: p.Question, Word: WordNoBreach, ReasonRequired: true,
		Working: []string{"The question does not arise without a personal data breach."},
	}
}

// breach answers the gate: a failure of security that has an effect on personal
// data.
func (f Facts) breach() Proposal {
	p := Proposal{
		Duty: Breach, Question: "Is it a personal data breach?",
		Facts: []string{f.exposureFact(), fmt.Sprintf("Integrity lost: %s. Availability lost: %s.", f.Integrity, f.Availability)},
		Word:  WordBreach,
	}
	for _, part := range []struct {
		what   string
		answer Answer
	}{
		{"a failure of security", f.SecurityFailure},
		{"personal data", f.PersonalData},
		{"a loss of confidentiality, integrity or availability", f.effect()},
	} {
		p.Facts = append(p.Facts, fmt.Sprintf("There is %s: %s.", part.what, part.answer))
		switch part.answer {
		case Yes:
		case No:
			p.Word, p.ReasonRequired = WordNoBreach, true
			p.Working = append(p.Working, fmt.Sprintf("Without %s there is no personal data breach.", part.what))
		default:
			p.Missing = append(p.Missing, "whether there is "+part.what)
		}
	}
	switch {
	case p.Word == WordNoBreach:
	case p.Missing != nil:
		p.Word = WordBreachUnknown
		p.Working = append(p.Working, "Nothing known excludes a personal data breach.")
	default:
		p.Working = append(p.Working, "Every part of the definition is met.")
	}
	return p
}

// regulator answers Art. 33(1): the worst group drives it.
func (f Facts) regulator(m Matrix) Proposal {
	p, _ := f.judged(NotifyRegulator, "Must the regulator be told?", m)
	switch {
	case p.High == RiskUnlikely:
		p.Word, p.ReasonRequired = WordUnlikely, true
	case p.Low == RiskUnlikely:
		p.Word = WordUnknown
	case p.Low == RiskLikely:
		p.Word = WordRisk
	default:
		p.Word = WordHighRisk
	}
	return p
}

// people answers Art. 34 for the groups at high risk, and for them only.
func (f Facts) people(m Matrix) Proposal {
	p, groups := f.judged(TellPeople, "Must the people be told?", m)
	for _, g := range groups {
		if g.low == HighRisk {
			p.Groups = append(p.Groups, g.group.Name)
		}
	}
	switch {
	case p.High < HighRisk:
		p.Word = WordNoHighRisk
	case p.Low < HighRisk:
		p.Word = WordTellUnknown
	default:
		p.Word = WordTell
	}
	f.exempt(&p)
	return p
}

// exempt holds a claim of Art. 34(3) against the proposal. It counts only where
// the people would have to be told.
func (f Facts) exempt(p *Proposal) {
	if f.Exemption.Kind == NoExemption || p.High < HighRisk {
		return
	}
	claim := fmt.Sprintf("The exemption of Art. 34(3)(%s)", f.Exemption.Kind)
	switch against, missing := f.Exemption.assess(); {
	case len(against) > 0:
		p.Working = append(p.Working, claim+" is rejected: "+strings.Join(against, "; ")+".")
	case len(missing) > 0:
		p.Working = append(p.Working, claim+" is not shown so far.")
		p.Missing = append(p.Missing, missing...)
	default:
		p.Working = append(p.Working, claim+" is shown by "+strings.Join(f.Exemption.Evidence, ", ")+".")
		if p.Low == HighRisk {
			p.Word, p.ReasonRequired = WordExempt, true
		}
	}
}

// judged holds what the questions on risk have in common. People whom nobody
// has named may be at any risk.
func (f Facts) judged(duty Duty, question string, m Matrix) (Proposal, []groupRisk) {
	p := Proposal{Duty: duty, Question: question, Facts: []string{f.exposureFact()}}
	if f.Exposure.State == NotRuledOut {
		p.Working = append(p.Working, "Disclosure is not ruled out, so the risk is judged as if it had happened.")
	}
	if len(f.Groups) == 0 {
		p.Low, p.High = m.between(NotYetKnown, NotYetKnown)
		p.Working = append(p.Working, "Nobody has named the people affected, so any risk is possible.")
		p.Missing = append(p.Missing, "the people affected")
	}
	var groups []groupRisk
	for _, group := range f.Groups {
		g := f.risk(group, m)
		p.Low, p.High = max(p.Low, g.low), max(p.High, g.high)
		p.Facts = append(p.Facts, g.fact())
		p.Working = append(p.Working, g.working...)
		p.Missing = append(p.Missing, g.missing...)
		groups = append(groups, g)
	}
	return p, groups
}

func (f Facts) exposureFact() string {
	e := f.Exposure
	words := string(e.State)
	if _, show, err := FromProgram(f.ProgramState); err == nil {
		words += ", " + show
	}
	text := fmt.Sprintf("Disclosure: %s, coverage of logs %s", words, e.coverage())
	if len(e.EvidenceIDs) > 0 {
		text += ", evidence " + strings.Join(e.EvidenceIDs, ", ")
	}
	return text + "."
}

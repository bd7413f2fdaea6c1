package assess

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
	ProgramState    string   // the program's own word for it, as FromProgram takes it; "": not from the program
	Integrity       Answer   // lost?
	Availability    Answer   // lost?
	Groups          []Group
	Recipients      Recipients
	Exemption       Exemption // from telling people
}

func (f Facts) check() error {
	var wrong faults
	if f.Role != Controller && f.Role != Processor {
		wrong.addf("role is %q, want %s or %s", string(f.Role), Controller, Processor)
	}
	if err := f.Exposure.Check(); err != nil {
		wrong.addf("%v", err)
	}
	if f.ProgramState != "" {
		if state, _, err := FromProgram(f.ProgramState); err != nil {
			wrong.addf("%v", err)
		} else if state != f.Exposure.State {
			wrong.addf("the program's %q does not mean %s", f.ProgramState, f.Exposure.State)
		}
	}
	wrong.checkAnswer("security failure", f.SecurityFailure)
	wrong.checkAnswer("personal data", f.PersonalData)
	wrong.checkAnswer("integrity lost", f.Integrity)
	wrong.checkAnswer("availability lost", f.Availability)
	for _, g := range f.Groups {
		g.check(&wrong)
		if g.Severity == NoHarm && blank(g.Reason) {
			wrong.addf("group %q: severity %s without a reason", g.Name, NoHarm)
		}
	}
	f.Recipients.check(&wrong)
	f.Exemption.check(&wrong)
	return wrong.err("check facts")
}

// effect says whether confidentiality, integrity or availability is lost.
func (f Facts) effect() Answer {
	answer := No
	for _, a := range []Answer{f.Exposure.disclosed(), f.Integrity, f.Availability} {
		switch {
		case a == Yes:
			return Yes
		case a != No:
			answer = NotYetKnown
		}
	}
	return answer
}

package assess

import (
	"fmt"
	"strings"
)

// Recipient is somebody whom data reached.
type Recipient struct {
	Pseudonym    string
	Inside       Answer // of the controller's own organisation
	PassedOn     Answer
	Deleted      Answer // done, not promised
	Confirmation string // reference of the written confirmation of that
	Grounds      string // why the recipient may be trusted
}

// Trusted reports whether the recipient may count as trusted, or else what
// stands against it. An outsider's word is not enough: a Polish controller was
// fined although the one outsider had confirmed deletion (section 5.2).
func (r Recipient) Trusted() (ok bool, why string) {
	var against []string
	if r.Inside != Yes {
		against = append(against, "it is not known to be inside the controller's organisation")
	}
	if r.PassedOn != No {
		against = append(against, "it is not known to have kept the data to itself")
	}
	if r.Deleted != Yes || blank(r.Confirmation) {
		against = append(against, "deletion is not confirmed in writing")
	}
	if blank(r.Grounds) {
		against = append(against, "no grounds for trust are stated")
	}
	return len(against) == 0, strings.Join(against, "; ")
}

// Recipients are those of one breach.
type Recipients struct {
	List     []Recipient
	Complete Answer // that there are no others
}

func (r Recipients) check(f *faults) {
	f.checkAnswer("list of recipients complete", r.Complete)
	for _, x := range r.List {
		f.checkAnswer(fmt.Sprintf("recipient %q: inside", x.Pseudonym), x.Inside)
		f.checkAnswer(fmt.Sprintf("recipient %q: passed on", x.Pseudonym), x.PassedOn)
		f.checkAnswer(fmt.Sprintf("recipient %q: deleted", x.Pseudonym), x.Deleted)
	}
}

// distrust says why not every recipient is trusted, or "".
func (r Recipients) distrust() string {
	if len(r.List) == 0 || r.Complete != Yes {
		return "it is not known that every recipient is named"
	}
	for _, x := range r.List {
		if ok, why := x.Trusted(); !ok {
			return fmt.Sprintf("recipient %s is not trusted: %s", x.Pseudonym, why)
		}
	}
	return ""
}

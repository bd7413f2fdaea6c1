// Package notify makes the packs that tenants receive: for each tenant, from its
// own rows alone, the workbook of its assessment, the processor's notice, a
// draft letter to people, the register row and a machine-readable twin.
//
// Nothing here decides. A pack states facts with their limits, shows how a
// proposal follows from them, and leaves the decision to a named person.
package notify

import (
	"time"

	"kvforensics/notify/assess"
)

// Incident is what all packs share.
type Incident struct {
	Ref          string // of the incident, the same in all packs
	Name         string
	Model        string
	Role         assess.Role // of the provider
	CaseLead     string
	FirstSignal  time.Time
	Aware        time.Time // of the provider
	Began, Ended time.Time // first and last bad evidence
	CleanBefore  time.Time // last clean evidence before it began
	CleanAfter   time.Time // first clean evidence after it ended
	Defects      string    // those with evidence
	Cutoff       time.Time // of the data: the last request in the evidence
	Limits       []Limit
}

// Limit is something that the evidence could not show.
type Limit struct{ What, Subject, Limitation string }

// Pack is what one tenant is told.
type Pack struct {
	Incident   *Incident
	Tenant     Tenant
	Ref        string // of the tenant, opaque
	Exposures  []Exposure
	Out        []SourceEvent    // its requests that others may have read
	In         []RecipientEvent // its requests that may have read others'
	Recipients []Party          // who may have read its requests
	Sources    []Party          // whose rows its requests may have read
	Notices    []Notice
}

// Tenant is the customer that a pack is for.
type Tenant struct {
	ID, Name, Country, Contact, Sector string
	NoticeHours                        int // by contract; 0: not stated
	Role                               string
}

// Exposure is the count of a tenant's requests for one direction and defect.
type Exposure struct {
	Direction, Defect string
	Floor, Ceiling    int64
	Best              float64
	Estimated         bool // Best means something
	Tokens            float64
	First, Last       time.Time
	State, Reason     string
}

// SourceEvent is a request of the tenant that requests of others may have read.
type SourceEvent struct {
	Defect, RequestID string
	At                time.Time
	Probability       float64 // that any of them attended to it
	Tokens            float64 // attended to, over all of them
	From, To          int64   // in the request's own sequence; 0, 0: not known
	Part              string  // prompt, answer, both
	Readers           []string
}

// RecipientEvent is a request of the tenant that may have attended to others'.
type RecipientEvent struct {
	Defect, RequestID, Level string
	At                       time.Time
	Probability              float64 // that it met the condition
	Cross                    float64 // that it attended to another customer's named request
	Tokens                   float64 // of others
	Prompt, Answer, Status   int64
	Rules                    string
	Origins                  []string
	UnknownOwner             bool
}

// Party is another customer, as the tenant may know it.
type Party struct {
	Pseudonym string
	Region    string // UK, EEA, other, not stated
	Sector    string // "" unless enough customers share it
	Events    int
}

// Notice is a step that was taken and recorded.
type Notice struct {
	Kind, Who, Channel, Reference, Note string
	At, Recorded                        time.Time
}

// Kinds of notices.
const (
	Sent          = "sent"
	Received      = "received"
	TenantAware   = "tenant aware"
	RegulatorTold = "regulator told"
	PeopleTold    = "people told"
	Decided       = "decision"
	Noted         = "note"
)

// Kinds in the order in which they usually come.
var Kinds = []string{Sent, Received, TenantAware, RegulatorTold, PeopleTold, Decided, Noted}

// at gives the first time of a kind.
func (p *Pack) at(kind string) (first time.Time) {
	for _, n := range p.Notices {
		if n.Kind == kind && (first.IsZero() || n.At.Before(first)) {
			first = n.At
		}
	}
	return first
}

// name is what the tenant is called.
func (p *Pack) name() string {
	if p.Tenant.Name != "" {
		return p.Tenant.Name
	}
	return p.Tenant.ID
}

// Directions of an exposure.
const (
	AsSource    = "source"
	AsRecipient = "recipient"
)

// state is the worst state in a direction: exposed before not ruled out before
// ruled out.
func (p *Pack) state(direction string) string {
	worst := ""
	order := map[string]int{"ruled out": 1, "not ruled out": 2, "exposed": 3, "confirmed": 4}
	for _, x := range p.Exposures {
		if x.Direction == direction && order[x.State] > order[worst] {
			worst = x.State
		}
	}
	return worst
}

// affected tells whether anything is not ruled out.
func (p *Pack) affected() bool {
	return p.state(AsSource) != "ruled out" || p.state(AsRecipient) != "ruled out"
}

// sum adds up a direction's counts over defects.
func (p *Pack) sum(direction string) (total Exposure) {
	for _, x := range p.Exposures {
		if x.Direction != direction {
			continue
		}
		total.Floor += x.Floor
		total.Ceiling += x.Ceiling
		total.Tokens += x.Tokens
		if x.Estimated {
			total.Best, total.Estimated = total.Best+x.Best, true
		}
	}
	return total
}

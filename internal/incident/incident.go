// Package incident reads incident.yaml, in which the people on a case state
// what the logs cannot: the tenants, the nodes, the zones of wall clocks.
package incident

import (
	"time"

	"kvforensics/internal/evidence"
	"kvforensics/internal/strictyaml"
)

// Incident is what incident.yaml states. Empty strings, nil zones and unknown
// Opts were not stated; the zero Incident states nothing.
type Incident struct {
	Name     string
	Role     Party // of the platform
	Model    string
	Timezone *time.Location // of logs that print local time without a zone
	Window   Window
	Aware    Aware
	Nodes    []Node
	Tenants  []Tenant
	CaseLead string
}

// Party is a role under data protection law.
type Party string

// The parties.
const (
	PartyUnknown Party = ""
	Processor    Party = "processor"
	Controller   Party = "controller"
)

// Window is the time span under examination.
type Window struct {
	From, To evidence.Opt[evidence.Micros]
}

// Aware says when the platform learned of the incident.
type Aware struct {
	FirstSignal evidence.Opt[evidence.Micros]
	Provider    evidence.Opt[evidence.Micros]
}

// Node is a worker as stated; what its logs state wins.
type Node struct {
	Name            string
	Role            evidence.Role
	Engine          string
	Version         string
	TransferBackend string
	Timezone        *time.Location // nil: that of the incident
	Log             string         // glob of its logs, see NodeForLog
	Addresses       []string
	Ranks           evidence.Opt[int64]
	PoolTokens      evidence.Opt[int64]
	PageSize        evidence.Opt[int64]
	ContextLen      evidence.Opt[int64]
	Flags           Flags
}

// Flags are the engine's arguments that bear on exposure.
type Flags struct {
	DeferredKVRelease evidence.Opt[bool]
	KVChecksum        evidence.Opt[bool]
	KVCanary          string // none, log or raise
}

// Tenant is a customer whose requests are in the evidence.
type Tenant struct {
	ID          string
	Name        string
	Country     string // ISO 3166 alpha-2, capital letters
	Contact     string
	Sector      string
	NoticeHours evidence.Opt[int64] // within which the contract wants notice
	Role        Party
}

// Load reads an incident.yaml. The error is of type strictyaml.Problems and
// holds every problem of the file.
func Load(file string, data []byte) (*Incident, error) {
	var y incidentYAML
	if err := strictyaml.Decode(file, data, &y); err != nil {
		return nil, err
	}
	return y.incident(), nil
}

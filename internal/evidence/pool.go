package evidence

// Pool is the measured KV pool of one node, data-parallel rank and boot.
type Pool struct {
	ID              int
	Node            string // "": the log could not be placed
	Role            Role
	RoleHow         string
	Rank            Opt[int64] // unknown: the log names none
	Ranks           Opt[int64] // data-parallel ranks of the boot
	ValidFrom       Opt[Micros]
	ValidTo         Opt[Micros]
	Engine          string
	EngineVersion   string
	VersionHow      string
	PoolTokens      Opt[int64]
	PageSize        Opt[int64]
	ContextLen      Opt[int64]
	InputLimit      Opt[int64] // M: a prompt of N >= M tokens is rejected
	CapacityGap     Opt[bool]  // the pool is smaller than the context
	Origin          string     // what stated the pool: log, incident.yaml, nothing
	TransferBackend string
	Flags           string // JSON object, "" when none
	Notes           []string
	SourceID        Opt[int64]
	Line            int64 // of the statement, 0 where SourceID is unknown
}

// inputMargin is how far the input limit lies under the smaller of context and
// pool: SGLang keeps one position of the context or pool and five more
// (managers/tp_worker.py, max_req_input_len).
const inputMargin = 6

// Derive fills InputLimit and CapacityGap from what is known, as the engine
// derives them. A limit that a server stated itself stays.
func (p *Pool) Derive() {
	if p.PoolTokens.Known && p.ContextLen.Known {
		p.CapacityGap = Some(p.PoolTokens.V < p.ContextLen.V)
		if !p.InputLimit.Known {
			p.InputLimit = Some(min(p.PoolTokens.V, p.ContextLen.V) - inputMargin)
		}
	}
}

// PlacedEvent is an engine event with the node and the instant that placing
// its source gave.
type PlacedEvent struct {
	EngineEvent
	SourceID int
	Node     string
}

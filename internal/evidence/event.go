package evidence

// EventKind names what an engine said.
type EventKind string

// Kinds of engine events. The text that each stands for is listed in
// docs/formats.md.
const (
	EventLaunch          EventKind = "launch"           // server_args=…, a launch command line, or a server-info answer
	EventPool            EventKind = "pool"             // max_total_num_tokens=…
	EventKVAlloc         EventKind = "kv_alloc"         // KV Cache is allocated. #tokens: …
	EventReady           EventKind = "ready"            // The server is fired up and ready to roll!
	EventRoleHint        EventKind = "role_hint"        // a line that only one role prints
	EventPrefillBatch    EventKind = "prefill_batch"    //
	EventDecodeBatch     EventKind = "decode_batch"     //
	EventReceived        EventKind = "received"         // request log: Receive / request.received
	EventFinished        EventKind = "finished"         // request log: Finish / request.finished
	EventTimeStats       EventKind = "time_stats"       // ReqTimeStats(…)
	EventRejected        EventKind = "rejected"         // set_finish_with_abort: Input length … exceeds …, and its kin
	EventTruncated       EventKind = "truncated"        // --allow-auto-truncate cut the prompt
	EventTransferFailed  EventKind = "transfer_failed"  // Prefill/Decode transfer, bootstrap or handshake failed
	EventAbort           EventKind = "abort"            // client disconnect, abort request
	EventStateIndex      EventKind = "state_index"      // len(prefill_state_indices) = 1, len(dst_state_indices) = K
	EventCorruption      EventKind = "corruption"       // Context corruption detected
	EventCanary          EventKind = "canary"           // kv_canary violation
	EventChecksum        EventKind = "checksum"         // KV checksum mismatch
	EventRetraction      EventKind = "retraction"       // Decode out of memory happened
	EventFlush           EventKind = "flush"            // Cache flushed successfully!
	EventDeferredRelease EventKind = "deferred_release" // Deferred KV release … timed out
	EventAccess          EventKind = "access"           // HTTP access line
	EventRouter          EventKind = "router"           // router start-up or topology
)

// Role of a node.
type Role string

// Roles of a node. RoleUnknown means that the evidence does not say.
const (
	RoleUnknown Role = ""
	RolePrefill Role = "prefill"
	RoleDecode  Role = "decode"
	RoleUnified Role = "unified"
	RoleRouter  Role = "router"
)

// Batch figures of a scheduler line, in tokens or requests; shares of the pool
// lie in 0..1.
type SchedBatch struct {
	NewSeqs       Opt[int64]
	NewTokens     Opt[int64] // rounded up to whole pages since SGLang 0.4.8
	RunningReqs   Opt[int64]
	QueueReqs     Opt[int64]
	Tokens        Opt[int64] // #token, or #full token: tokens of running requests
	Usage         Opt[float64]
	PreallocUsage Opt[float64] // pages reserved for prompts whose KV has not come
	PreallocReqs  Opt[int64]   // waiting for pages, or for the handshake (prefill)
	TransferReqs  Opt[int64]   // KV in flight
	RetractedReqs Opt[int64]
}

// Launch holds what a start-up line states. A field that the line did not
// state, or stated as None, is unknown.
type Launch struct {
	Engine          string // sglang, sglang-router
	Version         string
	PageSize        Opt[int64]
	ContextLen      Opt[int64] // the configured one on a launch event, the effective one on a pool event
	PoolTokens      Opt[int64] // per data-parallel rank
	MaxInputLen     Opt[int64] // max_req_input_len of a server-info answer
	TPSize          Opt[int64]
	DPSize          Opt[int64]
	PPSize          Opt[int64]
	TransferBackend string
	Flags           string // JSON object of further arguments that bear on exposure, "" when none
}

// EngineEvent is one statement of an engine log. One struct serves all kinds:
// which fields can be known follows from Kind.
//
// Strings may point into the reader's buffer, as in Request.
type EngineEvent struct {
	Locator
	Kind EventKind

	// LocalAt is the engine's own stamp, on its wall clock, zone unstated.
	LocalAt Opt[Micros]
	// At is known when the line itself fixes the instant: a collector's stamp
	// with zone, or an epoch figure.
	At Opt[Micros]

	Role Role       // as stated or implied by this line
	DP   Opt[int64] // data-parallel rank in the line's prefix
	TP   Opt[int64]
	PP   Opt[int64]

	RID  string
	Room Opt[uint64] // bootstrap_room

	// A state-index warning puts the entries sent into PromptTokens and those
	// reserved into LimitTokens: pages, not tokens.
	PromptTokens     Opt[int64]
	CachedTokens     Opt[int64]
	CompletionTokens Opt[int64]
	LimitTokens      Opt[int64] // the M that a rejection states
	E2Ems            Opt[float64]
	FinishReason     string
	Status           Opt[int64] // HTTP status of an access line or an abort

	Batch  SchedBatch
	Launch Launch

	// Message is the statement's text where fields alone would not do
	// (rejections, failures, complaints, access paths), cut to MessageBytes.
	Message string
}

// MessageBytes bounds EngineEvent.Message.
const MessageBytes = 400

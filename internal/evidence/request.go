package evidence

// Request is one canonical request record as the gateway saw it
// (contract.md, "Canonical request records"). Empty strings and unknown Opts
// were not stated by the evidence.
//
// Strings may point into the reader's block buffer: they hold until the
// receiver of the batch returns.
type Request struct {
	Locator

	RequestID string
	TenantID  string
	Model     string

	ReceivedAt Opt[Micros]
	TimeBasis  TimeBasis
	OffsetMin  Opt[int32] // minutes east of UTC, as written

	PrefillNode   string
	DecodeNode    string
	PrefillRank   Opt[int64]
	DecodeRank    Opt[int64]
	BootstrapRoom Opt[uint64]

	PromptTokens     Opt[int64]
	CachedTokens     Opt[int64]
	CompletionTokens Opt[int64]

	TTFTms       Opt[float64]
	E2Ems        Opt[float64]
	FirstTokenAt Opt[Micros]
	FinishedAt   Opt[Micros]
	AbortedAt    Opt[Micros]

	HTTPStatus   Opt[int64]
	FinishReason string

	APIKeyID           string
	SessionID          string
	RetryOf            string
	Stream             Opt[bool]
	ClientDisconnected Opt[bool]

	PromptText   string // empty unless content is kept
	ResponseText string // empty unless content is kept
	Extra        string // JSON object of fields that are not canonical, "" when none
}

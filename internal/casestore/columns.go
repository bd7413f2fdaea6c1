package casestore

import "kvforensics/internal/evidence"

// Columns follow source_id, in the order of queries/migrations.

func located[T any](at func(*T) *evidence.Locator) []column[T] {
	return []column[T]{
		{"line", func(v *vector, i int, r *T) { v.int64(i, at(r).Line) }},
		{"byte_offset", func(v *vector, i int, r *T) { v.int64(i, at(r).Offset) }},
		{"byte_length", func(v *vector, i int, r *T) { v.int64(i, at(r).Length) }},
	}
}

func text[T any](name string, get func(*T) string) column[T] {
	return column[T]{name, func(v *vector, i int, r *T) { v.text(i, get(r)) }}
}

func opt[T, E any](name string, get func(*T) evidence.Opt[E]) column[T] {
	return column[T]{name, func(v *vector, i int, r *T) { optional(v, i, get(r)) }}
}

func optBool[T any](name string, get func(*T) evidence.Opt[bool]) column[T] {
	return column[T]{name, func(v *vector, i int, r *T) { v.optBool(i, get(r)) }}
}

func count[T any](name string, get func(*T) int64) column[T] {
	return column[T]{name, func(v *vector, i int, r *T) { v.int64(i, get(r)) }}
}

func list[T any](name string, get func(*T) []string) column[T] {
	return column[T]{name, func(v *vector, i int, r *T) { v.list(i, get(r)) }}
}

type (
	request = evidence.Request
	event   = evidence.EngineEvent
	reject  = evidence.Rejected
	source  = evidence.Source
	micros  = evidence.Opt[evidence.Micros]
	number  = evidence.Opt[int64]
	float   = evidence.Opt[float64]
	room    = evidence.Opt[uint64]
	flag    = evidence.Opt[bool]
)

var requestColumns = append(located(func(r *request) *evidence.Locator { return &r.Locator }),
	text("request_id", func(r *request) string { return r.RequestID }),
	text("tenant_id", func(r *request) string { return r.TenantID }),
	opt("received_at", func(r *request) micros { return r.ReceivedAt }),
	text("time_basis", func(r *request) string { return string(r.TimeBasis) }),
	opt("utc_offset_min", func(r *request) evidence.Opt[int32] { return r.OffsetMin }),
	text("model", func(r *request) string { return r.Model }),
	text("prefill_node", func(r *request) string { return r.PrefillNode }),
	text("decode_node", func(r *request) string { return r.DecodeNode }),
	opt("prefill_rank", func(r *request) number { return r.PrefillRank }),
	opt("decode_rank", func(r *request) number { return r.DecodeRank }),
	opt("bootstrap_room", func(r *request) room { return r.BootstrapRoom }),
	opt("prompt_tokens", func(r *request) number { return r.PromptTokens }),
	opt("cached_tokens", func(r *request) number { return r.CachedTokens }),
	opt("completion_tokens", func(r *request) number { return r.CompletionTokens }),
	opt("ttft_ms", func(r *request) float { return r.TTFTms }),
	opt("e2e_ms", func(r *request) float { return r.E2Ems }),
	opt("first_token_at", func(r *request) micros { return r.FirstTokenAt }),
	opt("finished_at", func(r *request) micros { return r.FinishedAt }),
	opt("aborted_at", func(r *request) micros { return r.AbortedAt }),
	opt("http_status", func(r *request) number { return r.HTTPStatus }),
	text("finish_reason", func(r *request) string { return r.FinishReason }),
	text("api_key_id", func(r *request) string { return r.APIKeyID }),
	text("session_id", func(r *request) string { return r.SessionID }),
	text("retry_of", func(r *request) string { return r.RetryOf }),
	optBool("stream", func(r *request) flag { return r.Stream }),
	optBool("client_disconnected", func(r *request) flag { return r.ClientDisconnected }),
	text("prompt_text", func(r *request) string { return r.PromptText }),
	text("response_text", func(r *request) string { return r.ResponseText }),
	text("extra", func(r *request) string { return r.Extra }),
)

var eventColumns = append(located(func(e *event) *evidence.Locator { return &e.Locator }),
	text("kind", func(e *event) string { return string(e.Kind) }),
	opt("local_at", func(e *event) micros { return e.LocalAt }),
	opt("stated_at", func(e *event) micros { return e.At }),
	text("role", func(e *event) string { return string(e.Role) }),
	opt("dp_rank", func(e *event) number { return e.DP }),
	opt("tp_rank", func(e *event) number { return e.TP }),
	opt("pp_rank", func(e *event) number { return e.PP }),
	text("rid", func(e *event) string { return e.RID }),
	opt("bootstrap_room", func(e *event) room { return e.Room }),
	opt("prompt_tokens", func(e *event) number { return e.PromptTokens }),
	opt("cached_tokens", func(e *event) number { return e.CachedTokens }),
	opt("completion_tokens", func(e *event) number { return e.CompletionTokens }),
	opt("limit_tokens", func(e *event) number { return e.LimitTokens }),
	opt("e2e_ms", func(e *event) float { return e.E2Ems }),
	text("finish_reason", func(e *event) string { return e.FinishReason }),
	opt("status", func(e *event) number { return e.Status }),
	opt("new_seqs", func(e *event) number { return e.Batch.NewSeqs }),
	opt("new_tokens", func(e *event) number { return e.Batch.NewTokens }),
	opt("running_reqs", func(e *event) number { return e.Batch.RunningReqs }),
	opt("queue_reqs", func(e *event) number { return e.Batch.QueueReqs }),
	opt("tokens", func(e *event) number { return e.Batch.Tokens }),
	opt("usage", func(e *event) float { return e.Batch.Usage }),
	opt("prealloc_usage", func(e *event) float { return e.Batch.PreallocUsage }),
	opt("prealloc_reqs", func(e *event) number { return e.Batch.PreallocReqs }),
	opt("transfer_reqs", func(e *event) number { return e.Batch.TransferReqs }),
	opt("retracted_reqs", func(e *event) number { return e.Batch.RetractedReqs }),
	text("engine", func(e *event) string { return e.Launch.Engine }),
	text("engine_version", func(e *event) string { return e.Launch.Version }),
	opt("page_size", func(e *event) number { return e.Launch.PageSize }),
	opt("context_len", func(e *event) number { return e.Launch.ContextLen }),
	opt("pool_tokens", func(e *event) number { return e.Launch.PoolTokens }),
	opt("max_input_len", func(e *event) number { return e.Launch.MaxInputLen }),
	opt("tp_size", func(e *event) number { return e.Launch.TPSize }),
	opt("dp_size", func(e *event) number { return e.Launch.DPSize }),
	opt("pp_size", func(e *event) number { return e.Launch.PPSize }),
	text("transfer_backend", func(e *event) string { return e.Launch.TransferBackend }),
	text("flags", func(e *event) string { return e.Launch.Flags }),
	text("message", func(e *event) string { return e.Message }),
)

var rejectColumns = append(located(func(r *reject) *evidence.Locator { return &r.Locator }),
	column[reject]{"reason", func(v *vector, i int, r *reject) { v.textOrEmpty(i, r.Reason) }},
	column[reject]{"preview", func(v *vector, i int, r *reject) { v.textOrEmpty(i, r.Preview) }},
)

var sourceColumns = []column[source]{
	text("sha256", func(s *source) string {
		if !s.Digest.Known {
			return ""
		}
		return s.Digest.V.String()
	}),
	count("bytes", func(s *source) int64 { return s.Bytes }),
	count("content_bytes", func(s *source) int64 { return s.ContentBytes }),
	text("compression", func(s *source) string { return s.Compression }),
	text("encoding", func(s *source) string { return s.Encoding }),
	text("format", func(s *source) string { return s.Format }),
	text("format_reason", func(s *source) string { return s.FormatReason }),
	text("state", func(s *source) string { return string(s.State) }),
	text("problem", func(s *source) string { return s.Problem }),
	count("records", func(s *source) int64 { return s.Tally.Records }),
	count("rejected", func(s *source) int64 { return s.Tally.Rejected }),
	count("ignored", func(s *source) int64 { return s.Tally.Ignored }),
	count("record_bytes", func(s *source) int64 { return s.Tally.RecordBytes }),
	count("rejected_bytes", func(s *source) int64 { return s.Tally.RejectedBytes }),
	count("ignored_bytes", func(s *source) int64 { return s.Tally.IgnoredBytes }),
	list("notes", func(s *source) []string { return s.Notes }),
}

var pathColumns = []column[sourcePath]{
	text("path", func(p *sourcePath) string { return p.path }),
}

package ingest

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"kvforensics/internal/evidence"
)

// field is one canonical field of a request record (contract.md).
type field uint8

const (
	fieldNone field = iota // not canonical: kept in extra
	fieldRequestID
	fieldTenantID
	fieldReceivedAt
	fieldModel
	fieldPrefillNode
	fieldDecodeNode
	fieldPrefillRank
	fieldDecodeRank
	fieldBootstrapRoom
	fieldPromptTokens
	fieldCachedTokens
	fieldCompletionTokens
	fieldTTFTms
	fieldE2Ems
	fieldFirstTokenAt
	fieldFinishedAt
	fieldAbortedAt
	fieldHTTPStatus
	fieldFinishReason
	fieldAPIKeyID
	fieldSessionID
	fieldRetryOf
	fieldStream
	fieldClientDisconnected
	fieldPromptText
	fieldResponseText
)

func fieldOf(name string) field {
	switch name {
	case "request_id":
		return fieldRequestID
	case "tenant_id":
		return fieldTenantID
	case "received_at":
		return fieldReceivedAt
	case "model":
		return fieldModel
	case "prefill_node":
		return fieldPrefillNode
	case "decode_node":
		return fieldDecodeNode
	case "prefill_rank":
		return fieldPrefillRank
	case "decode_rank":
		return fieldDecodeRank
	case "bootstrap_room":
		return fieldBootstrapRoom
	case "prompt_tokens":
		return fieldPromptTokens
	case "cached_tokens":
		return fieldCachedTokens
	case "completion_tokens":
		return fieldCompletionTokens
	case "ttft_ms":
		return fieldTTFTms
	case "e2e_ms":
		return fieldE2Ems
	case "first_token_at":
		return fieldFirstTokenAt
	case "finished_at":
		return fieldFinishedAt
	case "aborted_at":
		return fieldAbortedAt
	case "http_status":
		return fieldHTTPStatus
	case "finish_reason":
		return fieldFinishReason
	case "api_key_id":
		return fieldAPIKeyID
	case "session_id":
		return fieldSessionID
	case "retry_of":
		return fieldRetryOf
	case "stream":
		return fieldStream
	case "client_disconnected":
		return fieldClientDisconnected
	case "prompt_text":
		return fieldPromptText
	case "response_text":
		return fieldResponseText
	}
	return fieldNone
}

// isText says whether a field's value is text, which only text may fill.
func (f field) isText() bool {
	switch f {
	case fieldRequestID, fieldTenantID, fieldModel, fieldPrefillNode, fieldDecodeNode, fieldFinishReason,
		fieldAPIKeyID, fieldSessionID, fieldRetryOf, fieldPromptText, fieldResponseText:
		return true
	}
	return false
}

// isContent says whether a field holds what people wrote.
func (f field) isContent() bool { return f == fieldPromptText || f == fieldResponseText }

func (f field) setText(r *evidence.Request, s string) {
	switch f {
	case fieldRequestID:
		r.RequestID = s
	case fieldTenantID:
		r.TenantID = s
	case fieldModel:
		r.Model = s
	case fieldPrefillNode:
		r.PrefillNode = s
	case fieldDecodeNode:
		r.DecodeNode = s
	case fieldFinishReason:
		r.FinishReason = s
	case fieldAPIKeyID:
		r.APIKeyID = s
	case fieldSessionID:
		r.SessionID = s
	case fieldRetryOf:
		r.RetryOf = s
	case fieldPromptText:
		r.PromptText = s
	case fieldResponseText:
		r.ResponseText = s
	}
}

// set reads s, written as a number, a truth value, a time or text, into field
// f of r. The error says what was wanted.
func (f field) set(r *evidence.Request, s string, zone *time.Location) error {
	var err error
	switch f {
	case fieldPrefillRank:
		r.PrefillRank, err = whole(s)
	case fieldDecodeRank:
		r.DecodeRank, err = whole(s)
	case fieldPromptTokens:
		r.PromptTokens, err = whole(s)
	case fieldCachedTokens:
		r.CachedTokens, err = whole(s)
	case fieldCompletionTokens:
		r.CompletionTokens, err = whole(s)
	case fieldHTTPStatus:
		r.HTTPStatus, err = whole(s)
	case fieldBootstrapRoom:
		r.BootstrapRoom.V, err = strconv.ParseUint(s, 10, 64)
		r.BootstrapRoom.Known = err == nil
		if err != nil {
			err = fmt.Errorf("want a whole number of 64 bits, got %s", clip(s))
		}
	case fieldTTFTms:
		r.TTFTms, err = duration(s)
	case fieldE2Ems:
		r.E2Ems, err = duration(s)
	case fieldFirstTokenAt:
		r.FirstTokenAt, err = moment(s, zone)
	case fieldFinishedAt:
		r.FinishedAt, err = moment(s, zone)
	case fieldAbortedAt:
		r.AbortedAt, err = moment(s, zone)
	case fieldReceivedAt:
		err = setReceivedAt(r, s, zone)
	case fieldStream:
		r.Stream, err = truth(s)
	case fieldClientDisconnected:
		r.ClientDisconnected, err = truth(s)
	default:
		f.setText(r, s)
	}
	return err
}

func setReceivedAt(r *evidence.Request, s string, zone *time.Location) error {
	t, err := parseTime(s, zone)
	if err != nil {
		return err
	}
	r.ReceivedAt = evidence.Opt[evidence.Micros]{V: t.at, Known: t.known}
	r.TimeBasis, r.OffsetMin = t.basis, t.offsetMin
	return nil
}

func moment(s string, zone *time.Location) (evidence.Opt[evidence.Micros], error) {
	t, err := parseTime(s, zone)
	return evidence.Opt[evidence.Micros]{V: t.at, Known: t.known && err == nil}, err
}

// whole reads a count: no sign, and a fraction only if it is zero.
func whole(s string) (evidence.Opt[int64], error) {
	if n, ok := digits(s); ok {
		return evidence.Some(n), nil
	}
	v, err := decimal(s)
	if err != nil || v < 0 || v != math.Trunc(v) || v > 1<<53 {
		return evidence.Opt[int64]{}, fmt.Errorf("want a whole number, got %s", clip(s))
	}
	return evidence.Some(int64(v)), nil
}

// digits reads up to 18 decimal digits.
func digits(s string) (int64, bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	var n int64
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}

// duration reads milliseconds.
func duration(s string) (evidence.Opt[float64], error) {
	v, err := decimal(s)
	if err != nil || v < 0 {
		return evidence.Opt[float64]{}, fmt.Errorf("want milliseconds, got %s", clip(s))
	}
	return evidence.Some(v), nil
}

// decimal reads a plain decimal number: no hexadecimal, no infinity, no NaN.
func decimal(s string) (float64, error) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(s, 64)
}

func truth(s string) (evidence.Opt[bool], error) {
	switch s {
	case "true", "True", "TRUE", "1":
		return evidence.Some(true), nil
	case "false", "False", "FALSE", "0":
		return evidence.Some(false), nil
	}
	return evidence.Opt[bool]{}, fmt.Errorf("want true or false, got %s", clip(s))
}

// missing names the first required field that r lacks.
func missing(r *evidence.Request) string {
	switch {
	case r.RequestID == "":
		return "request_id"
	case r.TenantID == "":
		return "tenant_id"
	case r.TimeBasis == evidence.TimeUnknown:
		return "received_at"
	}
	return ""
}

// Package score holds what a case predicts against the known truth of a
// synthetic incident: who was exposed (suspects), to whom (pairs), and how many
// requests of each tenant.
package score

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Truth is what really happened, as the simulator writes it. Its counts are of
// the whole incident, whatever evidence of it was lost.
type Truth struct {
	Suspects []TrueSuspect `json:"suspects"`
	Tenants  []TrueTenant  `json:"tenants"`
}

// TrueSuspect is a request that was answered over KV that it did not write.
type TrueSuspect struct {
	RequestID string       `json:"request_id"`
	Defect    string       `json:"defect"`
	Sources   []TrueSource `json:"sources"`
}

// TrueSource is a request whose KV a suspect attended to. Tokens are positions
// in the source's own sequence; ToToken is excluded.
type TrueSource struct {
	RequestID string `json:"source_request_id"`
	Slots     int64  `json:"slots"` // of one token each
	FromToken int64  `json:"from_token"`
	ToToken   int64  `json:"to_token"`
}

// TrueTenant counts, by defect, a tenant's requests that read another tenant's
// KV and those whose KV another tenant read.
type TrueTenant struct {
	TenantID       string         `json:"tenant_id"`
	RecipientCross map[string]int `json:"recipient_cross_tenant"`
	SourceCross    map[string]int `json:"source_cross_tenant"`
}

// ReadTruth reads a truth.json. Fields that are missing or unknown do not
// matter; broken JSON is an error that names line and byte offset.
func ReadTruth(r io.Reader) (Truth, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Truth{}, err
	}
	var t Truth
	err = json.Unmarshal(text, &t)
	if err == nil {
		return t, nil
	}
	offset := int64(0)
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mistyped):
		offset = mistyped.Offset
	}
	line := 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
	return Truth{}, fmt.Errorf("line %d, byte offset %d: %w", line, offset, err)
}

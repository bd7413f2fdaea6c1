// Package evidence holds the nouns that every stage shares: sources and the
// places in them, requests, engine events, pools, suspects. It performs no I/O
// and imports the standard library alone, so that any stage may use it.
//
// Stages do not import each other. A stage's result is rows in the case; the
// next stage reads rows.
package evidence

import (
	"encoding/hex"
	"time"
)

// Digest is the SHA-256 of a source's bytes as they lie on disk.
type Digest [32]byte

// String gives the digest in lower-case hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Opt is a value that the evidence may not have stated. The zero Opt is
// "unknown", which is never the same as zero.
type Opt[T any] struct {
	V     T
	Known bool
}

// Some wraps a stated value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, Known: true} }

// Micros is an instant in microseconds since 1970-01-01T00:00:00Z. For a time
// without a zone it counts from that date on the writer's own wall clock.
type Micros int64

// MicrosOf converts t, dropping what lies below a microsecond.
func MicrosOf(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time gives the instant in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Locator is the place of a record inside its source. Offset and Length count
// bytes of the inflated content, before any change of text encoding; Line
// counts from 1, in Parquet and Arrow sources rows from 1.
type Locator struct {
	Line   int64
	Offset int64
	Length int64
}

// Rejected is a record that could not be read. It is kept as a row: what is
// lost is named, never only counted.
type Rejected struct {
	Locator
	Reason  string
	Preview string // at most PreviewBytes of the record, as valid UTF-8
}

// PreviewBytes bounds Rejected.Preview.
const PreviewBytes = 200

// TimeBasis says how an instant was read.
type TimeBasis string

// The bases of an instant.
const (
	TimeUnknown     TimeBasis = ""             // no time could be read
	TimeOffset      TimeBasis = "offset"       // the text carried its offset
	TimeEpochS      TimeBasis = "epoch_s"      // number, taken as seconds
	TimeEpochMs     TimeBasis = "epoch_ms"     // number, taken as milliseconds
	TimeEpochUs     TimeBasis = "epoch_us"     // number, taken as microseconds
	TimeEpochNs     TimeBasis = "epoch_ns"     // number, taken as nanoseconds
	TimeStatedZone  TimeBasis = "stated_zone"  // zone-less text, zone from --tz or incident.yaml
	TimeZoneMissing TimeBasis = "zone_missing" // zone-less text, no zone stated: not placed in UTC
)

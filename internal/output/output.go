// Package output writes rows for people and programs: an aligned table, CSV,
// JSON Lines, Parquet, or an Arrow stream. Text from evidence is hostile; each
// format makes it inert in its own way.
package output

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Type of a column's values.
type Type int

// Types and the Go values that stand for them; nil is NULL in all of them.
const (
	Text     Type = iota // string
	Int                  // int64
	Uint                 // uint64
	Float                // float64
	Bool                 // bool
	Time                 // time.Time, an instant
	WallTime             // time.Time whose zone means nothing
	TextList             // []string
)

// Column of a result.
type Column struct {
	Name string
	Type Type
}

// Rows gives row after row, then io.EOF. A row may be reused by the next call.
type Rows interface {
	Next() ([]any, error)
}

// Format of what is written.
type Format string

// Formats.
const (
	Table   Format = "table"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
)

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	all := []Format{Table, CSV, JSONL, Parquet, Arrow}
	if slices.Contains(all, Format(s)) {
		return Format(s), nil
	}
	return "", fmt.Errorf("unknown format %q: want table, csv, jsonl, parquet or arrow", s)
}

// writer takes rows in one format.
type writer interface {
	row(values []any) error
	close() error
}

// Write writes all rows in a format.
func Write(w io.Writer, f Format, columns []Column, rows Rows) error {
	out, err := newWriter(w, f, columns)
	if err != nil {
		return fmt.Errorf("write %s: %w", f, err)
	}
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, out.close())
		}
		if err := out.row(row); err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", f, err), out.close())
		}
	}
	if err := out.close(); err != nil {
		return fmt.Errorf("write %s: %w", f, err)
	}
	return nil
}

func newWriter(w io.Writer, f Format, columns []Column) (writer, error) {
	switch f {
	case CSV:
		return newCSV(w, columns)
	case JSONL:
		return newJSONL(w, columns), nil
	case Parquet:
		return newParquet(w, columns)
	case Arrow:
		return newArrow(w, columns)
	}
	return newTable(w, columns), nil
}

// plain writes a value as text, for people.
func plain(t Type, v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case time.Time:
		if t == WallTime {
			return x.Format("2006-01-02T15:04:05.999999")
		}
		return x.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
	case []string:
		return strings.Join(x, "; ")
	}
	return fmt.Sprint(v)
}

// Package output writes rows for people and programs: an aligned table, CSV,
// JSON Lines, Parquet, or an Arrow stream. Text from evidence is hostile; each
// format makes it inert in its own way. Table and CSV show what they changed;
// JSON Lines, Parquet and Arrow give the text back as it was.
package output

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
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
	Time                 // time.Time, an instant, kept to the microsecond
	WallTime             // time.Time whose zone means nothing
	TextList             // []string
	Other                // string: types without one of their own, as text
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
	Arrow   Format = "arrow" // IPC stream
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
	// close ends the writer and frees what it holds. Unless the rows are whole,
	// a format that has an end mark leaves it out.
	close(whole bool) error
}

// Write writes all rows in a format, the same bytes for the same rows. An
// error of rows comes back as it is; one of w wraps w's own error, so that a
// closed pipe is still known as syscall.EPIPE.
func Write(w io.Writer, f Format, columns []Column, rows Rows) error {
	return write(w, f, columns, rows, memory.DefaultAllocator)
}

func write(w io.Writer, f Format, columns []Column, rows Rows, mem memory.Allocator) error {
	sink := bufio.NewWriterSize(w, 64<<10)
	out, err := newWriter(sink, f, distinct(columns), mem)
	if err != nil {
		return fmt.Errorf("write %s: %w", f, err)
	}
	readErr, writeErr := copyRows(out, rows)
	closeErr := out.close(readErr == nil && writeErr == nil)
	// The sink comes first: it still has the error as w gave it.
	if err := cmp.Or(sink.Flush(), writeErr, closeErr); err != nil {
		return errors.Join(readErr, fmt.Errorf("write %s: %w", f, err))
	}
	return readErr
}

func copyRows(out writer, rows Rows) (readErr, writeErr error) {
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return err, nil
		}
		if err := out.row(row); err != nil {
			return nil, err
		}
	}
}

func newWriter(w *bufio.Writer, f Format, columns []Column, mem memory.Allocator) (writer, error) {
	switch f {
	case Table:
		return newTable(w, columns), nil
	case CSV:
		return newCSV(w, columns)
	case JSONL:
		return newJSONL(w, columns), nil
	case Parquet:
		return newParquet(w, columns, mem)
	case Arrow:
		return newArrow(w, columns, mem)
	}
	return nil, errors.New("unknown format")
}

// distinct numbers columns of the same name, as a join gives them: readers of
// JSON keep one member of a name and drop the others without a word.
func distinct(columns []Column) []Column {
	columns = slices.Clone(columns)
	taken := map[string]bool{}
	for i := range columns {
		name := columns[i].Name
		for n := 1; taken[columns[i].Name]; n++ {
			columns[i].Name = fmt.Sprintf("%s_%d", name, n)
		}
		taken[columns[i].Name] = true
	}
	return columns
}

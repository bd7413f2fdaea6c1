package output

import (
	"bufio"
	"strings"

	"github.com/mattn/go-runewidth"
)

const (
	// sizedRows are read before the first is printed, to size columns by.
	sizedRows = 1000
	// maxCell bounds a cell, in cells of the terminal; the last column is free.
	maxCell = 60
)

// display measures text the same way whatever the user's locale says.
var display = &runewidth.Condition{StrictEmojiNeutral: true}

// tableWriter aligns columns for a terminal. NULL and empty text are blank.
type tableWriter struct {
	columns []Column
	sink    *bufio.Writer
	held    [][]string // until the widths are settled
	widths  []int
}

func newTable(w *bufio.Writer, columns []Column) *tableWriter {
	t := &tableWriter{columns: columns, sink: w}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = t.cell(i, c.Name)
	}
	t.held = append(t.held, header)
	return t
}

func (t *tableWriter) last(column int) bool { return column == len(t.columns)-1 }

func (t *tableWriter) cell(column int, s string) string {
	if t.last(column) {
		return Inert(s)
	}
	return display.Truncate(Inert(s), maxCell, "…")
}

func (t *tableWriter) row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = t.cell(i, plain(t.columns[i].Type, v))
	}
	if t.widths != nil {
		return t.print(cells)
	}
	if t.held = append(t.held, cells); len(t.held) > sizedRows {
		return t.settle()
	}
	return nil
}

// settle fixes the widths and prints the rows that waited for them. A later
// cell that is wider pushes its line out of step and loses nothing.
func (t *tableWriter) settle() error {
	t.widths = make([]int, len(t.columns))
	for _, cells := range t.held {
		for i, c := range cells {
			t.widths[i] = max(t.widths[i], display.StringWidth(c))
		}
	}
	for _, cells := range t.held {
		if err := t.print(cells); err != nil {
			return err
		}
	}
	t.held = nil
	return nil
}

func (t *tableWriter) print(cells []string) error {
	var line strings.Builder
	for i, c := range cells {
		if i > 0 {
			line.WriteString("  ")
		}
		blanks := max(0, t.widths[i]-display.StringWidth(c))
		switch {
		case isNumber(t.columns[i].Type):
			line.WriteString(strings.Repeat(" ", blanks) + c)
		case t.last(i):
			line.WriteString(c)
		default:
			line.WriteString(c + strings.Repeat(" ", blanks))
		}
	}
	_, err := t.sink.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	return err
}

func isNumber(t Type) bool { return t == Int || t == Uint || t == Float }

func (t *tableWriter) close(bool) error {
	if t.widths == nil {
		return t.settle()
	}
	return nil
}

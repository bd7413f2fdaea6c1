package output

import (
	"bufio"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

const (
	// sizedRows are read before the first is printed, to size columns by.
	sizedRows = 1000
	// maxCell bounds a cell in columns of the terminal; the last column is free.
	maxCell = 60
)

// tableWriter aligns columns for a terminal.
type tableWriter struct {
	columns []Column
	out     *bufio.Writer
	held    [][]string // until the widths are settled
	widths  []int
}

func newTable(w io.Writer, columns []Column) *tableWriter {
	t := &tableWriter{columns: columns, out: bufio.NewWriter(w)}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = Inert(c.Name)
	}
	t.held = append(t.held, header)
	return t
}

func (t *tableWriter) row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = Inert(plain(t.columns[i].Type, v))
		if i < len(values)-1 {
			cells[i] = runewidth.Truncate(cells[i], maxCell, "…")
		}
	}
	if t.widths != nil {
		return t.print(cells)
	}
	if t.held = append(t.held, cells); len(t.held) > sizedRows {
		return t.settle()
	}
	return nil
}

func (t *tableWriter) settle() error {
	t.widths = make([]int, len(t.columns))
	for _, cells := range t.held {
		for i, c := range cells {
			t.widths[i] = max(t.widths[i], runewidth.StringWidth(c))
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
		pad := strings.Repeat(" ", max(0, t.widths[i]-runewidth.StringWidth(c)))
		if isNumber(t.columns[i].Type) {
			c, pad = pad+c, ""
		}
		if i > 0 {
			line.WriteString("  ")
		}
		line.WriteString(c + pad)
	}
	_, err := t.out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	return err
}

func isNumber(t Type) bool { return t == Int || t == Uint || t == Float }

func (t *tableWriter) close() error {
	if t.widths == nil {
		if err := t.settle(); err != nil {
			return err
		}
	}
	return t.out.Flush()
}

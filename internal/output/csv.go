package output

import (
	"bufio"
	"encoding/csv"
	"regexp"
	"strings"
	"unicode/utf8"
)

// csvWriter writes RFC 4180 with a header, lines ending in LF.
type csvWriter struct {
	columns []Column
	sink    *bufio.Writer
	out     *csv.Writer
	cells   []string
}

func newCSV(w *bufio.Writer, columns []Column) (writer, error) {
	c := &csvWriter{columns: columns, sink: w, out: csv.NewWriter(w), cells: make([]string, len(columns))}
	for i, column := range columns {
		c.cells[i] = harmlessCell(column.Name)
	}
	return c, c.record()
}

func (c *csvWriter) row(values []any) error {
	for i, v := range values {
		c.cells[i] = plain(c.columns[i].Type, v)
		switch c.columns[i].Type {
		case Text, TextList, Other:
			c.cells[i] = harmlessCell(c.cells[i])
		}
	}
	return c.record()
}

// record writes the cells. It quotes an only cell that is empty: readers take
// an empty line for no record at all.
func (c *csvWriter) record() error {
	if len(c.cells) != 1 || c.cells[0] != "" {
		return c.out.Write(c.cells)
	}
	c.out.Flush()
	_, err := c.sink.WriteString("\"\"\n")
	return err
}

func (c *csvWriter) close(bool) error {
	c.out.Flush()
	return c.out.Error()
}

// harmlessCell makes text harmless in a terminal and in a spreadsheet.
func harmlessCell(s string) string {
	return noFormula(escape(s, func(r rune) bool { return hidden(r) && r != '\n' && r != '\t' }))
}

const formulaStarts = "=+-@＝＋－＠"

// plainNumber begins like a formula and is none.
var plainNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$`)

// noFormula puts an apostrophe before whatever a spreadsheet would run. It
// looks at each place where a cell may begin: where the decimal sign is a
// comma, spreadsheets split at semicolons and then do not see our quotes.
func noFormula(s string) string {
	if !strings.ContainsAny(s, formulaStarts+"\t") {
		return s
	}
	var b strings.Builder
	if strings.HasPrefix(s, "\t") {
		b.WriteByte('\'')
	}
	for s != "" {
		n := strings.IndexAny(s, ";\t\n") + 1
		if n == 0 {
			n = len(s)
		}
		if isFormula(s[:n]) {
			b.WriteByte('\'')
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

func isFormula(cell string) bool {
	cell = strings.TrimSpace(strings.TrimSuffix(cell, ";"))
	first, _ := utf8.DecodeRuneInString(cell)
	return cell != "" && strings.ContainsRune(formulaStarts, first) && !plainNumber.MatchString(cell)
}

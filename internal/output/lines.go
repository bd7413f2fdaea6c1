package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"time"
)

// csvWriter writes RFC 4180 with a header.
type csvWriter struct {
	columns []Column
	out     *csv.Writer
	cells   []string
}

func newCSV(w io.Writer, columns []Column) (writer, error) {
	c := &csvWriter{columns: columns, out: csv.NewWriter(w), cells: make([]string, len(columns))}
	for i, column := range columns {
		c.cells[i] = noFormula(Inert(column.Name))
	}
	return c, c.out.Write(c.cells)
}

func (c *csvWriter) row(values []any) error {
	for i, v := range values {
		cell := plain(c.columns[i].Type, v)
		if t := c.columns[i].Type; t == Text || t == TextList {
			cell = noFormula(Inert(cell))
		}
		c.cells[i] = cell
	}
	return c.out.Write(c.cells)
}

func (c *csvWriter) close() error {
	c.out.Flush()
	return c.out.Error()
}

// jsonWriter writes one object a line, members in the order of the columns.
type jsonWriter struct {
	columns []Column
	names   [][]byte
	w       io.Writer
	line    bytes.Buffer
	encoder *json.Encoder
}

func newJSONL(w io.Writer, columns []Column) *jsonWriter {
	j := &jsonWriter{columns: columns, w: w}
	j.encoder = json.NewEncoder(&j.line)
	j.encoder.SetEscapeHTML(false)
	for _, c := range columns {
		name, err := json.Marshal(c.Name)
		if err != nil {
			panic(err) // a string can always be written
		}
		j.names = append(j.names, name)
	}
	return j
}

func (j *jsonWriter) row(values []any) error {
	j.line.Reset()
	for i, v := range values {
		if i == 0 {
			j.line.WriteByte('{')
		} else {
			j.line.WriteByte(',')
		}
		j.line.Write(j.names[i])
		j.line.WriteByte(':')
		if err := j.encoder.Encode(jsonValue(j.columns[i].Type, v)); err != nil {
			return err
		}
		j.line.Truncate(j.line.Len() - 1) // the encoder's line end
	}
	j.line.WriteString("}\n")
	_, err := j.w.Write(j.line.Bytes())
	return err
}

// jsonValue gives what encoding/json writes as wanted: JSON has no infinities,
// and an absent list is not an empty one.
func jsonValue(t Type, v any) any {
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
	case time.Time:
		return plain(t, x)
	}
	return v
}

func (j *jsonWriter) close() error { return nil }

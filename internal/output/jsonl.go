package output

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonWriter writes one object a line, members in the order of the columns.
type jsonWriter struct {
	columns []Column
	names   [][]byte // quoted, with colon
	sink    *bufio.Writer
	line    []byte
}

func newJSONL(w *bufio.Writer, columns []Column) *jsonWriter {
	j := &jsonWriter{columns: columns, sink: w}
	for _, c := range columns {
		j.names = append(j.names, append(appendQuoted(nil, c.Name), ':'))
	}
	return j
}

func (j *jsonWriter) row(values []any) error {
	j.line = append(j.line[:0], '{')
	for i, v := range values {
		if i > 0 {
			j.line = append(j.line, ',')
		}
		j.line = append(j.line, j.names[i]...)
		j.line = appendJSON(j.line, j.columns[i].Type, v)
	}
	j.line = append(j.line, "}\n"...)
	_, err := j.sink.Write(j.line)
	return err
}

func (j *jsonWriter) close(bool) error { return nil }

func appendJSON(b []byte, t Type, v any) []byte {
	switch x := v.(type) {
	case string:
		return appendQuoted(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case uint64:
		return strconv.AppendUint(b, x, 10)
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return appendFloat(b, x)
		}
	case bool:
		return strconv.AppendBool(b, x)
	case time.Time:
		if t == WallTime {
			return x.AppendFormat(b, `"2006-01-02T15:04:05.000000"`)
		}
		return x.UTC().AppendFormat(b, `"2006-01-02T15:04:05.000000Z"`)
	case []string:
		return appendList(b, x)
	}
	return append(b, "null"...)
}

func appendList(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, s)
	}
	return append(b, ']')
}

// appendQuoted writes a JSON string that is also harmless on a terminal: what
// Inert would show is escaped, which readers of JSON undo.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case !hidden(r):
			b = utf8.AppendRune(b, r)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		}
	}
	return append(b, '"')
}

package ingest

import (
	"bytes"
	"fmt"
)

// csvQuoteError says that the quotes of a record are out of order, so that its
// end is not known.
type csvQuoteError string

func (e csvQuoteError) Error() string { return string(e) }

// csvSplit appends the fields of one record, which has no line end. It is
// written out because encoding/csv turns the line ends inside quotes from CRLF
// into LF, and evidence is not to be changed; its tests hold it against
// encoding/csv.
func csvSplit(fields [][]byte, record []byte, delimiter byte) ([][]byte, error) {
	for more := true; more; {
		var value []byte
		var err error
		if value, record, more, err = csvField(record, delimiter); err != nil {
			return nil, fmt.Errorf("field %d: %w", len(fields)+1, err)
		}
		fields = append(fields, value)
	}
	return fields, nil
}

// csvField reads the first field of text, and tells whether more follow.
func csvField(text []byte, delimiter byte) (value, rest []byte, more bool, err error) {
	if len(text) == 0 || text[0] != '"' {
		value, rest, more = bytes.Cut(text, []byte{delimiter})
		if bytes.IndexByte(value, '"') >= 0 {
			err = csvQuoteError("quote inside a value that is not quoted")
		}
		return value, rest, more, err
	}
	value, rest, ok := csvQuoted(text[1:])
	if !ok {
		return nil, nil, false, csvQuoteError("quote is not closed")
	}
	if bytes.IndexByte(value, '"') >= 0 {
		value = bytes.ReplaceAll(value, []byte(`""`), []byte{'"'})
	}
	if len(rest) == 0 {
		return value, nil, false, nil
	}
	if rest[0] != delimiter {
		return nil, nil, false, csvQuoteError("text after a closing quote")
	}
	return value, rest[1:], true, nil
}

// csvQuoted cuts text, which begins inside quotes, around the closing quote.
// Quotes in value are still doubled.
func csvQuoted(text []byte) (value, rest []byte, ok bool) {
	for n := 0; ; {
		i := bytes.IndexByte(text[n:], '"')
		if i < 0 {
			return nil, nil, false
		}
		n += i + 1
		if n == len(text) || text[n] != '"' {
			return text[:n-1], text[n:], true
		}
		n++
	}
}

// csvOpen says whether quotes are open at the end of a line, given whether
// they were at its start. Where quotes are out of order the record ends, and
// csvSplit will refuse it.
func csvOpen(line []byte, delimiter byte, open bool) bool {
	for {
		if !open {
			start := bytes.IndexByte(line, '"')
			if start < 0 || start > 0 && line[start-1] != delimiter {
				return false
			}
			line = line[start+1:]
		}
		var ok bool
		if _, line, ok = csvQuoted(line); !ok {
			return true
		}
		if len(line) == 0 || line[0] != delimiter {
			return false
		}
		line, open = line[1:], false
	}
}

package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"kvforensics/internal/evidence"
)

const (
	maxHeaderBytes = 64 << 10
	// maxRecordBytes bounds a record that spans lines, so that a quote that
	// nobody closes does not hold the rest of the file. It lies above what a
	// model takes as a prompt: a longer text cut into lines would let its
	// author write lines that pass for records.
	maxRecordBytes = 16 << 20
)

// csvHeader is the line that names the columns.
type csvHeader struct {
	line      int64
	delimiter byte
	columns   []csvColumn
}

type csvColumn struct {
	name  string
	field field
}

// detectCSV takes a text for canonical records when its first line that is
// neither blank nor a comment names at least two canonical fields, one of them
// required of every record.
func detectCSV(text []byte) (detected, bool) {
	for n := int64(1); len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		line, text = trimEnd(line), rest
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' {
			continue
		}
		if len(line) > maxHeaderBytes {
			break
		}
		return detectHeader(line, n)
	}
	return detected{}, false
}

func detectHeader(line []byte, n int64) (detected, bool) {
	header, known := csvHeader{line: n}, 0
	for _, delimiter := range []byte{',', ';', '\t'} {
		columns, k := csvColumns(line, delimiter)
		if k > known {
			header.delimiter, header.columns, known = delimiter, columns, k
		}
	}
	if known < 2 {
		return detected{}, false
	}
	separator := map[byte]string{',': "commas", ';': "semicolons", '\t': "tabs"}[header.delimiter]
	return detected{
		format:  evidence.FormatCSV,
		reason:  fmt.Sprintf("line %d: header with %d canonical fields, separated by %s", n, known, separator),
		problem: header.problem(),
		parser: func(o Options) parser {
			return &csvParser{header: header, zone: o.Zone, keepContent: o.KeepContent}
		},
	}.orUnread(), true
}

// orUnread leaves a text with a problem to be counted, not parsed.
func (d detected) orUnread() detected {
	if d.problem != "" {
		d.parser = nil
	}
	return d
}

// csvColumns splits a header and counts the canonical fields in it; none count
// unless a required one is there. Names are counted without the blanks around
// them, so that a header with blanks is found, and then refused by name.
func csvColumns(line []byte, delimiter byte) (columns []csvColumn, known int) {
	names, err := csvSplit(nil, line, delimiter)
	if err != nil {
		return nil, 0
	}
	required := false
	for _, name := range names {
		columns = append(columns, csvColumn{name: string(name), field: fieldOf(string(name))})
		f := fieldOf(string(bytes.TrimSpace(name)))
		if f != fieldNone {
			known++
		}
		required = required || f == fieldRequestID || f == fieldTenantID || f == fieldReceivedAt
	}
	if !required {
		return columns, 0
	}
	return columns, known
}

// problem says why no record can be read under this header.
func (h *csvHeader) problem() string {
	names := make([]string, len(h.columns))
	for i, c := range h.columns {
		names[i] = c.name
		switch {
		case !utf8.ValidString(c.name) || strings.ContainsFunc(c.name, unicode.IsControl):
			return fmt.Sprintf("header: column %d, %s, is no plain text", i+1, clip(c.name))
		case c.name != strings.TrimSpace(c.name):
			return fmt.Sprintf("header: column %d, %s, has blanks around its name", i+1, clip(c.name))
		}
	}
	return columnsProblem(names)
}

// csvParser reads canonical request records from lines of separated values.
// A record may span lines, so it sees the blocks in order.
type csvParser struct {
	header      csvHeader
	zone        *time.Location
	keepContent bool
	rest        *block // a record whose quotes were open at the end of the last block
	fields      [][]byte
}

func (p *csvParser) parallel() bool { return false }

func (p *csvParser) parse(b *block, out *batch) error {
	if p.rest != nil && p.rest.offset+int64(len(p.rest.data)) != b.offset {
		p.records(p.rest, out, true) // an overlong line came between
	}
	if p.rest != nil {
		data := append(bytes.Clone(p.rest.data), b.data...)
		b = &block{data: data, offset: p.rest.offset, firstLine: p.rest.firstLine, encoding: b.encoding}
	}
	p.records(b, out, false)
	return nil
}

func (p *csvParser) close(out *batch) error {
	if p.rest != nil {
		p.records(p.rest, out, true)
	}
	return nil
}

// records reads the records of b. Unless b is final, a record that is open at
// its end is kept for the next block. Where quotes are out of order, the line
// in which the record began is rejected alone, and reading goes on behind it.
func (p *csvParser) records(b *block, out *batch, final bool) {
	p.rest = nil
	at := evidence.Locator{Line: b.firstLine, Offset: b.offset}
	for data := b.data; len(data) > 0; {
		e := p.extent(data, b.encoding, at.Line)
		if e.open && !final && e.bytes < maxRecordBytes {
			p.rest = &block{data: bytes.Clone(data), offset: at.Offset, firstLine: at.Line, encoding: b.encoding}
			return
		}
		text := trimEnd(b.encoding.text(data[:e.bytes]))
		at.Length = int64(e.bytes)
		err := error(csvQuoteError("a quote opened in this line is never closed"))
		if !e.open {
			err = p.take(text, at, out)
		}
		if _, quotes := errors.AsType[csvQuoteError](err); quotes && e.lines > 1 {
			e.lines, e.bytes = 1, lineLength(data, b.encoding)
			text = trimEnd(b.encoding.text(data[:e.bytes]))
			at.Length = int64(e.bytes)
		}
		if err != nil {
			out.reject(at, err.Error(), p.preview(text))
		}
		data = data[e.bytes:]
		at.Line += e.lines
		at.Offset += int64(e.bytes)
	}
}

// csvExtent is how far the first record of some data goes.
type csvExtent struct {
	lines int64
	bytes int
	open  bool // its quotes are not closed within the data, or the limit
}

func (p *csvParser) extent(data []byte, e encoding, line int64) csvExtent {
	var x csvExtent
	for x.bytes < len(data) && (x.lines == 0 || x.bytes < maxRecordBytes) {
		n := lineLength(data[x.bytes:], e)
		x.open = csvOpen(trimEnd(e.text(data[x.bytes:x.bytes+n])), p.header.delimiter, x.open)
		x.bytes += n
		x.lines++
		if line <= p.header.line { // comments may hold any quote
			x.open = false
		}
		if !x.open {
			break
		}
	}
	return x
}

func lineLength(data []byte, e encoding) int {
	if n := e.endOfLine(data); n > 0 {
		return n
	}
	return len(data)
}

// preview gives what of a rejected record may be shown: nothing where a column
// holds content that is not kept, for a broken record's columns can't be told.
func (p *csvParser) preview(text []byte) []byte {
	holdsContent := slices.ContainsFunc(p.header.columns, func(c csvColumn) bool { return c.field.isContent() })
	if holdsContent && !p.keepContent {
		return []byte("(not shown: the file has a content column)")
	}
	return text
}

// take reads one record, or steps over what is none.
func (p *csvParser) take(text []byte, at evidence.Locator, out *batch) error {
	if at.Line <= p.header.line || len(bytes.Trim(text, " \r\n")) == 0 {
		out.ignore(at)
		return nil
	}
	r := out.newRequest()
	if err := p.record(text, r, out); err != nil {
		out.dropRequest()
		return err
	}
	r.Locator = at
	out.keepRequest(r)
	return nil
}

func (p *csvParser) record(text []byte, r *evidence.Request, out *batch) error {
	if err := checkText(text); err != nil {
		return err
	}
	fields, err := csvSplit(p.fields[:0], text, p.header.delimiter)
	if err != nil {
		return err
	}
	p.fields = fields
	if len(fields) != len(p.header.columns) {
		return fmt.Errorf("%d fields, where the header has %d", len(fields), len(p.header.columns))
	}
	extra := newExtra(out)
	for i, c := range p.header.columns {
		if err := p.set(r, c, alias(fields[i]), &extra); err != nil {
			return err
		}
	}
	r.Extra = extra.keep(out)
	if name := missing(r); name != "" {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

// set takes one value. An empty one states nothing.
func (p *csvParser) set(r *evidence.Request, c csvColumn, value string, extra *extraObject) error {
	switch {
	case value == "" || c.field.isContent() && !p.keepContent:
		return nil
	case c.field == fieldNone:
		extra.text(c.name, value)
		return nil
	}
	if err := c.field.set(r, value, p.zone); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if c.field.unplaced(r) {
		extra.text(c.name, value)
	}
	return nil
}

package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
	"unsafe"

	"kvforensics/internal/evidence"
)

// jsonlParser reads canonical request records, one JSON object a line.
type jsonlParser struct {
	zone        *time.Location
	keepContent bool
}

func (p jsonlParser) parallel() bool { return true }

func (p jsonlParser) parse(b *block, out *batch) error {
	b.lines(func(line []byte, at evidence.Locator) {
		if len(bytes.TrimSpace(line)) == 0 {
			out.ignore(at)
			return
		}
		r := out.newRequest()
		if err := p.record(line, r, out); err != nil {
			out.dropRequest()
			out.reject(at, err.Error(), p.preview(line))
			return
		}
		r.Locator = at
		out.keepRequest(r)
	})
	return nil
}

func (p jsonlParser) close(*batch) error { return nil }

// record reads one line into r. Strings of r point into line or into the
// batch's own text.
func (p jsonlParser) record(line []byte, r *evidence.Request, out *batch) error {
	if err := checkText(line); err != nil {
		return err
	}
	o := jsonObject{scanner: jsonScanner{text: line}, request: r, out: out, parser: p}
	o.others = o.room[:0]
	if err := o.read(); err != nil {
		return err
	}
	if name := missing(r); name != "" {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

// checkText refuses what no text may hold.
func checkText(line []byte) error {
	if i := bytes.IndexByte(line, 0); i >= 0 {
		return fmt.Errorf("NUL byte at byte %d", i)
	}
	return checkUTF8(line)
}

func checkUTF8(line []byte) error {
	if utf8.Valid(line) {
		return nil
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && n <= 1 {
			return fmt.Errorf("invalid UTF-8 at byte %d", i)
		}
		i += n
	}
}

// strayBytes is how much of a line is shown that does not begin like a record:
// it may be the rest of somebody's prompt.
const strayBytes = 40

// contentKeys are how keys begin under which records hold what people wrote,
// ours and those of the usual interfaces.
var contentKeys = []string{`"prompt_te`, `"prompt\u`, `"prompt"`, `"response`, `"messages"`, `"content"`, `"text"`, `"input"`}

// preview gives what of a rejected line may be shown: no content, unless it is
// kept.
func (p jsonlParser) preview(line []byte) []byte {
	if p.keepContent {
		return line
	}
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return line[:min(len(line), strayBytes)]
	}
	for _, key := range contentKeys {
		if i := bytes.Index(line, []byte(key)); i >= 0 {
			line = line[:i]
		}
	}
	return line
}

// jsonObject is the reading of one record.
type jsonObject struct {
	scanner jsonScanner
	request *evidence.Request
	out     *batch
	parser  jsonlParser
	seen    uint32   // canonical fields so far
	others  [][]byte // other keys so far
	room    [8][]byte
	extra   []byte
	usage   usage
}

func (o *jsonObject) read() error {
	s := &o.scanner
	if s.peek() != '{' {
		return errors.New("not a JSON object")
	}
	s.pos++
	if s.peek() == '}' {
		s.pos++
	} else {
		for more := true; more; {
			if err := o.member(); err != nil {
				return err
			}
			var err error
			if more, err = s.next('}'); err != nil {
				return err
			}
		}
	}
	if s.peek() != 0 || s.pos < len(s.text) {
		return s.errorf("text after the record")
	}
	if o.usage.raw != nil && !o.usage.fill(o.request) {
		o.keepOther([]byte("usage"), o.usage.raw)
	}
	if len(o.extra) > 0 {
		o.request.Extra = o.out.keepText(append(o.extra, '}'))
		o.out.scratch = o.extra[:0]
	}
	return nil
}

func (o *jsonObject) member() error {
	raw, escaped, err := o.scanner.str()
	if err != nil {
		return err
	}
	key := raw
	if escaped {
		key = unescape(nil, raw)
	}
	if err := o.scanner.expect(':'); err != nil {
		return err
	}
	f := fieldOf(alias(key))
	if f == fieldNone {
		return o.other(raw, key)
	}
	if o.seen&(1<<f) != 0 {
		return fmt.Errorf("key %s twice", clip(string(key)))
	}
	o.seen |= 1 << f
	return o.value(f, alias(key))
}

// value reads the value of a canonical field. A null states nothing.
func (o *jsonObject) value(f field, name string) error {
	s := &o.scanner
	c := s.peek()
	if c != '"' {
		raw, err := s.skip(0)
		if err != nil {
			return err
		}
		switch {
		case c == 'n':
			return nil
		case c == '{' || c == '[' || f.isText() && (c == 't' || c == 'f'):
			return fmt.Errorf("%s: want %s, got %s", name, wanted(f), clip(string(raw)))
		case f.isContent() && !o.parser.keepContent:
			return nil
		case f.isText(): // a number stands for its digits, as in ids
			f.setText(o.request, alias(raw))
			return nil
		}
		return o.set(f, name, alias(raw))
	}
	raw, escaped, err := s.str()
	if err != nil {
		return err
	}
	if f.isContent() && !o.parser.keepContent {
		return nil
	}
	text := alias(raw)
	if escaped {
		text = o.out.keepUnescaped(raw)
	}
	if f.isText() {
		f.setText(o.request, text)
		return nil
	}
	return o.set(f, name, text)
}

func wanted(f field) string {
	if f.isText() {
		return "text"
	}
	return "a single value"
}

func (o *jsonObject) set(f field, name, text string) error {
	if err := f.set(o.request, text, o.parser.zone); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.unplaced(o.request) {
		o.keepOther([]byte(name), appendQuoted(nil, text))
	}
	return nil
}

// other keeps a field that is not canonical, as it was written.
func (o *jsonObject) other(raw, key []byte) error {
	for _, k := range o.others {
		if bytes.Equal(k, key) {
			return fmt.Errorf("key %s twice", clip(string(key)))
		}
	}
	if len(o.others) == maxOtherKeys {
		return fmt.Errorf("more than %d fields that are not canonical", maxOtherKeys)
	}
	o.others = append(o.others, key)
	o.scanner.space()
	value, err := o.scanner.skip(0)
	if err != nil {
		return err
	}
	if string(key) == "usage" && value[0] == '{' {
		o.usage = usage{raw: value}
		if o.usage.read() {
			return nil
		}
		o.usage = usage{}
	}
	o.keepOther(raw, value)
	return nil
}

// maxOtherKeys bounds what one record may carry beside canonical fields, so
// that the search for repeated keys stays short.
const maxOtherKeys = 256

func (o *jsonObject) keepOther(rawKey, value []byte) {
	if len(o.extra) == 0 {
		o.extra = append(o.out.scratch[:0], '{')
	} else {
		o.extra = append(o.extra, ',')
	}
	o.extra = append(append(o.extra, '"'), rawKey...)
	o.extra = append(append(o.extra, '"', ':'), value...)
}

func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

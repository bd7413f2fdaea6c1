package sglang

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// fields walks over the parts of one container of a Python repr or of JSON:
// {…}, […], (…) or Name(…). It builds nothing and skips values unread, in one
// pass whatever their length.
//
// A value runs to the comma or bracket that ends it, so a value that was
// shortened, 'abc' ... 'xyz', is one value.
type fields struct {
	b     []byte
	i     int
	close byte   // the bracket that ends the container, 0 for the end of b
	stack []byte // closing brackets that a value has open

	name  []byte // of the current part: key or keyword, nil in lists
	value []byte
	err   error
}

const maxDepth = 10000

const (
	errOpen = unreadable("brackets or quotes do not close")
	errName = unreadable("a name is missing before a value")
)

// open begins with the container at the start of b.
func open(b []byte) (fields, error) {
	i := span(b, func(c byte) bool { return isWord(c) || c == '.' })
	if i == len(b) {
		return fields{}, errOpen
	}
	end, ok := closing(b[i])
	if !ok {
		return fields{}, errOpen
	}
	return fields{b: b, i: i + 1, close: end}, nil
}

// keywords walks over name=value, name=value without brackets around.
func keywords(b []byte) fields { return fields{b: b} }

func closing(c byte) (byte, bool) {
	switch c {
	case '(':
		return ')', true
	case '[':
		return ']', true
	case '{':
		return '}', true
	}
	return 0, false
}

// next goes to the next part. It gives false at the end of the container and
// on errors. After the end, i stands behind the container.
func (f *fields) next() bool {
	if f.err != nil {
		return false
	}
	f.blanks()
	if f.i >= len(f.b) {
		if f.close != 0 {
			f.err = errOpen
		}
		return false
	}
	if f.close != 0 && f.b[f.i] == f.close {
		f.i++
		return false
	}
	if f.close != ']' {
		f.readName()
	}
	if f.err == nil {
		f.readValue()
	}
	return f.err == nil
}

func (f *fields) blanks() {
	for f.i < len(f.b) && (isBlank(f.b[f.i]) || f.b[f.i] == '\n' || f.b[f.i] == '\r') {
		f.i++
	}
}

func (f *fields) readName() {
	sep := byte('=')
	start := f.i
	if f.close == '}' {
		sep = ':'
		if c := f.b[f.i]; c == '"' || c == '\'' {
			if f.skipString(); f.err != nil {
				return
			}
			f.name = f.b[start+1 : f.i-1]
		}
	}
	if f.i == start {
		f.i += span(f.b[f.i:], func(c byte) bool { return isWord(c) || c == '-' })
		f.name = f.b[start:f.i]
	}
	f.blanks()
	if f.i >= len(f.b) || f.b[f.i] != sep || len(f.name) == 0 {
		f.err = errName
		return
	}
	f.i++
}

// readValue skips one value and the comma after it.
func (f *fields) readValue() {
	f.blanks()
	start := f.i
	f.stack = f.stack[:0]
	for f.i < len(f.b) {
		c := f.b[f.i]
		switch c {
		case '"', '\'':
			if f.skipString(); f.err != nil {
				return
			}
			continue
		case '(', '[', '{':
			end, _ := closing(c)
			f.stack = append(f.stack, end)
			if len(f.stack) > maxDepth {
				f.err = unreadable("brackets nest too deep")
				return
			}
		case ')', ']', '}':
			n := len(f.stack)
			if n == 0 && c == f.close {
				f.value = bytes.TrimSpace(f.b[start:f.i])
				return
			}
			if n == 0 || f.stack[n-1] != c {
				f.err = errOpen
				return
			}
			f.stack = f.stack[:n-1]
		case ',':
			if len(f.stack) == 0 {
				f.value = bytes.TrimSpace(f.b[start:f.i])
				f.i++
				return
			}
		}
		f.i++
	}
	if f.close != 0 || len(f.stack) > 0 {
		f.err = errOpen
		return
	}
	f.value = bytes.TrimSpace(f.b[start:])
}

// skipString skips the string literal at i. The quotes of a string are found
// by the number of backslashes before them; those runs do not overlap, so the
// work is linear.
func (f *fields) skipString() {
	quote := f.b[f.i]
	start := f.i + 1
	for at := start; ; {
		n := bytes.IndexByte(f.b[at:], quote)
		if n < 0 {
			f.err = errOpen
			return
		}
		at += n
		slashes := 0
		for at-1-slashes >= start && f.b[at-1-slashes] == '\\' {
			slashes++
		}
		at++
		if slashes%2 == 0 {
			f.i = at
			return
		}
	}
}

// unquoted gives the text of a string literal; when it holds escapes, decoded
// into buf, which is then given back grown.
func unquoted(b, buf []byte) (text, grown []byte) {
	text, ok := literalBody(b)
	if !ok || bytes.IndexByte(text, '\\') < 0 {
		return text, buf
	}
	out := buf[:0]
	for {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			out = append(out, text...)
			return out, out
		}
		out = append(out, text[:n]...)
		text = text[n:]
		r, used, known := escape(text)
		if known {
			out = utf8.AppendRune(out, r)
		} else {
			out = append(out, text[:used]...)
		}
		text = text[used:]
	}
}

// literalBody gives what stands between the quotes of b, and false when b is
// no single string literal.
func literalBody(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' && b[0] != '\'' {
		return nil, false
	}
	f := keywords(b)
	if f.skipString(); f.err != nil || f.i != len(b) {
		return nil, false
	}
	return b[1 : len(b)-1], true
}

// escape reads the escape sequence at the start of b and gives its length,
// and false when it is none.
func escape(b []byte) (r rune, used int, known bool) {
	if len(b) < 2 {
		return 0, len(b), false
	}
	switch c := b[1]; c {
	case 'n':
		return '\n', 2, true
	case 't':
		return '\t', 2, true
	case 'r':
		return '\r', 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case '\\', '\'', '"', '/':
		return rune(c), 2, true
	case 'x':
		return hexEscape(b, 2)
	case 'U':
		return hexEscape(b, 8)
	case 'u':
		r, used, known = hexEscape(b, 4)
		if known && utf16.IsSurrogate(r) {
			if bytes.HasPrefix(b[used:], []byte(`\u`)) {
				low, _, _ := hexEscape(b[used:], 4)
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, 2 * used, true
				}
			}
		}
		return r, used, known
	}
	return 0, 2, false
}

func hexEscape(b []byte, digits int) (rune, int, bool) {
	if len(b) < 2+digits {
		return 0, 2, false
	}
	n, err := strconv.ParseUint(string(b[2:2+digits]), 16, 32)
	if err != nil || n > utf8.MaxRune {
		return 0, 2, false
	}
	return rune(n), 2 + digits, true
}

package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonScanner reads one JSON text strictly (RFC 8259): no control characters
// in strings, no leading zeros, nothing after the value. It exists because
// provenance needs every record's place and the reason of every refusal at a
// speed that keeps storage the limit; its tests hold it against encoding/json.
//
// UTF-8 is checked by the caller.
type jsonScanner struct {
	text []byte
	pos  int
}

// maxDepth bounds nesting, as encoding/json does in spirit: deeper text is
// refused, not followed.
const maxDepth = 1000

var errEnd = errors.New("text ends inside a value")

func (s *jsonScanner) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), s.pos)
}

func (s *jsonScanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek gives the next byte that is not blank, or 0 at the end.
func (s *jsonScanner) peek() byte {
	s.space()
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func (s *jsonScanner) expect(c byte) error {
	got := s.peek()
	if got == c {
		s.pos++
		return nil
	}
	if s.pos == len(s.text) {
		return errEnd
	}
	return s.errorf("want %q, found %q", c, got)
}

// next steps over a comma in an object or array that closes with end, and
// reports whether another member follows.
func (s *jsonScanner) next(end byte) (more bool, err error) {
	switch c := s.peek(); {
	case c == ',':
		s.pos++
		return true, nil
	case c == end:
		s.pos++
		return false, nil
	case s.pos == len(s.text):
		return false, errEnd
	default:
		return false, s.errorf("want ',' or %q, found %q", end, c)
	}
}

// str reads a string and gives its bytes between the quotes, still escaped.
func (s *jsonScanner) str() (raw []byte, escaped bool, err error) {
	if err := s.expect('"'); err != nil {
		return nil, false, err
	}
	from := s.pos
	for {
		n := bytes.IndexByte(s.text[s.pos:], '"')
		if n < 0 {
			s.pos = len(s.text)
			return nil, false, errEnd
		}
		special := firstSpecial(s.text[s.pos : s.pos+n])
		if special < 0 {
			s.pos += n + 1
			return s.text[from : s.pos-1], escaped, nil
		}
		s.pos += special
		if s.text[s.pos] != '\\' {
			return nil, false, s.errorf("control character 0x%02x in string", s.text[s.pos])
		}
		escaped = true
		if err := s.escape(); err != nil {
			return nil, false, err
		}
	}
}

// escape steps over one escape sequence.
func (s *jsonScanner) escape() error {
	s.pos++
	if s.pos == len(s.text) {
		return errEnd
	}
	switch s.text[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		if s.pos+5 > len(s.text) {
			return errEnd
		}
		if _, ok := hex4(s.text[s.pos+1:]); ok {
			s.pos += 5
			return nil
		}
	}
	return s.errorf("bad escape in string")
}

func hex4(b []byte) (rune, bool) {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil && b[0] != '+' && b[0] != '_'
}

// firstSpecial finds the first backslash or control character, eight bytes at
// a time.
func firstSpecial(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		backslash := w ^ (ones * '\\')
		if ((w-ones*0x20)&^w|(backslash-ones)&^backslash)&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] < 0x20 || b[i] == '\\' {
			return i
		}
	}
	return -1
}

// unescape appends the text that raw stands for. Lone surrogates become
// U+FFFD, as in encoding/json.
func unescape(to, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(to, raw...)
		}
		to = append(to, raw[:n]...)
		raw = raw[n+1:]
		switch c := raw[0]; c {
		case 'u':
			var r rune
			r, raw = unicodeEscape(raw)
			to = utf8.AppendRune(to, r)
			continue
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case 't':
			to = append(to, '\t')
		default:
			to = append(to, c)
		}
		raw = raw[1:]
	}
}

// unicodeEscape reads uXXXX, and the second half of a pair where there is one.
func unicodeEscape(raw []byte) (rune, []byte) {
	r, _ := hex4(raw[1:])
	raw = raw[5:]
	if !utf16.IsSurrogate(r) {
		return r, raw
	}
	if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
		low, _ := hex4(raw[2:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, raw[6:]
		}
	}
	return utf8.RuneError, raw
}

// number reads a number and gives its text.
func (s *jsonScanner) number() ([]byte, error) {
	from := s.pos
	if s.at('-') {
		s.pos++
	}
	switch {
	case s.at('0'):
		s.pos++
	case !s.digits():
		return nil, s.errorf("bad number")
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return nil, s.errorf("bad number")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return nil, s.errorf("bad number")
		}
	}
	return s.text[from:s.pos], nil
}

func (s *jsonScanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *jsonScanner) digits() bool {
	from := s.pos
	for s.pos < len(s.text) && s.text[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos > from
}

func (s *jsonScanner) word(w string) error {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(w)) {
		return s.errorf("unknown word")
	}
	s.pos += len(w)
	return nil
}

// skip steps over one value and gives its text.
func (s *jsonScanner) skip(depth int) ([]byte, error) {
	c := s.peek()
	from := s.pos
	var err error
	switch {
	case c == '"':
		_, _, err = s.str()
	case c == '{' || c == '[':
		if depth >= maxDepth {
			return nil, s.errorf("nested more than %d deep", maxDepth)
		}
		err = s.skipInside(c, depth+1)
	case c == 't':
		err = s.word("true")
	case c == 'f':
		err = s.word("false")
	case c == 'n':
		err = s.word("null")
	case c == '-' || c-'0' <= 9:
		_, err = s.number()
	case s.pos == len(s.text):
		err = errEnd
	default:
		err = s.errorf("unexpected %q", c)
	}
	return s.text[from:s.pos], err
}

// skipInside steps over an object or array, of which open is the next byte.
func (s *jsonScanner) skipInside(open byte, depth int) error {
	end := open + 2 // { to }, [ to ]
	s.pos++
	if s.peek() == end {
		s.pos++
		return nil
	}
	for {
		if open == '{' {
			if _, _, err := s.str(); err != nil {
				return err
			}
			if err := s.expect(':'); err != nil {
				return err
			}
		}
		if _, err := s.skip(depth); err != nil {
			return err
		}
		more, err := s.next(end)
		if err != nil || !more {
			return err
		}
	}
}

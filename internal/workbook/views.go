package workbook

import (
	"bytes"
	"html"
	"strconv"
)

// sink takes a text in pieces, which it does not keep, and is told its end.
type sink interface {
	feed(b []byte)
	end()
}

// An escape is a way of writing a character by others.
type escape struct {
	start []byte
	max   int // length of the longest
	// decode gives the text meant by the escape that b begins with, and its
	// length; 0 if it is none after all.
	decode func(b []byte) (text string, n int)
}

var (
	entity = &escape{[]byte("&"), 40, func(b []byte) (string, int) {
		n := 1 + bytes.IndexByte(b, ';')
		text := html.UnescapeString(string(b[:n]))
		if n == 0 || text == string(b[:n]) {
			return "", 0
		}
		return text, n
	}}
	// _x0041_ is how cells write what XML cannot.
	hexInCell = &escape{[]byte("_x"), 7, func(b []byte) (string, int) {
		if len(b) < 7 || b[6] != '_' {
			return "", 0
		}
		return hexRune(b[2:6], 7)
	}}
	// backslash is that of JSON and of Markdown.
	backslash = &escape{[]byte(`\`), 6, func(b []byte) (string, int) {
		if len(b) >= 6 && b[1] == 'u' {
			return hexRune(b[2:6], 6)
		}
		if len(b) >= 2 && bytes.IndexByte([]byte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), b[1]) >= 0 {
			return string(b[1:2]), 2
		}
		return "", 0
	}}
	// doubled is the quote of CSV.
	doubled = &escape{[]byte(`""`), 2, func([]byte) (string, int) { return `"`, 2 }}
)

func hexRune(digits []byte, n int) (string, int) {
	r, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil {
		return "", 0
	}
	return string(rune(r)), n
}

// decoder passes a text on with its escapes decoded.
type decoder struct {
	*escape
	to   sink
	held []byte // an escape that has not ended yet
}

func (d *decoder) feed(b []byte) { d.pass(b, false) }

func (d *decoder) end() {
	d.pass(nil, true)
	d.to.end()
}

func (d *decoder) pass(b []byte, last bool) {
	if len(d.held) > 0 {
		b = append(d.held, b...)
		d.held = nil
	}
	for {
		i := bytes.Index(b, d.start)
		if i < 0 {
			break
		}
		text, n := d.decode(b[i:min(len(b), i+d.max)])
		if n == 0 && len(b)-i < d.max && !last {
			d.to.feed(b[:i])
			d.held = bytes.Clone(b[i:])
			return
		}
		if n == 0 {
			n = 1
			text = string(b[i : i+1])
		}
		d.to.feed(b[:i])
		d.to.feed([]byte(text))
		b = b[i+n:]
	}
	if n := len(d.start) - 1; n > 0 && !last && bytes.HasSuffix(b, d.start[:n]) {
		d.held = bytes.Clone(b[len(b)-n:])
		b = b[:len(b)-n]
	}
	d.to.feed(b)
}

// untagger passes a text on without its tags.
type untagger struct {
	to       sink
	inside   bool // of a tag
	quote    byte // that ends the value of an attribute; 0 outside of one
	previous byte
}

func (u *untagger) feed(b []byte) {
	for len(b) > 0 {
		if u.inside {
			b = b[u.skip(b):]
			continue
		}
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			u.to.feed(b)
			return
		}
		u.to.feed(b[:i])
		u.inside = true
		b = b[i+1:]
	}
}

// skip says how much of b belongs to the tag.
func (u *untagger) skip(b []byte) int {
	for i, c := range b {
		switch {
		case u.quote != 0:
			if c == u.quote {
				u.quote = 0
			}
		case c == '>':
			u.inside = false
			return i + 1
		case u.previous == '=' && (c == '"' || c == '\''):
			u.quote = c
		}
		u.previous = c
	}
	return len(b)
}

func (u *untagger) end() { u.to.end() }

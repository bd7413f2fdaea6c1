package sglang

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// held is a record of which the next lines decide whether they belong to it:
// records over several lines, and those that a terminal wrapped at its width,
// also in mid-word.
type held struct {
	statement *statement
	prefix    prefix
	msg       []byte // its lines so far, joined
	at        place
	rows      int
	width     int     // of the first line, in characters
	nesting   nesting // of msg
	done      bool    // nothing can follow
	doubt     string  // why it can't be read
}

// Bounds of a joined record. A terminal is at most maxWidth characters wide.
const (
	maxWidth     = 512
	maxRows      = 2000
	maxHeld      = 4 << 20
	carrierRows  = 200
	carrierBytes = 64 << 10
)

// joint says how a line goes on a held record.
type joint struct {
	piece []byte
	glue  string
	on    bool
}

// begin holds a record back. It gives false when the record is complete as it
// is.
func (h *held) begin(s *statement, r *row) bool {
	h.rows, h.width = 1, width(r)
	h.nesting = nesting{}
	h.done, h.doubt = false, ""
	if s.end != "" && bytes.Contains(r.msg, []byte(s.end)) || s.opens != nil && !s.opens(h, r) {
		return false
	}
	h.statement = s
	h.prefix = r.prefix
	h.msg = append(h.msg[:0], r.msg...)
	h.at = r.at
	return true
}

func (h *held) goesOn(r *row) bool {
	j := h.statement.more(h, r)
	if !j.on {
		return false
	}
	h.msg = append(append(h.msg, j.glue...), j.piece...)
	h.at.add(r.at)
	h.rows++
	return true
}

func width(r *row) int {
	if len(r.text) > 4*maxWidth {
		return len(r.text)
	}
	return utf8.RuneCount(bytes.TrimRight(r.text, "\r"))
}

// nesting follows brackets and quotes over the lines of a record.
type nesting struct {
	depth   int
	quote   byte
	escaped bool
}

func (n *nesting) feed(b []byte) {
	for _, c := range b {
		switch {
		case n.escaped:
			n.escaped = false
		case c == '\\':
			n.escaped = n.quote != 0
		case n.quote != 0:
			if c == n.quote {
				n.quote = 0
			}
		case c == '"' || c == '\'':
			n.quote = c
		case c == '(' || c == '[' || c == '{':
			n.depth++
		case c == ')' || c == ']' || c == '}':
			n.depth--
		}
	}
}

func (n *nesting) closed() bool { return n.quote == 0 && n.depth <= 0 }

// opensBracket holds a record that does not close and that a terminal may have
// wrapped.
func opensBracket(h *held, r *row) bool {
	if h.width > maxWidth {
		return false
	}
	h.nesting.feed(r.msg)
	return !h.nesting.closed()
}

// wrapGoesOn joins what a terminal wrapped: lines as wide as the first, and a
// shorter one that closes what is open. Lines are joined whatever they begin
// with, since a wrapped text of a customer can begin like a record.
func wrapGoesOn(h *held, r *row) joint {
	w := width(r)
	if w > h.width || h.rows >= maxRows {
		return joint{}
	}
	n := h.nesting
	n.feed(r.text)
	if w < h.width && !n.closed() {
		return joint{}
	}
	h.nesting = n
	h.done = n.closed()
	return joint{piece: r.text, on: true}
}

// openGoesOn joins the lines of a wrapped record that holds no text of a
// customer: lines without a stamp, until its brackets and quotes close.
func openGoesOn(h *held, r *row) joint {
	if r.stamped || width(r) > h.width || h.rows >= maxRows {
		return joint{}
	}
	h.nesting.feed(r.text)
	h.done = h.nesting.closed()
	return joint{piece: r.text, on: true}
}

// fieldsGoOn joins lines of further fields to a record of fields, and the rest
// of a field that was wrapped in its middle. Such a line has no stamp and
// consists of fields that the statement knows and has not had yet.
func fieldsGoOn(h *held, r *row) joint {
	if r.stamped || len(r.msg) == 0 || len(r.msg) > 4*maxWidth || h.rows > 20 {
		return joint{}
	}
	if figureGoesOn(h, r) {
		return joint{piece: r.msg, on: true}
	}
	cut := bytes.LastIndexByte(h.msg, ',') + 1
	for _, glue := range []string{"", " "} {
		tail := append(append(bytes.Clone(h.msg[cut:]), glue...), r.msg...)
		if h.statement.fields.fit(h.msg[:cut], tail) {
			return joint{piece: r.msg, glue: glue, on: true}
		}
	}
	return joint{}
}

// figureGoesOn tells whether a figure may have been wrapped in its middle: no
// reading of the two lines is better than the other.
func figureGoesOn(h *held, r *row) bool {
	if n := len(h.msg); n == 0 || !isDigit(h.msg[n-1]) || span(r.msg, isDigit) != len(r.msg) {
		return false
	}
	h.doubt, h.done = "a figure at the end of the line may go on in the next line", true
	return true
}

// fieldSet is the syntax of a statement that consists of fields: names, and
// what stands between a name and its value.
type fieldSet struct {
	sep   string
	names map[string]bool
}

// fit tells whether tail consists of fields that the set knows and that
// before has not. The last may be cut, as a further line may bring its rest.
func (s *fieldSet) fit(before, tail []byte) bool {
	fields := 0
	for rest := bytes.TrimSuffix(trimBlanks(tail), []byte{','}); ; {
		part, more, cut := bytes.Cut(rest, []byte{','})
		part = trimBlanks(part)
		name, value, ok := bytes.Cut(part, []byte(s.sep))
		switch {
		case ok && s.names[string(name)] && isFigure(trimBlanks(value)):
			if s.has(before, name) {
				return false
			}
			fields++
		case !cut && s.begins(part):
		default:
			return false
		}
		if !cut {
			return fields > 0
		}
		rest = more
	}
}

func (s *fieldSet) has(fields, name []byte) bool {
	for part := range bytes.SplitSeq(fields, []byte{','}) {
		if had, _, _ := bytes.Cut(trimBlanks(part), []byte(s.sep)); bytes.Equal(had, name) {
			return true
		}
	}
	return false
}

// begins tells whether part is the start of a field.
func (s *fieldSet) begins(part []byte) bool {
	if len(part) == 0 {
		return false
	}
	if name, value, ok := bytes.Cut(part, []byte(s.sep)); ok && s.names[string(name)] {
		for _, word := range []string{"True", "False", "None"} {
			if strings.HasPrefix(word, string(value)) {
				return true
			}
		}
		return isFigure(bytes.TrimSuffix(value, []byte(" G")))
	}
	for name := range s.names {
		if strings.HasPrefix(name+s.sep, string(part)) {
			return true
		}
	}
	return false
}

// isFigure tells whether b looks like the value of a field: 12, 0.04, 2.76%,
// 12.7 GB, True, None.
func isFigure(b []byte) bool {
	b = bytes.TrimSuffix(b, []byte(" GB"))
	if len(b) == 0 {
		return false
	}
	if string(b) == "True" || string(b) == "False" || isNone(b) {
		return true
	}
	n := span(b, func(c byte) bool { return isDigit(c) || c == '.' || c == '-' })
	return n == len(b) || n == len(b)-1 && n > 0 && b[n] == '%'
}

// opensBlock holds a brace alone on its line: JSON in indented form.
func opensBlock(h *held, r *row) bool {
	h.nesting.feed(r.msg)
	return string(r.msg) == "{"
}

// blockGoesOn joins the lines of indented JSON.
func blockGoesOn(h *held, r *row) joint {
	if len(r.msg) == 0 || !isBlank(r.msg[0]) && r.msg[0] != '}' || len(h.msg)+len(r.msg) > maxHeld {
		return joint{}
	}
	h.nesting.feed(r.msg)
	h.done = h.nesting.closed()
	return joint{piece: r.msg, glue: "\n", on: true}
}

const doubtEndless = "a statement that prints text of a request does not end"

// opensGrammar holds a rejection that prints a grammar, which a customer wrote.
func opensGrammar(_ *held, r *row) bool { return bytes.Contains(r.msg, []byte(" grammar: ")) }

// carrierGoesOn joins what follows a statement that prints a text of a
// customer raw, up to the words that end the statement. A line among them
// that looks like a record may be that text.
func carrierGoesOn(h *held, r *row) joint {
	j := joint{glue: "\n", on: true}
	switch {
	case bytes.Contains(r.text, []byte(h.statement.end)):
		h.done = true
		j.piece = r.text
	case h.rows >= carrierRows || len(h.msg) > carrierBytes:
		h.done = true
		h.doubt = doubtEndless
	}
	return j
}

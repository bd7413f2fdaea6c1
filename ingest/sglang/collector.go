package sglang

import "bytes"

// maxJoined bounds a record that a collector cut into lines.
const maxJoined = 128 << 20

// split is a line of the process that a collector cut. Its later pieces begin
// anywhere, also inside a customer's text, so they are never read on their own.
type split struct {
	text   []byte
	at     place
	prefix prefix
	open   bool

	overlong bool
}

// piece is what a collector's line holds.
type piece struct {
	prefix
	text   []byte
	stream int // 0 stdout, 1 stderr
	partly bool
}

// collect unwraps docker's json-file lines and those of the container runtime
// interface, joins what they cut, and passes the process's lines on.
func (p *Parser) collect(text []byte, at place) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	c := piece{text: text}
	ok, err := p.docker(text, &c)
	switch {
	case err != nil:
		p.release()
		p.reject(at, err.Error(), nil)
		return
	case !ok:
		ok = cri(text, &c, &p.clock)
	}
	if !ok {
		p.line(text, at, prefix{})
		return
	}
	s := &p.split[c.stream]
	if !s.open && !c.partly {
		p.line(c.text, at, c.prefix)
		return
	}
	if !s.open {
		*s = split{text: s.text[:0], prefix: c.prefix, open: true, at: at}
		s.prefix.collector = nil
	} else {
		s.at.add(at)
	}
	if s.overlong = s.overlong || len(s.text)+len(c.text) > maxJoined; !s.overlong {
		s.text = append(s.text, c.text...)
	}
	if c.partly {
		return
	}
	s.open = false
	if s.overlong {
		p.reject(s.at, "a line that the collector cut is too long", nil)
		return
	}
	p.line(s.text, s.at, s.prefix)
}

// endSplits reports lines whose last piece never came.
func (p *Parser) endSplits() {
	for i := range p.split {
		if s := &p.split[i]; s.open {
			s.open = false
			p.reject(s.at, "the log ends inside a line that the collector cut", nil)
		}
	}
}

// docker reads {"log":"…\n","stream":"stderr","time":"…"}. A log text without
// a line end goes on in the stream's next line.
func (p *Parser) docker(text []byte, c *piece) (bool, error) {
	if !bytes.HasPrefix(text, []byte(`{"log":`)) {
		return false, nil
	}
	const broken = unreadable("a docker json-file line that does not close")
	f, err := open(text)
	if err != nil {
		return true, broken
	}
	for f.next() {
		switch string(f.name) {
		case "log":
			c.text, p.unwrapped = unquoted(f.value, p.unwrapped)
		case "stream":
			if string(f.value) == `"stderr"` {
				c.stream = 1
			}
		case "time":
			if s, ok := p.clock.stampAt(bytes.Trim(f.value, `"`)); ok {
				c.took(&s)
			}
		}
	}
	if f.err != nil {
		return true, broken
	}
	c.partly = !bytes.HasSuffix(c.text, []byte{'\n'})
	c.text = trimEnd(bytes.TrimSuffix(c.text, []byte{'\n'}))
	return true, nil
}

// cri reads "2026-09-24T01:47:50.615Z stdout F text"; P marks all pieces of a
// cut line but the last.
func cri(text []byte, c *piece, clock *clock) bool {
	if len(text) < 30 || !isDigit(text[0]) || text[10] != 'T' {
		return false
	}
	s, ok := clock.stampAt(text)
	if !ok || !s.zoned {
		return false
	}
	rest := text[len(s.text):]
	switch {
	case bytes.HasPrefix(rest, []byte(" stdout ")):
	case bytes.HasPrefix(rest, []byte(" stderr ")):
		c.stream = 1
	default:
		return false
	}
	rest = rest[8:]
	if len(rest) == 0 || rest[0] != 'F' && rest[0] != 'P' {
		return false
	}
	tag := rest[0]
	rest = rest[1:]
	if len(rest) > 0 && rest[0] != ' ' {
		return false
	}
	c.took(&s)
	c.partly = tag == 'P'
	c.text = rest[min(len(rest), 1):]
	return true
}

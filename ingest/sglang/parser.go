// Package sglang reads the logs of SGLang servers and of their routers.
//
// A statement counts only where the engine puts it: at the start of a line's
// message, after the prefixes that the engine and log collectors are known to
// write. Texts of customers appear in these logs inside Python reprs and JSON,
// which escape line ends and quotes, so they can't begin a line; the few
// statements that print such text raw are listed as carriers. Texts of
// customers never leave this package.
//
// It performs no I/O.
package sglang

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"kvforensics/internal/evidence"
)

// Sink receives what the parser makes of the lines. Each byte of a fed line
// lies in exactly one locator of Parsed, Ignored or Reject; a record whose
// lines do not adjoin is reported once for each stretch. Events of a record
// come before its Parsed. An error stops the parser.
type Sink interface {
	// Event takes a statement. The event and its strings hold until it returns.
	Event(*evidence.EngineEvent) error
	// Parsed takes the place of a record that was understood.
	Parsed(evidence.Locator) error
	// Ignored takes the place of text that bears on nothing here.
	Ignored(evidence.Locator) error
	// Reject takes what looked like a statement and could not be read. The
	// preview holds no text of a customer.
	Reject(evidence.Rejected) error
}

// Parser reads one log. It is not safe for concurrent use.
type Parser struct {
	sink  Sink
	facts Facts
	err   error // first error of the sink

	engine, collector stamps

	row   row                  // the line being read
	event evidence.EngineEvent // the record being read
	held  held
	split [2]split // by stream: stdout, stderr
	trace prefix   // of the traceback that the last lines belong to
	clock clock

	plain     []byte // a line without its colours
	unwrapped []byte // a line out of its docker JSON
}

// New gives a parser of one log that reports to sink.
func New(sink Sink) *Parser { return &Parser{sink: sink} }

// Facts gives what the lines so far say about the whole log.
func (p *Parser) Facts() Facts {
	f := p.facts
	f.Roles = slices.Clone(f.Roles)
	f.Engine, f.Collector = p.engine.span(), p.collector.span()
	return f
}

// Feed takes one line without its line end. Length of at includes the line
// end. It keeps nothing of text beyond its return. The error is the sink's.
func (p *Parser) Feed(text []byte, at evidence.Locator) error {
	if p.err != nil {
		return p.err
	}
	p.collect(text, place{first: at})
	return p.err
}

// Close reports what was held back to see whether further lines belong to it.
func (p *Parser) Close() error {
	if p.err == nil {
		p.release()
		p.endSplits()
	}
	return p.err
}

// line reads one line as the process wrote it. outer is what a collector said
// of it.
func (p *Parser) line(text []byte, at place, outer prefix) {
	text = p.uncolour(text)
	r := &p.row
	*r = row{prefix: outer, text: text, at: at}
	r.strip(text, &p.clock)
	if p.held.statement != nil {
		if p.held.goesOn(r) {
			if p.held.done {
				p.release()
			}
			return
		}
		p.release()
	}
	p.engine.add(r.engine)
	p.collector.add(r.collector)
	p.inherit(r)
	p.facts.environment(r.msg, r.at.first.Line)
	s := find(r)
	switch {
	case s == nil:
		p.ignore(r.at)
	case s.more != nil && p.held.begin(s, r): // the next lines decide
	default:
		p.read(s, &r.prefix, r.msg, r.at)
	}
}

// inherit gives the last line of a traceback, which has no prefix of its own,
// the prefix of the record that it belongs to.
func (p *Parser) inherit(r *row) {
	switch {
	case r.stamped:
		p.trace = prefix{}
		if bytes.HasSuffix(r.msg, []byte("Traceback (most recent call last):")) {
			p.trace = r.prefix
			p.trace.engine, p.trace.collector = nil, nil // they point into the line
		}
	case p.trace.stamped && (len(r.msg) == 0 || !isBlank(r.msg[0])):
		r.prefix, p.trace = p.trace, prefix{}
	}
}

// release reads the record that was held back.
func (p *Parser) release() {
	h := &p.held
	s := h.statement
	if s == nil {
		return
	}
	h.statement = nil
	if s.end != "" && !h.done {
		h.doubt = doubtEndless
	}
	if h.doubt != "" {
		p.reject(h.at, h.doubt, preview(h.msg, s.private))
		return
	}
	p.read(s, &h.prefix, h.msg, h.at)
}

func (p *Parser) read(s *statement, pre *prefix, msg []byte, at place) {
	p.event = evidence.EngineEvent{
		Locator: at.first, LocalAt: pre.local(), At: pre.at,
		DP: pre.dp, TP: pre.tp, PP: pre.pp,
	}
	switch err := s.read(p, msg); err {
	case nil:
		p.parsed(at)
	case errOther:
		p.ignore(at)
	default:
		p.reject(at, err.Error(), preview(msg, s.private))
	}
}

// errOther says that a text only began like the statement.
var errOther = errors.New("not this statement")

// unreadable says why a statement could not be read.
type unreadable string

func (u unreadable) Error() string { return string(u) }

func unreadablef(format string, args ...any) error {
	return unreadable(fmt.Sprintf(format, args...))
}

func (p *Parser) emit() {
	p.facts.learn(&p.event)
	if p.err == nil {
		p.err = p.sink.Event(&p.event)
	}
}

func (p *Parser) parsed(at place) {
	p.each(at, func(s Sink, l evidence.Locator) error { return s.Parsed(l) })
}

func (p *Parser) ignore(at place) {
	p.each(at, func(s Sink, l evidence.Locator) error { return s.Ignored(l) })
}

func (p *Parser) reject(at place, reason string, text []byte) {
	p.each(at, func(s Sink, l evidence.Locator) error {
		return s.Reject(evidence.Rejected{Locator: l, Reason: reason, Preview: clip(text, evidence.PreviewBytes)})
	})
}

// each reports the stretches of a record.
func (p *Parser) each(at place, report func(Sink, evidence.Locator) error) {
	if p.err == nil {
		p.err = report(p.sink, at.first)
	}
	for _, l := range at.more {
		if p.err == nil {
			p.err = report(p.sink, l)
		}
	}
}

// place is where a record lies: stretches of adjoining lines.
type place struct {
	first evidence.Locator
	more  []evidence.Locator
}

func (a *place) add(b place) {
	a.addOne(b.first)
	for _, l := range b.more {
		a.addOne(l)
	}
}

func (a *place) addOne(l evidence.Locator) {
	last := &a.first
	if n := len(a.more); n > 0 {
		last = &a.more[n-1]
	}
	if last.Offset+last.Length == l.Offset {
		last.Length += l.Length
		return
	}
	a.more = append(a.more, l)
}

// clip gives the start of text, at most n bytes, as valid UTF-8.
func clip(text []byte, n int) string {
	return string(bytes.ToValidUTF8(text[:min(len(text), n)], nil))
}

// preview gives the part of a record that may be shown: where a record holds
// texts of a customer, what stands before its first value.
func preview(msg []byte, private bool) []byte {
	if !private {
		return msg
	}
	if n := bytes.IndexAny(msg[:min(len(msg), evidence.PreviewBytes)], `='":`); n >= 0 {
		return msg[:n]
	}
	return msg[:min(len(msg), 8)]
}

// alias gives b as a string that holds as long as b does.
func alias(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

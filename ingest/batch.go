package ingest

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"kvforensics/internal/evidence"
)

// batch is what a parser makes of one block. Strings in it live as long as the
// block's bytes and the batch's own text.
type batch struct {
	requests []evidence.Request
	events   []evidence.EngineEvent
	rejects  []evidence.Rejected
	tally    evidence.Tally
	seen     sightings
	text     []byte // texts that do not stand in the block as such
	scratch  []byte
}

func (b *batch) reset() {
	b.requests, b.events, b.rejects = b.requests[:0], b.events[:0], b.rejects[:0]
	b.tally, b.seen, b.text = evidence.Tally{}, sightings{}, nil
}

// newRequest gives an empty request at the end of the batch.
func (b *batch) newRequest() *evidence.Request {
	if len(b.requests) == cap(b.requests) {
		b.requests = slices.Grow(b.requests, 1024)
	}
	b.requests = append(b.requests, evidence.Request{})
	return &b.requests[len(b.requests)-1]
}

func (b *batch) dropRequest() { b.requests = b.requests[:len(b.requests)-1] }

// keepRequest counts the last request, whose Locator is set.
func (b *batch) keepRequest(r *evidence.Request) {
	b.tally.Records++
	b.tally.RecordBytes += r.Length
	b.seen.request(r)
}

func (b *batch) ignore(at evidence.Locator) {
	b.tally.Ignored++
	b.tally.IgnoredBytes += at.Length
}

func (b *batch) reject(at evidence.Locator, reason string, record []byte) {
	b.tally.Rejected++
	b.tally.RejectedBytes += at.Length
	b.rejects = append(b.rejects, evidence.Rejected{Locator: at, Reason: reason, Preview: preview(record)})
}

// keepText copies text into the batch.
func (b *batch) keepText(text []byte) string {
	from := b.reserve(len(text))
	b.text = append(b.text, text...)
	return alias(b.text[from:])
}

func (b *batch) keepUnescaped(raw []byte) string {
	from := b.reserve(len(raw)) // unescaping never lengthens
	b.text = unescape(b.text, raw)
	return alias(b.text[from:])
}

// reserve makes room for n bytes without moving texts that were handed out.
func (b *batch) reserve(n int) int {
	if len(b.text)+n > cap(b.text) {
		b.text = make([]byte, 0, max(n, 64<<10))
	}
	return len(b.text)
}

// preview gives the start of a record as valid UTF-8.
func preview(record []byte) string {
	record = record[:min(len(record), evidence.PreviewBytes)]
	out := make([]byte, 0, len(record))
	for len(record) > 0 {
		r, n := utf8.DecodeRune(record)
		if r == utf8.RuneError && n <= 1 {
			out = fmt.Appendf(out, `\x%02x`, record[0])
		} else {
			out = append(out, record[:n]...)
		}
		record = record[n:]
	}
	return string(out)
}

// sightings gathers what is said aloud about a source's times.
type sightings struct {
	basis     map[evidence.TimeBasis]int64
	first     evidence.Opt[evidence.Micros]
	last      evidence.Micros
	backSteps int64
	worst     evidence.Micros // longest step back
	worstLine int64
}

func (s *sightings) request(r *evidence.Request) {
	if s.basis == nil {
		s.basis = make(map[evidence.TimeBasis]int64, 2)
	}
	s.basis[r.TimeBasis]++
	if r.ReceivedAt.Known {
		s.at(r.ReceivedAt.V, r.Line)
	}
}

func (s *sightings) at(t evidence.Micros, line int64) {
	if !s.first.Known {
		s.first, s.last = evidence.Some(t), t
		return
	}
	s.step(t, line)
}

func (s *sightings) step(t evidence.Micros, line int64) {
	if back := s.last - t; back > 0 {
		s.backSteps++
		if back > s.worst {
			s.worst, s.worstLine = back, line
		}
	}
	s.last = t
}

// add appends what a later block saw.
func (s *sightings) add(next sightings, line int64) {
	if s.basis == nil {
		s.basis = make(map[evidence.TimeBasis]int64, 2)
	}
	for basis, n := range next.basis {
		s.basis[basis] += n
	}
	if !next.first.Known {
		return
	}
	s.at(next.first.V, line)
	s.last = next.last
	s.backSteps += next.backSteps
	if next.worst > s.worst {
		s.worst, s.worstLine = next.worst, next.worstLine
	}
}

// notes puts the sightings into words. Requests are logged when they end, so
// small steps back are ordinary.
func (s *sightings) notes() []string {
	var list []string
	for _, b := range []struct {
		basis evidence.TimeBasis
		text  string
	}{
		{evidence.TimeEpochS, "numbers taken as epoch seconds"},
		{evidence.TimeEpochMs, "numbers taken as epoch milliseconds"},
		{evidence.TimeEpochUs, "numbers taken as epoch microseconds"},
		{evidence.TimeEpochNs, "numbers taken as epoch nanoseconds"},
		{evidence.TimeStatedZone, "texts without zone, placed with the stated zone"},
		{evidence.TimeZoneMissing, "texts without zone and no zone stated: not placed in time"},
	} {
		if n := s.basis[b.basis]; n > 0 {
			list = append(list, fmt.Sprintf("times of %d records: %s", n, b.text))
		}
	}
	if s.backSteps > 0 {
		list = append(list, fmt.Sprintf("time steps back %d times, at most by %s (line %d)",
			s.backSteps, time.Duration(s.worst)*time.Microsecond, s.worstLine))
	}
	return list
}

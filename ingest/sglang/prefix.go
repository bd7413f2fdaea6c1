package sglang

import (
	"bytes"
	"slices"

	"kvforensics/internal/evidence"
)

// prefix is what stands before a line's message.
type prefix struct {
	at      evidence.Opt[evidence.Micros] // innermost stamp with zone
	wall    evidence.Opt[evidence.Micros] // innermost stamp with date and without zone
	clocked evidence.Opt[evidence.Micros] // time of day alone
	outer   evidence.Opt[evidence.Micros] // innermost dated stamp, on its own wall clock

	dp, tp, pp evidence.Opt[int64]

	stamped  bool // by the process itself: a record begins here
	ranked   bool
	levelled bool

	engine    []byte // the process's stamp as written
	collector []byte // the outermost stamp with zone as written
}

// row is one line.
type row struct {
	prefix
	text []byte // the line without colours
	msg  []byte // what follows the prefixes
	at   place
}

// sameClock is how far an inner time of day may lie from the outer stamp for
// both to be readings of one clock.
const sameClock = 2 * 60 * second

// local gives the engine's wall clock. A time of day takes its date from an
// outer stamp only where both agree, else the date would be a guess.
func (p *prefix) local() evidence.Opt[evidence.Micros] {
	if !p.clocked.Known {
		return p.wall
	}
	if p.outer.Known {
		midnight := p.outer.V - p.outer.V%day
		for _, d := range [3]evidence.Micros{0, -day, day} {
			at := midnight + d + p.clocked.V
			if off := at - p.outer.V; off > -sameClock && off < sameClock {
				return evidence.Some(at)
			}
		}
	}
	return evidence.Opt[evidence.Micros]{}
}

func (p *prefix) took(s *stamp) {
	switch {
	case s.zoned:
		p.at = evidence.Some(s.instant())
		if p.collector == nil {
			p.collector = s.text
		}
	case s.dated:
		p.wall, p.engine = evidence.Some(s.wall), s.text
	default:
		p.clocked, p.engine = evidence.Some(s.wall), s.text
		return
	}
	p.outer = evidence.Some(s.wall)
}

// strip takes the prefixes off text; they nest in any order.
func (r *row) strip(text []byte, c *clock) {
	b := afterBars(text)
	for range 12 {
		rest := b[span(b, isBlank):]
		n := r.one(rest, c)
		if n == 0 {
			break
		}
		b = rest[n:]
	}
	r.msg = trimEnd(b)
}

// one gives the length of the prefix that b starts with, 0 when there is none.
func (r *row) one(b []byte, c *clock) int {
	if len(b) == 0 {
		return 0
	}
	switch first := b[0]; {
	case r.levelled:
		return 0
	case first == '[' && !r.ranked:
		return r.bracket(b, c)
	case isUpper(first):
		if n := r.level(b); n > 0 || r.stamped {
			return n
		}
		if n := syslog(b); n > 0 {
			return n
		}
	case r.stamped:
		return 0
	case isDigit(first):
		if n := r.bare(b, c); n > 0 {
			return n
		}
	case first == '(':
		return rayWorker(b)
	}
	if n := label(b); n > 0 {
		return n
	}
	return r.bar(b, c)
}

// bracket reads [2026-01-04 03:32:33 DP0 TP3 EP3] and the other prefixes in
// brackets.
func (r *row) bracket(b []byte, c *clock) int {
	end := bytes.IndexByte(b[:min(len(b), 160)], ']')
	if s, ok := c.stampAt(b[1:]); ok && end > 0 && len(s.text) < end {
		ranks, ok := ranksOf(b[1+len(s.text) : end])
		if !ok {
			return 0
		}
		r.took(&s)
		r.stamped = true
		r.ranked = ranks.ranked
		r.dp, r.tp, r.pp = ranks.dp, ranks.tp, ranks.pp
		return afterBlank(b, end+1)
	}
	switch {
	case r.stamped || end < 0:
		return 0
	case bytes.HasPrefix(b, []byte("[pod/")): // kubectl logs --prefix
		return afterBlank(b, end+1)
	}
	if n := 1 + span(b[1:], func(c byte) bool { return isDigit(c) || c == ';' }); n < len(b) && b[n] == 'm' { // a colour without its ESC
		return n + 1
	}
	return 0
}

func ranksOf(words []byte) (p prefix, ok bool) {
	for word := range bytes.FieldsSeq(words) {
		n := span(word, func(c byte) bool { return isUpper(c) || c == '_' })
		rank, isRank := count(word[n:])
		if n == 0 || !isRank {
			continue // a custom logging format has words of its own here
		}
		p.ranked = true
		to := (*evidence.Opt[int64])(nil)
		switch string(word[:n]) {
		case "DP":
			to = &p.dp
		case "TP":
			to = &p.tp
		case "PP":
			to = &p.pp
		default:
			continue
		}
		if to.Known {
			return p, false
		}
		*to = evidence.Some(rank)
	}
	return p, true
}

// bare reads a stamp without brackets and what log collectors and logging
// libraries write between it and the message.
func (r *row) bare(b []byte, c *clock) int {
	if n := span(b, isDigit); n >= 10 && n < len(b) && b[n] == '\t' { // a collector's column of epoch figures
		return n + 1
	}
	s, ok := c.stampAt(b)
	if !ok || !s.dated {
		return 0
	}
	i := len(s.text)
	rest := b[i:]
	if len(rest) > 0 && !isBlank(rest[0]) {
		return 0
	}
	r.took(&s)
	if n := pythonLogging(rest); n > 0 {
		r.stamped = true
		return i + n
	}
	if n := r.tracing(rest); n > 0 {
		return i + n
	}
	i = afterBlank(b, i)
	return i + hostAndProgram(b[i:])
}

// pythonLogging reads " - sglang - INFO - " and " - INFO - ".
func pythonLogging(b []byte) int {
	i := 0
	for range 3 {
		if !bytes.HasPrefix(b[i:], []byte(" - ")) {
			return 0
		}
		i += 3
		n := span(b[i:], func(c byte) bool { return isWord(c) || c == '.' })
		if n == 0 {
			return 0
		}
		word := b[i : i+n]
		i += n
		if isLevel(word) && bytes.HasPrefix(b[i:], []byte(" - ")) {
			return i + 3
		}
	}
	return 0
}

// tracing reads "  INFO scheduler.__init__: ", as Dynamo and the Rust router
// write it. A span such as http_request{…} is left to the message.
func (r *row) tracing(b []byte) int {
	i := span(b, isBlank)
	n := span(b[i:], isUpper)
	if !isLevel(b[i:i+n]) || i+n >= len(b) || !isBlank(b[i+n]) {
		return 0
	}
	i = afterBlank(b, i+n)
	r.stamped, r.levelled = true, true
	n = span(b[i:], func(c byte) bool { return isWord(c) || c == '.' || c == ':' })
	if n < 2 || b[i+n-1] != ':' || i+n < len(b) && !isBlank(b[i+n]) {
		return i
	}
	i = afterBlank(b, i+n)
	return i + rustFile(b[i:])
}

// rustFile reads "src/server.rs:261: ".
func rustFile(b []byte) int {
	n := span(b, func(c byte) bool { return isName(c) || c == '/' })
	if n == len(b) || b[n] != ':' || !bytes.HasSuffix(b[:n], []byte(".rs")) {
		return 0
	}
	line := span(b[n+1:], isDigit)
	if n += 1 + line; line == 0 || !bytes.HasPrefix(b[n:], []byte(": ")) {
		return 0
	}
	return n + 2
}

// level reads "INFO:     " and "WARNING server_args.py:2326: ".
func (r *row) level(b []byte) int {
	n := span(b, isUpper)
	if n == len(b) || !isLevel(b[:n]) {
		return 0
	}
	if b[n] == ':' {
		r.levelled = true
		n++
		return n + span(b[n:], isBlank)
	}
	if !r.stamped {
		return 0
	}
	file := b[n+1:]
	i := span(file, func(c byte) bool { return isWord(c) || c == '.' })
	if b[n] != ' ' || !bytes.HasSuffix(file[:i], []byte(".py")) || i == len(file) || file[i] != ':' {
		return 0
	}
	line := span(file[i+1:], isDigit)
	if i += 1 + line; line == 0 || !bytes.HasPrefix(file[i:], []byte(": ")) {
		return 0
	}
	r.levelled = true
	return n + 1 + i + 2
}

func isLevel(word []byte) bool {
	switch string(word) {
	case "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", "TRACE":
		return true
	}
	return false
}

// syslog reads "Sep  3 17:38:52 host prog[pid]: ". The stamp has neither year
// nor zone and fixes nothing.
func syslog(b []byte) int {
	if len(b) < 17 || b[3] != ' ' || b[6] != ' ' || b[9] != ':' || b[12] != ':' || b[15] != ' ' ||
		!slices.Contains(months, string(b[:3])) {
		return 0
	}
	if n := hostAndProgram(b[16:]); n > 0 {
		return 16 + n
	}
	return 0
}

var months = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}

// hostAndProgram reads "host prog[pid]: ".
func hostAndProgram(b []byte) int {
	host := span(b, isName)
	if host == 0 || host == len(b) || b[host] != ' ' {
		return 0
	}
	i := host + 1
	n := span(b[i:], isName)
	if i += n; n == 0 || i == len(b) || b[i] != '[' {
		return 0
	}
	n = span(b[i+1:], isDigit)
	if i += 1 + n; n == 0 || !bytes.HasPrefix(b[i:], []byte("]:")) {
		return 0
	}
	return afterBlank(b, i+2)
}

func isName(c byte) bool { return isWord(c) || c == '.' || c == '-' }

// label reads "name  | " (compose) and "3: " (srun --label).
func label(b []byte) int {
	n := span(b[:min(len(b), 120)], isName)
	if n == 0 || n == len(b) {
		return 0
	}
	if b[n] == ':' && n <= 4 && span(b, isDigit) == n && n+1 < len(b) && b[n+1] == ' ' {
		return n + 2
	}
	bar := n + span(b[n:], isBlank)
	if bar == n || bar == len(b) || b[bar] != '|' || bar+1 < len(b) && b[bar+1] != ' ' {
		return 0
	}
	return afterBlank(b, bar+1)
}

// rayWorker reads "(RayWorkerWrapper pid=858, ip=10.0.0.1) ".
func rayWorker(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), 120)], ')')
	if end < 0 {
		return 0
	}
	name := span(b[1:end], isWord)
	if name == 0 || !bytes.HasPrefix(b[1+name:end], []byte(" pid=")) {
		return 0
	}
	return afterBlank(b, end+1)
}

// afterBlank gives the place after one blank at i, or i when there is none.
func afterBlank(b []byte, i int) int {
	if i < len(b) && isBlank(b[i]) {
		return i + 1
	}
	return i
}

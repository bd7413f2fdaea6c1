package sglang

import (
	"bytes"
	"time"

	"kvforensics/internal/evidence"
)

const (
	second = evidence.Micros(1e6)
	day    = 24 * 60 * 60 * second
)

// stamp is a time as written.
type stamp struct {
	text    []byte
	wall    evidence.Micros // on the writer's wall clock; since midnight where dated is false
	dated   bool
	zoned   bool
	eastMin int64 // minutes east of UTC
}

func (s *stamp) instant() evidence.Micros {
	return s.wall - evidence.Micros(s.eastMin)*60*second
}

// clock remembers the last date, which most lines of a log share.
type clock struct {
	date [10]byte
	at   evidence.Micros
}

// stampAt reads the time at the start of b: 2026-01-04 03:25:16, also with T
// between, with a fraction after a point or comma, and with Z or an offset; or
// 16:43:22 alone. It gives false when there is none.
func (c *clock) stampAt(b []byte) (stamp, bool) {
	var s stamp
	i := 0
	if len(b) >= 19 && b[4] == '-' {
		at, ok := c.dateAt(b[:10])
		if !ok || b[10] != ' ' && b[10] != 'T' {
			return s, false
		}
		s.wall, s.dated = at, true
		i = 11
	}
	if len(b) < i+8 || b[i+2] != ':' || b[i+5] != ':' {
		return s, false
	}
	h, ok1 := two(b[i:])
	m, ok2 := two(b[i+3:])
	sec, ok3 := two(b[i+6:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 60 {
		return s, false
	}
	s.wall += evidence.Micros((h*60+m)*60+sec) * second
	i += 8
	if i < len(b) && (b[i] == '.' || b[i] == ',') {
		n := span(b[i+1:], isDigit)
		if n == 0 || n > 9 {
			return s, false
		}
		s.wall += fraction(b[i+1 : i+1+n])
		i += 1 + n
	}
	if s.dated {
		i += s.zoneAt(b[i:])
	}
	s.text = b[:i]
	return s, true
}

func (c *clock) dateAt(b []byte) (evidence.Micros, bool) {
	if string(c.date[:]) == string(b) {
		return c.at, true
	}
	century, ok1 := two(b)
	year, ok2 := two(b[2:])
	month, ok3 := two(b[5:])
	dayOf, ok4 := two(b[8:])
	if !ok1 || !ok2 || !ok3 || !ok4 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	t := time.Date(int(century*100+year), time.Month(month), int(dayOf), 0, 0, 0, 0, time.UTC)
	if t.Day() != int(dayOf) || t.Month() != time.Month(month) {
		return 0, false
	}
	copy(c.date[:], b)
	c.at = evidence.MicrosOf(t)
	return c.at, true
}

func two(b []byte) (int64, bool) {
	if len(b) < 2 || !isDigit(b[0]) || !isDigit(b[1]) {
		return 0, false
	}
	return int64(b[0]-'0')*10 + int64(b[1]-'0'), true
}

// fraction gives the digits after the point in microseconds, dropping finer ones.
func fraction(digits []byte) evidence.Micros {
	var n evidence.Micros
	for i := range 6 {
		n *= 10
		if i < len(digits) {
			n += evidence.Micros(digits[i] - '0')
		}
	}
	return n
}

// zoneAt reads Z, +01:00 or +0100 and gives its length, 0 when there is none.
func (s *stamp) zoneAt(b []byte) int {
	if len(b) > 0 && b[0] == 'Z' {
		s.zoned = true
		return 1
	}
	if len(b) < 5 || b[0] != '+' && b[0] != '-' {
		return 0
	}
	h, ok := two(b[1:])
	n := 3
	if b[n] == ':' {
		n++
	}
	m, ok2 := two(b[n:])
	if !ok || !ok2 || h > 23 || m > 59 {
		return 0
	}
	s.zoned, s.eastMin = true, h*60+m
	if b[0] == '-' {
		s.eastMin = -s.eastMin
	}
	return n + 2
}

// commonLogTime reads the time of an aiohttp access line, which carries its
// offset: 28/May/2025:06:32:54 +0000.
func commonLogTime(b []byte) (evidence.Micros, bool) {
	t, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(b))
	return evidence.MicrosOf(t), err == nil
}

// epoch reads seconds since 1970. Smaller numbers are readings of a clock that
// counts from the machine's start.
func epoch(b []byte) (evidence.Micros, bool) {
	f, ok := share(b)
	if !ok || f < 1e9 || f > 1e11 {
		return 0, false
	}
	whole, frac, _ := bytes.Cut(b, []byte{'.'})
	n, ok := count(whole)
	if !ok || span(frac, isDigit) != len(frac) {
		return 0, false
	}
	return evidence.Micros(n)*second + fraction(frac), true
}

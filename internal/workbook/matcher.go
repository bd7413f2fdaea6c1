package workbook

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Matcher finds any of many needles in one pass, whatever their case
// (Aho–Corasick). It may be used by several goroutines at once.
type Matcher struct {
	needles []string
	class   [256]int32 // column of a byte in next; 0 for bytes in no needle
	// next has a row for each state. An entry is the index of the next state's
	// row, or its complement where a needle ends in that state.
	next    []int32
	width   int32
	ends    [][]int32 // by state: needles that end in it
	shorter []int32   // by state: the next shorter state in which a needle ends, 0 if none
}

// NewMatcher prepares the search for needles, and for what [Book.Write] and
// [CSVCell] make of them. Empty needles are found nowhere.
func NewMatcher(needles []string) *Matcher {
	m := &Matcher{needles: slices.Clone(needles)}
	var patterns [][]byte
	var owners []int32
	for i, needle := range needles {
		given := map[string]bool{"": true}
		for _, form := range []string{needle, Visible(needle), literal(Visible(needle)), CSVCell(needle)} {
			if pattern := fold(form); !given[pattern] {
				given[pattern] = true
				patterns, owners = append(patterns, []byte(pattern)), append(owners, int32(i))
			}
		}
	}
	m.classify(patterns)
	m.plant(patterns, owners)
	m.link()
	return m
}

// Find gives the needles that are in b, in the order in which they were given.
func (m *Matcher) Find(b []byte) (needles []string) {
	found := make([]bool, len(m.needles))
	read([]sink{m.scan(found)}, b)
	for _, hit := range m.hits("", found) {
		needles = append(needles, hit.Needle)
	}
	return needles
}

// classify numbers the bytes that occur, so that the table has no columns for
// others, and gives small letters the number of their capitals.
func (m *Matcher) classify(patterns [][]byte) {
	m.width = 1
	for _, pattern := range patterns {
		for _, c := range pattern {
			if m.class[c] == 0 {
				m.class[c] = m.width
				m.width++
			}
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		m.class[c] = m.class[c-'a'+'A']
	}
}

// plant makes the states: the beginnings of patterns. State 0 is the empty one.
func (m *Matcher) plant(patterns [][]byte, owners []int32) {
	m.grow()
	for i, pattern := range patterns {
		state := int32(0)
		for _, c := range pattern {
			at := state*m.width + m.class[c]
			if m.next[at] == 0 {
				m.next[at] = m.grow()
			}
			state = m.next[at]
		}
		m.ends[state] = append(m.ends[state], owners[i])
	}
}

// grow adds a state.
func (m *Matcher) grow() int32 {
	m.next = append(m.next, make([]int32, m.width)...)
	m.ends = append(m.ends, nil)
	return int32(len(m.ends) - 1)
}

// link completes the table. Where a pattern does not go on, the longest end of
// the text read so far that begins a pattern does.
func (m *Matcher) link() {
	m.shorter = make([]int32, len(m.ends))
	fallback := make([]int32, len(m.ends))
	queue := make([]int32, 1, len(m.ends))
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		row, back := m.row(state), m.row(fallback[state])
		for c := range row {
			child := row[c]
			if child == 0 {
				row[c] = back[c]
				continue
			}
			if state != 0 {
				fallback[child] = back[c]
			}
			m.shorter[child] = fallback[child]
			if len(m.ends[fallback[child]]) == 0 {
				m.shorter[child] = m.shorter[fallback[child]]
			}
			queue = append(queue, child)
		}
	}
	for at, state := range m.next {
		ends := len(m.ends[state]) > 0 || m.shorter[state] != 0
		m.next[at] = state * m.width
		if ends {
			m.next[at] = ^m.next[at]
		}
	}
}

func (m *Matcher) row(state int32) []int32 {
	return m.next[state*m.width : (state+1)*m.width]
}

// scan is one search. Several scans may add to the same found.
type scan struct {
	m     *Matcher
	at    int32  // row of the state
	rest  []byte // a rune that has not ended yet
	found []bool // by needle
}

func (s *scan) feed(b []byte) {
	if len(s.rest) > 0 {
		b = append(s.rest, b...)
		s.rest = nil
	}
	for len(b) > 0 {
		n := ascii(b)
		s.step(b[:n])
		b = b[n:]
		if !utf8.FullRune(b) {
			s.rest = bytes.Clone(b)
			return
		}
		r, n := utf8.DecodeRune(b)
		if n <= 1 { // not UTF-8
			s.step(b[:n])
		} else {
			var folded [utf8.UTFMax]byte
			s.step(utf8.AppendRune(folded[:0], foldRune(r)))
		}
		b = b[n:]
	}
}

func (s *scan) end() { s.step(s.rest) }

// step takes folded text, or text in ASCII of either case.
func (s *scan) step(b []byte) {
	m, at := s.m, s.at
	for _, c := range b {
		at = m.next[at+m.class[c]]
		if at < 0 {
			at = ^at
			s.report(at)
		}
	}
	s.at = at
}

// ascii is the length of the text before the first rune that is not ASCII.
func ascii(b []byte) int {
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

// report notes the needles that end here.
func (s *scan) report(at int32) {
	for state := at / s.m.width; state != 0; state = s.m.shorter[state] {
		for _, needle := range s.m.ends[state] {
			s.found[needle] = true
		}
	}
}

// fold makes texts equal that differ in case only. Invalid bytes stay.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[i])
		} else {
			b = utf8.AppendRune(b, foldRune(r))
		}
		i += n
	}
	return string(b)
}

// foldRune gives the least of the runes that differ in case only: capitals, in
// ASCII.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}

package sglang

import (
	"bytes"
	"math"
	"strconv"

	"kvforensics/internal/evidence"
)

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isWord(c byte) bool {
	return isDigit(c) || isUpper(c) || c >= 'a' && c <= 'z' || c == '_'
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	return trimEnd(b)
}

func trimEnd(b []byte) []byte {
	for len(b) > 0 && (isBlank(b[len(b)-1]) || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// span gives the length of the run of bytes at the start of b that fit.
func span(b []byte, fits func(byte) bool) int {
	n := 0
	for n < len(b) && fits(b[n]) {
		n++
	}
	return n
}

// decimal reads b, digits alone, as a number up to limit.
func decimal(b []byte, limit uint64) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (limit-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

func count(b []byte) (int64, bool) {
	n, ok := decimal(b, math.MaxInt64)
	return int64(n), ok
}

// share reads a non-negative number such as 0.04.
func share(b []byte) (float64, bool) {
	whole, frac, _ := bytes.Cut(b, []byte{'.'})
	if len(b) <= 15 && len(whole)+len(frac)+1 == len(b) && len(whole) > 0 && len(frac) > 0 {
		if n, ok := count(whole); ok {
			if f, ok := count(frac); ok {
				// Both fit a float64 exactly, so the quotient is rounded once.
				return float64(n*tens[len(frac)]+f) / float64(tens[len(frac)]), true
			}
		}
	}
	f, err := strconv.ParseFloat(alias(b), 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0) && len(b) > 0 && (isDigit(b[0]) || b[0] == '.')
}

var tens = [16]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// isNone tells the words by which Python and JSON say that there is no value.
func isNone(b []byte) bool { return string(b) == "None" || string(b) == "null" }

// setCount reads a figure into to. None leaves it unknown; a figure that is
// given twice can't be trusted.
func setCount(to *evidence.Opt[int64], name string, b []byte) error {
	if to.Known {
		return unreadablef("%s is given twice", name)
	}
	if isNone(b) {
		return nil
	}
	n, ok := count(b)
	if !ok {
		return unreadablef("%s: %s is no count", name, quoteShort(b))
	}
	*to = evidence.Some(n)
	return nil
}

func setShare(to *evidence.Opt[float64], name string, b []byte) error {
	if to.Known {
		return unreadablef("%s is given twice", name)
	}
	if isNone(b) {
		return nil
	}
	f, ok := share(b)
	if !ok {
		return unreadablef("%s: %s is no number", name, quoteShort(b))
	}
	*to = evidence.Some(f)
	return nil
}

func setRoom(to *evidence.Opt[uint64], b []byte) error {
	if to.Known {
		return unreadable("bootstrap_room is given twice")
	}
	if isNone(b) {
		return nil
	}
	n, ok := decimal(b, math.MaxUint64)
	if !ok {
		return unreadablef("bootstrap_room: %s is no room", quoteShort(b))
	}
	*to = evidence.Some(n)
	return nil
}

// quoteShort shows a value that could not be read. Values that are not
// figures may be a customer's text, so only their kind is told.
func quoteShort(b []byte) string {
	for _, c := range b {
		if !isDigit(c) && c != '.' && c != '-' && c != '+' && c != 'e' {
			return "a value of " + strconv.Itoa(len(b)) + " bytes"
		}
	}
	if len(b) == 0 {
		return "nothing"
	}
	return strconv.Quote(clip(b, 40))
}

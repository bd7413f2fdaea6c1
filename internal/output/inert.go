package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Inert makes text harmless on a terminal: control characters, invisible
// format characters, bidirectional overrides and invalid UTF-8 become visible
// escapes.
func Inert(s string) string {
	if !strings.ContainsFunc(s, dangerous) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !dangerous(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// dangerous runes are not printed as they are. Blanks other than the ordinary
// one are listed by category Z: they can hide what follows.
func dangerous(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) || r >= 0xe0100 && r <= 0xe01ef
}

// noFormula keeps a spreadsheet from running a cell: a text that begins like a
// formula gets an apostrophe, unless it is a plain number.
func noFormula(s string) string {
	start := strings.TrimLeft(s, " \u00a0\u3000")
	if start == "" || !strings.ContainsRune("=+-@\t\r\n＝＋－＠", firstRune(start)) || plainNumber(start) {
		return s
	}
	return "'" + s
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func plainNumber(s string) bool {
	digits := strings.TrimLeft(s, "+-")
	return len(s)-len(digits) <= 1 && digits != "" && strings.Trim(digits, "0123456789.") == "" && strings.Count(digits, ".") <= 1
}

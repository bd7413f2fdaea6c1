package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Inert makes text harmless on a terminal: control characters, invisible
// format characters, bidirectional overrides and invalid UTF-8 become visible
// escapes, \x1b or \u202e. A backslash in the text stays as it is.
func Inert(s string) string { return escape(s, hidden) }

func escape(s string, unwanted func(rune) bool) string {
	if !strings.ContainsFunc(s, unwanted) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unwanted(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
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

// hidden runes steer a terminal or show nothing: controls, format characters,
// line separators, private and unassigned code points, fillers, variation
// selectors. Blanks stay: ordinary French and Japanese text has its own.
func hidden(r rune) bool {
	if r < unicode.MaxASCII {
		return r < ' '
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

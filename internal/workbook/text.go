package workbook

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible makes text fit for XML and shows what would not be seen: what XML
// forbids and what is not UTF-8 becomes U+FFFD, what turns the direction of
// text or steers a terminal becomes its number, ⟦U+202E⟧.
func Visible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return forbidden(r) || steers(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // an invalid byte comes as U+FFFD
		switch {
		case forbidden(r):
			b.WriteRune(utf8.RuneError)
		case steers(r):
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// forbidden runes cannot stand in XML 1.0.
func forbidden(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// steers reports DEL, the C1 controls and the bidirectional controls.
func steers(r rune) bool {
	return 0x7F <= r && r <= 0x9F || r == 0x061C || r == 0x200E || r == 0x200F ||
		0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
}

// spelled is how a cell spells a character that XML cannot hold.
var spelled = regexp.MustCompile(`^_x[0-9A-Fa-f]{4}_`)

// literal keeps text from being read as spelled characters where the library
// fails to: it loses a spelled surrogate, and leaves the second of two that
// share an underscore for the spreadsheet to decode, be it a bidi control. That
// underscore is shown in brackets.
func literal(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	shared := -1
	for i := range len(s) {
		if s[i] != '_' || !spelled.MatchString(s[i:]) {
			b.WriteByte(s[i])
			continue
		}
		surrogate := (s[i+2] == 'd' || s[i+2] == 'D') && s[i+3] >= '8'
		if surrogate || i == shared {
			b.WriteString("⟦_⟧")
			continue
		}
		b.WriteByte('_')
		shared = i + len("_x0000_") - 1
	}
	return b.String()
}

// maxCell is how many UTF-16 units a cell holds.
const maxCell = 32_767

// fit cuts text that a cell cannot hold and says in the text how much is gone.
func fit(s string) (fitted string, cut bool) {
	if len(s) <= maxCell || units(s) <= maxCell {
		return s, false
	}
	const mark = " … [cut, %d characters left out]"
	room := maxCell - units(fmt.Sprintf(mark, len(s)))
	for i, r := range s {
		if room -= utf16.RuneLen(r); room < 0 {
			return s[:i] + fmt.Sprintf(mark, utf8.RuneCountInString(s[i:])), true
		}
	}
	return s, false
}

func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// formulaStarts begin what a spreadsheet may run once it is typed or imported.
const formulaStarts = "=+-@＝＋－＠"

func startsFormula(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsRune(formulaStarts, first)
}

// CSVCell is s as a text cell of a CSV file, before CSV's own quoting: what is
// not seen is made visible as in a workbook, and an apostrophe stands before
// whatever a spreadsheet would run. It looks at each place where a cell may
// begin: where the decimal sign is a comma, spreadsheets split at semicolons
// and do not see the quotes.
func CSVCell(s string) string {
	var b strings.Builder
	s = Visible(s)
	if s != "" && strings.ContainsRune("\t\r\n", rune(s[0])) {
		b.WriteByte('\'')
	}
	begins := true
	for _, r := range s {
		if begins && strings.ContainsRune(formulaStarts, r) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		if strings.ContainsRune(";\t\r\n", r) {
			begins = true
		} else if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) { // a byte order mark is dropped
			begins = false
		}
	}
	return b.String()
}

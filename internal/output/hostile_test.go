package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestInert(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本 e\u0301 \u00a0\u3000": "plain é 日本 e\u0301 \u00a0\u3000",
		`C:\x1b`:                          `C:\x1b`,
		"\x1b[31mred\x1b[0m":              `\x1b[31mred\x1b[0m`,
		"\x1b]8;;http://x\x07y":           `\x1b]8;;http://x\x07y`,
		"\u009b2J\u0085":                  `\u009b2J\u0085`,
		"\x00\t\r\n\x7f":                  `\x00\x09\x0d\x0a\x7f`,
		"\u202eabc\u2066\u2069\u200f":     `\u202eabc\u2066\u2069\u200f`,
		"\u200b\u200d\u2060\ufeff\u00ad":  `\u200b\u200d\u2060\ufeff\u00ad`,
		"\u3164\u115f\u034f\ufe0f":        `\u3164\u115f\u034f\ufe0f`,
		"\u2028\u2029":                    `\u2028\u2029`,
		"\U000e0041\U000e0100\U000f0000":  `\U000e0041\U000e0100\U000f0000`,
		"\xff\xc3(\xed\xa0\x80":           `\xff\xc3(\xed\xa0\x80`,
		"":                                "",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestFormulasAreDisarmed(t *testing.T) {
	for cell, want := range map[string]string{
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1+2": "'+1+2", "@SUM(A1)": "'@SUM(A1)", "-1+cmd|x": "'-1+cmd|x", "--1": "'--1",
		"-1": "-1", "-1.5": "-1.5", "+7": "+7", "-1e-5": "-1e-5", " -5 ": " -5 ", "-": "'-",
		"\tx": "'\tx", "\t=1": "'\t'=1", "  =1": "'  =1", "\u00a0=1": "'\u00a0=1", "\u3000=1": "'\u3000=1", "＝1": "'＝1", "＋1": "'＋1", "－1+1": "'－1+1", "＠a": "'＠a",
		"a;=1+1": "a;'=1+1", "x; -5; y": "x; -5; y", "a\n=1": "a\n'=1", "a\t=1": "a\t'=1", "a;;@b;": "a;;'@b;",
		"plain": "plain", "": "", "a=b": "a=b", "a - b": "a - b", ";": ";",
	} {
		if got := noFormula(cell); got != want {
			t.Errorf("%q: got %q, want %q", cell, got, want)
		}
	}
}

func TestCSVKeepsLinesAndTabs(t *testing.T) {
	got := string(written(t, CSV, []Column{{"a", Text}, {"b", Text}}, [][]any{{"one\ntwo\tthree", "\"q\",\r\x1b"}}))
	if got != "a,b\n\"one\ntwo\tthree\",\"\"\"q\"\",\\x0d\\x1b\"\n" {
		t.Errorf("%q", got)
	}
}

func TestCSVRowOfOneEmptyCellIsARow(t *testing.T) {
	list := [][]any{{nil}, {""}, {"x"}, {nil}}
	back, err := csv.NewReader(bytes.NewReader(written(t, CSV, []Column{{"a", Text}}, list))).ReadAll()
	if err != nil || len(back) != len(list)+1 {
		t.Errorf("%q, %v", back, err)
	}
}

func TestMegabyteCell(t *testing.T) {
	big := strings.Repeat("\x1b[31m\u202e=,\"", 100_000)
	two := []Column{{"a", Text}, {"b", Int}}
	list := [][]any{{big, int64(1)}}
	if got := written(t, Table, two, list); len(got) > 300 {
		t.Errorf("a table row of %d bytes", len(got))
	}
	var object struct{ A string }
	if err := json.Unmarshal(written(t, JSONL, two, list), &object); err != nil || object.A != big {
		t.Errorf("json lines lost text: %v", err)
	}
	if cells, err := csv.NewReader(bytes.NewReader(written(t, CSV, two, list))).ReadAll(); err != nil || cells[1][0] != Inert(big) {
		t.Errorf("csv lost text: %v", err)
	}
}

var seeds = []string{"plain é", "\x1b]8;;http://x\x07", "\u202e\u2066\u200b\ufeff", "\xff\xfe", "=1", "a;=1", "\t\n -1+x", "\x00\r\n", "\U000e0041", "\u0085\u009b31m", ""}

func FuzzInert(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Inert(s)
		if r, found := unsafeRune(got, ""); found {
			t.Fatalf("%q holds %U", got, r)
		}
		if !utf8.ValidString(got) || Inert(got) != got {
			t.Fatalf("%q is not stable", got)
		}
	})
}

// unsafeRune is told by other means than Inert uses.
func unsafeRune(s, but string) (rune, bool) {
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Join_Control) && !strings.ContainsRune(but, r) {
			return r, true
		}
	}
	return 0, false
}

func FuzzCSV(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "end")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := written(t, CSV, []Column{{"a", Text}, {"b", Text}}, [][]any{{a, b}})
		if r, found := unsafeRune(string(got), "\n\t"); found {
			t.Fatalf("%q holds %U", got, r)
		}
		back, err := csv.NewReader(bytes.NewReader(got)).ReadAll()
		if err != nil || len(back) != 2 || back[1][0] != harmlessCell(a) || back[1][1] != harmlessCell(b) {
			t.Fatalf("%q, %v", back, err)
		}
		for _, cell := range back[1] {
			for _, part := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(";\t\n", r) }) {
				if isFormula(part) {
					t.Fatalf("%q runs in a spreadsheet", part)
				}
			}
		}
	})
}

func FuzzJSONL(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := written(t, JSONL, []Column{{"a", Text}, {"l", TextList}}, [][]any{{s, []string{s, ""}}})
		if r, found := unsafeRune(string(got[:len(got)-1]), ""); found {
			t.Fatalf("%q holds %U", got, r)
		}
		var object struct {
			A string
			L []string
		}
		// Rune by rune: each bad byte becomes one replacement character.
		if err := json.Unmarshal(got, &object); err != nil || object.A != string([]rune(s)) || len(object.L) != 2 || object.L[0] != object.A {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

package workbook

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCSVCell(t *testing.T) {
	for in, want := range map[string]string{
		"":                "",
		"plain":           "plain",
		"a-b=c":           "a-b=c",
		"=1+1":            "'=1+1",
		"+1":              "'+1",
		"-1":              "'-1",
		"@SUM(A1)":        "'@SUM(A1)",
		"＝1":              "'＝1",
		"＋1":              "'＋1",
		"－1":              "'－1",
		"＠a":              "'＠a",
		"\ttab":           "'\ttab",
		"\rcr":            "'\rcr",
		"\nlf":            "'\nlf",
		"\t=1":            "'\t'=1",
		"  =1":            "  '=1",
		"a;=1":            "a;'=1",
		"a\n=1":           "a\n'=1",
		"nul\x00":         "nul\uFFFD",
		"\x1b[31m":        "\uFFFD[31m",
		"\u202e=1":        "⟦U+202E⟧=1",
		"\uFEFF=1":        "\uFEFF'=1",
		"\u009b":          "⟦U+009B⟧",
		"\xff":            "\uFFFD",
		"\u00a0=1":        "\u00a0'=1",
		"'=1":             "'=1",
		"100; -5":         "100; '-5",
		"mail@example.eu": "mail@example.eu",
	} {
		if got := CSVCell(in); got != want {
			t.Errorf("CSVCell(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for s := range hostile {
		f.Add(s)
	}
	f.Add(strings.Repeat("😀", 17_000))
	f.Add("\uFEFF\u2028\U000E0041")
	f.Fuzz(func(t *testing.T, s string) {
		seen := Visible(s)
		if !utf8.ValidString(seen) || strings.ContainsFunc(seen, func(r rune) bool { return forbidden(r) || steers(r) }) {
			t.Errorf("Visible(%q) = %q", s, seen)
		}
		if again := Visible(seen); again != seen {
			t.Errorf("Visible(%q) = %q, and of that %q", s, seen, again)
		}
		fitted, cut := fit(seen)
		if units(fitted) > maxCell || cut != (units(seen) > maxCell) || !cut && fitted != seen || !utf8.ValidString(fitted) {
			t.Errorf("fit(%q) = %q, %v", seen, fitted, cut)
		}
		cell := CSVCell(s)
		if startsFormula(cell) || cell != "" && strings.ContainsRune("\t\r\n", rune(cell[0])) {
			t.Errorf("CSVCell(%q) = %q", s, cell)
		}
		if strings.ReplaceAll(cell, "'", "") != strings.ReplaceAll(seen, "'", "") {
			t.Errorf("CSVCell(%q) = %q: more than apostrophes were added", s, cell)
		}
	})
}

// What is written must be found again, through the XML and back.
func FuzzWriteAndSearch(f *testing.F) {
	for s := range hostile {
		f.Add(s)
	}
	f.Add("_xD83D_ _x0041_x202E_")
	f.Fuzz(func(t *testing.T, s string) {
		if units(literal(Visible(s))) > maxCell {
			t.Skip("is cut")
		}
		b, _ := write(t, oneTable([]Column{{Header: "Text"}}, [][]Cell{{Text(s)}}))
		if err := inspect(b); err != nil {
			t.Fatal(err)
		}
		got, err := reopen(t, b).GetCellValue("Data", "A4")
		if err != nil || got != literal(Visible(s)) {
			t.Errorf("%q reads as %q, %v", s, got, err)
		}
		m := NewMatcher([]string{s})
		hits, err := m.Search(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(hits) == 0 && s != "" {
			t.Errorf("%q is not found: %v", s, err)
		}
		if len(SearchBytes("x.csv", []byte(CSVCell(s)), m)) == 0 && s != "" {
			t.Errorf("%q is not found in its CSV form", s)
		}
	})
}

func TestSpelledCharactersStayText(t *testing.T) {
	for s, want := range map[string]string{
		"_x202E_":             "_x202E_",
		"a _xD83D_ b":         "a ⟦_⟧xD83D_ b",
		"_x0041_x202E_":       "_x0041⟦_⟧x202E_",
		"_x0041_x202E_x0042_": "_x0041⟦_⟧x202E_x0042_",
	} {
		b, _ := write(t, oneTable([]Column{{Header: "Text"}}, [][]Cell{{Text(s)}}))
		if got, _ := reopen(t, b).GetCellValue("Data", "A4"); got != want {
			t.Errorf("%q reads as %q, want %q", s, got, want)
		}
		hits, err := NewMatcher([]string{s}).Search(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(hits) == 0 {
			t.Errorf("%q is not found: %v", s, err)
		}
	}
	if got := NewMatcher([]string{"no", "B", "a"}).Find([]byte("AB")); len(got) != 2 || got[0] != "B" || got[1] != "a" {
		t.Errorf("found %q", got)
	}
}

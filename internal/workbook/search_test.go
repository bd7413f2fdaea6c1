package workbook

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSearchLooksEverywhere(t *testing.T) {
	book := sample()
	book.Title = "Title Needle"
	book.Lists[0].Name = "ListNeedle"
	for _, s := range book.Sheets {
		for _, block := range s.Blocks {
			switch b := block.(type) {
			case Form:
				for i := range b.Rows {
					b.Rows[i].List = strings.Replace(b.Rows[i].List, "YesNo", "ListNeedle", 1)
				}
			case Table:
				b.Columns[2].List = "ListNeedle"
				b.Rows[0][0] = Text("Smith & Søn <GmbH>")
				b.Rows[1][0] = Text("bidi \u202eneedle")
				b.Rows[2][0] = Text("_x0041_ & more")
			}
		}
	}
	book.Sheets[0].Name = "Sheet & Needle"
	written, _ := write(t, book)
	parts := unzip(t, written)
	parts["xl/sharedStrings.xml"] = []byte(`<sst><si><r><t>Sha</t></r><r><t xml:space="preserve" a="1>2">red&#x20;Nee</t></r><r><t>_x0064_le</t></r></si></sst>`)
	b := pack(t, parts)
	for needle, part := range map[string]string{
		"SMITH & SØN <gmbh>":   "xl/worksheets/sheet3.xml",
		"bidi \u202eNeedle":    "xl/worksheets/sheet3.xml",
		"_x0041_ & more":       "xl/worksheets/sheet3.xml",
		"shared needle":        "xl/sharedStrings.xml",
		"sheet & needle":       "xl/workbook.xml",
		"listneedle":           "xl/workbook.xml",
		"title needle":         "docProps/core.xml",
		"events a day <&>":     "xl/charts/chart1.xml",
		"&#34;not&#34; there":  "",
		"sharedStrings.xml":    "xl/sharedStrings.xml",
		"factual record":       "xl/worksheets/sheet1.xml",
		"\u212Avforensics":     "docProps/app.xml", // the sign for kelvin is a K
		"Please choose one of": "xl/worksheets/sheet2.xml",
	} {
		hits, err := NewMatcher([]string{"", "unrelated", needle}).Search(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if part == "" && len(hits) == 0 {
			continue
		}
		if !slices.Contains(hits, Hit{part, needle}) {
			t.Errorf("%q: hits %q, want one in %q", needle, hits, part)
		}
	}
}

func TestSearchBytes(t *testing.T) {
	m := NewMatcher([]string{"Acme & Co", `Joe "X" Ltd`, "a_b*c", "=SUM(a)", "x;=y", "line\u202e", "ÄRGER", "nowhere", "\xff\xfe"})
	for text, want := range map[string][]string{
		`{"a":"acme \u0026 co"}`:         {"Acme & Co"},
		"<p>Ac<b>me</b> &amp; Co":        {"Acme & Co"},
		`1,"joe ""x"" ltd",2`:            {`Joe "X" Ltd`},
		`["joe \"x\" ltd"]`:              {`Joe "X" Ltd`},
		`**A\_B\*C**`:                    {"a_b*c"},
		CSVCell("=sum(a)"):               {"=SUM(a)"},
		CSVCell("x;=y"):                  {"x;=y"},
		CSVCell("line\u202e"):            {"line\u202e"},
		"Ärger, ärger":                   {"ÄRGER"},
		"raw \xff\xfe bytes":             {"\xff\xfe"},
		"acme und co":                    nil,
		"acme & co and joe \"x\" ltd \\": {"Acme & Co", `Joe "X" Ltd`},
	} {
		var got []string
		for _, hit := range SearchBytes("f", []byte(text), m) {
			got = append(got, hit.Needle)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The text arrives in pieces: where they end must not matter.
func TestViewsDoNotCareForPieces(t *testing.T) {
	text := []byte(`<a t="x>y">Sm&#105;th &am</a>p; S_x00F8_n</b> "" \u0041 _x _ & K` + "\u212A ä€😀\xff")
	whole := views(text, len(text))
	for size := range 9 {
		if got := views(text, size+1); !slices.Equal(got, whole) {
			t.Errorf("pieces of %d: %q, want %q", size+1, got, whole)
		}
	}
	if want := `Smith & Søn`; !strings.Contains(whole[0], want) {
		t.Errorf("%q lacks %q", whole[0], want)
	}
}

type collector struct{ strings.Builder }

func (c *collector) feed(b []byte) { c.Write(b) }
func (c *collector) end()          {}

func views(text []byte, size int) []string {
	marked, plain := &collector{}, &collector{}
	all := []sink{
		&untagger{to: &decoder{escape: entity, to: &decoder{escape: hexInCell, to: marked}}},
		&decoder{escape: backslash, to: &decoder{escape: doubled, to: plain}},
	}
	for piece := range slices.Chunk(text, size) {
		for _, view := range all {
			view.feed(piece)
		}
	}
	for _, view := range all {
		view.end()
	}
	return []string{marked.String(), plain.String()}
}

// The matcher must agree with the plain way of searching.
func TestMatcherAgreesWithContains(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune([]rune("abAB1äÄ\u212Ak")[random.IntN(9)])
		}
		return b.String()
	}
	for range 2000 {
		needles := make([]string, 1+random.IntN(6))
		for i := range needles {
			needles[i] = word(1 + random.IntN(5))
		}
		m := NewMatcher(needles)
		text := word(random.IntN(40))
		found := make([]bool, len(needles))
		s := m.scan(found)
		cut := random.IntN(len(text) + 1)
		s.feed([]byte(text[:cut]))
		s.feed([]byte(text[cut:]))
		s.end()
		for i, needle := range needles {
			if want := strings.Contains(fold(text), fold(needle)); found[i] != want {
				t.Fatalf("%q in %q: %v, want %v", needle, text, found[i], want)
			}
		}
	}
}

func manyNeedles(n int) []string {
	needles := make([]string, n)
	for i := range needles {
		switch i % 4 {
		case 0:
			needles[i] = fmt.Sprintf("tenant-%05d", 90000+i)
		case 1:
			needles[i] = fmt.Sprintf("Company Number %d Limited", i)
		case 2:
			needles[i] = fmt.Sprintf("sk-%016x", uint64(i)*0x9E3779B97F4A7C15)
		case 3:
			needles[i] = fmt.Sprintf("mail%d.example.co.uk", i)
		}
	}
	return needles
}

func BenchmarkNewMatcher(b *testing.B) {
	needles := manyNeedles(5000)
	for b.Loop() {
		NewMatcher(needles)
	}
}

// The bytes counted are the unpacked ones.
func BenchmarkSearch(b *testing.B) {
	written, _ := write(b, large(60_000))
	size := 0
	for _, part := range unzip(b, written) {
		size += len(part)
	}
	m := NewMatcher(manyNeedles(5000))
	b.SetBytes(int64(size))
	b.ResetTimer()
	for b.Loop() {
		hits, err := m.Search(bytes.NewReader(written), int64(len(written)))
		if err != nil || len(hits) > 0 {
			b.Fatal(hits, err)
		}
	}
}

func BenchmarkSearchBytes(b *testing.B) {
	var csv bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&csv, "%d,2026-11-01T00:00:00Z,tenant-%05d,\"company number, é\"\n", i, i%1000)
	}
	m := NewMatcher(manyNeedles(5000))
	b.SetBytes(int64(csv.Len()))
	for b.Loop() {
		SearchBytes("x", csv.Bytes(), m)
	}
}

func BenchmarkInspect(b *testing.B) {
	written, _ := write(b, large(60_000))
	size := 0
	for _, part := range unzip(b, written) {
		size += len(part)
	}
	b.SetBytes(int64(size))
	b.ResetTimer()
	for b.Loop() {
		if err := inspect(written); err != nil {
			b.Fatal(err)
		}
	}
}

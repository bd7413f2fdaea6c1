package workbook

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

func TestWriteReopens(t *testing.T) {
	b, report := write(t, sample())
	if len(report.Cut) > 0 || len(report.SplitSheets) > 0 {
		t.Errorf("report: %+v", report)
	}
	f := reopen(t, b)
	want := []string{"Read me", "Art 33 & 34 decisions", "Exposure", "Lists"}
	if got := f.GetSheetList(); !slices.Equal(got, want) {
		t.Errorf("sheets %q, want %q", got, want)
	}
	for _, c := range []struct{ sheet, cell, want string }{
		{"Read me", "A1", "Assessment pack"},
		{"Read me", "A2", "Factual record, not legal advice."},
		{"Read me", "A5", "Incident"},
		{"Read me", "B5", "INC-7"},
		{"Read me", "B6", placeholder},
		{"Read me", "C6", "The legal name"},
		{"Read me", "B7", "Yes"},
		{"Art 33 & 34 decisions", "A3", "Score"},
		{"Art 33 & 34 decisions", "B5", "0.75"},
		{"Art 33 & 34 decisions", "B6", "2.25"},
		{"Exposure", "A5", "Day"},
		{"Exposure", "B7", "9"},
		{"Exposure", "C6", placeholder},
		{"Exposure", "C7", "Yes"},
		{"Lists", "B6", "Do not report"},
	} {
		if got, err := f.GetCellValue(c.sheet, c.cell); err != nil || got != c.want {
			t.Errorf("%s!%s = %q, %v, want %q", c.sheet, c.cell, got, err, c.want)
		}
	}
	if got, _ := f.GetCellFormula("Art 33 & 34 decisions", "B6"); got != "MAX(B4*B5, 0)" {
		t.Errorf("formula %q", got)
	}
}

func TestListsAreOffered(t *testing.T) {
	b, _ := write(t, sample())
	f := reopen(t, b)
	names := map[string]string{}
	for _, n := range f.GetDefinedName() {
		names[n.Scope+"/"+n.Name] = n.RefersTo
	}
	if got := names["Workbook/list_Outcome"]; got != "'Lists'!$B$5:$B$7" {
		t.Errorf("list_Outcome is %q", got)
	}
	validations, err := f.GetDataValidations("Art 33 & 34 decisions")
	if err != nil || len(validations) != 2 {
		t.Fatalf("%d validations, %v", len(validations), err)
	}
	for i, want := range []struct{ cell, list, style string }{
		{"B7", "list_Outcome", "stop"}, {"B8", "list_YesNo", "warning"},
	} {
		v := validations[i]
		if v.Sqref != want.cell || v.Formula1 != want.list || *v.ErrorStyle != want.style || !v.ShowErrorMessage {
			t.Errorf("validation %+v, want %+v", v, want)
		}
	}
	if v, _ := f.GetDataValidations("Exposure"); len(v) != 1 || v[0].Sqref != "C6:C8" {
		t.Errorf("validations of the table: %+v", v)
	}
}

func TestWhoFillsIsMarkedWithoutColourToo(t *testing.T) {
	b, _ := write(t, sample())
	f := reopen(t, b)
	look := func(sheet, cell string) *excelize.Style {
		id, err := f.GetCellStyle(sheet, cell)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.GetStyle(id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	left := func(s *excelize.Style) int {
		for _, b := range s.Border {
			if b.Type == "left" {
				return b.Style
			}
		}
		return 0
	}
	tenant, provider := look("Exposure", "C7"), look("Exposure", "B7")
	if !slices.Equal(tenant.Fill.Color, []string{softAmber}) || left(tenant) != 5 || tenant.Protection.Locked {
		t.Errorf("tenant's cell: %+v", tenant)
	}
	if !slices.Equal(provider.Fill.Color, []string{paleGrey}) || left(provider) != 1 || provider.Protection != nil && !provider.Protection.Locked {
		t.Errorf("provider's cell: %+v", provider)
	}
	if provider.Alignment.Vertical != "top" || !look("Read me", "B6").Alignment.WrapText {
		t.Error("not aligned at the top, or not wrapped")
	}
	if !look("Exposure", "A5").Font.Bold {
		t.Error("header is not bold")
	}
	for sheet, want := range map[string]bool{"Read me": false, "Art 33 & 34 decisions": true, "Lists": true} {
		if p, _ := f.GetSheetProtection(sheet); p.SelectLockedCells != want {
			t.Errorf("sheet %q protected: %v", sheet, p.SelectLockedCells)
		}
		if seen, _ := f.GetSheetVisible(sheet); !seen {
			t.Errorf("sheet %q is hidden", sheet)
		}
	}
}

func TestPrintReady(t *testing.T) {
	b, _ := write(t, sample())
	f := reopen(t, b)
	for _, sheet := range f.GetSheetList() {
		layout, _ := f.GetPageLayout(sheet)
		props, _ := f.GetSheetProps(sheet)
		if *layout.Orientation != "landscape" || *layout.Size != 9 || *layout.FitToWidth != 1 || *layout.FitToHeight != 0 || !*props.FitToPage {
			t.Errorf("%s: layout %+v", sheet, layout)
		}
		if footer, _ := f.GetHeaderFooter(sheet); footer.OddFooter != "&L&A&RPage &P of &N" {
			t.Errorf("%s: footer %q", sheet, footer.OddFooter)
		}
	}
	panes, _ := f.GetPanes("Exposure")
	if !panes.Freeze || panes.YSplit != 5 || panes.TopLeftCell != "A6" {
		t.Errorf("panes %+v", panes)
	}
	if width, _ := f.GetColWidth("Exposure", "A"); width != 14 {
		t.Errorf("width %v", width)
	}
	var repeated, filter string
	for _, n := range f.GetDefinedName() {
		switch {
		case n.Scope == "Exposure" && n.Name == "_xlnm.Print_Titles":
			repeated = n.RefersTo
		case n.Scope == "Exposure" && n.Name == "_xlnm._FilterDatabase":
			filter = n.RefersTo
		}
	}
	if repeated != "'Exposure'!$5:$5" || filter != "'Exposure'!$A$5:$C$8" {
		t.Errorf("repeated %q, filtered %q", repeated, filter)
	}
	parts := unzip(t, b)
	sheet := string(parts["xl/worksheets/sheet3.xml"])
	if !strings.Contains(sheet, `<col min="1"`) || strings.Index(sheet, `<col min="1"`) > strings.Index(sheet, `<col min="2"`) {
		t.Error("columns are not in order")
	}
	chart := string(parts["xl/charts/chart1.xml"])
	for _, want := range []string{"&#39;Exposure&#39;!$A$6:$A$8", "&#39;Exposure&#39;!$B$6:$B$8", "Events a day &lt;&amp;&gt;"} {
		if !strings.Contains(chart, want) {
			t.Errorf("chart lacks %q", want)
		}
	}
}

// hostile maps text to what the workbook shows.
var hostile = map[string]string{
	`=HYPERLINK("http://x","y")`:     `=HYPERLINK("http://x","y")`,
	`=cmd|'/c calc'!A0`:              `=cmd|'/c calc'!A0`,
	"+1":                             "+1",
	"-1":                             "-1",
	"@a":                             "@a",
	"＝1":                             "＝1",
	"\t=1":                           "\t=1",
	"\r=1":                           "\r=1",
	"\n=1":                           "\n=1",
	" padded ":                       " padded ",
	"two\nlines":                     "two\nlines",
	"<script>alert(1)</script>&amp;": "<script>alert(1)</script>&amp;",
	"_x0041_":                        "_x0041_",
	"0012345678901234567890":         "0012345678901234567890",
	"TRUE":                           "TRUE",
	"nul\x00byte":                    "nul\uFFFDbyte",
	"\x1b[31mred\x1b[0m":             "\uFFFD[31mred\uFFFD[0m",
	"c1 \u009b31m del \x7f":          "c1 ⟦U+009B⟧31m del ⟦U+007F⟧",
	"rtl \u202egpj.exe\u202c":        "rtl ⟦U+202E⟧gpj.exe⟦U+202C⟧",
	"\u200e\u200f\u2066\u2069\u061c": "⟦U+200E⟧⟦U+200F⟧⟦U+2066⟧⟦U+2069⟧⟦U+061C⟧",
	"lone \xed\xa0\x80 surrogate":    "lone \uFFFD\uFFFD\uFFFD surrogate",
	"bad \xff\xfe utf-8":             "bad \uFFFD\uFFFD utf-8",
	"\uFFFE\uFFFF":                   "\uFFFD\uFFFD",
	"emoji 👩‍👩‍👧 and العربية":                 "emoji 👩‍👩‍👧 and العربية",
	"]]><f>1+1</f><!--":                       "]]><f>1+1</f><!--",
	`"quoted" 'apostrophes' ` + "`ticks`":     `"quoted" 'apostrophes' ` + "`ticks`",
	"{{template}} ${env} %s \\u0041 \\x41 \\": "{{template}} ${env} %s \\u0041 \\x41 \\",
}

func TestHostileTextStaysText(t *testing.T) {
	var rows [][]Cell
	var given []string
	for s := range hostile {
		given = append(given, s)
	}
	slices.Sort(given)
	for _, s := range given {
		rows = append(rows, []Cell{Text(s)})
	}
	book := oneTable([]Column{{Header: "=1+1", Width: 20}}, rows)
	book.Title = "=1\x00"
	book.Sheets[0].Title = "=2\u202e"
	book.Sheets[0].Notes = []string{"=3\x1b"}
	b, _ := write(t, book)
	f := reopen(t, b)
	for i, s := range given {
		cell := fmt.Sprint("A", 5+i)
		got, err := f.GetCellValue("Data", cell)
		if err != nil || got != hostile[s] {
			t.Errorf("%q reads as %q, %v, want %q", s, got, err, hostile[s])
		}
		if kind, _ := f.GetCellType("Data", cell); kind != excelize.CellTypeInlineString {
			t.Errorf("%q is of type %v", s, kind)
		}
		if formula, _ := f.GetCellFormula("Data", cell); formula != "" {
			t.Errorf("%q became the formula %q", s, formula)
		}
		id, _ := f.GetCellStyle("Data", cell)
		quoted := f.Styles.CellXfs.Xf[id].QuotePrefix
		if (quoted != nil && *quoted) != startsFormula(s) {
			t.Errorf("%q would not stay text when edited", s)
		}
	}
	for cell, want := range map[string]string{"A1": "=2⟦U+202E⟧", "A2": "=3\uFFFD", "A4": "=1+1"} {
		if got, _ := f.GetCellValue("Data", cell); got != want {
			t.Errorf("%s = %q, want %q", cell, got, want)
		}
	}
	if err := inspect(b); err != nil {
		t.Error(err)
	}
}

func TestLongTextIsCutAndReported(t *testing.T) {
	b, report := write(t, oneTable([]Column{{Header: "Text"}}, [][]Cell{
		{Text(strings.Repeat("x", 40_000))},
		{Text(strings.Repeat("😀", 20_000))},
		{Text(strings.Repeat("x", maxCell))},
	}))
	if want := []string{"Data!A4", "Data!A5"}; !slices.Equal(report.Cut, want) {
		t.Errorf("cut %q, want %q", report.Cut, want)
	}
	f := reopen(t, b)
	for i, whole := range []int{40_000, 20_000} {
		got, _ := f.GetCellValue("Data", fmt.Sprint("A", 4+i))
		kept, mark, found := strings.Cut(got, " … [cut, ")
		count, _, _ := strings.Cut(mark, " ")
		left, err := strconv.Atoi(count)
		if !found || err != nil || len([]rune(kept))+left != whole {
			t.Errorf("%d characters: kept %d, then %q", whole, len([]rune(kept)), mark)
		}
		if n := units(got); n > maxCell || n < maxCell-10 {
			t.Errorf("%d units", n)
		}
	}
	if got, _ := f.GetCellValue("Data", "A6"); len(got) != maxCell {
		t.Errorf("text that fits was cut to %d", len(got))
	}
}

func TestNumbers(t *testing.T) {
	columns := []Column{{Header: "N"}}
	b, _ := write(t, oneTable(columns, [][]Cell{
		{Int(maxExact)}, {Int(-maxExact)}, {Int(math.MaxInt64)}, {Number(-0.5)}, {Bool(false)}, {Formula{"IF(A4>0,1,0)", 1}},
	}))
	f := reopen(t, b)
	for i, want := range []string{"999999999999999", "-999999999999999", "9223372036854775807", "-0.5", "No", "1"} {
		if got, _ := f.GetCellValue("Data", fmt.Sprint("A", 4+i)); got != want {
			t.Errorf("row %d = %q, want %q", i, got, want)
		}
	}
	for _, bad := range []Cell{Number(math.NaN()), Number(math.Inf(1)), Formula{"1+1", math.NaN()}, Formula{`HYPERLINK("x")`, 0}} {
		if _, err := oneTable(columns, [][]Cell{{bad}}).Write(new(bytes.Buffer)); err == nil {
			t.Errorf("%v was written", bad)
		}
	}
}

func TestLongTableGoesOn(t *testing.T) {
	defer func(n int) { maxRows = n }(maxRows)
	maxRows = 10
	book := oneTable([]Column{{Header: "N", Field: Field{List: "L"}}}, nil)
	for i := range 15 {
		book.Sheets[0].Blocks[0] = Table{
			Title:   "Numbers",
			Columns: book.Sheets[0].Blocks[0].(Table).Columns,
			Rows:    append(book.Sheets[0].Blocks[0].(Table).Rows, []Cell{Int(i)}),
		}
	}
	book.Sheets[0].Name = "A name of thirty-one letters ab"
	book.Sheets[0].Blocks = append(book.Sheets[0].Blocks, Form{Title: "After", Rows: []FormRow{{Label: "x"}, {Label: "y"}}})
	book.Lists = []List{{"L", []string{"0"}}}
	b, report := write(t, book)
	want := []string{"A name of thirty-one letter (2)", "A name of thirty-one letter (3)", "A name of thirty-one letter (4)"}
	if !slices.Equal(report.SplitSheets, want) {
		t.Errorf("split %q, want %q", report.SplitSheets, want)
	}
	f := reopen(t, b)
	var seen []string
	for _, sheet := range f.GetSheetList() {
		rows, _ := f.GetRows(sheet)
		if len(rows) > maxRows {
			t.Errorf("sheet %q has %d rows", sheet, len(rows))
		}
		for _, row := range rows {
			if len(row) > 0 && sheet != "Lists" {
				if _, err := strconv.Atoi(row[0]); err == nil {
					seen = append(seen, row[0])
				}
			}
		}
	}
	if len(seen) != 15 || seen[14] != "14" {
		t.Errorf("rows %q", seen)
	}
	if got, _ := f.GetCellValue(want[0], "A3"); got != "Numbers (continued)" {
		t.Errorf("title of the second part: %q", got)
	}
	if got, _ := f.GetCellValue(want[2], "A4"); got != "x" {
		t.Errorf("the form is not on the last sheet: %q", got)
	}
	if err := inspect(b); err != nil {
		t.Error(err)
	}
}

func TestSameBookSameBytes(t *testing.T) {
	first, _ := write(t, sample())
	for range 5 {
		if again, _ := write(t, sample()); !bytes.Equal(first, again) {
			t.Fatal("the bytes differ")
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	field := Field{List: "none"}
	for want, change := range map[string]func(*Book){
		"no time of making":    func(b *Book) { *b = Book{Sheets: b.Sheets} },
		"no sheets":            func(b *Book) { b.Sheets, b.Lists = nil, nil },
		"two sheets named":     func(b *Book) { b.Sheets[0].Name = "EXPOSURE" },
		"sheet name":           func(b *Book) { b.Sheets[0].Name = "[x.xlsx]" },
		"no list \"none\"":     func(b *Book) { b.Sheets[0].Blocks = []Block{Table{Columns: []Column{{Field: field}}}} },
		"list name":            func(b *Book) { b.Lists[0].Name = "A 1" },
		"two lists named":      func(b *Book) { b.Lists[0].Name = "outcome" },
		"is empty":             func(b *Book) { b.Lists[0].Values = nil },
		"no table \"x\"":       func(b *Book) { b.Sheets[0].Blocks = []Block{Chart{Table: "x"}} },
		"a table of 0 columns": func(b *Book) { b.Sheets[0].Blocks = []Block{Table{}} },
		"2 cells in 1 columns": func(b *Book) {
			b.Sheets[0].Blocks = []Block{Table{Columns: make([]Column, 1), Rows: [][]Cell{{nil, nil}}}}
		},
		"no columns \"\" and":   func(b *Book) { b.Sheets[2].Blocks[1] = Chart{Table: "By day"} },
		"unknown kind of block": func(b *Book) { b.Sheets[0].Blocks = []Block{nil} },
	} {
		b := sample()
		change(b)
		if _, err := b.Write(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestChartOfNothing(t *testing.T) {
	book := sample()
	table := book.Sheets[2].Blocks[0].(Table)
	table.Rows = nil
	book.Sheets[2].Blocks[0] = table
	b, _ := write(t, book)
	f := reopen(t, b)
	if got, _ := f.GetCellValue("Exposure", "A7"); got != "Events a day <&>: no rows to draw" {
		t.Errorf("in place of the chart: %q", got)
	}
	if err := inspect(b); err != nil {
		t.Error(err)
	}
}

func TestLargeSheetSpillsAndLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	book := large(60_000)
	dir := t.TempDir()
	book.TempDir = dir
	var out bytes.Buffer
	if _, err := book.Write(&out); err != nil {
		t.Fatal(err)
	}
	left := entries(t, dir)
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := inspect(out.Bytes()); err != nil {
		t.Error(err)
	}
}

// large is a table of ten columns.
func large(rows int) *Book {
	columns := make([]Column, 10)
	for i := range columns {
		columns[i] = Column{Header: fmt.Sprint("Column ", i), Field: Field{By: Provider}}
	}
	body := make([][]Cell, rows)
	for i := range body {
		body[i] = []Cell{
			Int(i), Text(fmt.Sprintf("2026-11-01T00:00:%02d.%06dZ", i%60, i)), Text("received by another tenant"), Number(float64(i) / 7),
			Bool(i%2 == 0), Text(fmt.Sprintf("R-%05X", i)), Int(i * 31), Text("complete completion"), nil, Text("=1+1"),
		}
	}
	return oneTable(columns, body)
}

func BenchmarkWrite200k(b *testing.B) {
	book := large(200_000)
	book.TempDir = b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if _, err := book.Write(&out); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.Len())/1e6, "MB")
	}
}

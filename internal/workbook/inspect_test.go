package workbook

import (
	"bytes"
	"strings"
	"testing"
)

func TestInspectAcceptsWhatIsWritten(t *testing.T) {
	b, _ := write(t, sample())
	if err := inspect(b); err != nil {
		t.Error(err)
	}
	if err := inspect(pack(t, unzip(t, b))); err != nil {
		t.Errorf("packed again: %v", err)
	}
}

// Each file is a good one with one thing planted in it.
func TestInspectFinds(t *testing.T) {
	good, _ := write(t, sample())
	replace := func(part, old, new string) func(map[string][]byte) {
		return func(parts map[string][]byte) {
			text := string(parts[part])
			if !strings.Contains(text, old) {
				t.Fatalf("%s lacks %q", part, old)
			}
			parts[part] = []byte(strings.Replace(text, old, new, 1))
		}
	}
	add := func(part, content string) func(map[string][]byte) {
		return func(parts map[string][]byte) { parts[part] = []byte(content) }
	}
	const (
		types  = "[Content_Types].xml"
		core   = "docProps/core.xml"
		app    = "docProps/app.xml"
		book   = "xl/workbook.xml"
		rels   = "xl/_rels/workbook.xml.rels"
		styles = "xl/styles.xml"
		sheet  = "xl/worksheets/sheet2.xml"
		table  = "xl/worksheets/sheet3.xml"
	)
	for name, c := range map[string]struct {
		plant func(map[string][]byte)
		want  string
	}{
		"macro":                {add("xl/vbaProject.bin", "x"), `"xl/vbaProject.bin": this part is not allowed`},
		"macro type":           {replace(types, "spreadsheetml.sheet.main", "ms-excel.sheet.macroEnabled.main"), "content type"},
		"type of macros":       {replace(types, "<Override", `<Default Extension="bin" ContentType="x"/><Override`), `parts of type "bin"`},
		"link part":            {add("xl/externalLinks/externalLink1.xml", "<a/>"), "this part is not allowed"},
		"connections":          {add("xl/connections.xml", "<a/>"), "this part is not allowed"},
		"comments":             {add("xl/comments1.xml", "<a/>"), "this part is not allowed"},
		"custom properties":    {add("docProps/custom.xml", "<a/>"), "this part is not allowed"},
		"thumbnail":            {add("docProps/thumbnail.jpeg", "x"), "this part is not allowed"},
		"pivot cache":          {add("xl/pivotCache/pivotCacheDefinition1.xml", "<a/>"), "this part is not allowed"},
		"path":                 {add("../evil.xml", "<a/>"), ""},
		"hidden sheet":         {replace(book, `<sheet name="Exposure"`, `<sheet state="hidden" name="Exposure"`), `sheet "Exposure" is hidden`},
		"very hidden sheet":    {replace(book, `<sheet name="Exposure"`, `<sheet state="veryHidden" name="Exposure"`), "is veryHidden"},
		"hidden name":          {replace(book, `name="list_YesNo"`, `hidden="1" name="list_YesNo"`), "definedName is hidden"},
		"formula in a name":    {replace(book, "&#39;Lists&#39;!$A$5:$A$7", `WEBSERVICE("http://x")`), "is not allowed"},
		"name abroad":          {replace(book, "&#39;Lists&#39;!$A$5:$A$7", `'[x.xlsx]Lists'!$A$5`), "is not allowed"},
		"external reference":   {replace(book, "<definedNames>", "<externalReferences/><definedNames>"), "element externalReferences"},
		"path of the author":   {replace(book, "<definedNames>", `<absPath url="C:\Users\ann\"/><definedNames>`), "element absPath"},
		"hidden row":           {replace(sheet, `<row r="4"`, `<row hidden="1" r="4"`), "row is hidden"},
		"row of no height":     {replace(sheet, `<row r="4"`, `<row ht="0" r="4"`), "height of a row"},
		"hidden column":        {replace(table, `<col min="1"`, `<col hidden="true" min="1"`), "col is hidden"},
		"column of no width":   {replace(table, `width="14"`, `width="0"`), "width of a column"},
		"all rows hidden":      {replace(table, `<sheetFormatPr`, `<sheetFormatPr zeroHeight="1"`), "rows are hidden"},
		"hyperlink":            {replace(sheet, "<pageSetup", `<hyperlinks><hyperlink ref="A1"/></hyperlinks><pageSetup`), "element hyperlinks"},
		"formula":              {replace(sheet, "<f>MAX(B4*B5, 0)</f>", `<f>HYPERLINK("http://x","y")</f>`), "is not allowed"},
		"empty formula":        {replace(sheet, "<f>MAX(B4*B5, 0)</f>", `<f/>`), "formula"},
		"shared formula":       {replace(sheet, "<f>", `<f t="shared" si="0">`), "shared formula"},
		"split formula":        {replace(sheet, "<f>MAX(B4*B5, 0)</f>", `<f>MAX<![CDATA[(cmd|'/c calc'!A0]]>)</f>`), "is not allowed"},
		"formula of a list":    {replace(sheet, "list_Outcome", `INDIRECT("x")`), "is not allowed"},
		"chart abroad":         {replace("xl/charts/chart1.xml", "&#39;Exposure&#39;!$A$6:$A$8", "[1]Sheet1!$A$1"), "is not allowed"},
		"invisible format":     {replace(styles, `formatCode="0.00"`, `formatCode=";;;"`), "hides cells"},
		"hidden formulas":      {replace(styles, `hidden="false"`, `hidden="true"`), "protection is hidden"},
		"external relation":    {replace(rels, `Target="styles.xml"`, `Target="http://x/s" TargetMode="External"`), "is external"},
		"relation by path":     {replace(rels, `Target="styles.xml"`, `Target="file:///x"`), "is external"},
		"relation to a macro":  {replace(rels, "relationships/styles", "relationships/vbaProject"), "relationship of type"},
		"author":               {replace(core, "<dc:creator>kvforensics", "<dc:creator>Ann"), `creator is "Ann"`},
		"last author":          {replace(core, "<lastModifiedBy>", "<lastModifiedBy>Ann"), `lastModifiedBy is "Ann"`},
		"company":              {replace(app, "<Application>", "<Company>Acme</Company><Application>"), `Company is "Acme"`},
		"application":          {replace(app, "kvforensics", "Other 1.0"), `Application is "Other 1.0"`},
		"comment in the XML":   {replace(sheet, "<sheetData>", "<!-- Acme --><sheetData>"), "xml.Comment is not allowed"},
		"document type":        {replace(sheet, "<worksheet", `<!DOCTYPE x [<!ENTITY a "b">]><worksheet`), "xml.Directive is not allowed"},
		"other encoding":       {replace(sheet, "UTF-8", "UTF-16"), "encoding"},
		"XML that breaks off":  {replace(sheet, "</worksheet>", ""), "unexpected EOF"},
		"processing":           {replace(sheet, "<worksheet", `<?mso-application x?><worksheet`), "processing instruction"},
		"no workbook":          {func(parts map[string][]byte) { delete(parts, book) }, `no part "xl/workbook.xml"`},
		"drawing with a click": {replace("xl/drawings/drawing1.xml", "</xdr:cNvPr>", `<a:hlinkClick/></xdr:cNvPr>`), "element hlinkClick"},
	} {
		parts := unzip(t, good)
		c.plant(parts)
		if err := inspect(pack(t, parts)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestInspectRefusesBombs(t *testing.T) {
	good, _ := write(t, sample())
	parts := unzip(t, good)
	parts["xl/worksheets/sheet1.xml"] = append([]byte("<a>"), bytes.Repeat([]byte(" "), 4<<20)...)
	bomb := pack(t, parts)
	defer func(size, ratio int64) { maxPart, maxRatio = size, ratio }(maxPart, maxRatio)
	for _, limit := range []struct{ size, ratio int64 }{{1 << 20, 1 << 20}, {1 << 30, 100}} {
		maxPart, maxRatio = limit.size, limit.ratio
		if err := inspect(bomb); err == nil || !strings.Contains(err.Error(), "unpacks to more than") {
			t.Errorf("limits %+v: %v", limit, err)
		}
		if _, err := NewMatcher([]string{"x"}).Search(bytes.NewReader(bomb), int64(len(bomb))); err == nil {
			t.Errorf("limits %+v: searched", limit)
		}
	}
}

func TestInspectRefusesOtherBytes(t *testing.T) {
	good, _ := write(t, sample())
	damaged := bytes.Clone(good)
	damaged[len(good)/2] ^= 0xFF
	for name, b := range map[string][]byte{"empty": nil, "text": []byte("hello"), "cut": good[:len(good)/2], "damaged": damaged} {
		if inspect(b) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFormulas(t *testing.T) {
	for _, good := range []string{
		"1", "A1", "$A$1+B2", "SUM(A1:A9)", "SUM(A1:A3,B1,2)", "MAX(B4*B5, 0)", `IF(B2="Yes",0.5,-0.5)`, "(1+2)*3^2/4", "B4*50%",
		"IF(B6>=4,4,IF(B6>=3,3,2))", "'Art 33 & 34 decisions'!B6*2", "Exposure!A1", "SUM('Exposure (2)'!A1:B2)", "A1<>B1", `IF(A1="say ""hi""",1,0)`,
	} {
		if err := checkFormula(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "=1", `HYPERLINK("http://x","y")`, `WEBSERVICE("http://x")`, `DDE("cmd","/c","calc")`, "cmd|'/c calc'!A0", "[1]Sheet1!A1",
		"'[book.xlsx]Sheet'!A1", `'C:\x\[b.xlsx]S'!A1`, `'C:\x\b.xlsx'!name`, "'\\\\host\\share\\x'!A1", "INDIRECT(A1)", "SUM(INDIRECT(A1))", "sum(A1)", "_xlfn.X(1)", "SUM",
		"SUM(", "SUM()", "SUM(1", "1+", "1 2", "(1))", "A1:B2:C3", "name", "{1,2}", "A1\n+1", "@A1", "MAX(1;2)", `"open`, "1.2.3", "IMPORTXML(1,2)",
		"SUM(1)(2)", "LOG10(5)", "A1!B2!C3", "#REF!", "'file:///x'#$Sheet.A1", strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000),
	} {
		if checkFormula(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

package ingest

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/unicode"

	"kvforensics/internal/evidence"
)

const csvHead = "request_id,tenant_id,received_at,prompt_tokens,prompt_text,note\n"

// csvLine is a record under csvHead.
func csvLine(id, rest string) string { return id + ",t,2026-08-27T10:00:00Z," + rest + "\n" }

func TestCSVHeaders(t *testing.T) {
	for _, c := range []struct {
		head            string
		reason, problem string // neither: no CSV
	}{
		{"request_id,tenant_id,received_at\n", "line 1: header with 3 canonical fields, separated by commas", ""},
		{"request_id;tenant_id;received_at;a,b\n", "separated by semicolons", ""},
		{"request_id\ttenant_id\treceived_at\r\n", "separated by tabs", ""},
		{"# \"made by, x\n\n \n# request_id,tenant_id\n\"request_id\",\"tenant_id\",received_at,\n", "line 5: header", ""},
		{"request_id,tenant_id,received_at", "line 1", ""},
		{"model,prompt_tokens,ttft_ms\n", "", ""},
		{"request_id,other\n", "", ""},
		{"hello request_id, tenant_id\n", "", ""},
		{"request_id,\"tenant_id,received_at\n", "", ""},
		{"request_id,tenant_id,model\n", "line 1", `no column received_at; found "request_id", "tenant_id", "model"`},
		{"request_id,tenant_id,received_at,x,x\n", "line 1", `column "x" twice`},
		{"request_id, tenant_id,received_at\n", "line 1", `header: column 2, " tenant_id", has blanks around its name`},
		{"request_id,tenant_id,received_at,a\rb\n", "line 1", `header: column 4, "a\rb", is no plain text`},
		{"request_id,tenant_id,received_at,\xff\n", "line 1", `is no plain text`},
		{strings.Repeat("x", maxHeaderBytes) + ",request_id,tenant_id\n", "", ""},
	} {
		d, ok := detectCSV([]byte(c.head))
		if ok != (c.reason != "") || !strings.Contains(d.reason, c.reason) || !strings.Contains(d.problem, c.problem) ||
			(d.problem != "") != (c.problem != "") || ok && (d.parser == nil) != (c.problem != "") {
			t.Errorf("%.60q: ok %v, reason %q, problem %q", c.head, ok, d.reason, d.problem)
		}
	}
}

func TestCSVRecords(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		ids     string // of the requests, with their lines
		reasons string // of the rejects, with their lines
		ignored int64
	}{
		"plain":            {csvLine("a", "1,,") + csvLine("b", ",,"), "a2 b3", "", 1},
		"blank lines":      {"\n  \r\n" + csvLine("a", "1,,") + "\n", "a4", "", 4},
		"late comment":     {"# no\n" + csvLine("a", "1,,"), "a3", "2: 1 fields, where the header has 6", 1},
		"lines in quotes":  {csvLine("a", "1,\"x\r\n\ny\"\"\n\",") + csvLine("b", "1,,"), "a2 b6", "", 1},
		"fields":           {csvLine("a", "1,") + csvLine("b", "1,,,") + csvLine("c", "1,,"), "c4", "2: 5 fields, where the header has 6\n3: 7 fields, where the header has 6", 1},
		"many lines wrong": {csvLine("a", "1,\"x\ny\"") + csvLine("c", "1,,"), "c4", "2: 5 fields, where the header has 6", 1},
		"open quote":       {csvLine("a", "1,\"x,") + csvLine("b", "1,,") + csvLine("c", "1,,"), "b3 c4", "2: a quote opened in this line is never closed", 1},
		"stray quotes": {
			csvLine("a", "1,\"x,") + csvLine("b", "1,,") + csvLine("c", "1,x\"y,") + csvLine("d", "1,\"y\","), "b3 d5",
			"2: field 5: text after a closing quote\n4: field 5: quote inside a value that is not quoted", 1,
		},
		"bare quote":  {csvLine("a", "1,6\" pipe,") + csvLine("b", "1,,"), "b3", "2: field 5: quote inside a value that is not quoted", 1},
		"bad values":  {csvLine("a", "-1,,") + csvLine("", "1,,") + csvLine("c", "1,\xff,") + csvLine("d", "1,\x00,"), "", "2: prompt_tokens: want a whole number, got \"-1\"\n3: request_id is missing\n4: invalid UTF-8 at byte 27\n5: NUL byte at byte 27", 1},
		"no last end": {strings.TrimSuffix(csvLine("a", "1,,"), "\n"), "a2", "", 1},
		"open at end": {csvLine("a", "1,,") + "b,\"", "a2", "3: a quote opened in this line is never closed", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := ingestBytes(t, []byte(csvHead+c.text), Options{KeepContent: true})
			var ids []string
			for _, r := range got.requests {
				ids = append(ids, fmt.Sprint(r.RequestID, r.Line))
			}
			if strings.Join(ids, " ") != c.ids || got.reasons() != c.reasons || got.source.Tally.Ignored != c.ignored {
				t.Errorf("ids %v, ignored %d, rejects\n%s", ids, got.source.Tally.Ignored, got.reasons())
			}
			checkPlaces(t, csvHead+c.text, got)
		})
	}
}

// checkPlaces holds each place against the content.
func checkPlaces(t *testing.T, content string, got outcome) {
	t.Helper()
	places := []evidence.Locator{}
	for _, r := range got.requests {
		places = append(places, r.Locator)
		if text := content[r.Offset : r.Offset+r.Length]; !strings.HasPrefix(text, r.RequestID+",") {
			t.Errorf("place of %s holds %.40q", r.RequestID, text)
		}
	}
	for _, r := range got.rejects {
		places = append(places, r.Locator)
	}
	for _, at := range places {
		if at.Offset+at.Length > int64(len(content)) {
			t.Fatalf("%+v lies outside the content", at)
		}
		if line := int64(strings.Count(content[:at.Offset], "\n")) + 1; line != at.Line {
			t.Errorf("line %d at offset %d, which is line %d", at.Line, at.Offset, line)
		}
	}
}

func TestCSVValues(t *testing.T) {
	text := csvHead + "a,t,2026-08-27 10:00:00,,\"x\r\ny\"\"z\",\"é \"\"<\n\"\n"
	got := ingestBytes(t, []byte(text), Options{KeepContent: true})
	if len(got.requests) != 1 {
		t.Fatal(got.reasons())
	}
	r := got.requests[0]
	if r.PromptText != "x\r\ny\"z" || r.Extra != `{"received_at":"2026-08-27 10:00:00","note":"é \"<\n"}` ||
		r.TimeBasis != evidence.TimeZoneMissing || r.PromptTokens.Known {
		t.Errorf("got %+v", r)
	}
	zoned := ingestBytes(t, []byte(text), Options{Zone: time.FixedZone("", 3600)}).requests[0]
	if zoned.PromptText != "" || zoned.Extra != `{"note":"é \"<\n"}` || zoned.TimeBasis != evidence.TimeStatedZone || zoned.OffsetMin.V != 60 {
		t.Errorf("with a zone: %+v", zoned)
	}
	late := ingestBytes(t, []byte("request_id,tenant_id,received_at,finished_at\na,t,1787824800,2026-08-27T10:00:00\n"), Options{}).requests[0]
	if late.FinishedAt.Known || late.Extra != `{"finished_at":"2026-08-27T10:00:00"}` || late.TimeBasis != evidence.TimeEpochS {
		t.Errorf("a zone-less time other than received_at: %+v", late)
	}
}

// Records that are larger than a block, and that lie across block ends.
func TestCSVAcrossBlocks(t *testing.T) {
	var text strings.Builder
	text.WriteString(csvHead)
	long := strings.Repeat("a line of a prompt\n", blockBytes/19*2)
	text.WriteString(csvLine("one-line", `1,"`+strings.Repeat("x", maxRecordBytes+1)+`",`))
	text.WriteString(csvLine("many-lines", `1,"`+long+`",`))
	for i := range 60_000 {
		text.WriteString(csvLine(fmt.Sprintf("r%d", i), fmt.Sprintf("%d,\"%s\n\"\"\",", i, strings.Repeat("y", i%300))))
	}
	content := text.String()
	for name, c := range map[string]string{"utf-8": content, "with mark": "\xef\xbb\xbf" + content} {
		got := ingestBytes(t, []byte(c), Options{KeepContent: true})
		got.wantState(t, evidence.SourceRead, "")
		if len(got.requests) != 60_002 || len(got.rejects) != 0 {
			t.Fatalf("%s: %d requests, rejects: %.200s", name, len(got.requests), got.reasons())
		}
		checkPlaces(t, c, outcome{requests: got.requests[:50]})
		last := got.requests[60_001]
		if got.requests[1].PromptText != long || last.PromptText != strings.Repeat("y", 299)+"\n\"" || last.PromptTokens.V != 59_999 {
			t.Errorf("%s: texts differ: %.80q", name, last.PromptText)
		}
	}
}

func TestCSVUnclosedQuoteIsBounded(t *testing.T) {
	rows := strings.Repeat(csvLine("a", "1,,"), maxRecordBytes/30)
	got := ingestBytes(t, []byte(csvHead+csvLine("bad", `1,"x,`)+rows), Options{})
	if want := maxRecordBytes / 30; len(got.requests) != want || got.reasons() != "2: a quote opened in this line is never closed" {
		t.Errorf("%d requests of %d, rejects: %.200s", len(got.requests), want, got.reasons())
	}
}

// A line too long to be read ends the record that was open before it.
func TestCSVAroundAnOverlongLine(t *testing.T) {
	p := &csvParser{header: csvHeader{line: 1, delimiter: ',', columns: make([]csvColumn, 2)}}
	reader := &blockReader{content: strings.NewReader("h,h\na,\"\n"), encoding: utf8Text}
	var out batch
	b, err := reader.next(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.parse(b, &out); err != nil || len(out.rejects) != 0 {
		t.Fatal(err, out.rejects)
	}
	later := &block{data: []byte("x\n"), offset: 1000, firstLine: 4, encoding: utf8Text}
	if err := p.parse(later, &out); err != nil || len(out.rejects) != 2 || out.rejects[0].Line != 2 || out.rejects[1].Line != 4 {
		t.Errorf("%v: %+v", err, out.rejects)
	}
}

func TestCSVInUTF16(t *testing.T) {
	text := csvHead + csvLine("a", "1,\"Ů\n中\",č") + csvLine("b", "x,,") + csvLine("c", "1,\"")
	content, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := ingestBytes(t, content, Options{KeepContent: true})
	if len(got.requests) != 1 || got.requests[0].PromptText != "Ů\n中" || got.requests[0].Extra != `{"note":"č"}` || len(got.rejects) != 2 {
		t.Fatalf("%+v\n%s", got.requests, got.reasons())
	}
	if at := got.requests[0].Locator; at.Offset != int64(2+2*len(csvHead)) || at.Line != 2 {
		t.Errorf("place %+v", at)
	}
}

func TestCSVRefusedHeaderLeavesTheFileUnread(t *testing.T) {
	got := ingestBytes(t, []byte("request_id,tenant_id\na,b\n"), Options{})
	got.wantState(t, evidence.SourceUnread, "no column received_at")
	if got.source.Format != evidence.FormatCSV || got.source.Tally.Ignored != 1 {
		t.Errorf("%+v", got.source)
	}
}

// splitAgrees holds csvSplit against encoding/csv, which knows the same
// grammar but turns CRLF into LF.
func splitAgrees(t *testing.T, record []byte, delimiter byte) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(record))
	r.Comma = rune(delimiter)
	want, wantErr := r.Read()
	if wantErr == nil && r.InputOffset() < int64(len(record)) {
		return // lines outside quotes: more than one record
	}
	got, err := csvSplit(nil, record, delimiter)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q: %v, encoding/csv: %v", record, err, wantErr)
	}
	var texts []string
	for _, f := range got {
		texts = append(texts, string(f))
	}
	if err == nil && !reflect.DeepEqual(texts, want) {
		t.Fatalf("%q: %q, encoding/csv: %q", record, texts, want)
	}
}

func FuzzCSVSplit(f *testing.F) {
	for _, s := range []string{`a,b`, `"a""b",`, `"a`, `a"b`, `"a"b`, `,,`, `""`, "\"x\n,y\",z"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		if len(record) == 0 || bytes.ContainsAny(record, "\r") || bytes.HasSuffix(record, []byte("\n")) || bytes.HasPrefix(record, []byte("\n")) {
			return
		}
		splitAgrees(t, record, ',')
	})
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{csvLine("a", "1,x,y"), csvLine("a", "1,\"x\ny\",\"\""), "\"", "#\n\"a\n\n", "a,\"b\r\nc\"\"", "\xff,\x00"} {
		f.Add([]byte(s), uint16(7))
	}
	d, _ := detectCSV([]byte(csvHead))
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		content := append([]byte(csvHead), text...)
		whole := parseInBlocks(t, d.parser(Options{}), content, len(content))
		parts := parseInBlocks(t, d.parser(Options{}), content, int(cut)+1)
		if !reflect.DeepEqual(whole, parts) {
			t.Fatalf("cut into blocks of %d: %+v, whole: %+v", cut, parts, whole)
		}
		if whole.Bytes() != int64(len(content)) {
			t.Fatalf("%d bytes of %d: %+v", whole.Bytes(), len(content), whole)
		}
	})
}

// parseInBlocks gives a parser blocks of whole lines, of about size bytes.
func parseInBlocks(t *testing.T, p parser, content []byte, size int) evidence.Tally {
	t.Helper()
	var out batch
	var total evidence.Tally
	at := block{firstLine: 1, encoding: utf8Text}
	for len(content) > 0 {
		n := min(size, len(content))
		if end := bytes.IndexByte(content[n-1:], '\n'); end >= 0 {
			n += end
		} else {
			n = len(content)
		}
		b := at
		b.data = bytes.Clone(content[:n])
		out.reset()
		if err := p.parse(&b, &out); err != nil {
			t.Fatal(err)
		}
		total.Add(out.tally)
		clear(b.data) // as the next block would overwrite it
		at.offset, at.firstLine = at.offset+int64(n), at.firstLine+int64(bytes.Count(content[:n], []byte{'\n'}))
		content = content[n:]
	}
	out.reset()
	if err := p.close(&out); err != nil {
		t.Fatal(err)
	}
	total.Add(out.tally)
	return total
}

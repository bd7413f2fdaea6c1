package output

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// given gives fixed rows.
type given struct{ rows [][]any }

func (g *given) Next() ([]any, error) {
	if len(g.rows) == 0 {
		return nil, io.EOF
	}
	row := g.rows[0]
	g.rows = g.rows[1:]
	return row, nil
}

var (
	columns = []Column{{"id", Text}, {"n", Int}, {"room", Uint}, {"ms", Float}, {"ok", Bool}, {"at", Time}, {"wall", WallTime}, {"reasons", TextList}}
	at      = time.Date(2026, 8, 27, 1, 2, 3, 123456000, time.FixedZone("", 3600))
	rows    = [][]any{
		{"a", int64(1), uint64(math.MaxUint64), 1.5, true, at, at, []string{"x", "y"}},
		{nil, nil, nil, nil, nil, nil, nil, nil},
		{"=1+1", int64(-2), uint64(0), math.Inf(1), false, at.Truncate(time.Second), at.Truncate(time.Second), []string{}},
		{"\x1b[31mred\u202e <b>é", int64(0), uint64(7), -0.25, true, at, at, []string{"=x"}},
	}
)

func written(t *testing.T, f Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, columns, &given{rows}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextFormats(t *testing.T) {
	for f, want := range map[Format]string{
		Table: `id                                 n                  room     ms  ok     at                           wall                        reasons
a                                  1  18446744073709551615    1.5  true   2026-08-27T00:02:03.123456Z  2026-08-27T01:02:03.123456  x; y

=1+1                              -2                     0   +Inf  false  2026-08-27T00:02:03Z         2026-08-27T01:02:03
\x1b[31mred\u202e <b>é             0                     7  -0.25  true   2026-08-27T00:02:03.123456Z  2026-08-27T01:02:03.123456  =x
`,
		CSV: `id,n,room,ms,ok,at,wall,reasons
a,1,18446744073709551615,1.5,true,2026-08-27T00:02:03.123456Z,2026-08-27T01:02:03.123456,x; y
,,,,,,,
'=1+1,-2,0,+Inf,false,2026-08-27T00:02:03Z,2026-08-27T01:02:03,
\x1b[31mred\u202e <b>é,0,7,-0.25,true,2026-08-27T00:02:03.123456Z,2026-08-27T01:02:03.123456,'=x
`,
		JSONL: `{"id":"a","n":1,"room":18446744073709551615,"ms":1.5,"ok":true,"at":"2026-08-27T00:02:03.123456Z","wall":"2026-08-27T01:02:03.123456","reasons":["x","y"]}
{"id":null,"n":null,"room":null,"ms":null,"ok":null,"at":null,"wall":null,"reasons":null}
{"id":"=1+1","n":-2,"room":0,"ms":null,"ok":false,"at":"2026-08-27T00:02:03Z","wall":"2026-08-27T01:02:03","reasons":[]}
{"id":"\u001b[31mred` + "\u202e" + ` <b>é","n":0,"room":7,"ms":-0.25,"ok":true,"at":"2026-08-27T00:02:03.123456Z","wall":"2026-08-27T01:02:03.123456","reasons":["=x"]}
`,
	} {
		got := string(written(t, f))
		if f == Table {
			got = squeeze(got)
			want = squeeze(want)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", f, got, want)
		}
	}
}

// squeeze makes runs of blanks one, so that the golden text need not count
// them; alignment has a test of its own.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestTableAligns(t *testing.T) {
	var b bytes.Buffer
	wide := [][]any{{"日本", int64(5), "last is free " + strings.Repeat("x", 100)}, {strings.Repeat("long", 30), int64(12345), "z"}}
	if err := Write(&b, Table, []Column{{"a", Text}, {"n", Int}, {"z", Text}}, &given{wide}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	want := []string{
		"a" + strings.Repeat(" ", 59) + "      n  z",
		"日本" + strings.Repeat(" ", 56) + "      5  last is free " + strings.Repeat("x", 100),
		strings.Repeat("long", 30)[:59] + "…  12345  z",
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("line %d:\n%q\nwant\n%q", i, lines[i], want[i])
		}
	}
}

func TestManyRowsStream(t *testing.T) {
	var list [][]any
	for i := range 3 * sizedRows {
		list = append(list, []any{"id", int64(i)})
	}
	for _, f := range []Format{Table, CSV} {
		var b bytes.Buffer
		if err := Write(&b, f, []Column{{"a", Text}, {"n", Int}}, &given{list}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "\n"); got != len(list)+1 {
			t.Errorf("%s: %d lines", f, got)
		}
	}
}

func TestColumnarFormatsReadBack(t *testing.T) {
	stream, err := ipc.NewReader(bytes.NewReader(written(t, Arrow)))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Release()
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	checkBatch(t, stream.RecordBatch())

	reader, err := file.NewParquetReader(bytes.NewReader(written(t, Parquet)))
	if err != nil {
		t.Fatal(err)
	}
	arrowReader, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{BatchSize: 100}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := arrowReader.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer batches.Release()
	if !batches.Next() {
		t.Fatal(batches.Err())
	}
	checkBatch(t, batches.RecordBatch())
}

func checkBatch(t *testing.T, b arrow.RecordBatch) {
	t.Helper()
	if b.NumRows() != int64(len(rows)) || b.NumCols() != int64(len(columns)) {
		t.Fatalf("%d rows, %d columns", b.NumRows(), b.NumCols())
	}
	if got := b.Column(0).(*array.String).Value(3); got != rows[3][0] {
		t.Errorf("text %q: columnar formats keep text as it is", got)
	}
	if got := b.Column(2).(*array.Uint64).Value(0); got != math.MaxUint64 {
		t.Errorf("room %d", got)
	}
	if got := b.Column(5).(*array.Timestamp).Value(0); int64(got) != at.UnixMicro() {
		t.Errorf("time %d", got)
	}
	for i := range columns {
		if !b.Column(i).IsNull(1) {
			t.Errorf("column %d of the NULL row is not null", i)
		}
	}
}

func TestSameBytesTwice(t *testing.T) {
	for _, f := range []Format{Table, CSV, JSONL, Parquet, Arrow} {
		if !bytes.Equal(written(t, f), written(t, f)) {
			t.Errorf("%s differs from run to run", f)
		}
	}
}

func TestFormulasAreDisarmed(t *testing.T) {
	for cell, want := range map[string]string{
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1+2": "'+1+2", "-1": "-1", "-1.5": "-1.5", "+7": "+7", "-1+cmd|x": "'-1+cmd|x",
		"@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "  =1": "'  =1", "＝1": "'＝1", "plain": "plain", "": "", "a=b": "a=b", "--1": "'--1",
	} {
		if got := noFormula(cell); got != want {
			t.Errorf("%q: got %q, want %q", cell, got, want)
		}
	}
}

func TestValuesOfTheDriver(t *testing.T) {
	for _, c := range []struct {
		name string
		in   any
		want any
	}{
		{"INTEGER", int32(5), int64(5)}, {"BIGINT", int64(-5), int64(-5)}, {"UBIGINT", uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{"FLOAT", float32(0.5), 0.5}, {"VARCHAR", "x", "x"}, {"BLOB", []byte("ab"), "ab"}, {"HUGEINT", "123", "123"}, {"BOOLEAN", true, true},
		{"DATE", time.Date(2026, 8, 27, 0, 0, 0, 0, time.UTC), "2026-08-27"}, {"VARCHAR", nil, nil},
	} {
		if got := Value(TypeOf(c.name), c.in); got != c.want {
			t.Errorf("%s %v: got %v (%T), want %v", c.name, c.in, got, got, c.want)
		}
	}
	if got := Value(TypeOf("VARCHAR[]"), []any{"a", "b"}).([]string); strings.Join(got, ",") != "a,b" {
		t.Errorf("list %q", got)
	}
}

func TestUnknownFormatIsNamed(t *testing.T) {
	if _, err := ParseFormat("xls"); err == nil || !strings.Contains(err.Error(), `"xls"`) {
		t.Error(err)
	}
}

func FuzzHostileText(f *testing.F) {
	for _, s := range []string{"plain é", "\x1b]8;;http://x\x07", "\u202e\u2066\u200b\ufeff", "\xff\xfe", "=1", "\x00\r\n", "\U000e0041", "\u0085\u009b31m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Inert(s)
		for _, r := range got {
			if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		if !utf8.ValidString(got) || Inert(got) != got {
			t.Fatalf("%q is not stable", got)
		}
		var b bytes.Buffer
		if err := Write(&b, CSV, []Column{{"a", Text}, {"b", Text}}, &given{[][]any{{s, "end"}}}); err != nil {
			t.Fatal(err)
		}
		back, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(back) != 2 || back[1][1] != "end" || back[1][0] != noFormula(got) {
			t.Fatalf("%q, %v", back, err)
		}
		b.Reset()
		if err := Write(&b, JSONL, []Column{{"a", Text}}, &given{[][]any{{s}}}); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(b.Bytes(), []byte{'\n'}) != 1 || !json.Valid(b.Bytes()) {
			t.Fatalf("%q", b.String())
		}
	})
}

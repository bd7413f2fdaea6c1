package output

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// given gives fixed rows, then err or io.EOF.
type given struct {
	rows [][]any
	err  error
}

func (g *given) Next() ([]any, error) {
	if len(g.rows) == 0 {
		if g.err != nil {
			return nil, g.err
		}
		return nil, io.EOF
	}
	row := g.rows[0]
	g.rows = g.rows[1:]
	return row, nil
}

var (
	formats = []Format{Table, CSV, JSONL, Parquet, Arrow}
	columns = []Column{{"id", Text}, {"n", Int}, {"room", Uint}, {"ms", Float}, {"ok", Bool}, {"at", Time}, {"wall", WallTime}, {"reasons", TextList}, {"sum", Other}}
	at      = time.Date(2026, 8, 27, 1, 2, 3, 123456000, time.FixedZone("", 3600))
	rows    = [][]any{
		{"a", int64(math.MaxInt64), uint64(math.MaxUint64), 1.5, true, at, at, []string{"x", "y"}, "170141183460469231731687303715884105727"},
		{nil, nil, nil, nil, nil, nil, nil, nil, nil},
		{"=1+1", int64(-2), uint64(0), math.Inf(1), false, at.Truncate(time.Second), at.Truncate(time.Second), []string{}, "-1.50"},
		{"\x1b[31mred\u202e \u2028<b>é\x00", int64(0), uint64(7), 12345678.25, true, at, at, []string{"=x", "\u009b2J"}, ""},
	}
)

// written gives what Write writes; it fails the test where memory is kept.
func written(t testing.TB, f Format, columns []Column, rows [][]any) []byte {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var b bytes.Buffer
	if err := write(&b, f, columns, &given{rows: rows}, mem); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextFormats(t *testing.T) {
	for f, want := range map[Format]string{
		Table: `id                                              n                  room           ms  ok     at                           wall                        reasons        sum
a                             9223372036854775807  18446744073709551615          1.5  true   2026-08-27T00:02:03.123456Z  2026-08-27T01:02:03.123456  x; y           170141183460469231731687303715884105727

=1+1                                           -2                     0         +Inf  false  2026-08-27T00:02:03Z         2026-08-27T01:02:03                        -1.50
\x1b[31mred\u202e \u2028<b>é\x00                    0                     7  12345678.25  true   2026-08-27T00:02:03.123456Z  2026-08-27T01:02:03.123456  =x; \u009b2J
`,
		CSV: `id,n,room,ms,ok,at,wall,reasons,sum
a,9223372036854775807,18446744073709551615,1.5,true,2026-08-27T00:02:03.123456Z,2026-08-27T01:02:03.123456,x; y,170141183460469231731687303715884105727
,,,,,,,,
'=1+1,-2,0,+Inf,false,2026-08-27T00:02:03Z,2026-08-27T01:02:03,,-1.50
\x1b[31mred\u202e \u2028<b>é\x00,0,7,12345678.25,true,2026-08-27T00:02:03.123456Z,2026-08-27T01:02:03.123456,'=x; \u009b2J,
`,
		JSONL: `{"id":"a","n":9223372036854775807,"room":18446744073709551615,"ms":1.5,"ok":true,"at":"2026-08-27T00:02:03.123456Z","wall":"2026-08-27T01:02:03.123456","reasons":["x","y"],"sum":"170141183460469231731687303715884105727"}
{"id":null,"n":null,"room":null,"ms":null,"ok":null,"at":null,"wall":null,"reasons":null,"sum":null}
{"id":"=1+1","n":-2,"room":0,"ms":null,"ok":false,"at":"2026-08-27T00:02:03.000000Z","wall":"2026-08-27T01:02:03.000000","reasons":[],"sum":"-1.50"}
{"id":"\u001b[31mred\u202e \u2028<b>é\u0000","n":0,"room":7,"ms":12345678.25,"ok":true,"at":"2026-08-27T00:02:03.123456Z","wall":"2026-08-27T01:02:03.123456","reasons":["=x","\u009b2J"],"sum":""}
`,
	} {
		got := string(written(t, f, columns, rows))
		if f == Table { // alignment has a test of its own
			got, want = squeeze(got), squeeze(want)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", f, got, want)
		}
	}
}

func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestTableAligns(t *testing.T) {
	wide := [][]any{
		{"日本", int64(5), "last is free " + strings.Repeat("x", 100)},
		{strings.Repeat("long", 30), int64(12345), "z"},
		{nil, nil, nil},
	}
	got := string(written(t, Table, []Column{{"a", Text}, {"n", Int}, {"z", Text}}, wide))
	want := strings.Join([]string{
		"a" + strings.Repeat(" ", 59) + "      n  z",
		"日本" + strings.Repeat(" ", 56) + "      5  last is free " + strings.Repeat("x", 100),
		strings.Repeat("long", 30)[:59] + "…  12345  z",
		"", "",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableKeepsWidthsAfterTheFirstRows(t *testing.T) {
	var list [][]any
	for range sizedRows {
		list = append(list, []any{"id", int64(1)})
	}
	list = append(list, []any{"wider", int64(2)})
	lines := strings.Split(string(written(t, Table, []Column{{"a", Text}, {"n", Int}}, list)), "\n")
	if len(lines) != len(list)+2 || lines[1] != "id  1" || lines[len(list)] != "wider  2" {
		t.Errorf("%d lines, first %q, last %q", len(lines), lines[1], lines[len(list)])
	}
}

func TestNoRows(t *testing.T) {
	two := []Column{{"a", Text}, {"n", Int}}
	for f, want := range map[Format]string{Table: "a  n\n", CSV: "a,n\n", JSONL: ""} {
		if got := string(written(t, f, two, nil)); got != want {
			t.Errorf("%s: %q", f, got)
		}
	}
}

func TestColumnsOfOneNameAreNumbered(t *testing.T) {
	same := []Column{{"a", Int}, {"a", Int}, {"a_1", Int}}
	got := string(written(t, JSONL, same, [][]any{{int64(1), int64(2), int64(3)}}))
	if got != `{"a":1,"a_1":2,"a_1_1":3}`+"\n" {
		t.Error(got)
	}
	if same[1].Name != "a" {
		t.Error("the caller's columns were changed")
	}
}

func TestSameBytesTwice(t *testing.T) {
	for _, f := range formats {
		if !bytes.Equal(written(t, f, columns, rows), written(t, f, columns, rows)) {
			t.Errorf("%s differs from run to run", f)
		}
	}
}

func TestClosedPipeIsKnown(t *testing.T) {
	big := slices.Repeat([][]any{{strings.Repeat("x", 1<<20)}}, 3)
	for _, f := range formats {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		err = Write(w, f, []Column{{"a", Text}}, &given{rows: big})
		if !errors.Is(err, syscall.EPIPE) || !strings.HasPrefix(err.Error(), "write "+string(f)+": ") {
			t.Errorf("%s: %v", f, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestErrorOfTheRows(t *testing.T) {
	cause := errors.New("no more")
	for _, f := range formats {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		var b bytes.Buffer
		err := write(&b, f, []Column{{"a", Text}}, &given{[][]any{{"one"}}, cause}, mem)
		if err != cause {
			t.Errorf("%s: %v", f, err)
		}
		mem.AssertSize(t, 0)
		switch f {
		case Parquet:
			if _, err := file.NewParquetReader(bytes.NewReader(b.Bytes())); err == nil {
				t.Error("a cut parquet file looks whole")
			}
		case Table, CSV, JSONL:
			if !bytes.HasSuffix(b.Bytes(), []byte("\n")) || !bytes.Contains(b.Bytes(), []byte("one")) {
				t.Errorf("%s: rows before the error are lost: %q", f, b.Bytes())
			}
		}
	}
}

func TestUnknownFormatIsNamed(t *testing.T) {
	if _, err := ParseFormat("xls"); err == nil || !strings.Contains(err.Error(), `"xls"`) {
		t.Error(err)
	}
	if err := Write(io.Discard, "xls", nil, &given{}); err == nil || err.Error() != "write xls: unknown format" {
		t.Error(err)
	}
	for _, f := range formats {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Error(got, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	const n = 20_000
	list := slices.Repeat([][]any{{"req-0192a7c4-77b1-7c3e", int64(131072), uint64(math.MaxUint64), 1834.25, true, at, at, []string{"over the input limit", "no tokens"}, "12"}}, n)
	for _, f := range formats {
		b.Run(string(f), func(b *testing.B) {
			for b.Loop() {
				if err := Write(io.Discard, f, columns, &given{rows: list}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

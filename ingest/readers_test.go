package ingest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"kvforensics/internal/evidence"
)

// outcome is what one content gave.
type outcome struct {
	source   evidence.Source
	requests []evidence.Request
	rejects  []evidence.Rejected
}

func ingestBytes(t *testing.T, content []byte, o Options) outcome {
	t.Helper()
	m := read(t, o, write(t, "evidence", content))
	s := m.sources[0]
	if int64(len(m.requests[s.ID])) != s.Tally.Records {
		t.Errorf("%d request rows, %d counted", len(m.requests[s.ID]), s.Tally.Records)
	}
	return outcome{s, m.requests[s.ID], m.rejects[s.ID]}
}

// bare gives the requests without their places.
func (o outcome) bare() []evidence.Request {
	list := append([]evidence.Request(nil), o.requests...)
	for i := range list {
		list[i].Locator = evidence.Locator{}
	}
	return list
}

func (o outcome) reasons() string {
	var list []string
	for _, r := range o.rejects {
		list = append(list, fmt.Sprintf("%d: %s", r.Line, r.Reason))
	}
	return strings.Join(list, "\n")
}

// wantState fails unless the source is in that state, with that in its problem.
func (o outcome) wantState(t *testing.T, state evidence.SourceState, problem string) {
	t.Helper()
	if o.source.State != state || !strings.Contains(o.source.Problem, problem) {
		t.Errorf("source is %s (%s), want %s (%s)", o.source.State, o.source.Problem, state, problem)
	}
}

// A column of a test table, with its values as JSON.
type testColumn struct {
	name   string
	kind   arrow.DataType
	values []string
}

// required are the columns without which no row is read.
func required(n int) []testColumn {
	var ids, tenants, times []string
	for i := range n {
		ids = append(ids, fmt.Sprintf(`"r%d"`, i+1))
		tenants = append(tenants, fmt.Sprintf(`"t%d"`, i%3))
		times = append(times, fmt.Sprintf(`"2026-08-27T10:%02d:%02d.%06dZ"`, i/60%60, i%60, i))
	}
	return []testColumn{
		{"request_id", arrow.BinaryTypes.String, ids},
		{"tenant_id", arrow.BinaryTypes.String, tenants},
		{"received_at", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, times},
	}
}

// record makes an Arrow record batch of columns.
func record(t testing.TB, mem memory.Allocator, columns []testColumn) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.kind, Nullable: true})
	}
	var arrays []arrow.Array
	for _, c := range columns {
		a, _, err := array.FromJSON(mem, c.kind, strings.NewReader("["+strings.Join(c.values, ",")+"]"))
		if err != nil {
			t.Fatalf("column %s: %v", c.name, err)
		}
		defer a.Release()
		arrays = append(arrays, a)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, -1)
}

// pieces cuts a record into pieces of at most n rows.
func pieces(r arrow.RecordBatch, n int64) []arrow.RecordBatch {
	var list []arrow.RecordBatch
	for from := int64(0); from < r.NumRows(); from += n {
		list = append(list, r.NewSlice(from, min(from+n, r.NumRows())))
	}
	return list
}

func parquetBytes(t testing.TB, r arrow.RecordBatch, rowsPerGroup int64, props ...pqarrow.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(r.Schema(), &out,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDataPageSize(512)),
		pqarrow.NewArrowWriterProperties(props...))
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range pieces(r, rowsPerGroup) {
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		piece.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func arrowFileBytes(t testing.TB, r arrow.RecordBatch, rowsPerBatch int64, options ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, append(options, ipc.WithSchema(r.Schema()))...)
	if err != nil {
		t.Fatal(err)
	}
	writeBatches(t, w, r, rowsPerBatch)
	return out.Bytes()
}

func arrowStreamBytes(t testing.TB, r arrow.RecordBatch, rowsPerBatch int64, options ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	writeBatches(t, ipc.NewWriter(&out, append(options, ipc.WithSchema(r.Schema()))...), r, rowsPerBatch)
	return out.Bytes()
}

func writeBatches(t testing.TB, w interface {
	Write(arrow.RecordBatch) error
	Close() error
}, r arrow.RecordBatch, rowsPerBatch int64) {
	t.Helper()
	for _, piece := range pieces(r, rowsPerBatch) {
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		piece.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// jsonlBytes writes columns as JSON Lines; nulls are left out.
func jsonlBytes(columns []testColumn) []byte {
	var out bytes.Buffer
	for i := range columns[0].values {
		sep := "{"
		for _, c := range columns {
			if c.values[i] != "null" {
				fmt.Fprintf(&out, "%s%q: %s", sep, c.name, c.values[i])
				sep = ", "
			}
		}
		out.WriteString("}\n")
	}
	return out.Bytes()
}

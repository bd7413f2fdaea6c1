package output

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func TestArrowReadsBack(t *testing.T) {
	stream, err := ipc.NewReader(bytes.NewReader(written(t, Arrow, columns, rows)))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Release()
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	checkBatch(t, stream.RecordBatch())
}

func TestParquetReadsBack(t *testing.T) {
	reader := openParquet(t, written(t, Parquet, columns, rows))
	if got := reader.MetaData().GetCreatedBy(); got != "kvforensics" {
		t.Errorf("created by %q", got)
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

func openParquet(t *testing.T, data []byte) *file.Reader {
	t.Helper()
	reader, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	})
	return reader
}

func checkBatch(t *testing.T, b arrow.RecordBatch) {
	t.Helper()
	if b.NumRows() != int64(len(rows)) || b.NumCols() != int64(len(columns)) {
		t.Fatalf("%d rows, %d columns", b.NumRows(), b.NumCols())
	}
	for i, c := range columns {
		if field := b.Schema().Field(i); field.Name != c.Name || !arrow.TypeEqual(field.Type, arrowType(c.Type)) {
			t.Errorf("column %s: %s of %s", c.Name, field.Name, field.Type)
		}
		for r := range rows {
			if got, want := valueAt(b.Column(i), r), canonical(c.Type, rows[r][i]); !equal(got, want) {
				t.Errorf("column %s, row %d: got %v, want %v", c.Name, r, got, want)
			}
		}
	}
}

// canonical gives times as the instants that a reader sees.
func canonical(t Type, v any) any {
	switch x := v.(type) {
	case time.Time:
		if t == WallTime {
			return time.Date(x.Year(), x.Month(), x.Day(), x.Hour(), x.Minute(), x.Second(), x.Nanosecond(), time.UTC)
		}
		return x.UTC()
	}
	return v
}

func equal(a, b any) bool {
	if list, ok := a.([]string); ok {
		other, ok := b.([]string)
		return ok && slices.Equal(list, other)
	}
	return a == b
}

func valueAt(column arrow.Array, row int) any {
	if column.IsNull(row) {
		return nil
	}
	switch c := column.(type) {
	case *array.String:
		return c.Value(row)
	case *array.Int64:
		return c.Value(row)
	case *array.Uint64:
		return c.Value(row)
	case *array.Float64:
		return c.Value(row)
	case *array.Boolean:
		return c.Value(row)
	case *array.Timestamp:
		return c.Value(row).ToTime(arrow.Microsecond)
	case *array.List:
		from, to := c.ValueOffsets(row)
		list := []string{}
		for i := from; i < to; i++ {
			list = append(list, c.ListValues().(*array.String).Value(int(i)))
		}
		return list
	}
	return column
}

func TestRowGroupsAreBounded(t *testing.T) {
	list := slices.Repeat([][]any{{int64(1)}}, batchRows+1)
	reader := openParquet(t, written(t, Parquet, []Column{{"n", Int}}, list))
	if reader.NumRowGroups() != 2 || reader.NumRows() != batchRows+1 {
		t.Errorf("%d groups of %d rows", reader.NumRowGroups(), reader.NumRows())
	}
	long := slices.Repeat([][]any{{strings.Repeat("x", batchBytes/4)}}, 5)
	reader = openParquet(t, written(t, Parquet, []Column{{"s", Text}}, long))
	if reader.NumRowGroups() != 2 || reader.NumRows() != 5 {
		t.Errorf("%d groups of %d rows of long text", reader.NumRowGroups(), reader.NumRows())
	}
}

func TestValueOfTheWrongTypeIsAnError(t *testing.T) {
	for kind, v := range map[Type]any{Text: int64(1), Int: "1", Uint: int64(-1), Float: int64(1), Bool: "t", Time: "now", TextList: true, Other: math.Pi} {
		err := Write(io.Discard, Arrow, []Column{{"c", kind}}, &given{rows: [][]any{{v}}})
		if err == nil || !strings.HasPrefix(err.Error(), "write arrow: column c: ") {
			t.Errorf("%v in a column of type %d: %v", v, kind, err)
		}
	}
}

func TestColumnarTextIsValid(t *testing.T) {
	stream, err := ipc.NewReader(bytes.NewReader(written(t, Arrow, []Column{{"a", Text}}, [][]any{{"a\xffb"}})))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Release()
	if !stream.Next() || valueAt(stream.RecordBatch().Column(0), 0) != "a\ufffdb" {
		t.Error("invalid UTF-8 was kept")
	}
}

package output

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// An Arrow batch, which is also a Parquet row group, ends at whichever comes
// first. The bytes are those of text, of which evidence may bring any amount.
const (
	batchRows  = 64 << 10
	batchBytes = 64 << 20
)

// batchSink is the writer of one of Arrow's file formats.
type batchSink interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// columnar gathers rows into batches for a sink.
type columnar struct {
	columns []Column
	builder *array.RecordBuilder
	sink    batchSink
	rows    int
	bytes   int
}

func newArrow(w *bufio.Writer, columns []Column, mem memory.Allocator) (writer, error) {
	schema := schemaOf(columns)
	return newColumnar(columns, schema, ipc.NewWriter(w, ipc.WithSchema(schema), ipc.WithAllocator(mem)), mem), nil
}

// newParquet names a fixed creator: with the library's version, an upgrade
// would change the digest of an old result.
func newParquet(w *bufio.Writer, columns []Column, mem memory.Allocator) (writer, error) {
	properties := parquet.NewWriterProperties(parquet.WithAllocator(mem), parquet.WithCreatedBy("kvforensics"),
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithMaxRowGroupLength(batchRows))
	schema := schemaOf(columns)
	sink, err := pqarrow.NewFileWriter(schema, noClose{w}, properties,
		pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(mem), pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, err
	}
	return newColumnar(columns, schema, sink, mem), nil
}

// noClose leaves the caller's file open: pqarrow closes what it can.
type noClose struct{ io.Writer }

func newColumnar(columns []Column, schema *arrow.Schema, sink batchSink, mem memory.Allocator) *columnar {
	return &columnar{columns: columns, builder: array.NewRecordBuilder(mem, schema), sink: sink}
}

func schemaOf(columns []Column) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c.Type), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func arrowType(t Type) arrow.DataType {
	switch t {
	case Int:
		return arrow.PrimitiveTypes.Int64
	case Uint:
		return arrow.PrimitiveTypes.Uint64
	case Float:
		return arrow.PrimitiveTypes.Float64
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Time:
		return arrow.FixedWidthTypes.Timestamp_us
	case WallTime:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case TextList:
		return arrow.ListOf(arrow.BinaryTypes.String)
	}
	return arrow.BinaryTypes.String
}

func (c *columnar) row(values []any) error {
	for i, v := range values {
		if !c.add(i, v) {
			return fmt.Errorf("column %s: %T does not fit %s", c.columns[i].Name, v, arrowType(c.columns[i].Type))
		}
	}
	if c.rows++; c.rows == batchRows || c.bytes >= batchBytes {
		return c.flush()
	}
	return nil
}

// add appends a value to a column, unless it is of the wrong type.
func (c *columnar) add(column int, v any) bool {
	to := c.builder.Field(column)
	switch x := v.(type) {
	case nil:
		to.AppendNull()
		return true
	case string:
		c.bytes += len(x)
		return appendTo(to, validUTF8(x))
	case []string:
		return c.addList(to, x)
	case int64:
		return appendTo(to, x)
	case uint64:
		return appendTo(to, x)
	case float64:
		return appendTo(to, x)
	case bool:
		return c.columns[column].Type == Bool && appendTo(to, x) // a list's builder has an Append(bool) too
	case time.Time:
		return appendTo(to, arrow.Timestamp(micros(c.columns[column].Type, x)))
	}
	return false
}

func (c *columnar) addList(to array.Builder, list []string) bool {
	lists, ok := to.(*array.ListBuilder)
	if !ok {
		return false
	}
	lists.Append(true)
	for _, s := range list {
		c.bytes += len(s)
		appendTo(lists.ValueBuilder(), validUTF8(s))
	}
	return true
}

func appendTo[T any](to array.Builder, v T) bool {
	b, ok := to.(interface{ Append(T) })
	if ok {
		b.Append(v)
	}
	return ok
}

// validUTF8 keeps one bad byte from making a whole file unreadable.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func (c *columnar) flush() error {
	batch := c.builder.NewRecordBatch()
	defer batch.Release()
	c.rows, c.bytes = 0, 0
	return c.sink.Write(batch)
}

func (c *columnar) close(whole bool) error {
	defer c.builder.Release()
	if !whole {
		return nil
	}
	if c.rows > 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	return c.sink.Close()
}

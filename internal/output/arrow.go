package output

import (
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// batchRows bounds an Arrow batch and a Parquet row group.
const batchRows = 64 << 10

// batchSink is the writer of one of Arrow's file formats.
type batchSink interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// columnar gathers rows into batches for a sink.
type columnar struct {
	builder *array.RecordBuilder
	sink    batchSink
	rows    int
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
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case WallTime:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case TextList:
		return arrow.ListOf(arrow.BinaryTypes.String)
	}
	return arrow.BinaryTypes.String
}

func newColumnar(columns []Column, open func(*arrow.Schema) (batchSink, error)) (writer, error) {
	schema := schemaOf(columns)
	sink, err := open(schema)
	if err != nil {
		return nil, err
	}
	return &columnar{builder: array.NewRecordBuilder(memory.DefaultAllocator, schema), sink: sink}, nil
}

func newArrow(w io.Writer, columns []Column) (writer, error) {
	return newColumnar(columns, func(s *arrow.Schema) (batchSink, error) { return ipc.NewWriter(w, ipc.WithSchema(s)), nil })
}

func newParquet(w io.Writer, columns []Column) (writer, error) {
	properties := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("kvforensics"), parquet.WithMaxRowGroupLength(batchRows))
	return newColumnar(columns, func(s *arrow.Schema) (batchSink, error) {
		return pqarrow.NewFileWriter(s, noClose{w}, properties, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	})
}

// noClose leaves the caller's file open: pqarrow closes what it can.
type noClose struct{ io.Writer }

func (c *columnar) row(values []any) error {
	for i, v := range values {
		if err := appendValue(c.builder.Field(i), v); err != nil {
			return err
		}
	}
	if c.rows++; c.rows == batchRows {
		return c.flush()
	}
	return nil
}

func (c *columnar) flush() error {
	batch := c.builder.NewRecordBatch()
	defer batch.Release()
	c.rows = 0
	return c.sink.Write(batch)
}

func (c *columnar) close() error {
	defer c.builder.Release()
	if c.rows > 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	return c.sink.Close()
}

func appendValue(to array.Builder, v any) error {
	if v == nil {
		to.AppendNull()
		return nil
	}
	switch b := to.(type) {
	case *array.StringBuilder:
		if x, ok := v.(string); ok {
			b.Append(x)
			return nil
		}
	case *array.Int64Builder:
		if x, ok := v.(int64); ok {
			b.Append(x)
			return nil
		}
	case *array.Uint64Builder:
		if x, ok := v.(uint64); ok {
			b.Append(x)
			return nil
		}
	case *array.Float64Builder:
		if x, ok := v.(float64); ok {
			b.Append(x)
			return nil
		}
	case *array.BooleanBuilder:
		if x, ok := v.(bool); ok {
			b.Append(x)
			return nil
		}
	case *array.TimestampBuilder:
		if x, ok := v.(time.Time); ok {
			b.Append(arrow.Timestamp(x.UnixMicro()))
			return nil
		}
	case *array.ListBuilder:
		if list, ok := v.([]string); ok {
			b.Append(true)
			for _, s := range list {
				if err := appendValue(b.ValueBuilder(), s); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return fmt.Errorf("value %v of type %T in a column of %s", v, v, to.Type())
}

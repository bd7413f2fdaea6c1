package ingest

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// readParquet reads canonical request records from a Parquet file.
func readParquet(ctx context.Context, c *content, o Options, put func(*batch) error) error {
	return readParquetWith(ctx, c, o, put, newAllocator())
}

func readParquetWith(ctx context.Context, c *content, o Options, put func(*batch) error, mem memory.Allocator) error {
	p := parquetReader{mem: mem}
	if err := guarded(func() error { return p.open(c, o, put) }); err != nil {
		return err
	}
	var first error
	failed, groups := 0, p.file.NumRowGroups()
	for group := range groups {
		from, rows := p.table.rows, p.file.MetaData().RowGroups[group].NumRows
		err := p.rowGroup(ctx, group, rows)
		if p.table.stopped {
			return err
		}
		if err != nil {
			failed++
			p.table.rows = from + max(rows, 0) // the other groups are read, and keep their row numbers
		}
		if err != nil && first == nil {
			first = fmt.Errorf("row group %d of %d (%d rows after row %d): %w", group+1, groups, rows, from, err)
		}
	}
	switch {
	case failed > 1:
		return fmt.Errorf("%w; %d more row groups have errors", first, failed-1)
	case failed == 0 && p.table.rows != p.file.NumRows():
		return fmt.Errorf("footer: states %d rows, the row groups hold %d", p.file.NumRows(), p.table.rows)
	}
	return first
}

type parquetReader struct {
	mem    memory.Allocator
	file   *file.Reader
	arrow  *pqarrow.FileReader
	table  *table
	leaves []int // columns to read
	nested []int // those of them that stand in structs, lists or maps
}

func (p *parquetReader) open(c *content, o Options, put func(*batch) error) error {
	properties := parquet.NewReaderProperties(p.mem)
	properties.BufferedStreamEnabled = true // or a column chunk is read whole
	var err error
	if p.file, err = file.NewParquetReader(c.section(), file.WithReadProps(properties)); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if stored := p.file.MetaData().KeyValueMetadata().FindValue("ARROW:schema"); stored != nil {
		if err := checkStoredSchema(*stored); err != nil {
			return fmt.Errorf("stored Arrow schema: %w", err)
		}
	}
	p.arrow, err = pqarrow.NewFileReader(p.file, pqarrow.ArrowReadProperties{BatchSize: tableRows}, p.mem)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	p.table, err = newTable(p.schema(o), o, put)
	return err
}

// schema gives the columns that are to be read, as the file states them.
// INT96 is the old form of a timestamp and has no zone: some writers mean UTC,
// some their own clock, and the Arrow library takes it for UTC.
func (p *parquetReader) schema(o Options) *arrow.Schema {
	var fields []arrow.Field
	for i := range p.arrow.Manifest.Fields {
		f := &p.arrow.Manifest.Fields[i]
		field := *f.Field
		if fieldOf(field.Name).isContent() && !o.KeepContent {
			continue
		}
		if f.IsLeaf() && p.file.MetaData().Schema.Column(f.ColIndex).PhysicalType() == parquet.Types.Int96 {
			field.Type = &arrow.TimestampType{Unit: arrow.Nanosecond}
		}
		fields = append(fields, field)
		p.addLeaves(f, false)
	}
	return arrow.NewSchema(fields, nil)
}

func (p *parquetReader) addLeaves(f *pqarrow.SchemaField, nested bool) {
	if f.IsLeaf() {
		p.leaves = append(p.leaves, f.ColIndex)
		if nested {
			p.nested = append(p.nested, f.ColIndex)
		}
		return
	}
	for i := range f.Children {
		p.addLeaves(&f.Children[i], true)
	}
}

func (p *parquetReader) rowGroup(ctx context.Context, group int, rows int64) error {
	var records pqarrow.RecordReader
	err := guarded(func() (err error) {
		if err = p.probe(group); err == nil {
			records, err = p.arrow.GetRecordReader(ctx, p.leaves, []int{group})
		}
		return err
	})
	if err != nil {
		return err
	}
	defer records.Release()
	from := p.table.rows
	for {
		more := false
		err := guarded(func() error {
			more = records.Next()
			return records.Err()
		})
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := p.table.read(records.RecordBatch()); err != nil {
			return err
		}
	}
	if got := p.table.rows - from; got != rows {
		return fmt.Errorf("pages hold %d rows", got) // a page list that breaks off is no error to the library
	}
	return nil
}

// probe opens the nested columns of a row group. The library does that in a
// goroutine of its own, where a panic would end the program instead of coming
// through guarded.
func (p *parquetReader) probe(group int) error {
	for _, leaf := range p.nested {
		f, err := p.arrow.Manifest.GetColumnField(leaf)
		if err != nil {
			return err
		}
		column := p.file.MetaData().Schema.Column(leaf)
		records := file.NewRecordReader(column, f.LevelInfo, f.Field.Type, p.mem, p.file.BufferPool())
		pages, err := p.file.RowGroup(group).GetColumnPageReader(leaf)
		if err == nil {
			records.SetPageReader(pages)
		}
		records.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

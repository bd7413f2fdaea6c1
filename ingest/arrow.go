package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// readArrowFile reads canonical request records from an Arrow IPC file.
func readArrowFile(_ context.Context, c *content, o Options, put func(*batch) error) error {
	return readArrowFileWith(c, o, put, newAllocator())
}

// readArrowStream reads canonical request records from an Arrow IPC stream.
func readArrowStream(_ context.Context, c *content, o Options, put func(*batch) error) error {
	return readArrowStreamWith(c, o, put, newAllocator())
}

// arrowFileHead is the magic of an Arrow file, behind which its schema and
// batches stand as in a stream.
const arrowFileHead = 8

func readArrowFileWith(c *content, o Options, put func(*batch) error, mem memory.Allocator) error {
	var f *ipc.FileReader
	err := guarded(func() (err error) {
		f, err = ipc.NewFileReader(c.section(), arrowOptions(c, mem)...)
		return err
	})
	if err != nil {
		_, saved := readBatches(io.NewSectionReader(c.file, arrowFileHead, c.size-arrowFileHead), c, o, put, mem)
		return errors.Join(fmt.Errorf("footer: %w; read as a stream instead", err), saved)
	}
	defer f.Close()
	t, err := newTable(f.Schema(), o, put)
	if err != nil {
		return err
	}
	for i := range f.NumRecords() {
		var record arrow.RecordBatch
		err := guarded(func() (err error) {
			record, err = f.RecordBatch(i)
			return err
		})
		if err == nil {
			err = t.read(record)
		}
		if err != nil {
			return fmt.Errorf("record batch %d of %d, after row %d: %w", i+1, f.NumRecords(), t.rows, err)
		}
	}
	return nil
}

func readArrowStreamWith(c *content, o Options, put func(*batch) error, mem memory.Allocator) error {
	read, err := readBatches(c.section(), c, o, put, mem)
	if err == nil && read < c.size {
		return fmt.Errorf("%d bytes after the end mark of the stream were not read", c.size-read)
	}
	return err
}

// arrowOptions let a message be as long as the file, not longer.
func arrowOptions(c *content, mem memory.Allocator) []ipc.Option {
	return []ipc.Option{ipc.WithAllocator(mem), ipc.WithMetadataSizeLimit(c.size), ipc.WithBodySizeLimit(c.size)}
}

// readBatches reads the record batches of a stream and tells how many bytes
// they and the end mark took.
func readBatches(from io.Reader, c *content, o Options, put func(*batch) error, mem memory.Allocator) (int64, error) {
	stream := &endReader{Reader: from}
	options := arrowOptions(c, mem)
	messages := ipc.NewMessageReader(stream, options...) // NewReader would not pass the limits on
	r, err := ipc.NewReaderFromMessageReader(messages, options...)
	if err != nil {
		return stream.read, err
	}
	defer r.Release()
	t, err := newTable(r.Schema(), o, put)
	if err != nil {
		return stream.read, err
	}
	for n := 1; ; n++ {
		more := false
		err := guarded(func() error {
			more = r.Next()
			return r.Err()
		})
		if err == nil && more {
			err = t.read(r.RecordBatch())
		}
		if err != nil {
			return stream.read, fmt.Errorf("record batch %d, after row %d: %w", n, t.rows, err)
		}
		if !more {
			break
		}
	}
	if stream.ended {
		return stream.read, fmt.Errorf("no end mark: rows after row %d may be missing", t.rows)
	}
	return stream.read, nil
}

// endReader notes whether a reader came to the end of the bytes, as one does
// that finds no end mark before.
type endReader struct {
	io.Reader
	read  int64
	ended bool
}

func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	r.ended = r.ended || errors.Is(err, io.EOF)
	return n, err
}

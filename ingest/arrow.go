package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// readArrowStream reads canonical request records from an Arrow IPC stream.
func readArrowStream(_ context.Context, c *content, o Options, put func(*batch) error) error {
	return readArrowStreamWith(c, o, put, newAllocator())
}

func readArrowStreamWith(c *content, o Options, put func(*batch) error, mem memory.Allocator) error {
	s := &arrowStream{from: c.section(), left: c.size, mem: mem}
	if err := s.read(o, put); err != nil {
		return err
	}
	if !s.endMark {
		return fmt.Errorf("no end mark: rows after row %d may be missing", s.table.rows)
	}
	return s.atEnd()
}

// readArrowFile reads canonical request records from an Arrow IPC file.
func readArrowFile(_ context.Context, c *content, o Options, put func(*batch) error) error {
	return readArrowFileWith(c, o, put, newAllocator())
}

// readArrowFileWith reads a file as the stream that stands between its magic
// and its footer, so that what is whole in a broken file is read as well.
func readArrowFileWith(c *content, o Options, put func(*batch) error, mem memory.Allocator) error {
	const magic = 8
	end, batches, broken := arrowFooter(c)
	if broken != nil {
		end = c.size
	}
	s := &arrowStream{from: io.NewSectionReader(c.file, magic, end-magic), left: end - magic, mem: mem}
	err := s.read(o, put)
	switch {
	case broken != nil && err != nil:
		return fmt.Errorf("footer: %w; %w", broken, err)
	case broken != nil:
		return fmt.Errorf("footer: %w", broken)
	case err != nil:
		return err
	case s.batches != batches:
		return fmt.Errorf("footer: lists %d record batches, the file holds %d", batches, s.batches)
	}
	return s.atEnd()
}

// arrowFooter gives the place of a file's footer and the number of record
// batches that it lists.
func arrowFooter(c *content) (at int64, batches int, err error) {
	const tail = 10 // length and magic
	var last [tail]byte
	if _, err := c.file.ReadAt(last[:], max(c.size-tail, 0)); err != nil || string(last[4:]) != "ARROW1" {
		return 0, 0, errors.New("not found at the end of the file")
	}
	size := int64(binary.LittleEndian.Uint32(last[:4]))
	at = c.size - tail - size
	if at < tail || size < 4 {
		return 0, 0, fmt.Errorf("states a length of %d", size)
	}
	footer := make([]byte, size)
	if _, err := c.file.ReadAt(footer, at); err != nil {
		return 0, 0, err
	}
	err = guarded(func() (err error) {
		batches, err = countBatches(footer)
		return err
	})
	return at, batches, err
}

// arrowStream reads record batches. It takes the messages of the stream itself
// and checks them (checkMessage) before the Arrow library makes room for what
// they announce.
type arrowStream struct {
	from    io.Reader
	left    int64 // bytes of from
	mem     memory.Allocator
	table   *table
	batches int
	endMark bool
	message *ipc.Message
}

func (s *arrowStream) read(o Options, put func(*batch) error) error {
	r, err := ipc.NewReaderFromMessageReader(s, ipc.WithAllocator(s.mem))
	if err != nil {
		return err
	}
	defer r.Release()
	if s.table, err = newTable(r.Schema(), o, put); err != nil {
		return err
	}
	for {
		more := false
		err := guarded(func() error {
			more = r.Next()
			return r.Err()
		})
		if err == nil && !more {
			return nil
		}
		if err == nil {
			err = s.table.read(r.RecordBatch())
		}
		if err != nil {
			return fmt.Errorf("record batch %d, after row %d: %w", s.batches+1, s.table.rows, err)
		}
		s.batches++
	}
}

// atEnd says what lies behind the end mark.
func (s *arrowStream) atEnd() error {
	if s.left > 0 {
		return fmt.Errorf("%d bytes after the end mark were not read", s.left)
	}
	return nil
}

// Message gives the next message, and io.EOF at the end mark or where the
// bytes end.
func (s *arrowStream) Message() (*ipc.Message, error) {
	if s.left == 0 {
		return nil, io.EOF
	}
	size, err := s.size()
	if err != nil {
		return nil, err
	}
	if size == 0 {
		s.endMark = true
		return nil, io.EOF
	}
	meta := make([]byte, size)
	if err := s.fill(meta); err != nil {
		return nil, err
	}
	var length int64
	if err := guarded(func() (err error) { length, err = checkMessage(meta); return err }); err != nil {
		return nil, err
	}
	if length < 0 || length > s.left {
		return nil, fmt.Errorf("message of %d bytes, of which %d are there", length, s.left)
	}
	body := memory.NewResizableBuffer(s.mem)
	defer body.Release()
	body.Resize(int(length))
	if err := s.fill(body.Bytes()); err != nil {
		return nil, err
	}
	s.Release()
	s.message = ipc.NewMessage(memory.NewBufferBytes(meta), body)
	return s.message, nil
}

// size reads the length of a message's metadata, which is 0 at the end mark.
// Before it stands a continuation mark, except in streams of before 2019.
func (s *arrowStream) size() (int64, error) {
	const continuation = 0xffffffff
	var word [4]byte
	if err := s.fill(word[:]); err != nil {
		return 0, err
	}
	size := binary.LittleEndian.Uint32(word[:])
	if size == continuation {
		if err := s.fill(word[:]); err != nil {
			return 0, err
		}
		size = binary.LittleEndian.Uint32(word[:])
	}
	if int64(size) > s.left {
		return 0, fmt.Errorf("metadata of %d bytes, of which %d are there", size, s.left)
	}
	return int64(size), nil
}

func (s *arrowStream) fill(b []byte) error {
	n, err := io.ReadFull(s.from, b)
	s.left -= int64(n)
	if err != nil {
		return fmt.Errorf("breaks off inside a message: %v", err) // an io.EOF would pass for the end
	}
	return nil
}

// Release lets go of the last message.
func (s *arrowStream) Release() {
	if s.message != nil {
		s.message.Release()
		s.message = nil
	}
}

// Retain is there for ipc.MessageReader; the stream has one owner.
func (s *arrowStream) Retain() {}

package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"

	"kvforensics/internal/evidence"
)

const (
	blockBytes = 4 << 20
	firstBytes = 64 << 10 // of a source: most small files fit, and need no more memory
	// maxLineBytes bounds one line: a record beyond it is rejected by its
	// place, and memory stays bounded whatever the evidence holds.
	maxLineBytes = 128 << 20
	headBytes    = 256 << 10
)

// block is a run of whole lines of one source.
type block struct {
	data      []byte
	offset    int64 // of data in the inflated content
	firstLine int64
	encoding  encoding
	cut       bool  // one line, inside which the content broke off
	overlong  int64 // length of a line over maxLineBytes, of which data is the start; else 0
}

// encoding is the text encoding of a source.
type encoding string

const (
	utf8Text    encoding = "utf-8"
	utf16LE     encoding = "utf-16le"
	utf16BE     encoding = "utf-16be"
	binaryBytes encoding = "binary"
)

// newline gives the line end and the unit to which it is aligned.
func (e encoding) newline() (mark []byte, unit int) {
	switch e {
	case utf16LE:
		return []byte{'\n', 0}, 2
	case utf16BE:
		return []byte{0, '\n'}, 2
	}
	return []byte{'\n'}, 1
}

// endOfLine gives the length of the first line of data with its end, or 0
// when data holds no whole line.
func (e encoding) endOfLine(data []byte) int {
	mark, unit := e.newline()
	for from := 0; ; {
		n := bytes.Index(data[from:], mark)
		if n < 0 {
			return 0
		}
		if at := from + n; at%unit == 0 {
			return at + len(mark)
		}
		from += n + 1
	}
}

// endOfLines gives the length of all whole lines of data.
func (e encoding) endOfLines(data []byte) int {
	mark, unit := e.newline()
	for to := len(data); ; {
		n := bytes.LastIndex(data[:to], mark)
		if n < 0 {
			return 0
		}
		if n%unit == 0 {
			return n + len(mark)
		}
		to = n + len(mark) - 1
	}
}

// text gives a line in UTF-8.
func (e encoding) text(line []byte) []byte {
	var order unicode.Endianness
	switch e {
	case utf16LE:
		order = unicode.LittleEndian
	case utf16BE:
		order = unicode.BigEndian
	default:
		return line
	}
	out, err := unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder().Bytes(line)
	if err != nil {
		return line // the parser will refuse it as invalid UTF-8
	}
	return out
}

func (b *block) countLines() int64 {
	if b.encoding == utf8Text {
		return int64(bytes.Count(b.data, []byte{'\n'}))
	}
	var n int64
	for data := b.data; ; n++ {
		end := b.encoding.endOfLine(data)
		if end == 0 {
			return n
		}
		data = data[end:]
	}
}

// lines calls each line, without its end, with its place.
func (b *block) lines(each func(line []byte, at evidence.Locator)) {
	at := evidence.Locator{Line: b.firstLine, Offset: b.offset}
	for data := b.data; len(data) > 0; {
		n := b.encoding.endOfLine(data)
		if n == 0 {
			n = len(data)
		}
		at.Length = int64(n)
		each(trimEnd(b.encoding.text(data[:n])), at)
		data = data[n:]
		at.Line++
		at.Offset += int64(n)
	}
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// blockReader cuts content into blocks at line ends.
type blockReader struct {
	content  io.Reader
	broken   func() bool // whether the content ended before its time
	encoding encoding
	offset   int64
	line     int64
	rest     []byte // start of a line whose end has not come
	done     bool
}

// next gives the next block in a buffer of its own, or io.EOF.
func (r *blockReader) next(buffer []byte) (*block, error) {
	if r.done {
		return nil, io.EOF
	}
	data := append(buffer[:0], r.rest...)
	r.rest = nil
	want := blockBytes
	if r.line == 0 {
		want = firstBytes
	}
	for {
		full, err := fill(r.content, data, want)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		data = full
		if errors.Is(err, io.EOF) {
			r.done = true
			return r.last(data)
		}
		want = blockBytes
		if n := r.encoding.endOfLines(data); n > 0 {
			r.rest = bytes.Clone(data[n:])
			return r.emit(data[:n]), nil
		}
		if len(data) > maxLineBytes {
			return r.overlong(data)
		}
	}
}

// fill appends up to n bytes to data.
func fill(from io.Reader, data []byte, n int) ([]byte, error) {
	if cap(data)-len(data) < n {
		grown := make([]byte, len(data), max(2*len(data), len(data)+n))
		copy(grown, data)
		data = grown
	}
	got, err := io.ReadFull(from, data[len(data):len(data)+n])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return data[:len(data)+got], err
}

// last gives what is left at the end. Of broken content the line in which it
// broke off is a block of its own, for its values may be cut.
func (r *blockReader) last(data []byte) (*block, error) {
	whole := r.encoding.endOfLines(data)
	switch {
	case len(data) == 0:
		return nil, io.EOF
	case whole == len(data) || !r.broken():
		return r.emit(data), nil
	case whole > 0:
		r.rest, r.content, r.done = bytes.Clone(data[whole:]), bytes.NewReader(nil), false
		return r.emit(data[:whole]), nil
	}
	b := r.emit(data)
	b.cut = true
	return b, nil
}

func (r *blockReader) emit(data []byte) *block {
	b := &block{data: data, offset: r.offset, firstLine: r.line + 1, encoding: r.encoding}
	r.offset += int64(len(data))
	r.line += b.countLines()
	return b
}

// overlong steps over a line that is too long to be read and gives its start.
func (r *blockReader) overlong(data []byte) (*block, error) {
	b := &block{data: data[:evidence.PreviewBytes*2], offset: r.offset, firstLine: r.line + 1, encoding: r.encoding}
	length := int64(len(data))
	chunk := make([]byte, 0, blockBytes)
	for {
		var err error
		chunk, err = fill(r.content, chunk[:0], blockBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.done = errors.Is(err, io.EOF)
		end := r.encoding.endOfLine(chunk)
		if end > 0 || r.done {
			if end == 0 {
				end = len(chunk)
			}
			length += int64(end)
			r.rest = bytes.Clone(chunk[end:])
			break
		}
		length += int64(len(chunk))
	}
	if r.done && len(r.rest) > 0 {
		r.content, r.done = bytes.NewReader(nil), false
	}
	b.overlong = length
	r.offset += length
	r.line++
	return b, nil
}

// unreadable rejects a block that is one line which can't be read.
func (b *block) unreadable(out *batch) bool {
	at := evidence.Locator{Line: b.firstLine, Offset: b.offset, Length: int64(len(b.data))}
	shown := b.data[:min(len(b.data), strayBytes)]
	switch {
	case b.overlong > 0:
		at.Length = b.overlong
		out.reject(at, fmt.Sprintf("line of %d bytes is longer than %d", b.overlong, int64(maxLineBytes)), b.encoding.text(shown))
	case b.cut:
		out.reject(at, "the content breaks off inside this line", b.encoding.text(shown))
	default:
		return false
	}
	return true
}

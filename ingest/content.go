package ingest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"kvforensics/internal/evidence"
)

// A compressed source may inflate to maxFreeBytes freely and beyond that to
// maxRatio times its size: no log comes near, a decompression bomb goes far.
const (
	maxFreeBytes = 1 << 30
	maxRatio     = 1000
	maxWindow    = 128 << 20 // zstd window
)

// content is an opened source: its bytes pass through the digest, then the
// inflater, then the guard against bombs.
type content struct {
	file        *os.File
	size        int64 // when opened: what a growing file gains later is not read
	raw         *bufio.Reader
	digest      hash.Hash
	compression string
	encoding    encoding
	bom         int64 // bytes of a byte order mark, stepped over
	inflated    int64
	inflater    io.Reader
	release     func()
	reader      *bufio.Reader
	problem     string // why the content is not whole
	onRead      func(n int)
}

// openContent opens a regular file of evidence for reading.
func openContent(path string, onRead func(n int)) (*content, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	c := &content{file: file, size: info.Size(), digest: sha256.New(), onRead: onRead, release: func() {}}
	c.raw = bufio.NewReaderSize(io.TeeReader(io.LimitReader(file, c.size), counting{c}), int(min(c.size+1, 1<<20)))
	if err := c.inflate(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	c.reader = bufio.NewReaderSize(c, headBytes)
	if err := c.detectEncoding(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// counting feeds the digest and the progress display.
type counting struct{ c *content }

func (w counting) Write(p []byte) (int, error) {
	w.c.onRead(len(p))
	return w.c.digest.Write(p)
}

func (c *content) inflate() error {
	magic, err := c.raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		c.compression = "gzip"
		z, err := gzip.NewReader(c.raw)
		if err != nil {
			c.problem = fmt.Sprintf("gzip stream: %v", err)
			c.inflater = bytes.NewReader(nil)
			return nil
		}
		c.inflater = z
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		c.compression = "zstd"
		z, err := zstd.NewReader(c.raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		c.inflater, c.release = z, z.Close
	default:
		c.compression = "none"
		c.inflater = c.raw
	}
	return nil
}

// Read gives inflated bytes. A broken or suspicious stream ends early, with
// the reason in c.problem; what came before it is kept.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.inflater.Read(p)
	c.inflated += int64(n)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		c.problem = fmt.Sprintf("content breaks off after %d bytes (compression: %s): %v", c.inflated, c.compression, err)
		err = io.EOF
	case c.compression != "none" && c.inflated > maxFreeBytes && c.inflated > maxRatio*c.size:
		c.problem = fmt.Sprintf("%d bytes inflate to more than %d: taken for a decompression bomb and not read on", c.size, c.inflated)
		err = io.EOF
	}
	return n, err
}

// broken reports whether the content ended before its time.
func (c *content) broken() bool { return c.problem != "" }

// head gives the first bytes of the content.
func (c *content) head() ([]byte, error) {
	b, err := c.reader.Peek(headBytes)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

func (c *content) detectEncoding() error {
	head, err := c.head()
	if err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		c.encoding, c.bom = utf8Text, 3
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		c.encoding, c.bom = utf16LE, 2
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		c.encoding, c.bom = utf16BE, 2
	default:
		c.encoding = guessEncoding(head)
	}
	_, err = c.reader.Discard(int(c.bom))
	return err
}

// guessEncoding knows UTF-16 without a mark by ASCII characters whose other
// byte is zero.
func guessEncoding(head []byte) encoding {
	head = head[:min(len(head), 4096)&^1]
	var low, high int
	for i := 0; i < len(head); i += 2 {
		switch {
		case head[i] != 0 && head[i+1] == 0:
			low++
		case head[i] == 0 && head[i+1] != 0:
			high++
		}
	}
	switch half := len(head) / 4; {
	case half > 0 && low > half:
		return utf16LE
	case half > 0 && high > half:
		return utf16BE
	}
	return utf8Text
}

// finish reads what the format left unread, so that the digest covers every
// byte, and tells whether the file changed meanwhile.
func (c *content) finish() (evidence.Digest, error) {
	if _, err := io.Copy(io.Discard, c.raw); err != nil && c.problem == "" {
		c.problem = fmt.Sprintf("file could not be read to its end: %v", err)
	}
	info, err := c.file.Stat()
	if err != nil {
		return evidence.Digest{}, err
	}
	if info.Size() != c.size && c.problem == "" {
		c.problem = fmt.Sprintf("file changed while it was read: %d bytes when opened, %d at the end; read as it was when opened", c.size, info.Size())
	}
	return evidence.Digest(c.digest.Sum(nil)), nil
}

func (c *content) close() error {
	c.release()
	return c.file.Close()
}

// digestOf hashes the first bytes of a file without reading its records.
func digestOf(path string, bytes int64) (evidence.Digest, error) {
	file, err := os.Open(path)
	if err != nil {
		return evidence.Digest{}, err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, bytes)); err != nil {
		return evidence.Digest{}, err
	}
	return evidence.Digest(h.Sum(nil)), nil
}

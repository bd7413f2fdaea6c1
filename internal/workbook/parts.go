package workbook

import (
	"archive/zip"
	"fmt"
	"io"
)

// What a part may unpack to. Tests lower it.
var (
	maxPart  int64 = 512 << 20
	maxRatio int64 = 1000
)

// unpack gives a part's bytes, and an error rather than more than the limits.
func unpack(f *zip.File) (io.ReadCloser, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	limit := maxPart
	if packed := int64(min(f.CompressedSize64, uint64(maxPart))); packed < limit/maxRatio {
		limit = packed * maxRatio
	}
	return &bounded{ReadCloser: r, left: limit}, nil
}

type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("unpacks to more than %d MiB or %d times its size", maxPart>>20, maxRatio)
	}
	return n, err
}

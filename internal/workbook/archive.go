package workbook

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

// archive is a zip file whose bytes depend on its parts alone: the library
// hands over sheets in no fixed order and without a date. Parts wait,
// compressed, until all are there.
type archive struct {
	w       io.Writer
	members []*member
}

type member struct {
	name   string
	packed bytes.Buffer
	packer *flate.Writer
	sum    uint32
	size   uint64
}

// memberDate is 1 January 1980, the earliest that a zip file can state.
const memberDate = 1<<5 | 1

// Create begins a part. The one before is complete then.
func (a *archive) Create(name string) (io.Writer, error) {
	m := &member{name: name}
	var err error
	m.packer, err = flate.NewWriter(&m.packed, flate.DefaultCompression)
	a.members = append(a.members, m)
	return m, err
}

func (m *member) Write(p []byte) (int, error) {
	m.sum = crc32.Update(m.sum, crc32.IEEETable, p)
	m.size += uint64(len(p))
	return m.packer.Write(p)
}

// AddFS is there for the library, which does not use it.
func (a *archive) AddFS(fs.FS) error { return errors.ErrUnsupported }

// Close writes the parts in the order of their names. That puts the table of
// contents first, where some programs look for it.
func (a *archive) Close() error {
	slices.SortFunc(a.members, func(x, y *member) int { return strings.Compare(x.name, y.name) })
	z := zip.NewWriter(a.w)
	for _, m := range a.members {
		if err := m.packer.Close(); err != nil {
			return err
		}
		w, err := z.CreateRaw(&zip.FileHeader{
			Name:   m.name,
			Method: zip.Deflate,
			//lint:ignore SA1019 CreateRaw writes this field and looks at no other
			ModifiedDate:       memberDate,
			CRC32:              m.sum,
			CompressedSize64:   uint64(m.packed.Len()),
			UncompressedSize64: m.size,
		})
		if err != nil {
			return err
		}
		if _, err := m.packed.WriteTo(w); err != nil {
			return err
		}
	}
	return z.Close()
}

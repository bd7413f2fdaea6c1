package sim

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// lineFile is one file of evidence, written line by line and spoiled as the
// damage says.
type lineFile struct {
	path   string
	file   *os.File
	zip    *gzip.Writer
	out    *bufio.Writer
	damage *Damage
	rng    *rand.Rand // of the damage
	last   []byte     // held back where the last line is to be cut
	err    error
}

func createLineFile(cfg *Config, path string) (*lineFile, error) {
	if cfg.Output.Gzip {
		path += ".gz"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("write evidence: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write evidence: %w", err)
	}
	name := fnv.New32a()
	io.WriteString(name, filepath.Base(path))
	l := &lineFile{path: path, file: f, damage: &cfg.Damage, rng: newRand(cfg.Seed, streamDamage, uint64(name.Sum32()))}
	var to io.Writer = f
	if cfg.Output.Gzip {
		l.zip = gzip.NewWriter(f)
		to = l.zip
	}
	l.out = bufio.NewWriterSize(to, 1<<18)
	return l, nil
}

// line writes one line, which ends in a newline.
func (l *lineFile) line(text []byte) {
	d := l.damage
	if d.GarbageLines > 0 && l.rng.Float64() < d.GarbageLines {
		l.put(garbage(l.rng, text))
	}
	l.put(text)
	if d.DuplicateLines > 0 && l.rng.Float64() < d.DuplicateLines {
		l.put(text)
	}
}

func (l *lineFile) put(text []byte) {
	if l.damage.TruncateLastLine {
		l.write(l.last)
		l.last = append(l.last[:0], text...)
		return
	}
	l.write(text)
}

func (l *lineFile) write(text []byte) {
	if _, err := l.out.Write(text); l.err == nil {
		l.err = err
	}
}

func (l *lineFile) close() error {
	l.write(l.last[:len(l.last)/2])
	if err := l.out.Flush(); l.err == nil {
		l.err = err
	}
	if l.zip != nil {
		if err := l.zip.Close(); l.err == nil {
			l.err = err
		}
	}
	if err := l.file.Close(); l.err == nil {
		l.err = err
	}
	if l.err != nil {
		return fmt.Errorf("write %s: %w", l.path, l.err)
	}
	return nil
}

// garbage makes an unreadable line of a good one.
func garbage(rng *rand.Rand, text []byte) []byte {
	cut := text[:rng.IntN(len(text))]
	switch rng.IntN(3) {
	case 0:
		return append(append([]byte(nil), cut...), '\n')
	case 1:
		return append([]byte("\xff\xfe\x00\x01 \xc3"), '\n')
	default:
		return append(append([]byte("{\"request_id\": \"\x1b[31m"), cut...), '\n')
	}
}

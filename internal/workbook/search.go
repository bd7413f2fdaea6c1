package workbook

import (
	"archive/zip"
	"fmt"
	"io"
)

// Hit is a needle that was found, and where.
type Hit struct{ Part, Needle string }

// Search looks into every part of a finished workbook, whatever its kind: at
// its bytes, at its text with entities decoded, and at that without the tags.
// It looks at the names of the parts too. Each needle is named once for each
// part that it is in.
func (m *Matcher) Search(r io.ReaderAt, size int64) ([]Hit, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("search workbook: %w", err)
	}
	hits := SearchBytes("", []byte(z.Comment), m)
	buffer := make([]byte, 1<<16)
	for _, f := range z.File {
		found := make([]bool, len(m.needles))
		for _, text := range []string{f.Name, f.Comment, string(f.Extra)} {
			read(m.plain(found), []byte(text))
		}
		if err := readPart(f, m.marked(found), buffer); err != nil {
			return nil, fmt.Errorf("search %q: %w", f.Name, err)
		}
		hits = append(hits, m.hits(f.Name, found)...)
	}
	return hits, nil
}

// SearchBytes looks for needles in a plain file: Markdown, HTML, CSV or JSON. It
// looks at the bytes, and through the ways of writing a character that these
// formats have.
func SearchBytes(name string, b []byte, needles *Matcher) []Hit {
	found := make([]bool, len(needles.needles))
	read(needles.plain(found), b)
	return needles.hits(name, found)
}

// marked are the views of XML.
func (m *Matcher) marked(found []bool) []sink {
	text := func() sink { return &decoder{escape: entity, to: &decoder{escape: hexInCell, to: m.scan(found)}} }
	return []sink{m.scan(found), text(), &untagger{to: text()}}
}

// plain are the views of other files.
func (m *Matcher) plain(found []bool) []sink {
	text := func() sink { return &decoder{escape: entity, to: m.scan(found)} }
	unquoted := &decoder{escape: backslash, to: &decoder{escape: doubled, to: m.scan(found)}}
	return []sink{m.scan(found), text(), &untagger{to: text()}, unquoted}
}

func (m *Matcher) scan(found []bool) *scan { return &scan{m: m, found: found} }

func (m *Matcher) hits(part string, found []bool) (hits []Hit) {
	for i, needle := range m.needles {
		if found[i] {
			hits = append(hits, Hit{Part: part, Needle: needle})
		}
	}
	return hits
}

func read(views []sink, b []byte) {
	for _, view := range views {
		view.feed(b)
		view.end()
	}
}

func readPart(f *zip.File, views []sink, buffer []byte) error {
	r, err := unpack(f)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		n, err := r.Read(buffer)
		for _, view := range views {
			view.feed(buffer[:n])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, view := range views {
		view.end()
	}
	return nil
}

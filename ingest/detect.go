package ingest

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"kvforensics/ingest/sglang"
	"kvforensics/internal/evidence"
)

// detected is what a content was taken for, and why.
type detected struct {
	format  string
	reason  string
	problem string // why it can't be read
	binary  bool
	parser  func(Options) parser // for text
	reader  tableReader          // for tables
}

// tableReader reads a format whose records are rows of a table rather than
// lines. It calls put with batches in the order of the rows.
type tableReader func(ctx context.Context, c *content, o Options, put func(*batch) error) error

// detect tells a content's format from its first bytes; only incident.yaml
// goes by its name.
func detect(name string, head []byte, c *content) detected {
	switch {
	case len(head) == 0:
		return detected{format: evidence.FormatEmpty, reason: "no bytes"}
	case name == "incident.yaml" || name == "incident.yml":
		return detected{format: evidence.FormatIncident, reason: "named " + name}
	}
	if d, ok := detectBinary(head, c); ok {
		return d
	}
	text := c.encoding.text(wholeLines(c.encoding, head))
	if d, ok := detectJSON(text); ok {
		return d
	}
	if ok, reason := sglang.Sniff(text); ok {
		return detected{format: evidence.FormatSGLang, reason: reason, parser: newSGLangParser}
	}
	if d, ok := detectCSV(text); ok {
		return d
	}
	return unknown("no known format: first bytes " + clip(preview(head[:min(len(head), 40)])))
}

func unknown(problem string) detected {
	return detected{format: evidence.FormatUnknown, reason: "no format fits", problem: problem}
}

// archives are told from unknown files so that the responder knows what to do.
var archives = []struct{ magic, name string }{
	{"PK\x03\x04", "zip"}, {"7z\xbc\xaf\x27\x1c", "7z"}, {"BZh", "bzip2"}, {"\xfd7zXZ\x00", "xz"},
	{"\x1f\x8b", "gzip inside a compressed file"}, {"\x28\xb5\x2f\xfd", "zstd inside a compressed file"},
}

func detectBinary(head []byte, c *content) (detected, bool) {
	table := func(format, reason string, read tableReader) (detected, bool) {
		d := detected{format: format, reason: reason, binary: true, reader: read}
		if c.compression != "none" {
			d.reader, d.problem = nil, "a table inside a compressed file: unpack it first"
		}
		return d, true
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return table(evidence.FormatParquet, "magic PAR1", readParquet)
	case bytes.HasPrefix(head, []byte("ARROW1\x00\x00")):
		return table(evidence.FormatArrowFile, "magic ARROW1", readArrowFile)
	case bytes.HasPrefix(head, []byte{0xff, 0xff, 0xff, 0xff}):
		return table(evidence.FormatArrowStream, "continuation mark of an Arrow stream", readArrowStream)
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return unknown("a tar archive: unpack it first"), true
	}
	for _, a := range archives {
		if bytes.HasPrefix(head, []byte(a.magic)) {
			return unknown(a.name + ": unpack it first"), true
		}
	}
	return detected{}, false
}

// wholeLines cuts what follows the last line end, so that no line is judged by
// a part of it.
func wholeLines(e encoding, head []byte) []byte {
	if n := e.endOfLines(head); n > 0 {
		return head[:n]
	}
	return head
}

// detectJSON takes a text for canonical records when one of its first lines is
// an object with a field that every record must have. A line may be longer
// than the head, so keys are looked for as far as it goes.
func detectJSON(text []byte) (detected, bool) {
	const tries = 50
	for i, line := range bytes.SplitN(text, []byte{'\n'}, tries+1) {
		if i == tries {
			break
		}
		if key := canonicalKey(bytes.TrimSpace(line)); key != "" {
			return detected{
				format: evidence.FormatJSONL, reason: fmt.Sprintf("line %d: JSON object with %q", i+1, key),
				parser: func(o Options) parser { return jsonlParser{zone: o.Zone, keepContent: o.KeepContent} },
			}, true
		}
	}
	if strings.HasPrefix(strings.TrimSpace(string(text[:min(len(text), 64)])), "[") && bytes.Contains(text, []byte(`"request_id"`)) {
		return unknown("one JSON array: write one record a line (JSON Lines)"), true
	}
	return detected{}, false
}

func canonicalKey(line []byte) string {
	s := jsonScanner{text: line}
	if s.peek() != '{' {
		return ""
	}
	s.pos++
	for {
		key, _, err := s.str()
		if err != nil || s.expect(':') != nil {
			return ""
		}
		switch k := string(key); k {
		case "request_id", "tenant_id", "received_at":
			return k
		}
		if _, err := s.skip(0); err != nil {
			return ""
		}
		if more, err := s.next('}'); err != nil || !more {
			return ""
		}
	}
}

package ingest

import "kvforensics/internal/evidence"

// extraObject builds the JSON object of what a record holds beside its
// canonical fields. Names and texts must be valid UTF-8.
type extraObject struct{ json []byte }

func newExtra(out *batch) extraObject { return extraObject{json: out.scratch[:0]} }

func (e *extraObject) name(name string) {
	if len(e.json) == 0 {
		e.json = append(e.json, '{')
	} else {
		e.json = append(e.json, ',')
	}
	e.json = append(appendQuoted(e.json, name), ':')
}

func (e *extraObject) text(name, value string) {
	e.name(name)
	e.json = appendQuoted(e.json, value)
}

func (e *extraObject) value(name string, json []byte) {
	e.name(name)
	e.json = append(e.json, json...)
}

// keep gives the object, or "" when it is empty, as text of the batch.
func (e *extraObject) keep(out *batch) string {
	if len(e.json) == 0 {
		return ""
	}
	e.json = append(e.json, '}')
	out.scratch = e.json[:0]
	return out.keepText(e.json)
}

// appendQuoted appends s as a JSON string.
func appendQuoted(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[from:i]...)
		from = i + 1
		switch c {
		case '\n':
			to = append(to, `\n`...)
		case '\r':
			to = append(to, `\r`...)
		case '\t':
			to = append(to, `\t`...)
		case '"', '\\':
			to = append(to, '\\', c)
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(to, s[from:]...), '"')
}

// unplaced says whether f is a time that was set without a zone to place it
// with, so that only its text is known.
func (f field) unplaced(r *evidence.Request) bool {
	switch f {
	case fieldReceivedAt:
		return !r.ReceivedAt.Known
	case fieldFirstTokenAt:
		return !r.FirstTokenAt.Known
	case fieldFinishedAt:
		return !r.FinishedAt.Known
	case fieldAbortedAt:
		return !r.AbortedAt.Known
	}
	return false
}

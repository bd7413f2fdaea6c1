package sglang

import (
	"bytes"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
)

// recorder is a sink that keeps copies of all it is given.
type recorder struct {
	events   []evidence.EngineEvent
	parsed   []evidence.Locator
	ignored  []evidence.Locator
	rejected []evidence.Rejected
}

func (r *recorder) Event(e *evidence.EngineEvent) error {
	c := *e
	for _, s := range []*string{&c.RID, &c.FinishReason, &c.Message, &c.Launch.Engine, &c.Launch.Version, &c.Launch.TransferBackend, &c.Launch.Flags} {
		*s = strings.Clone(*s)
	}
	r.events = append(r.events, c)
	return nil
}

func (r *recorder) Parsed(l evidence.Locator) error  { r.parsed = append(r.parsed, l); return nil }
func (r *recorder) Ignored(l evidence.Locator) error { r.ignored = append(r.ignored, l); return nil }
func (r *recorder) Reject(x evidence.Rejected) error { r.rejected = append(r.rejected, x); return nil }

func (r *recorder) kind(k evidence.EventKind) []evidence.EngineEvent {
	var out []evidence.EngineEvent
	for _, e := range r.events {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

// feed gives text to a parser line by line. Each line lies in a buffer that is
// overwritten afterwards, as a reader's would be.
func feed(t testing.TB, text []byte) (*recorder, Facts) {
	t.Helper()
	r := &recorder{}
	p := New(r)
	at := evidence.Locator{Line: 1}
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		at.Length = int64(n)
		line := bytes.Clone(bytes.TrimSuffix(bytes.TrimSuffix(text[:n], []byte{'\n'}), []byte{'\r'}))
		if err := p.Feed(line, at); err != nil {
			t.Fatal(err)
		}
		for i := range line {
			line[i] = '~'
		}
		text = text[n:]
		at.Offset += at.Length
		at.Line++
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return r, p.Facts()
}

func lines(l ...string) []byte { return []byte(strings.Join(l, "\n") + "\n") }

// account checks that the places that r was given cover size bytes once.
func (r *recorder) account(t testing.TB, size int) {
	t.Helper()
	covered := make([]byte, size)
	mark := func(l evidence.Locator) {
		if l.Offset < 0 || l.Length <= 0 || l.Offset+l.Length > int64(size) {
			t.Fatalf("place %+v lies outside of %d bytes", l, size)
		}
		for i := l.Offset; i < l.Offset+l.Length; i++ {
			covered[i]++
		}
	}
	for _, l := range r.parsed {
		mark(l)
	}
	for _, l := range r.ignored {
		mark(l)
	}
	for _, x := range r.rejected {
		mark(x.Locator)
	}
	for i, n := range covered {
		if n != 1 {
			t.Fatalf("byte %d of %d is covered %d times", i, size, n)
		}
	}
}

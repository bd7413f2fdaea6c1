package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"kvforensics/internal/evidence"
)

// records gives n canonical records, one a line.
func records(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"request_id":"r%d","tenant_id":"t%d","received_at":%d,"prompt_tokens":%d}`+"\n", i, i%7, 1787788800+i, i)
	}
	return b.Bytes()
}

func gzipped(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(content)
	w.Close()
	return b.Bytes()
}

func zstded(t *testing.T, content []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

func utf16Bytes(text string, big, mark bool) []byte {
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	var b []byte
	for _, u := range units {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

func TestCompressionAndEncodingGoByContent(t *testing.T) {
	plain := records(100)
	for name, content := range map[string][]byte{
		"plain.txt": plain, "a.gz": gzipped(plain), "b.log": zstded(t, plain),
		"two-members.json": append(gzipped(plain[:len(plain)/2]), gzipped(plain[len(plain)/2:])...),
		"le.jsonl":         utf16Bytes(string(plain), false, true), "be.jsonl": utf16Bytes(string(plain), true, true),
		"le-bare.jsonl": utf16Bytes(string(plain), false, false), "le.gz": gzipped(utf16Bytes(string(plain), false, true)),
		"crlf": bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
	} {
		m := read(t, Options{}, write(t, name, content))
		s := m.sources[0]
		if s.State != evidence.SourceRead || s.Tally.Records != 100 || s.Tally.Rejected != 0 {
			t.Errorf("%s: %s %q, tally %+v", name, s.State, s.Problem, s.Tally)
		}
		if s.Digest.V != sha256.Sum256(content) || s.Bytes != int64(len(content)) {
			t.Errorf("%s: wrong digest or size", name)
		}
		if last := m.requests[1][99]; last.RequestID != "r99" || last.Line != 100 {
			t.Errorf("%s: last record %+v", name, last)
		}
	}
}

func TestDamagedFiles(t *testing.T) {
	plain := records(2000)
	noise := bytes.Repeat([]byte{0x80, 0x81, 0x07, 0xfe}, 100)
	for _, c := range []struct {
		name    string
		content []byte
		state   evidence.SourceState
		problem string
		records int64
	}{
		{"empty", nil, evidence.SourceRead, "", 0},
		{"truncated.gz", gzipped(plain)[:len(gzipped(plain))-200], evidence.SourcePartly, "content breaks off after", -1},
		{"flipped.gz", flip(gzipped(plain)), evidence.SourcePartly, "content breaks off after", -1},
		{"tail.gz", append(gzipped(plain), "junk"...), evidence.SourcePartly, "content breaks off after", 2000},
		{"truncated.zst", zstded(t, plain)[:len(zstded(t, plain))-20], evidence.SourcePartly, "content breaks off after", -1},
		{"header.gz", []byte{0x1f, 0x8b, 8, 0}, evidence.SourcePartly, "gzip stream: ", 0},
		{"noise", noise, evidence.SourceUnread, "no known format", 0},
		{"a.zip", []byte("PK\x03\x04 and more"), evidence.SourceUnread, "zip: unpack it first", 0},
		{"array.json", []byte(`[{"request_id":"r"}]`), evidence.SourceUnread, "one JSON array", 0},
		{"text.md", []byte("# notes\nnothing here\n"), evidence.SourceUnread, "no known format", 0},
	} {
		m := read(t, Options{}, write(t, c.name, c.content))
		s := m.sources[0]
		if s.State != c.state || !strings.Contains(s.Problem, c.problem) || (c.problem == "") != (s.Problem == "") {
			t.Errorf("%s: %s %q", c.name, s.State, s.Problem)
		}
		if c.records >= 0 && s.Tally.Records != c.records {
			t.Errorf("%s: tally %+v", c.name, s.Tally)
		}
		if s.Digest.V != sha256.Sum256(c.content) {
			t.Errorf("%s: the digest does not cover the file", c.name)
		}
	}
}

func flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-6] ^= 0x10 // the checksum
	return b
}

func TestBombIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("inflates a gigabyte")
	}
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(records(1))
	filler := bytes.Repeat([]byte{'x'}, 1<<20)
	for range 1200 {
		w.Write(filler)
	}
	w.Close()
	m := read(t, Options{}, write(t, "bomb.jsonl.zst", b.Bytes()))
	if s := m.sources[0]; s.State != evidence.SourcePartly || !strings.Contains(s.Problem, "decompression bomb") || s.Tally.Records != 1 {
		t.Errorf("%s %q %+v", s.State, s.Problem, s.Tally)
	}
}

func TestOverlongLineIsRejectedByItsPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 140 MB")
	}
	content := append(records(1), bytes.Repeat([]byte{'x'}, maxLineBytes+5<<20)...)
	content = append(append(content, '\n'), records(2)...)
	m := read(t, Options{}, write(t, "g.jsonl", content))
	s := m.sources[0]
	if s.Tally.Records != 3 || s.Tally.Rejected != 1 {
		t.Fatalf("tally %+v", s.Tally)
	}
	r := m.rejects[1][0]
	if r.Line != 2 || r.Length != maxLineBytes+5<<20+1 || !strings.HasPrefix(r.Reason, "line of ") {
		t.Errorf("reject %+v", r)
	}
	if m.requests[1][1].Line != 3 {
		t.Errorf("line after it: %+v", m.requests[1][1].Locator)
	}
}

func TestSameContentIsTakenOnce(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, content []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a/gateway.jsonl", records(10))
	put("b/gateway.jsonl", records(10)) // same name, same content
	put("c/gateway.jsonl", records(11)) // same name, other content
	put("d/same-size.jsonl", bytes.Replace(records(10), []byte("r0"), []byte("q0"), 1))
	m := read(t, Options{}, dir, filepath.Join(dir, "a"), filepath.Join(dir, "a", "gateway.jsonl"), filepath.Join(dir, "?", "*.jsonl"))
	if len(m.sources) != 3 || len(m.paths) != 4 {
		t.Fatalf("%d sources, paths %v", len(m.sources), m.paths)
	}
	if m.paths[filepath.Join(dir, "a/gateway.jsonl")] != m.paths[filepath.Join(dir, "b/gateway.jsonl")] {
		t.Error("one content under two names must be one source")
	}
}

func TestUnusualFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.jsonl"), records(1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "good.jsonl"), records(3), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(filepath.Join(outside, "secret.jsonl"), filepath.Join(dir, "link-out")),
		os.Symlink("good.jsonl", filepath.Join(dir, "link-in")),
		os.Symlink("nowhere", filepath.Join(dir, "link-dead")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Mkdir(filepath.Join(dir, "truth"), 0o700),
		os.WriteFile(filepath.Join(dir, "truth", truthMarker), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "truth", "answers.jsonl"), records(5), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	files, skipped, err := Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(skipped) != 2 {
		t.Errorf("skipped %q", skipped)
	}
	problems := map[string]string{}
	for _, f := range files {
		problems[filepath.Base(f.Path)] = f.Problem
	}
	if len(files) != 4 || problems["good.jsonl"] != "" || !strings.Contains(problems["link-out"], "out of the folder") ||
		problems["link-dead"] == "" || !strings.Contains(problems["pipe"], "not a regular file") {
		t.Errorf("files %q", problems)
	}
	m := newMemoryLoad()
	outcome, err := Run(context.Background(), m, emptyHoldings(), files, Options{})
	if err != nil || outcome.Unread != 3 || outcome.Taken != 1 {
		t.Errorf("outcome %+v, %v", outcome, err)
	}
}

func TestNoSuchPathIsAnError(t *testing.T) {
	for _, p := range []string{filepath.Join(t.TempDir(), "absent"), filepath.Join(t.TempDir(), "*.jsonl")} {
		if _, _, err := Find([]string{p}); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
}

func TestGrowingFileIsReadAsItWasAndSaidSo(t *testing.T) {
	path := write(t, "g.jsonl", records(5000))
	files, _, err := Find([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	grown := false
	m := newMemoryLoad()
	_, err = Run(context.Background(), m, emptyHoldings(), files, Options{OnProgress: func(Progress) {
		if grown {
			return
		}
		grown = true
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		f.Write(records(7))
		f.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := m.sources[0]
	if s.State != evidence.SourcePartly || !strings.Contains(s.Problem, "file changed while it was read") || s.Tally.Records != 5000 {
		t.Errorf("%s %q %+v", s.State, s.Problem, s.Tally)
	}
}

func TestManySmallFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 10,000 files")
	}
	dir := t.TempDir()
	for i := range 10_000 {
		line := fmt.Sprintf(`{"request_id":"r%d","tenant_id":"t","received_at":%d}`+"\n", i, 1787788800+i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.jsonl", i)), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := read(t, Options{}, dir)
	if len(m.sources) != 10_000 || m.commits < 10_000/commitFiles || m.commits > 50 {
		t.Errorf("%d sources in %d commits", len(m.sources), m.commits)
	}
}

func TestCancelKeepsWholeFilesOnly(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	files, _, err := Find([]string{write(t, "a.jsonl", records(10)), write(t, "b.jsonl", records(10_000))})
	if err != nil {
		t.Fatal(err)
	}
	m := newMemoryLoad()
	count := 0
	_, err = Run(ctx, m, emptyHoldings(), files, Options{OnFile: func(File) {
		if count++; count == 2 {
			cancel(stop)
		}
	}})
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

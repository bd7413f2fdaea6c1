package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// trace reads arrival times and lengths from a file in one of two shapes: CSV
// with the header TIMESTAMP,ContextTokens,GeneratedTokens, or JSON Lines with
// timestamp (ms), input_length and output_length.
type trace struct {
	path  string
	file  *os.File
	lines *bufio.Scanner
	line  int
	csv   bool
	first micros // of the trace's own clock
	last  micros // instant given last: arrivals go in order
	from  micros
	to    micros
	left  int
}

func openTrace(cfg *Config, n int) (*trace, error) {
	f, err := os.Open(cfg.Trace)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	t := &trace{
		path: cfg.Trace, file: f, lines: bufio.NewScanner(f),
		from: cfg.From.UnixMicro(), to: cfg.To.UnixMicro(), left: n, first: -1,
	}
	t.lines.Buffer(nil, 16<<20)
	return t, nil
}

func (t *trace) close() error { return t.file.Close() }

// next gives the following entry; ok is false at the end of the file, of the
// window or of the number asked for.
func (t *trace) next() (at micros, prompt, answer int, ok bool, err error) {
	for t.left > 0 && t.lines.Scan() {
		t.line++
		text := strings.TrimSpace(t.lines.Text())
		if t.line == 1 && strings.HasPrefix(text, "TIMESTAMP,") {
			t.csv = true
			continue
		}
		if text == "" {
			continue
		}
		if at, prompt, answer, err = t.parse(text); err != nil {
			return 0, 0, 0, false, fmt.Errorf("read trace %s:%d: %w", t.path, t.line, err)
		}
		if t.first < 0 {
			t.first = at
		}
		at = max(t.last, t.from+at-t.first)
		t.last = at
		t.left--
		return at, max(1, prompt), max(1, answer), at < t.to, nil
	}
	return 0, 0, 0, false, t.lines.Err()
}

func (t *trace) parse(text string) (at micros, prompt, answer int, err error) {
	if !t.csv {
		var entry struct {
			Timestamp    float64 `json:"timestamp"`
			InputLength  int     `json:"input_length"`
			OutputLength int     `json:"output_length"`
		}
		err = json.Unmarshal([]byte(text), &entry)
		return micros(entry.Timestamp * float64(millisecond)), entry.InputLength, entry.OutputLength, err
	}
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return 0, 0, 0, fmt.Errorf("want 3 fields, not %d", len(fields))
	}
	when, err := time.Parse("2006-01-02 15:04:05.9999999", fields[0])
	if err != nil {
		return 0, 0, 0, err
	}
	if prompt, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, 0, err
	}
	answer, err = strconv.Atoi(fields[2])
	return when.UnixMicro(), prompt, answer, err
}

// traced makes requests of a trace's entries. The trace names no users; they
// are drawn as for synthetic requests.
type traced struct {
	w     *workload
	trace *trace
}

func (s *traced) next() (arrival, bool, error) {
	at, prompt, answer, ok, err := s.trace.next()
	if !ok {
		return arrival{}, false, err
	}
	a := s.w.draw(at)
	a.prompt, a.answer = min(prompt, s.w.cfg.Load.PromptMax), min(answer, a.maxNew)
	if last := s.w.sessions.resume(s.w, &a); last != nil {
		a.shared = min(last.prompt, a.prompt-1)
	}
	s.w.sessions.note(&a)
	return a, true, nil
}

package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"kvforensics/ingest"
)

// meter draws progress on a terminal, at most ten times a second.
type meter struct {
	w     io.Writer // nil: draw nothing
	now   func() time.Time
	start time.Time
	drawn time.Time
}

func (a *app) newMeter() *meter {
	m := &meter{now: a.now, start: a.now()}
	if f, ok := a.stderr.(*os.File); ok && !a.quiet && isTerminal(f) {
		m.w = f
	}
	return m
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (m *meter) show(p ingest.Progress) {
	now := m.now()
	if m.w == nil || now.Sub(m.drawn) < 100*time.Millisecond {
		return
	}
	m.drawn = now
	elapsed := now.Sub(m.start).Seconds()
	left := "?"
	if p.Done > 0 && elapsed > 1 {
		seconds := elapsed * float64(p.Total-p.Done) / float64(p.Done)
		left = (time.Duration(seconds) * time.Second).String()
	}
	fmt.Fprintf(m.w, "\r\x1b[Kreading %s of %s, %d records, %.0f a second, %s left",
		size(p.Done), size(p.Total), p.Records, float64(p.Records)/max(elapsed, 0.001), left)
}

// packs draws how many packs are made.
func (m *meter) packs(done, total int) {
	now := m.now()
	if m.w == nil || now.Sub(m.drawn) < 100*time.Millisecond {
		return
	}
	m.drawn = now
	fmt.Fprintf(m.w, "\r\x1b[K%d of %d packs", done, total)
}

func (m *meter) clear() {
	if m.w != nil && !m.drawn.IsZero() {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}

// size writes bytes with a binary unit.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 3 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[prefix])
}

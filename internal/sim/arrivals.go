package sim

import (
	"math"
	"math/rand/v2"
)

// times gives n instants in order, drawn from the daily curve over the window,
// without holding them: each is the least of those left.
type times struct {
	rng      *rand.Rand
	from     micros
	to       float64 // cumulative intensity at the window's end
	at       float64
	left     int
	swing    float64
	midnight float64 // µs into the day at the window's start
}

func newTimes(cfg *Config, n int, rng *rand.Rand) *times {
	from := cfg.From.UnixMicro()
	t := &times{rng: rng, from: from, left: n, swing: cfg.Load.DailySwing, midnight: float64(from % day)}
	t.to = t.cumulative(float64(cfg.To.UnixMicro() - from))
	return t
}

func (t *times) next() (micros, bool) {
	if t.left == 0 {
		return 0, false
	}
	t.at = t.to - (t.to-t.at)*math.Pow(1-t.rng.Float64(), 1/float64(t.left))
	t.left--
	return t.from + micros(t.invert(t.at)), true
}

// phase turns µs since the window's start into an angle that is least busy at
// 03:00 UTC.
func (t *times) phase(x float64) float64 {
	return 2 * math.Pi * (x + t.midnight - float64(3*hour)) / float64(day)
}

// cumulative is the integral of 1 - swing·cos(phase) from the start to x.
func (t *times) cumulative(x float64) float64 {
	return x - t.swing*float64(day)/(2*math.Pi)*(math.Sin(t.phase(x))-math.Sin(t.phase(0)))
}

func (t *times) invert(y float64) float64 {
	lo, hi := max(0, y-float64(day)), y+float64(day)
	x := y
	for range 60 {
		diff := t.cumulative(x) - y
		if math.Abs(diff) < 1 {
			break
		}
		if diff > 0 {
			hi = x
		} else {
			lo = x
		}
		if x -= diff / (1 - t.swing*math.Cos(t.phase(x))); x <= lo || x >= hi {
			x = (lo + hi) / 2
		}
	}
	return x
}

// zipf draws ranks with probability proportional to 1/(rank+1)^skew.
type zipf struct{ sums []float64 }

func newZipf(n int, skew float64) zipf {
	z := zipf{sums: make([]float64, n)}
	var sum float64
	for i := range z.sums {
		sum += math.Pow(float64(i+1), -skew)
		z.sums[i] = sum
	}
	return z
}

func (z zipf) draw(rng *rand.Rand) int {
	x := rng.Float64() * z.sums[len(z.sums)-1]
	lo, hi := 0, len(z.sums)-1
	for lo < hi {
		if mid := (lo + hi) / 2; z.sums[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// sessionTable keeps the latest sessions of each tenant.
type sessionTable struct {
	recent [][sessionsPerTenant]session
	count  uint64
}

const sessionsPerTenant = 8

type session struct {
	id             uint64
	last           micros
	prompt, answer int
}

// sessionGap is how long a user may think before a session is over.
const sessionGap = 20 * minute

func newSessionTable(tenants int) sessionTable {
	return sessionTable{recent: make([][sessionsPerTenant]session, tenants)}
}

// resume makes a the next turn of a session, or gives nil where it begins one.
func (s *sessionTable) resume(w *workload, a *arrival) *session {
	if w.rng.Float64() < w.cfg.Load.SessionShare {
		past := &s.recent[a.tenant][w.rng.IntN(sessionsPerTenant)]
		if past.id != 0 && a.at-past.last < sessionGap {
			a.session = past.id
			return past
		}
	}
	s.count++
	a.session = s.count
	return nil
}

// note remembers a as its session's last turn, in place of the session itself
// or the one used longest ago.
func (s *sessionTable) note(a *arrival) {
	slot := &s.recent[a.tenant][0]
	for i := range s.recent[a.tenant] {
		c := &s.recent[a.tenant][i]
		if c.id == a.session {
			slot = c
			break
		}
		if c.last < slot.last {
			slot = c
		}
	}
	*slot = session{a.session, a.at, a.prompt, a.answer}
}

package pairing

import (
	"math"
	"math/rand/v2"
	"testing"
)

type blind struct{}

func (blind) reserved(micros, int32, []run, *replay)       {}
func (blind) crossed(micros, int32, int32, bool, int, int) {}

// busyRank draws so many requests of usual sizes on a pool that is half full.
func busyRank(n int) (rank, []job, []act) {
	rng := rand.New(rand.NewPCG(1, 1))
	k := rank{policy: Sweep, pages: 32_768, pageSize: 64, before: nobody, headroom: 512}
	jobs, acts := make([]job, n), make([]act, n)
	at := micros(0)
	for i := range jobs {
		at += micros(rng.ExpFloat64() * 300e3)
		prompt := min(400_000, int32(4000*math.Exp(1.2*rng.NormFloat64())))
		answer := min(8192, int32(350*math.Exp(0.9*rng.NormFloat64())))
		jobs[i] = job{prompt: max(1, prompt), answer: max(1, answer)}
		first := at + 50e3 + micros(prompt)*25
		acts[i] = act{job: int32(i), reserve: at, first: first, end: first + micros(answer)*20e3, lateAt: never, offloadAt: never}
	}
	return k, jobs, acts
}

// One ordering of a million requests on one node.
func BenchmarkReplayMillion(b *testing.B) {
	k, jobs, acts := busyRank(1_000_000)
	var r replay
	b.ReportAllocs()
	for b.Loop() {
		r.reset(k, jobs, acts, blind{})
		r.run(never-1, nil)
	}
	b.ReportMetric(float64(r.starved), "starved")
	b.ReportMetric(float64(r.alloc.merges), "sweeps")
}

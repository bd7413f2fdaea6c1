package measure

import "math"

// Bin sums up the ordinary requests of one prefill node whose uncached prompt
// lies in one step of a geometric scale.
type Bin struct {
	Node      string
	MaxTokens int64   // largest uncached prompt in the bin
	LowMs     float64 // the first percentile of time to first token
	Requests  int64
}

// Knot is one step of the lower envelope: an ordinary prompt of n uncached
// tokens, FromTokens <= n < the next knot's, is not answered before
// BoundMs + SlopeMs*(n-FromTokens) milliseconds.
type Knot struct {
	Node         string // "": all nodes together
	FromTokens   int64
	BoundMs      float64
	SlopeMs      float64 // per token; zero but past the largest ordinary prompt
	Support      int64   // ordinary requests behind the node's envelope
	Extrapolated bool
}

const (
	// minBinRequests is how many requests a bin needs to bound anything: one
	// odd row must not.
	minBinRequests = 5
	// MinSupport is how many ordinary requests a node's envelope needs; with
	// fewer its requests are judged by all nodes together, or not at all.
	MinSupport = 200
)

// Envelope fits the lower envelope of one node from its bins, in order of
// MaxTokens, or gives nothing where they support none.
//
// The cost of a prompt grows with its length, at least linearly. So the time
// that some prompts of at most MaxTokens needed is a bound for all longer ones;
// the smallest over longer bins makes the bound monotone without letting a
// slow bin raise it; and past the last bin the average slope so far is less
// than the true one.
func Envelope(node string, bins []Bin) []Knot {
	var knots []Knot
	var support int64
	for _, b := range bins {
		support += b.Requests
		if b.Requests >= minBinRequests {
			knots = append(knots, Knot{Node: node, FromTokens: b.MaxTokens, BoundMs: b.LowMs})
		}
	}
	if support < MinSupport || len(knots) < 2 {
		return nil
	}
	low := math.Inf(1)
	for i := len(knots) - 1; i >= 0; i-- {
		low = min(low, knots[i].BoundMs)
		knots[i].BoundMs, knots[i].Support = low, support
	}
	first, last := knots[0], &knots[len(knots)-1]
	last.Extrapolated = true
	last.SlopeMs = (last.BoundMs - first.BoundMs) / float64(last.FromTokens-first.FromTokens)
	return knots
}

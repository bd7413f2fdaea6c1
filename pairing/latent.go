package pairing

import (
	"math"
	"math/rand/v2"
	"slices"
)

// latent infers what the rows do not say: which requests without a node were
// on this rank, and what it served that no row tells of. The rank's own figures
// rise by a request's pages when it is admitted and fall when it ends, so each
// unexplained step is evidence for the one or the other.
type latent struct {
	w          *window
	a          *anchors
	candidates []candidate
	excess     []float64 // by anchor, after the candidates that are taken to be here
	rng        *rand.Rand
	scale      float64 // pages of a usual request
	gapRate    float64 // unexplained beginnings and ends per microsecond
}

// candidate is a request that may have been on the rank.
type candidate struct {
	row      int32
	prior    float64 // log odds before this rank's figures are looked at
	silence  float64 // log odds that its silences add
	ratio    float64 // mean odds that the figures add
	from, to int     // anchors while it would have held its pages: from..to-1
	before   int     // the last anchor before it may have begun, -1: none
	after    int     // the first one after it must have ended
	short    bool    // no anchor lies surely within its time
	expected float64 // chance that a short one shows at an anchor
	quiet    bool    // the rank was silent all the while
	pages    float64 // at its beginning
	atEnd    float64 // and at its end
	grows    micros  // from when on it takes more
	end      micros
	here     bool
}

// phantom is a request that no row tells of.
type phantom struct {
	from, to   micros // bounds of its beginning
	until, by  micros // bounds of its end
	pages      float64
	pagesAtEnd float64
}

func (p *planner) newLatent(w *window) *latent {
	l := &latent{w: w, a: w.anchored(), scale: 20}
	var sizes []float64
	for i := range w.rows {
		r := &w.rows[i]
		if !w.reserves(r) {
			continue
		}
		if r.prompt.Known {
			sizes = append(sizes, math.Ceil(float64(r.prompt.V)/float64(w.boot.pageSize)))
		}
		if !w.here(r) {
			l.candidates = append(l.candidates, l.candidate(int32(i), r, p.prior(w, r)))
		}
	}
	if len(sizes) > 0 {
		slices.Sort(sizes)
		l.scale = max(1, sizes[len(sizes)/2])
	}
	l.gapRate = float64(len(l.candidates)+1) / float64(max(1, len(p.boots))) / float64(max(w.until-w.since, 1))
	return l
}

func (l *latent) candidate(i int32, r *row, prior float64) candidate {
	c := candidate{row: i, prior: prior}
	if !l.a.found || !r.prompt.Known {
		return c
	}
	n := nominal(r)
	begin := n.reserve
	if l.a.reading.running {
		begin = n.first
	}
	ps := float64(l.w.boot.pageSize)
	c.pages = math.Ceil(float64(r.prompt.V) / ps)
	c.atEnd = math.Ceil(float64(r.prompt.V+max(n.answer-1, 0)) / ps)
	c.grows, c.end = min(n.first, n.end), n.end
	if n.first != never && l.a.silent(n.first, n.end) > l.a.interval {
		c.silence = -8 // it would have made the rank speak
	}
	c.quiet = n.first != never && l.a.silent(n.first, n.end) >= (n.end-n.first)*9/10
	if begin < n.end {
		l.span(&c, begin, n.end)
	}
	return c
}

// span finds the anchors at which a candidate would have held its pages. Those
// close to its beginning and end count if the excess there is as large.
func (l *latent) span(c *candidate, begin, end micros) {
	m := l.a.margin
	c.before, c.after = l.firstAfter(begin-m-100*millisecond)-1, l.firstAfter(end+m+50*millisecond)
	c.from, c.to = l.firstAfter(begin+m+100*millisecond), l.firstAfter(end-m)
	if c.to < c.from {
		c.to = c.from
	}
	level := 0.0
	if c.before >= 0 {
		level = l.a.list[c.before].excess
	}
	loud := func(j int) bool { return l.a.list[j].excess-level >= c.pages-sharp }
	if c.from == c.to {
		// Too short for an anchor that lies surely inside.
		c.short = true
		for c.from = c.before + 1; c.from < c.after && !loud(c.from); c.from++ {
		}
		for c.to = c.from; c.to < c.after && loud(c.to); c.to++ {
		}
		c.expected = min(0.95, float64(end-begin)/float64(max(l.a.interval, 1)))
		return
	}
	for c.from-1 > c.before && loud(c.from-1) {
		c.from--
	}
	for c.to < c.after && loud(c.to) {
		c.to++
	}
}

// firstAfter gives the first anchor at or after an instant.
func (l *latent) firstAfter(at micros) int {
	i, _ := slices.BinarySearchFunc(l.a.list, at, func(a anchor, at micros) int {
		if a.at < at {
			return -1
		}
		return 1
	})
	return i
}

// begin forgets what was drawn before.
func (l *latent) begin(rng *rand.Rand) {
	l.rng = rng
	l.excess = l.excess[:0]
	for _, a := range l.a.list {
		l.excess = append(l.excess, a.excess)
	}
	for i := range l.candidates {
		l.candidates[i].here = false
	}
}

// sweep draws anew for each candidate whether it was here, given all others
// (Gibbs sampling).
func (l *latent) sweep() {
	for i := range l.candidates {
		c := &l.candidates[i]
		if c.here {
			l.put(c, 1)
		}
		odds := c.silence + l.evidence(c)
		c.ratio += math.Exp(min(odds, surest)) / weighing
		c.here = l.rng.Float64() < 1/(1+math.Exp(-c.prior-odds))
		if c.here {
			l.put(c, -1)
		}
	}
}

const (
	settling = 4  // sweeps before draws count
	weighing = 16 // draws that a ratio is the mean of
	surest   = 3  // log odds up to which one rank's figures count for the others
)

// weigh draws until the candidates' ratios mean something.
func (l *latent) weigh() []candidate {
	for range settling {
		l.sweep()
	}
	for i := range l.candidates {
		l.candidates[i].ratio = 0
	}
	for range weighing {
		l.sweep()
	}
	return l.candidates
}

// put adds a candidate's pages to the excess, or takes them away.
func (l *latent) put(c *candidate, sign float64) {
	for j := c.from; j < c.to; j++ {
		l.excess[j] += sign * l.pagesAt(c, j)
	}
}

// pagesAt gives what a candidate held at an anchor.
func (l *latent) pagesAt(c *candidate, j int) float64 {
	share := float64(l.a.list[j].at-c.grows) / float64(max(c.end-c.grows, 1))
	return c.pages + math.Round((c.atEnd-c.pages)*min(max(share, 0), 1))
}

// evidence gives the log odds that the figures add for a candidate that is not
// counted at present.
func (l *latent) evidence(c *candidate) (odds float64) {
	if c.short {
		return l.shortEvidence(c)
	}
	if c.to <= c.from {
		return 0
	}
	if c.before >= 0 {
		rise := l.excess[c.from] - l.excess[c.before]
		odds += l.stepOdds(rise, l.pagesAt(c, c.from), l.a.list[c.from].at-l.a.list[c.before].at)
	}
	if c.after < len(l.excess) {
		last := c.to - 1
		fall := l.excess[last] - l.excess[c.after]
		odds += l.stepOdds(fall, l.pagesAt(c, last), l.a.list[c.after].at-l.a.list[last].at)
	}
	// While it held its pages the rank cannot have used less than them.
	lacks := 0.0
	for j := c.from; j < c.to; j++ {
		lacks = max(lacks, c.pages-l.excess[j])
	}
	if lacks > 2*sharp {
		odds -= 6
	}
	return odds
}

// shortEvidence is evidence for a candidate that may have begun and ended
// between two anchors.
func (l *latent) shortEvidence(c *candidate) float64 {
	if c.before < 0 || c.after >= len(l.excess) {
		return 0
	}
	gap := l.a.list[c.after].at - l.a.list[c.before].at
	if c.from == c.to {
		if c.after-c.before < 2 && !c.quiet {
			return 0 // no anchor anywhere near, yet the rank spoke
		}
		return math.Log(1 - c.expected)
	}
	return math.Log(1 - c.expected + c.expected*math.Exp(l.stepOdds(l.excess[c.from]-l.excess[c.before], l.pagesAt(c, c.from), gap)))
}

// stepOdds compares a step of the figures with a request's pages: how much
// likelier is it if the request explains it than if it does not? Other
// unexplained requests may have begun or ended in the same gap.
func (l *latent) stepOdds(step, pages float64, gap micros) float64 {
	return math.Log(l.stepDensity(step-pages, gap) / l.stepDensity(step, gap))
}

func (l *latent) stepDensity(x float64, gap micros) float64 {
	const spread = 1.5 // pages by which growth and stamps blur a step
	other := min(0.5, 1-math.Exp(-l.gapRate*float64(gap))+0.002)
	x = math.Abs(x)
	return (1-other)*math.Exp(-x/spread)/(2*spread) + other*l.scale/(2*(l.scale+x)*(l.scale+x))
}

// phantoms explains what excess is left by requests that no row tells of.
func (l *latent) phantoms() (list []phantom) {
	var open []phantom
	const tolerance = sharp
	sum := 0.0
	for j, x := range l.excess {
		before := l.w.since
		if j > 0 {
			before = l.a.list[j-1].at
		}
		now := l.a.list[j].at
		for x-sum < -tolerance && len(open) > 0 {
			k := nearest(open, sum-x)
			p := open[k]
			if rest := math.Abs(sum - p.pagesAtEnd - x); rest >= sum-x {
				break // ending it explains less than leaving it
			}
			p.until, p.by = before, now
			sum -= p.pagesAtEnd
			list, open = append(list, p), slices.Delete(open, k, k+1)
		}
		switch d := x - sum; {
		case d > tolerance:
			open = append(open, phantom{from: before, to: now, pages: d, pagesAtEnd: d})
			sum += d
		case len(open) > 0 && d > 0:
			open[len(open)-1].pagesAtEnd += d // it grows
			sum += d
		}
	}
	for _, p := range open {
		p.until, p.by = l.w.until, l.w.until+1
		list = append(list, p)
	}
	return list
}

func nearest(open []phantom, pages float64) (best int) {
	for k := range open {
		if math.Abs(open[k].pagesAtEnd-pages) < math.Abs(open[best].pagesAtEnd-pages) {
			best = k
		}
	}
	return best
}

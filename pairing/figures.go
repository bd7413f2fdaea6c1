package pairing

import (
	"cmp"
	"math"
	"slices"
)

// figure is what a rank said of its pool in a decode batch line.
type figure struct {
	at     micros // as stamped, often in whole seconds
	tokens int64
}

// reading says what the engine counts in #token. Versions differ, and the
// figures themselves tell which it is.
type reading struct {
	running bool // from the first token on, not from the reservation
	exact   bool // tokens, not whole pages
}

func (r reading) String() string {
	switch {
	case r.running && r.exact:
		return "tokens of running requests"
	case r.running:
		return "pages of running requests"
	case r.exact:
		return "tokens of all that is reserved"
	}
	return "pages of all that is reserved"
}

// anchor is an instant at which the rank's figure can be held against the
// requests that are known, because none of them began or ended close by.
type anchor struct {
	at     micros
	excess float64 // pages that the known requests do not explain
}

// anchors hold a rank's figures against its known requests.
type anchors struct {
	list    []anchor
	reading reading
	offset  micros // of the engine's clock, against the gateway's
	found   bool   // the figures fit the requests well enough to be of use

	shown []bool // by row: the figures would tell if it were lost

	margin   micros // how far the instant of an anchor may be off
	interval micros // the longest usual time between two lines while requests run
	silences []silence
}

// silence is a stretch without lines, and so without more decode steps than
// lie between two lines.
type silence struct{ from, to micros }

// step is a change of the pages in use.
type step struct {
	at    micros
	pages float64
	row   int
}

// load is how many pages known requests hold over time, with a margin around
// each beginning and end.
type load struct {
	steps []step
	sums  []float64 // sums[i]: pages in use before steps[i]
}

func newLoad(steps []step) *load {
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	l := &load{steps: steps, sums: make([]float64, len(steps)+1)}
	for i, s := range steps {
		l.sums[i+1] = l.sums[i] + s.pages
	}
	return l
}

// first gives the index of the first step at or after an instant.
func (l *load) first(at micros) int {
	i, _ := slices.BinarySearchFunc(l.steps, at, func(s step, at micros) int { return cmp.Compare(s.at, at) })
	return i
}

// between gives the least and the most pages in use in from..to.
func (l *load) between(from, to micros) (least, most float64) {
	i := l.first(from)
	least, most = l.sums[i], l.sums[i]
	for ; i < len(l.steps) && l.steps[i].at <= to; i++ {
		least, most = min(least, l.sums[i+1]), max(most, l.sums[i+1])
	}
	return least, most
}

// without is between for all rows but the one whose load is own.
func (l *load) without(own *load, from, to micros) (least, most float64) {
	i := l.first(from)
	now := l.sums[i] - own.sums[own.first(from)]
	least, most = now, now
	for ; i < len(l.steps) && l.steps[i].at <= to; i++ {
		if s := l.steps[i]; s.row != own.steps[0].row {
			now += s.pages
			least, most = min(least, now), max(most, now)
		}
	}
	return least, most
}

const (
	// slack is how far a stamp may be off beyond its resolution.
	slack = 150 * millisecond
	// sharp is how many pages the known requests may be in doubt at an anchor.
	sharp = 4.0
	// fits is the excess, in pages, that the typical anchor of a fitting reading
	// stays under.
	fits = 3.0
)

// holds gives the steps of one row's request under a reading.
func (w *window) holds(i int, rd reading, steps []step) []step {
	r := &w.rows[i]
	if !r.prompt.Known || !w.reserves(r) {
		return steps
	}
	n := nominal(r)
	from := n.reserve
	if rd.running {
		if from = n.first; n.first == never {
			return steps
		}
	}
	ps := float64(w.boot.pageSize)
	prompt := float64(r.prompt.V) / ps
	if !rd.exact {
		prompt = math.Ceil(prompt)
	}
	steps = append(steps, step{from, prompt, i})
	held := prompt
	if n.answer > 1 && n.first < n.end {
		// A page for each page of answer; shares of a page where tokens count.
		last := float64(r.prompt.V+n.answer-1) / ps
		if !rd.exact {
			last = math.Ceil(last)
		}
		for k := 1.0; held < last; k++ {
			grown := min(1, last-held)
			at := n.first + micros(float64(n.end-n.first)*(held*ps-float64(r.prompt.V))/float64(n.answer))
			steps = append(steps, step{max(n.first, min(at, n.end)), grown, i})
			held += grown
		}
	}
	return append(steps, step{n.end, -held, i})
}

// times are the likely instants of one request.
type times struct {
	reserve, first, end micros
	answer              int64
}

// nominal gives them without drawing.
func nominal(r *row) times {
	t := times{answer: max(r.answer.V, 0), first: never}
	switch {
	case r.finished.Known:
		t.end = r.finished.V
	case r.first.Known:
		t.end = r.first.V + micros(t.answer)*usualPace
	default:
		t.end = r.received + micros(t.answer)*usualPace + second
	}
	if r.first.Known {
		t.first = r.first.V
	} else if !r.failed() {
		t.first = t.end - min(micros(t.answer)*usualPace, (t.end-r.received)*9/10)
	}
	t.reserve = r.received + min(10*millisecond+micros(r.prompt.V*12/10), (min(t.first, t.end)-r.received)*19/20)
	return t
}

// failed tells that a request ended before its first token.
func (r *row) failed() bool {
	return !r.first.Known && r.answer.V == 0 && (r.aborted || r.status >= 500)
}

// reserves tells whether a request can have reached the allocator.
func (w *window) reserves(r *row) bool {
	return r.prompt.V > 0 && (!w.boot.limit.Known || r.prompt.V < w.boot.limit.V)
}

// here tells that a request is known to have been on the window's rank.
func (w *window) here(r *row) bool { return r.nodeKnown && (r.rankKnown || w.ranks == 1) }

// load is that of all requests that are known to have been here.
func (w *window) load(rd reading) *load {
	var steps []step
	for i := range w.rows {
		if w.here(&w.rows[i]) {
			steps = w.holds(i, rd, steps)
		}
	}
	return newLoad(steps)
}

// anchored gives the window's anchors. Figures are not needed any more then.
func (w *window) anchored() *anchors {
	if w.anchors == nil {
		w.anchors, w.figures = w.anchor(w.figures), nil
	}
	return w.anchors
}

// anchor holds the window's figures against its known requests: under each
// reading and clock offset, and keeps those that fit best.
func (w *window) anchor(figures []figure) *anchors {
	best := &anchors{}
	if len(figures) < 3 {
		return best
	}
	resolution := second
	for _, f := range figures {
		if f.at%second != 0 {
			resolution = 0
			break
		}
	}
	bestScore := math.Inf(1)
	for _, rd := range []reading{{}, {exact: true}, {running: true}, {running: true, exact: true}} {
		l := w.load(rd)
		for _, offset := range offsets {
			score := w.misfit(l, figures, offset, resolution)
			if score < bestScore-1e-9 {
				bestScore = score
				best.reading, best.offset = rd, offset
			}
		}
	}
	l := w.load(best.reading)
	best.list = w.sharpOnes(l, figures, best.offset, resolution)
	best.margin = resolution/2 + slack
	best.shown = w.shown(l, best, figures, resolution)
	best.listen(w, l, figures)
	best.found = len(best.list) >= 3 && bestScore <= fits
	return best
}

// offsets are tried from none outwards, so that the smallest of equals wins.
var offsets = func() (list []micros) {
	for k := micros(0); k <= 10; k++ {
		list = append(list, k*100*millisecond)
		if k > 0 {
			list = append(list, -k*100*millisecond)
		}
	}
	return list
}()

// misfit is the typical distance of figures from what the known requests allow.
// The mean of capped distances, not the median: lost requests are few, and a
// wrong offset shows at the edges alone.
func (w *window) misfit(l *load, figures []figure, offset, resolution micros) float64 {
	const most = 4000
	stride := 1 + len(figures)/most
	var sum float64
	n := 0
	for i := 0; i < len(figures); i += stride {
		f := figures[i]
		least, mostPages := l.between(f.at-offset, f.at-offset+resolution)
		pages := float64(f.tokens) / float64(w.boot.pageSize)
		sum += min(max(least-pages, pages-mostPages, 0), 4*fits)
		n++
	}
	return sum / float64(n)
}

func (w *window) sharpOnes(l *load, figures []figure, offset, resolution micros) (list []anchor) {
	for _, f := range figures {
		at := f.at - offset
		least, most := l.between(at-slack, at+resolution+slack)
		if most-least <= sharp {
			pages := float64(f.tokens) / float64(w.boot.pageSize)
			excess := pages - (least+most)/2
			if pages >= least && pages <= most {
				excess = 0
			}
			list = append(list, anchor{at + resolution/2, excess})
		}
	}
	return list
}

// shown tells of each row whether it would show if it were lost: whether some
// figure is larger than the other rows explain.
func (w *window) shown(l *load, a *anchors, figures []figure, resolution micros) []bool {
	list := make([]bool, len(w.rows))
	for i := range w.rows {
		if !w.here(&w.rows[i]) {
			continue
		}
		steps := w.holds(i, a.reading, nil)
		if len(steps) == 0 {
			continue
		}
		own := newLoad(steps)
		from, to := own.steps[0].at-resolution-slack, own.steps[len(own.steps)-1].at+slack
		j, _ := slices.BinarySearchFunc(figures, from+a.offset, func(f figure, at micros) int { return cmp.Compare(f.at, at) })
		for ; j < len(figures) && figures[j].at-a.offset <= to && !list[i]; j++ {
			at := figures[j].at - a.offset
			least, most := l.without(own, at-slack, at+resolution+slack)
			list[i] = most-least <= sharp && float64(figures[j].tokens)/float64(w.boot.pageSize)-(least+most)/2 > sharp
		}
	}
	return list
}

// listen finds the silences between figures. Where one is long and no request
// is known to have held pages, the pool was empty at its ends.
func (a *anchors) listen(w *window, l *load, figures []figure) {
	var gaps []micros
	for i := 1; i < len(figures); i++ {
		from, to := figures[i-1].at-a.offset, figures[i].at-a.offset
		if least, _ := l.between(from, to); least > 0 {
			gaps = append(gaps, to-from)
		}
	}
	if len(gaps) < 10 {
		return
	}
	slices.Sort(gaps)
	a.interval = gaps[len(gaps)*95/100]*3/2 + 2*a.margin
	last := w.since
	for i := 0; i <= len(figures); i++ {
		next := w.until
		if i < len(figures) {
			next = figures[i].at - a.offset
		}
		if s := (silence{last + a.margin, next - a.margin}); s.to-s.from > 2*a.interval {
			a.silences = append(a.silences, s)
			for _, at := range []micros{s.from + a.interval, s.to - a.interval} {
				if _, most := l.between(at-a.margin, at+a.margin); most == 0 {
					a.list = append(a.list, anchor{at: at})
				}
			}
		}
		last = next
	}
	slices.SortStableFunc(a.list, func(x, y anchor) int { return cmp.Compare(x.at, y.at) })
}

// silent gives how long nothing can have run between two instants.
func (a *anchors) silent(from, to micros) (sum micros) {
	i, _ := slices.BinarySearchFunc(a.silences, from, func(s silence, at micros) int { return cmp.Compare(s.to, at) })
	for ; i < len(a.silences) && a.silences[i].from < to; i++ {
		sum += max(0, min(to, a.silences[i].to)-max(from, a.silences[i].from))
	}
	return sum
}

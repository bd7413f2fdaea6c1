package pairing

import (
	"cmp"
	"slices"
)

// Policy is the order in which a node hands out freed pages again.
type Policy string

// The policies (SGLang, mem_cache/allocator). Sweep is need_sort, which
// disaggregated mode turns on: pages go out in ascending order and freed ones
// wait until an allocation does not fit. LIFO puts freed pages in front.
const (
	Sweep Policy = "sweep"
	LIFO  Policy = "lifo"
)

// run is a range of consecutive pages.
type run struct{ start, count uint32 }

// appendRun lengthens the last run where r continues it.
func appendRun(runs []run, r run) []run {
	if n := len(runs); n > 0 && runs[n-1].start+runs[n-1].count == r.start {
		runs[n-1].count += r.count
		return runs
	}
	return append(runs, r)
}

// allocator hands out the pages 1..pages of one pool; page 0 is padding. The
// free list is kept in reverse, so that both policies take from its end.
type allocator struct {
	policy          Policy
	pages, pageSize int
	free, staged    []run
	nFree, nStaged  int
	merges          int // sweeps begun since boot or flush
}

// reset makes all pages free and in order, as a boot and a flush do. A sweep
// that began before the history does is given by the pages that it has handed
// out already, which wait among the staged.
func (a *allocator) reset(handedOut int) {
	if a.policy == LIFO {
		handedOut = 0 // it has no sweep
	}
	rest := run{uint32(handedOut) + 1, uint32(a.pages - handedOut)}
	a.free = append(a.free[:0], rest)
	a.staged = a.staged[:0]
	a.nFree, a.nStaged, a.merges = a.pages-handedOut, 0, 0
	if handedOut > 0 {
		a.staged = append(a.staged, run{1, uint32(handedOut)})
		a.nStaged = handedOut
	}
}

func (a *allocator) available() int { return a.nFree + a.nStaged }

// extend takes the pages of one prompt, appended to dst in the order of use,
// or gives false and takes none. The engine's estimate of what a prompt needs
// is pessimistic by up to two pages.
func (a *allocator) extend(dst []run, tokens int) ([]run, bool) {
	if tokens/a.pageSize+2 > a.nFree {
		a.merge()
	}
	pages := (tokens + a.pageSize - 1) / a.pageSize
	if pages > a.nFree {
		return dst, false
	}
	return a.take(dst, pages), true
}

// step is what a decode step of so many requests does before it takes pages.
func (a *allocator) step(requests int) {
	if requests > a.nFree {
		a.merge()
	}
}

// grow takes the page that one request of a decode step needs.
func (a *allocator) grow(dst []run) ([]run, bool) {
	if a.nFree == 0 {
		return dst, false
	}
	return a.take(dst, 1), true
}

func (a *allocator) take(dst []run, pages int) []run {
	a.nFree -= pages
	for left := uint32(pages); left > 0; {
		top := &a.free[len(a.free)-1]
		n := min(top.count, left)
		dst = appendRun(dst, run{top.start, n})
		top.start, top.count, left = top.start+n, top.count-n, left-n
		if top.count == 0 {
			a.free = a.free[:len(a.free)-1]
		}
	}
	return dst
}

// release takes back the pages that one engine step frees together.
func (a *allocator) release(runs []run) {
	if a.policy == Sweep {
		for _, r := range runs {
			a.staged = appendRun(a.staged, r)
			a.nStaged += int(r.count)
		}
		return
	}
	first := len(a.free)
	for _, r := range runs {
		a.free = append(a.free, r)
		a.nFree += int(r.count)
	}
	sortDown(a.free[first:])
}

// merge begins the next sweep: staged and free pages in ascending order.
func (a *allocator) merge() {
	if a.nStaged == 0 {
		return
	}
	a.free = append(a.free, a.staged...)
	sortDown(a.free)
	kept := a.free[:1]
	for _, r := range a.free[1:] {
		if last := &kept[len(kept)-1]; r.start+r.count == last.start {
			last.start, last.count = r.start, last.count+r.count
		} else {
			kept = append(kept, r)
		}
	}
	a.free, a.staged = kept, a.staged[:0]
	a.nFree, a.nStaged = a.nFree+a.nStaged, 0
	a.merges++
}

func sortDown(runs []run) {
	slices.SortFunc(runs, func(x, y run) int { return cmp.Compare(y.start, x.start) })
}

package sim

import (
	"math/bits"
	"slices"
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

func countPages(runs []run) (n int) {
	for _, r := range runs {
		n += int(r.count)
	}
	return n
}

// allocator hands out the pages 1..n of one pool; page 0 is padding.
type allocator interface {
	// extend takes pages for a prompt, merging first where the engine's
	// pessimistic estimate for it says so. It appends them to dst in the order
	// of use, or gives false and takes none.
	extend(dst []run, pages, tokens, requests int) ([]run, bool)
	// prepareStep is what a decode step of so many requests does first.
	prepareStep(requests int)
	// grow takes the page that one request of a decode step needs.
	grow() (page uint32, ok bool)
	// release takes back the pages that one engine step frees together.
	release(runs []run)
	// available counts pages that are free, merged or not.
	available() int
	// wantsStep tells that a decode step of so many requests would change the
	// free list by itself.
	wantsStep(requests int) bool
	// reset is /flush_cache: all pages free, in order.
	reset()
}

// sweepAllocator is the sorted free list of nodes in disaggregated mode:
// pages go out in ascending order, freed ones wait in a staged list until an
// allocation does not fit. Both lists are sorted whenever their order matters,
// so two bit sets hold them.
type sweepAllocator struct {
	pages, pageSize int
	free, staged    []uint64 // bit p stands for page p
	nFree, nStaged  int
	front           int // no word before it has a free page
}

func newSweep(pages, pageSize int) *sweepAllocator {
	a := &sweepAllocator{
		pages: pages, pageSize: pageSize,
		free:   make([]uint64, pages/64+1),
		staged: make([]uint64, pages/64+1),
	}
	a.reset()
	return a
}

func (a *sweepAllocator) reset() {
	clear(a.free)
	clear(a.staged)
	setRange(a.free, run{1, uint32(a.pages)})
	a.nFree, a.nStaged, a.front = a.pages, 0, 0
}

func (a *sweepAllocator) available() int { return a.nFree + a.nStaged }

func (a *sweepAllocator) merge() {
	if a.nStaged == 0 {
		return
	}
	for i, w := range a.staged {
		a.free[i] |= w
	}
	clear(a.staged)
	a.nFree += a.nStaged
	a.nStaged, a.front = 0, 0
}

func (a *sweepAllocator) extend(dst []run, pages, tokens, requests int) ([]run, bool) {
	if tokens/a.pageSize+requests+1 > a.nFree {
		a.merge()
	}
	if pages > a.nFree {
		return dst, false
	}
	return a.take(dst, pages), true
}

func (a *sweepAllocator) wantsStep(requests int) bool {
	return requests > a.nFree && a.nStaged > 0
}

func (a *sweepAllocator) prepareStep(requests int) {
	if requests > a.nFree {
		a.merge()
	}
}

func (a *sweepAllocator) grow() (uint32, bool) {
	if a.nFree == 0 {
		return 0, false
	}
	for a.free[a.front] == 0 {
		a.front++
	}
	bit := bits.TrailingZeros64(a.free[a.front])
	a.free[a.front] &^= 1 << bit
	a.nFree--
	return uint32(a.front*64 + bit), true
}

// take removes the lowest free pages; there must be enough.
func (a *sweepAllocator) take(dst []run, pages int) []run {
	a.nFree -= pages
	for pages > 0 {
		w := a.free[a.front]
		if w == 0 {
			a.front++
			continue
		}
		bit := bits.TrailingZeros64(w)
		n := min(bits.TrailingZeros64(^(w >> bit)), 64-bit, pages)
		dst = appendRun(dst, run{uint32(a.front*64 + bit), uint32(n)})
		a.free[a.front] &^= mask(bit, n)
		pages -= n
	}
	return dst
}

func (a *sweepAllocator) release(runs []run) {
	for _, r := range runs {
		setRange(a.staged, r)
		a.nStaged += int(r.count)
	}
}

// mask has n bits set from bit on; 1 <= n <= 64-bit.
func mask(bit, n int) uint64 { return (^uint64(0) >> (64 - n)) << bit }

func setRange(set []uint64, r run) {
	at, left := int(r.start), int(r.count)
	for left > 0 {
		bit := at & 63
		n := min(64-bit, left)
		set[at>>6] |= mask(bit, n)
		at, left = at+n, left-n
	}
}

// lifoAllocator is the unsorted free list of a single-instance node: freed
// pages go in front and are reused first.
type lifoAllocator struct {
	pages int
	stack []run // the front of the list is the start of the last run
	n     int
}

func newLIFO(pages int) *lifoAllocator {
	a := &lifoAllocator{pages: pages}
	a.reset()
	return a
}

func (a *lifoAllocator) reset() {
	a.stack = append(a.stack[:0], run{1, uint32(a.pages)})
	a.n = a.pages
}

func (a *lifoAllocator) available() int     { return a.n }
func (a *lifoAllocator) prepareStep(int)    {}
func (a *lifoAllocator) wantsStep(int) bool { return false }

func (a *lifoAllocator) extend(dst []run, pages, _, _ int) ([]run, bool) {
	if pages > a.n {
		return dst, false
	}
	a.n -= pages
	for pages > 0 {
		top := &a.stack[len(a.stack)-1]
		n := min(int(top.count), pages)
		dst = appendRun(dst, run{top.start, uint32(n)})
		top.start += uint32(n)
		top.count -= uint32(n)
		if top.count == 0 {
			a.stack = a.stack[:len(a.stack)-1]
		}
		pages -= n
	}
	return dst, true
}

func (a *lifoAllocator) grow() (uint32, bool) {
	one, ok := a.extend(nil, 1, 1, 1)
	if !ok {
		return 0, false
	}
	return one[0].start, true
}

func (a *lifoAllocator) release(runs []run) {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(x, y run) int { return int(x.start) - int(y.start) })
	for _, r := range slices.Backward(sorted) {
		a.n += int(r.count)
		if n := len(a.stack); n > 0 && r.start+r.count == a.stack[n-1].start {
			a.stack[n-1].start, a.stack[n-1].count = r.start, a.stack[n-1].count+r.count
			continue
		}
		a.stack = append(a.stack, r)
	}
}

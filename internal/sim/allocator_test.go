package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// slowAllocator is the allocator as domain.md tells it, on plain lists.
type slowAllocator struct {
	pages, pageSize int
	sorted          bool
	free, staged    []int
}

func newSlow(pages, pageSize int, sorted bool) *slowAllocator {
	a := &slowAllocator{pages: pages, pageSize: pageSize, sorted: sorted}
	a.reset()
	return a
}

func (a *slowAllocator) reset() {
	a.free, a.staged = nil, nil
	for p := 1; p <= a.pages; p++ {
		a.free = append(a.free, p)
	}
}

func (a *slowAllocator) merge() {
	a.free = append(a.free, a.staged...)
	a.staged = nil
	slices.Sort(a.free)
}

func (a *slowAllocator) take(n int) []int {
	if n > len(a.free) {
		return nil
	}
	taken := slices.Clone(a.free[:n])
	a.free = slices.Delete(a.free, 0, n)
	return taken
}

func (a *slowAllocator) extend(pages, tokens int) []int {
	if a.sorted && tokens/a.pageSize+2 > len(a.free) {
		a.merge()
	}
	return a.take(pages)
}

func (a *slowAllocator) prepareStep(requests int) {
	if a.sorted && requests > len(a.free) {
		a.merge()
	}
}

func (a *slowAllocator) release(pages []int) {
	pages = slices.Clone(pages)
	slices.Sort(pages)
	if a.sorted {
		a.staged = append(pages, a.staged...)
	} else {
		a.free = append(pages, a.free...)
	}
}

func pagesOf(runs []run) (pages []int) {
	for _, r := range runs {
		for p := r.start; p < r.start+r.count; p++ {
			pages = append(pages, int(p))
		}
	}
	return pages
}

func TestAllocatorsAgreeWithSlowModel(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pages, pageSize := 1+rng.IntN(200), 1+rng.IntN(64)
		checkHistory(t, rng, newSweep(pages, pageSize), newSlow(pages, pageSize, true))
		checkHistory(t, rng, newLIFO(pages), newSlow(pages, pageSize, false))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkHistory(t *testing.T, rng *rand.Rand, fast allocator, slow *slowAllocator) {
	var held [][]run
	for range 60 {
		switch op := rng.IntN(10); {
		case op < 4:
			tokens := 1 + rng.IntN(slow.pages*slow.pageSize/2+1)
			pages := (tokens + slow.pageSize - 1) / slow.pageSize
			got, ok := fast.extend(nil, pages, tokens, 1)
			want := slow.extend(pages, tokens)
			if ok != (want != nil) || !slices.Equal(pagesOf(got), want) {
				t.Errorf("extend(%d tokens) gave %v, want %v", tokens, pagesOf(got), want)
			}
			if ok {
				held = append(held, got)
			}
		case op < 6:
			requests := 1 + rng.IntN(8)
			fast.prepareStep(requests)
			slow.prepareStep(requests)
			page, ok := fast.grow()
			want := slow.take(1)
			if ok != (want != nil) || ok && int(page) != want[0] {
				t.Errorf("grow gave %d, want %v", page, want)
			}
			if ok {
				held = append(held, []run{{page, 1}})
			}
		case op < 9 && len(held) > 0:
			// The frees of one step go back together.
			n := 1 + rng.IntN(min(3, len(held)))
			rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
			freed := slices.Concat(held[:n]...)
			held = held[n:]
			fast.release(freed)
			slow.release(pagesOf(freed))
		case op == 9 && len(held) == 0:
			fast.reset()
			slow.reset()
		}
		checkPages(t, fast, slow, held)
	}
}

// checkPages wants every page but 0 to be free or held, and by one alone.
func checkPages(t *testing.T, fast allocator, slow *slowAllocator, held [][]run) {
	seen := map[int]bool{}
	for _, runs := range held {
		for _, page := range pagesOf(runs) {
			if page < 1 || page > slow.pages || seen[page] {
				t.Errorf("page %d was handed out twice or does not exist", page)
			}
			seen[page] = true
		}
	}
	if got := fast.available(); got != slow.pages-len(seen) || got != len(slow.free)+len(slow.staged) {
		t.Errorf("%d pages available, want %d", got, slow.pages-len(seen))
	}
}

func TestSweepMergesOnlyWhenItMust(t *testing.T) {
	a := newSweep(10, 64)
	first, _ := a.extend(nil, 4, 4*64, 1) // 1-4
	a.release(first)
	if got, _ := a.extend(nil, 3, 3*64, 1); !slices.Equal(got, []run{{5, 3}}) {
		t.Errorf("took %v before the sweep was over, want pages 5-7", got)
	}
	// Two whole pages would fit the three free ones, yet 2+2 > 3.
	if got, _ := a.extend(nil, 2, 2*64, 1); !slices.Equal(got, []run{{1, 2}}) {
		t.Errorf("took %v, want pages 1-2: the estimate is pessimistic", got)
	}
	if _, ok := a.extend(nil, 6, 6*64, 1); ok {
		t.Error("took 6 pages of 5")
	}
}

func TestSweepStepMergesWhenTheBatchOutgrowsTheFreeList(t *testing.T) {
	a := newSweep(8, 64)
	runs, _ := a.extend(nil, 6, 6*64-63, 1)
	a.release(runs)
	if a.wantsStep(2) || !a.wantsStep(3) {
		t.Error("a step merges exactly if its requests outnumber the free pages")
	}
	a.prepareStep(3)
	if page, _ := a.grow(); page != 1 {
		t.Errorf("grew to page %d after the merge, want 1", page)
	}
}

package sim

import (
	"maps"
	"testing"
)

// shadow keeps, slot by slot and as each token is written, what memory learns
// only when a request leaves. It knows no aborts and no offload.
type shadow struct {
	t       *testing.T
	d       *decodeRank
	slots   []uint64         // number of the request that wrote each slot last
	written map[*request]int // tokens, of those that run
	checked map[*request]bool
}

func newShadow(t *testing.T, d *decodeRank) *shadow {
	return &shadow{t, d, make([]uint64, (d.pages+1)*d.ps), map[*request]int{}, map[*request]bool{}}
}

func (s *shadow) look() {
	runs := map[*request]bool{}
	for _, r := range s.d.running {
		runs[r] = true
	}
	for r := range s.written {
		if !runs[r] {
			s.update(r)
			delete(s.written, r)
		}
	}
	for _, r := range s.d.running {
		s.update(r)
	}
	for _, r := range s.d.transfers {
		if r.placeholder && !s.checked[r] {
			s.checked[r] = true
			s.compare(r)
		}
	}
}

// update writes what r has written since the last look.
func (s *shadow) update(r *request) {
	from, seen := s.written[r]
	if !seen && r.placeholder {
		from = r.prompt
		s.copyFirst(r.pages[0].start)
	}
	held := r.prompt + r.produced - 1
	for token := from; token < held; token++ {
		s.slots[int(pageAt(r.pages, token/s.d.ps))*s.d.ps+token%s.d.ps] = r.number
	}
	s.written[r] = held
}

// copyFirst takes over the page that came from the prefill node.
func (s *shadow) copyFirst(page uint32) {
	slots := s.slots[int(page)*s.d.ps:][:s.d.ps]
	clear(slots)
	for _, row := range s.d.mem.rows(page, nil) {
		for slot := row.from; slot < row.to; slot++ {
			slots[slot] = s.d.node.c.owners.entries[row.owner].number
		}
	}
}

// compare wants the truth of an oversize request to be what lies in its pages.
func (s *shadow) compare(r *request) {
	want := map[uint64]int{}
	for token := s.d.ps; token < r.prompt; token++ {
		want[s.slots[int(pageAt(r.pages, token/s.d.ps))*s.d.ps+token%s.d.ps]]++
	}
	x := r.exposed[0]
	got := map[uint64]int{}
	if x.unwritten > 0 {
		got[0] = x.unwritten
	}
	for _, source := range x.sources {
		got[source.number] = source.slots
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("oversize request %d reads %v, truth says %v", r.number, want, got)
	}
}

func TestTruthIsWhatLiesInThePages(t *testing.T) {
	cfg := small(11)
	cfg.Faults.Abort, cfg.Faults.AbortInFlight, cfg.Faults.OffloadReuse = 0, 0, 0
	cfg.Faults.Restarts, cfg.Faults.EarlyRelease = 0, 0
	c, _ := startCluster(t, &cfg, t.TempDir())
	var shadows []*shadow
	for _, n := range c.nodes {
		for _, d := range n.decode {
			if !n.unified() {
				shadows = append(shadows, newShadow(t, d))
			}
		}
	}
	err := c.play(func() {
		for _, s := range shadows {
			s.look()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, s := range shadows {
		checked += len(s.checked)
	}
	if checked != cfg.Limits.Served {
		t.Errorf("compared %d oversize requests, want %d", checked, cfg.Limits.Served)
	}
}

package sim

import (
	"math/rand/v2"
	"testing"
)

// slot is one slot of a memory kept slot by slot.
type slot struct {
	owner ownerID
	token uint32
}

func TestMemoryAgreesWithSlots(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 2))
		const pages = 24
		ps := []int{1, 4, 16, 64}[rng.IntN(4)]
		o := newOwners()
		m := newMemory(pages, ps, o)
		slots := make([]slot, (pages+1)*ps)
		var ids []ownerID
		for i := range 6 {
			ids = append(ids, o.add(uint64(i), 0, 100))
		}
		for range 40 {
			id := ids[rng.IntN(len(ids))]
			runs := randomRuns(rng, pages)
			skip := rng.IntN(countPages(runs) * ps)
			tokens := rng.IntN(countPages(runs)*ps - skip + 1)
			token := rng.IntN(1000)
			m.write(runs, skip, tokens, id, token)
			at := 0
			for _, page := range pagesOf(runs) {
				for s := range ps {
					if at >= skip && at < skip+tokens {
						slots[page*ps+s] = slot{id, uint32(token + at - skip)}
					}
					at++
				}
			}
			if rng.IntN(4) == 0 {
				from, to := uint32(1+rng.IntN(pages)), uint32(1+rng.IntN(pages))
				m.replace(to, append([]row(nil), m.rows(from, nil)...))
				copy(slots[int(to)*ps:int(to+1)*ps], slots[int(from)*ps:int(from+1)*ps])
			}
		}
		compareSlots(t, m, slots)
		checkRefs(t, o, ids, m)
		if t.Failed() {
			t.Fatalf("seed %d, page size %d", seed, ps)
		}
	}
}

func randomRuns(rng *rand.Rand, pages int) (runs []run) {
	for page := 1 + rng.IntN(4); page <= pages; {
		n := min(1+rng.IntN(5), pages-page+1)
		runs = appendRun(runs, run{uint32(page), uint32(n)})
		page += n + 1 + rng.IntN(6)
	}
	return runs
}

func compareSlots(t *testing.T, m *memory, slots []slot) {
	t.Helper()
	for page := range m.owner {
		got := make([]slot, m.pageSize)
		for _, r := range m.rows(uint32(page), nil) {
			for s := r.from; s < r.to; s++ {
				got[s] = slot{r.owner, r.token + uint32(s-r.from)}
			}
		}
		for s, have := range got {
			if want := slots[page*m.pageSize+s]; have != want {
				t.Errorf("page %d slot %d holds %v, want %v", page, s, have, want)
			}
		}
	}
}

// checkRefs wants each owner to count the pieces that memories hold, plus one
// for each time it is in alive.
func checkRefs(t *testing.T, o *owners, alive []ownerID, memories ...*memory) {
	t.Helper()
	want := make([]int32, len(o.entries))
	for _, id := range alive {
		want[id]++
	}
	for _, m := range memories {
		for page := range m.owner {
			for _, r := range m.rows(uint32(page), nil) {
				want[r.owner]++
			}
		}
	}
	for id := firstOwner; int(id) < len(o.entries); id++ {
		if o.entries[id].refs != want[id] {
			t.Errorf("owner %d counts %d pieces, want %d", id, o.entries[id].refs, want[id])
		}
	}
}

package pairing

import "slices"

// Rows that reach another request's pages: late writes and offload.

// land is the arrival of KV whose request ended meanwhile. Whoever holds those
// pages now, and runs, attends to it from here on; what has not begun to run
// is written over by its own KV later.
func (r *replay) land(now micros, i int32, a *act, s *live) {
	j := &r.jobs[a.job]
	for _, h := range r.runners {
		r.crossLate(now, h, i, a, s)
	}
	r.mem.write(s.pages, 0, int(a.landed), int(j.prompt-a.landed), owner(a.job))
	r.recycle(s)
}

func (r *replay) crossLate(now micros, holder, late int32, a *act, s *live) {
	h := &r.state[holder]
	ps := r.rank.pageSize
	synced := false
	overlap(h.pages, s.pages, func(i, j int) {
		if !synced {
			r.sync(now, holder)
			synced = true
		}
		i += int(h.gone) / ps
		from, to := max(j*ps, int(a.landed)), min(j*ps+ps, int(r.jobs[a.job].prompt))
		slots := min(to-j*ps, int(h.committed)-i*ps) - (from - j*ps) // of rows that the holder has
		if slots > 0 {
			r.watch.crossed(now, holder, late, true, from, slots)
		}
	})
}

// offload releases the whole pages of a prompt that its request still attends to.
func (r *replay) offload(now micros, i int32, a *act, s *live) {
	whole := int(r.jobs[a.job].prompt) / r.rank.pageSize
	if whole == 0 || s.phase != runningPhase {
		return
	}
	s.ghost, s.pages = cut(s.pages, whole)
	s.gone = int32(whole * r.rank.pageSize)
	r.ghosts = append(r.ghosts, i)
	r.alloc.release(s.ghost)
	r.admit(now)
}

// endGhost adds what still runs in the released pages of an act that ends.
func (r *replay) endGhost(now micros, i int32, s *live) {
	for _, h := range r.runners {
		overlaps := false
		overlap(s.ghost, r.state[h].pages, func(int, int) { overlaps = true })
		if overlaps && h != i {
			r.sync(now, h)
		}
	}
	r.ghosts = slices.DeleteFunc(r.ghosts, func(g int32) bool { return g == i })
}

// crossGhost tells of rows from..to-1 of writer's sequence that went into pages
// that ghost still attends to.
func (r *replay) crossGhost(now micros, ghost, writer int32, from, to int) {
	w := &r.state[writer]
	ps := r.rank.pageSize
	overlap(r.state[ghost].ghost, w.pages, func(_, j int) {
		j += int(w.gone) / ps
		lo, hi := max(from, j*ps), min(to, j*ps+ps)
		if lo < hi {
			r.watch.crossed(now, ghost, writer, false, lo, hi-lo)
		}
	})
}

// overlap calls each for every page that both lists have, with its index in
// either.
func overlap(a, b []run, each func(i, j int)) {
	i := 0
	for _, x := range a {
		j := 0
		for _, y := range b {
			lo, hi := max(x.start, y.start), min(x.start+x.count, y.start+y.count)
			for page := lo; page < hi; page++ {
				each(i+int(page-x.start), j+int(page-y.start))
			}
			j += int(y.count)
		}
		i += int(x.count)
	}
}

// cut splits a list of runs after n pages.
func cut(runs []run, n int) (head, tail []run) {
	for i, r := range runs {
		if int(r.count) > n {
			if n > 0 {
				head = append(head, run{r.start, uint32(n)})
			}
			return head, append([]run{{r.start + uint32(n), r.count - uint32(n)}}, runs[i+1:]...)
		}
		head = append(head, r)
		n -= int(r.count)
	}
	return head, nil
}

package sim

// patch is a piece of a page, held by a request, that foreign rows overwrote
// after the request's own had come.
type patch struct {
	page uint32
	row  row
}

// commit puts the rows that r has written into memory. While r held its pages
// nobody else read them, so once, at the end, is enough.
func (d *decodeRank) commit(r *request) {
	held := r.prompt + r.produced - 1
	if r.placeholder {
		d.mem.write(r.pages, r.prompt, held-r.prompt, r.owner, r.prompt)
	} else {
		d.mem.write(r.pages, r.freedTokens, held-r.freedTokens, r.owner, r.freedTokens)
	}
	for _, p := range r.patches {
		d.mem.writePart(p.page, p.row)
		d.node.c.owners.drop(p.row.owner)
	}
	for _, g := range d.ghosts {
		if g != r {
			d.exposeGhost(g, r)
		}
	}
}

// wrote gives the slots that r has filled in its page i, counted from the
// start of its own sequence.
func (r *request) wrote(i, ps int) (from, to int) {
	to = min(ps, r.prompt+r.produced-1-i*ps)
	if r.placeholder {
		from = max(0, r.prompt-i*ps)
	}
	return from, to
}

// exposeReserved notes what lies in the pages that an oversize request has
// reserved and that nobody will write, the first one apart: that one comes
// from the prefill node.
func (d *decodeRank) exposeReserved(r *request) {
	x := r.exposure(OversizePlaceholder)
	var buf [1]row
	i := 0
	for _, pages := range r.pages {
		for page := pages.start; page < pages.start+pages.count; page++ {
			if i > 0 {
				x.add(d.node.c, d.mem.rows(page, buf[:0]), 0, min(d.ps, r.prompt-i*d.ps), true)
			}
			i++
		}
	}
}

// receivePlaceholder puts the one page that came into the first reserved one,
// whole, as it lay on the prefill node.
func (d *decodeRank) receivePlaceholder(r *request, rows []row) {
	x := r.exposure(OversizePlaceholder)
	x.add(d.node.c, rows, 1, min(d.ps, r.prompt), true)
	d.mem.replace(r.pages[0].start, rows)
}

// landLate is the arrival of KV whose request was aborted meanwhile, in pages
// that may have a new owner.
func (d *decodeRank) landLate(now micros, late *request) {
	d.sync(now)
	for _, holder := range d.running {
		d.exposeLate(holder, late)
	}
	d.mem.write(late.pages, late.lateFrom, late.prompt-late.lateFrom, late.owner, late.lateFrom)
}

func (d *decodeRank) exposeLate(holder, late *request) {
	overlap(holder.pages, late.pages, func(page uint32, i, j int) {
		if j*d.ps < late.lateFrom {
			return
		}
		i += holder.freedTokens / d.ps
		from, to := 0, min(d.ps, holder.prompt+holder.produced-1-i*d.ps)
		if own, _ := holder.wrote(i, d.ps); holder.placeholder {
			to = min(to, own)
		}
		piece, ok := row{0, uint16(min(d.ps, late.prompt-j*d.ps)), late.owner, uint32(j * d.ps)}.cut(from, to)
		if !ok {
			return
		}
		holder.exposure(AbortLateWrite).add(d.node.c, []row{piece}, from, to, false)
		if !holder.placeholder {
			holder.patch(d.node.c, page, piece)
		}
	})
}

// patch makes foreign rows outlive the writing of r's own.
func (r *request) patch(c *cluster, page uint32, piece row) {
	r.patches = append(r.patches, patch{page, piece})
	c.owners.hold(piece.owner, 1)
}

// overlap calls each for every page that both lists have, with its index in
// either. Lists are short or rarely compared.
func overlap(a, b []run, each func(page uint32, i, j int)) {
	i := 0
	for _, x := range a {
		j := 0
		for _, y := range b {
			lo, hi := max(x.start, y.start), min(x.start+x.count, y.start+y.count)
			for page := lo; page < hi; page++ {
				each(page, i+int(page-x.start), j+int(page-y.start))
			}
			j += int(y.count)
		}
		i += int(x.count)
	}
}

// scheduleOffload lets the node free a long-running request's prompt pages
// while it still attends to them.
func (d *decodeRank) scheduleOffload(now micros, r *request) {
	c := d.node.c
	left := r.target - r.produced
	if !d.node.cfg.Offload || r.kind != ordinary || left < 200 || c.rng.Float64() >= c.cfg.Faults.OffloadReuse {
		return
	}
	c.at(now+micros(c.rng.Float64()*0.5*float64(left)*float64(d.stepLen)), func(now micros) {
		if r.stage == running && r.patches == nil && r.prompt >= d.ps && !r.left {
			d.offload(now, r)
		}
	})
}

func (d *decodeRank) offload(now micros, r *request) {
	whole := r.prompt / d.ps
	r.ghost, r.pages = split(r.pages, whole)
	r.freedTokens = whole * d.ps
	d.mem.write(r.ghost, 0, r.freedTokens, r.owner, 0)
	d.ghosts = append(d.ghosts, r)
	d.alloc.release(r.ghost)
	d.admit(now)
}

// split cuts a list of runs after n pages.
func split(runs []run, n int) (head, tail []run) {
	for i, r := range runs {
		if int(r.count) > n {
			if n > 0 {
				head = append(head, run{r.start, uint32(n)})
			}
			tail = append(tail, run{r.start + uint32(n), r.count - uint32(n)})
			return head, append(tail, runs[i+1:]...)
		}
		head = append(head, r)
		n -= int(r.count)
	}
	return head, nil
}

// exposeGhost notes what r has written into pages that g still attends to.
func (d *decodeRank) exposeGhost(g, r *request) {
	overlap(g.ghost, r.pages, func(_ uint32, _, j int) {
		j += r.freedTokens / d.ps
		from, to := r.wrote(j, d.ps)
		if from < to {
			piece := row{uint16(from), uint16(to), r.owner, uint32(j*d.ps + from)}
			g.exposure(OffloadSlotReuse).add(d.node.c, []row{piece}, 0, d.ps, false)
		}
	})
}

// endGhost adds what still runs in the pages of a request that ends.
func (d *decodeRank) endGhost(g *request) {
	d.ghosts = remove(d.ghosts, g)
	for _, r := range d.running {
		d.exposeGhost(g, r)
	}
}

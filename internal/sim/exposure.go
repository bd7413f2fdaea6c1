package sim

// defectSet holds defects as bits, for requests and for tenants apart.
type defectSet uint8

// exposure gathers the foreign slots that a request attends to through one
// defect.
type exposure struct {
	defect    Defect
	req       *request
	unwritten int
	engine    int
	sources   []*sourceSlots
	byNumber  map[uint64]*sourceSlots
	last      *sourceSlots // the one met last; neighbours mostly agree
	page      int          // pages looked at so far
}

// sourceSlots is what an exposure has of one request. It copies what it needs:
// the owner's entry may be reused.
type sourceSlots struct {
	number            uint64
	tenant            int32
	prompt            int
	pages, slots      int
	from, to          int
	lastPage          int
	first, firstCross bool // no earlier suspect of this defect (of another tenant) had it
}

func (s *sourceSlots) part() string {
	switch {
	case s.to <= s.prompt:
		return "prompt"
	case s.from >= s.prompt:
		return "answer"
	default:
		return "both"
	}
}

// exposure gives r's exposure through a defect, begun if need be.
func (r *request) exposure(defect Defect) *exposure {
	for _, x := range r.exposed {
		if x.defect == defect {
			return x
		}
	}
	x := &exposure{defect: defect, req: r, byNumber: map[uint64]*sourceSlots{}}
	r.exposed = append(r.exposed, x)
	return x
}

// add takes the slots from..to-1 of one page. With whole set, slots in that
// range that no row covers count as never written.
func (x *exposure) add(c *cluster, rows []row, from, to int, whole bool) {
	x.page++
	covered := 0
	for _, r := range rows {
		piece, ok := r.cut(from, to)
		if !ok {
			continue
		}
		n := int(piece.to - piece.from)
		covered += n
		if piece.owner == engine || piece.owner == x.req.owner {
			x.engine += n
			continue
		}
		x.source(c, piece.owner).take(x.page, int(piece.token), n)
	}
	if whole {
		x.unwritten += to - from - covered
	}
}

func (s *sourceSlots) take(page, token, n int) {
	if s.lastPage != page {
		s.lastPage = page
		s.pages++
	}
	if s.slots == 0 {
		s.from, s.to = token, token+n
	}
	s.from, s.to = min(s.from, token), max(s.to, token+n)
	s.slots += n
}

func (x *exposure) source(c *cluster, id ownerID) *sourceSlots {
	o := &c.owners.entries[id]
	if x.last != nil && x.last.number == o.number {
		return x.last
	}
	s := x.byNumber[o.number]
	if s == nil {
		s = &sourceSlots{number: o.number, tenant: o.tenant, prompt: int(o.prompt)}
		s.first = o.counted.add(x.defect, false)
		if o.tenant != x.req.tenant {
			s.firstCross = o.counted.add(x.defect, true)
		}
		x.byNumber[o.number] = s
		x.sources = append(x.sources, s)
	}
	x.last = s
	return s
}

// add notes a defect and tells whether it is new. Reads across tenants are
// noted apart from all reads.
func (d *defectSet) add(defect Defect, cross bool) bool {
	bit := 0
	for i, name := range defects {
		if name == defect {
			bit = i
		}
	}
	if cross {
		bit += len(defects)
	}
	before := *d
	*d |= 1 << bit
	return *d != before
}

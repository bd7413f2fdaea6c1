package pairing

// owner says whose rows lie in a slot: the index of a job, or one of the fixed
// owners.
type owner int32

const (
	nobody  owner = -1 // zeros: never written since boot
	unknown owner = -2 // someone whom the logs do not name
	before  owner = -3 // someone before the history begins
)

// layer is a piece of a page: slots from..to-1 hold one owner's rows, of which
// the first is at position token of the owner's own sequence. What it does not
// cover lies in the layer below.
type layer struct {
	owner    owner
	token    int32
	from, to uint16
	below    int32 // index into memory.lower, 0: none
}

// memory says for each slot of one pool who wrote there last.
type memory struct {
	pageSize int
	top      []layer // by page; the lowest layer of a page covers it whole
	lower    []layer // layers that others partly cover; index 0 is not used
	unused   []int32 // free places in lower
}

// reset makes every page hold nothing but o's rows.
func (m *memory) reset(pages int, o owner) {
	if cap(m.top) < pages+1 {
		m.top = make([]layer, pages+1)
	}
	m.top = m.top[:pages+1]
	for i := range m.top {
		m.top[i] = layer{owner: o, to: uint16(m.pageSize)}
	}
	m.lower, m.unused = append(m.lower[:0], layer{}), m.unused[:0]
}

// write puts tokens of o's sequence, from position token on, into pages, whose
// first slot is that of position gone.
func (m *memory) write(pages []run, gone, token, tokens int, o owner) {
	ps := m.pageSize
	skip, from := (token-gone)/ps, (token-gone)%ps
	for _, r := range pages {
		if skip >= int(r.count) {
			skip -= int(r.count)
			continue
		}
		for page := r.start + uint32(skip); page < r.start+r.count && tokens > 0; page++ {
			n := min(ps-from, tokens)
			l := layer{owner: o, token: int32(token), from: uint16(from), to: uint16(from + n)}
			if top := &m.top[page]; n == ps && top.below == 0 {
				*top = l // the usual case
			} else {
				m.lay(page, l)
			}
			token, tokens, from = token+n, tokens-n, 0
		}
		if skip = 0; tokens <= 0 {
			return
		}
	}
}

// lay puts a layer on a page and drops those right beneath that it hides.
func (m *memory) lay(page uint32, l layer) {
	top := &m.top[page]
	for l.from <= top.from && top.to <= l.to && top.below != 0 {
		m.pop(top)
	}
	if l.from <= top.from && top.to <= l.to {
		*top = l
		return
	}
	if n := len(m.unused); n > 0 {
		l.below, m.unused = m.unused[n-1], m.unused[:n-1]
		m.lower[l.below] = *top
	} else {
		l.below = int32(len(m.lower))
		m.lower = append(m.lower, *top)
	}
	*top = l
}

// pop replaces top by what lies beneath.
func (m *memory) pop(top *layer) {
	at := top.below
	*top = m.lower[at]
	m.unused = append(m.unused, at)
}

// read calls each for the visible pieces of slots from..to-1 of a page.
func (m *memory) read(page uint32, from, to int, each func(o owner, token, slots int)) {
	m.see(&m.top[page], from, to, each)
}

func (m *memory) see(l *layer, from, to int, each func(o owner, token, slots int)) {
	lo, hi := max(from, int(l.from)), min(to, int(l.to))
	if lo >= hi {
		if l.below != 0 && from < to {
			m.see(&m.lower[l.below], from, to, each)
		}
		return
	}
	if from < lo {
		m.see(&m.lower[l.below], from, lo, each)
	}
	each(l.owner, int(l.token)+lo-int(l.from), hi-lo)
	if hi < to {
		m.see(&m.lower[l.below], hi, to, each)
	}
}

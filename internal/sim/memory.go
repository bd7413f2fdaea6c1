package sim

import "slices"

// ownerID names a live entry of owners; nobody and the engine are fixed.
type ownerID uint32

const (
	nobody ownerID = iota // zeros: never written since boot
	engine                // probes and warm-ups, which carry nobody's data
	firstOwner
	scattered ownerID = 1<<32 - 1 // marks a page whose rows memory.odd lists
)

// owner is a request that has rows somewhere, or may yet write some.
type owner struct {
	number  uint64 // of the request
	tenant  int32
	prompt  uint32 // tokens; rows from there on are the answer's
	refs    int32  // pieces of pages that hold its rows, plus one while it lives
	counted defectSet
}

// owners is the table of owners of all pools of the cluster. An entry is
// reused once no page holds a row of it.
type owners struct {
	entries []owner
	unused  []ownerID
}

func newOwners() *owners { return &owners{entries: make([]owner, firstOwner)} }

func (o *owners) add(number uint64, tenant int32, prompt int) ownerID {
	entry := owner{number: number, tenant: tenant, prompt: uint32(prompt), refs: 1}
	if n := len(o.unused); n > 0 {
		id := o.unused[n-1]
		o.unused = o.unused[:n-1]
		o.entries[id] = entry
		return id
	}
	o.entries = append(o.entries, entry)
	return ownerID(len(o.entries) - 1)
}

func (o *owners) hold(id ownerID, n int) { o.entries[id].refs += int32(n) }

func (o *owners) drop(id ownerID) {
	e := &o.entries[id]
	e.refs--
	if e.refs == 0 && id >= firstOwner {
		o.unused = append(o.unused, id)
	}
}

// row is a piece of a page: the slots from..to-1 hold one owner's rows, of
// which the first is at position token of the owner's own sequence.
type row struct {
	from, to uint16
	owner    ownerID
	token    uint32
}

// memory says for each slot of one pool whose row was last written there.
// Whole pages of one owner, the usual case, take eight bytes.
type memory struct {
	pageSize int
	owner    []ownerID // by page
	token    []uint32  // position of the page's first slot in its owner's sequence
	odd      map[uint32][]row
	owners   *owners
}

func newMemory(pages, pageSize int, o *owners) *memory {
	return &memory{
		pageSize: pageSize,
		owner:    make([]ownerID, pages+1),
		token:    make([]uint32, pages+1),
		odd:      map[uint32][]row{},
		owners:   o,
	}
}

// forget drops all rows: the memory is gone, as at a restart.
func (m *memory) forget() {
	for page := range m.owner {
		m.dropPage(uint32(page))
	}
}

func (m *memory) dropPage(page uint32) {
	old := m.owner[page]
	m.owner[page] = nobody
	if old != scattered {
		m.owners.drop(old)
		return
	}
	for _, r := range m.odd[page] {
		m.owners.drop(r.owner)
	}
	delete(m.odd, page)
}

// rows lists the written pieces of a page in slot order, into buf if it can.
func (m *memory) rows(page uint32, buf []row) []row {
	switch o := m.owner[page]; o {
	case nobody:
		return buf[:0]
	case scattered:
		return m.odd[page]
	default:
		return append(buf[:0], row{0, uint16(m.pageSize), o, m.token[page]})
	}
}

// write puts tokens of id's sequence, from position token on, into the slots
// of pages from slot `skip` on.
func (m *memory) write(pages []run, skip, tokens int, id ownerID, token int) {
	ps := m.pageSize
	skipPages := skip / ps
	skip %= ps
	for _, r := range pages {
		if skipPages >= int(r.count) {
			skipPages -= int(r.count)
			continue
		}
		page, end := r.start+uint32(skipPages), r.start+r.count
		skipPages = 0
		if skip > 0 && tokens > 0 {
			n := min(ps-skip, tokens)
			m.writePart(page, row{uint16(skip), uint16(skip + n), id, uint32(token)})
			page, token, tokens, skip = page+1, token+n, tokens-n, 0
		}
		whole := min(uint32(tokens/ps), end-page)
		m.writeWhole(page, whole, id, token)
		page, token, tokens = page+whole, token+int(whole)*ps, tokens-int(whole)*ps
		if page < end && tokens > 0 {
			m.writePart(page, row{0, uint16(tokens), id, uint32(token)})
			return
		}
		if tokens <= 0 {
			return
		}
	}
}

func (m *memory) writeWhole(page, count uint32, id ownerID, token int) {
	entries := m.owners.entries
	for end := page + count; page < end; page++ {
		if old := m.owner[page]; old == scattered || entries[old].refs == 1 {
			m.dropPage(page)
		} else {
			entries[old].refs--
		}
		m.owner[page], m.token[page] = id, uint32(token)
		token += m.pageSize
	}
	m.owners.hold(id, int(count))
}

// writePart overlays one piece of a page.
func (m *memory) writePart(page uint32, piece row) {
	if int(piece.to-piece.from) == m.pageSize {
		m.writeWhole(page, 1, piece.owner, int(piece.token))
		return
	}
	var buf [1]row
	next := overlay(m.rows(page, buf[:0]), piece)
	for _, r := range next {
		m.owners.hold(r.owner, 1)
	}
	m.dropPage(page)
	m.owner[page] = scattered
	m.odd[page] = next
}

// overlay gives rows with piece laid over them, in slot order.
func overlay(rows []row, piece row) []row {
	next := make([]row, 0, len(rows)+2)
	for _, r := range rows {
		if left := r; left.from < piece.from {
			left.to = min(left.to, piece.from)
			next = append(next, left)
		}
		if right := r; right.to > piece.to {
			if right.from < piece.to {
				right.token += uint32(piece.to - right.from)
				right.from = piece.to
			}
			next = append(next, right)
		}
	}
	at, _ := slices.BinarySearchFunc(next, piece.from, func(r row, from uint16) int { return int(r.from) - int(from) })
	return slices.Insert(next, at, piece)
}

// cut gives the part of r that lies in the slots from..to-1.
func (r row) cut(from, to int) (row, bool) {
	lo, hi := max(int(r.from), from), min(int(r.to), to)
	if lo >= hi {
		return row{}, false
	}
	return row{uint16(lo), uint16(hi), r.owner, r.token + uint32(lo-int(r.from))}, true
}

// replace makes rows the whole content of a page; slots between them hold
// nobody's.
func (m *memory) replace(page uint32, rows []row) {
	for _, r := range rows {
		m.owners.hold(r.owner, 1)
	}
	m.dropPage(page)
	m.owner[page] = scattered
	m.odd[page] = slices.Clone(rows)
}

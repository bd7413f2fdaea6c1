package pairing

import "math"

// The defects that are paired.
const (
	oversizePlaceholder = "oversize-placeholder"
	abortLateWrite      = "abort-late-write"
	abortEarlyRelease   = "abort-early-release"
	offloadSlotReuse    = "offload-slot-reuse"
)

// Sources that are no request.
const (
	kindRequest = "request"
	kindUnknown = "unknown"
	kindNone    = "none"
)

// found is what a suspect attended to of one source, over all orderings.
type found struct {
	orderings int // in which it occurred
	slots     int64
	pages     int64
	from, to  int // positions in the source's sequence
	lastK     int
	lastPage  uint32
}

func (f *found) take(k int, page uint32, token, slots int) {
	if f.lastK != k+1 {
		f.lastK, f.lastPage = k+1, 0
		f.orderings++
	}
	if f.lastPage != page {
		f.lastPage = page
		f.pages++
	}
	if f.slots == 0 {
		f.from, f.to = token, token+slots
	}
	f.from, f.to = min(f.from, token), max(f.to, token+slots)
	f.slots += int64(slots)
}

// tally gathers what one suspect attended to on one rank.
type tally struct {
	suspect   int    // index; meaningless where the replay itself found the suspect
	row       int32  // of the suspect; of use where the replay found it
	tenant    string // of the suspect
	firm      bool
	reached   int // orderings in which it took its pages here
	cross     int // orderings in which it attended to another tenant's request
	rows      map[int32]*found
	none      found
	unknown   found
	lastCross int
	lastReach int
	before    int64 // slots of unknown that were written before the history begins
}

// unlike gives the share of slots that two replays of one ordering give to
// different owners, or to someone before the history.
func (t *tally) unlike(u *tally) float64 {
	total := t.none.slots + t.unknown.slots
	alike := min(t.none.slots, u.none.slots) + min(t.unknown.slots-t.before, u.unknown.slots-u.before)
	for row, f := range t.rows {
		total += f.slots
		if g := u.rows[row]; g != nil {
			alike += min(f.slots, g.slots)
		}
	}
	if total == 0 {
		return 0
	}
	return 1 - float64(alike)/float64(total)
}

// read is what all suspects of a window together attended to of one request.
type read struct {
	any, cross, firm           int // orderings
	lastAny, lastCross, lastFm int
	tokens                     int64 // read by other tenants
}

// once counts an ordering the first time.
func once(k int, last, count *int) {
	if *last != k+1 {
		*last = k + 1
		*count++
	}
}

// take notes that a suspect attended to tokens of a request in ordering k.
func (r *read) take(k int, t *tally, tenant string, tokens int) {
	once(k, &r.lastAny, &r.any)
	if tenant == t.tenant && tenant != "" {
		return
	}
	once(k, &r.lastCross, &r.cross)
	if t.firm {
		once(k, &r.lastFm, &r.firm)
	}
	r.tokens += int64(tokens)
	once(k, &t.lastCross, &t.cross)
}

// probability gives the share of k orderings, and its standard error. The
// error of a share of 0 or 1 is not zero: another k orderings might differ.
func share(n, k int) (probability, mcError float64) {
	p := float64(n) / float64(k)
	q := (float64(n) + 0.5) / (float64(k) + 1)
	return p, math.Sqrt(q * (1 - q) / float64(k))
}

// collector tells tallies what the replay of one ordering finds.
type collector struct {
	k       int
	o       *ordering
	w       *window
	tallies map[int32]*tally // by row
	reads   map[int32]*read  // by row
	lost    map[owner]bool   // lost requests that some suspect attended to

	late, offloaded *crossings // nil: not of interest
}

func (c *collector) reserved(_ micros, i int32, pages []run, r *replay) {
	id := r.acts[i].job
	if !r.jobs[id].placeholder {
		return
	}
	t := c.tallies[c.o.rows[id]]
	if t == nil {
		return
	}
	t.reached++
	ps, prompt := r.rank.pageSize, int(r.jobs[id].prompt)
	// The first page comes whole from the prefill node, one slot of it the
	// suspect's own.
	if n := min(ps, prompt) - 1; n > 0 {
		t.unknown.take(c.k, pages[0].start, 0, n)
	}
	at := 0
	var page uint32
	read := func(o owner, token, slots int) {
		switch o {
		case nobody:
			t.none.take(c.k, page, 0, slots)
		case unknown:
			t.unknown.take(c.k, page, 0, slots)
		case before:
			t.unknown.take(c.k, page, 0, slots)
			t.before += int64(slots)
		default:
			row := c.o.rows[o]
			if row < 0 {
				t.unknown.take(c.k, page, 0, slots)
				c.lost[o] = true
				return
			}
			t.source(row).take(c.k, page, token, slots)
			note(c.reads, row, c.k, t, c.w.rows[row].tenant, slots)
		}
	}
	for _, p := range pages {
		for page = p.start; page < p.start+p.count; page++ {
			if at > 0 {
				r.mem.read(page, 0, min(ps, prompt-at), read)
			}
			at += ps
		}
	}
}

// source gives what the suspect attended to of a row.
func (t *tally) source(row int32) *found {
	f := t.rows[row]
	if f == nil {
		f = &found{}
		t.rows[row] = f
	}
	return f
}

// note adds tokens of a tenant's row that t's suspect attended to in ordering k.
func note(reads map[int32]*read, row int32, k int, t *tally, tenant string, tokens int) {
	r := reads[row]
	if r == nil {
		r = &read{}
		reads[row] = r
	}
	r.take(k, t, tenant, tokens)
}

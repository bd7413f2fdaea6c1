package pairing

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"kvforensics/internal/evidence"
)

// Case is what pairing needs of a case.
type Case interface {
	Select(ctx context.Context, query string, each func(scan func(into ...any) error) error, args ...any) error
	SelectStep(ctx context.Context, name string, each func(scan func(into ...any) error) error) error
	Replace(ctx context.Context, table string, rows [][]any) error
	SetFact(ctx context.Context, name, value string) error
}

type instant = evidence.Opt[evidence.Micros]

// place is where a record lies in the evidence.
type place struct{ source, line int64 }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.source, q.source), cmp.Compare(p.line, q.line))
}

// flag is one defect at one record.
type flag struct {
	place
	defect string
}

func (f flag) compare(g flag) int {
	return cmp.Or(f.place.compare(g.place), cmp.Compare(f.defect, g.defect))
}

// rankKey names a decode node's data-parallel rank.
type rankKey struct {
	node string
	rank int64
}

func (k rankKey) compare(l rankKey) int {
	return cmp.Or(cmp.Compare(k.node, l.node), cmp.Compare(k.rank, l.rank))
}

// suspect is a request whose sources are to be found.
type suspect struct {
	place
	defect      string
	firm        bool    // its level is certain or strong
	probability float64 // that it is one
	tenant      string
	node        string // "": not known
	rank        evidence.Opt[int64]
	prompt      int64
	received    instant
	first       instant
	finished    instant
}

// until is when the suspect held its pages at the latest.
func (s *suspect) until() micros {
	switch {
	case s.first.Known:
		return s.first.V
	case s.finished.Known:
		return s.finished.V
	}
	return s.received.V + micros(time.Minute/time.Microsecond)
}

// boot is one start of one rank: an allocator and a pool of zeros.
type boot struct {
	from, to        instant
	policy          Policy
	version         string
	pages, pageSize int
	limit           evidence.Opt[int64]
	prefillLimit    evidence.Opt[int64] // prompts of so many tokens fit no prefill node
	radix           bool                // the node keeps finished prefixes, which is not modelled
	headroom        int
	servedBefore    bool // it worked before the first request of the evidence
}

func (b *boot) covers(at micros) bool {
	return (!b.from.Known || b.from.V <= at) && (!b.to.Known || at < b.to.V)
}

// row is a request that may have held pages of a window's rank.
type row struct {
	place
	tenant               string // "": not known
	nodeKnown, rankKnown bool
	received             micros
	first, finished      instant
	prompt, answer       evidence.Opt[int64] // tokens
	status               int64
	aborted              bool
}

func opt[T, F any](n sql.Null[F], as func(F) T) evidence.Opt[T] {
	if !n.Valid {
		return evidence.Opt[T]{}
	}
	return evidence.Some(as(n.V))
}

func toMicros(n int64) evidence.Micros { return evidence.Micros(n) }
func same(n int64) int64               { return n }

func loadSuspects(ctx context.Context, c Case) (list []suspect, err error) {
	err = c.SelectStep(ctx, "pairing_suspects", func(scan func(...any) error) error {
		var s suspect
		var tenant, node sql.NullString
		var rank, prompt, received, first, finished sql.Null[int64]
		if err := scan(&s.source, &s.line, &s.defect, &s.firm, &s.probability, &tenant, &node, &rank, &prompt, &received, &first, &finished); err != nil {
			return err
		}
		s.tenant, s.node, s.rank, s.prompt = tenant.String, node.String, opt(rank, same), prompt.V
		s.received, s.first, s.finished = opt(received, toMicros), opt(first, toMicros), opt(finished, toMicros)
		list = append(list, s)
		return nil
	})
	return list, err
}

// defaultHeadroom is SGLang's num_reserved_decode_tokens.
const defaultHeadroom = 512

// loadBoots gives the boots of every rank that has a measured or stated pool,
// in order.
func loadBoots(ctx context.Context, c Case) (map[rankKey][]boot, error) {
	boots := map[rankKey][]boot{}
	err := c.SelectStep(ctx, "pairing_pools", func(scan func(...any) error) error {
		var k rankKey
		var b boot
		var role string
		var from, to, pool, pageSize, limit, headroom, prefillLimit sql.Null[int64]
		if err := scan(&k.node, &role, &k.rank, &from, &to, &b.version, &pool, &pageSize, &limit, &b.radix, &headroom, &b.servedBefore, &prefillLimit); err != nil {
			return err
		}
		if !pool.Valid || !pageSize.Valid || pageSize.V < 1 || pageSize.V > 1<<15 || pool.V < pageSize.V {
			return nil
		}
		b.from, b.to, b.limit = opt(from, toMicros), opt(to, toMicros), opt(limit, same)
		b.prefillLimit = opt(prefillLimit, same)
		b.pageSize, b.pages = int(pageSize.V), int(pool.V/pageSize.V)
		b.headroom = defaultHeadroom
		if headroom.Valid {
			b.headroom = int(headroom.V)
		}
		b.policy = Sweep
		if role == string(evidence.RoleUnified) {
			b.policy = LIFO
		}
		boots[k] = append(boots[k], b)
		return nil
	})
	return boots, err
}

// volume is what requests reserved on a node, by ten minutes.
type volume struct {
	at       micros
	rank     int64 // -1: not known
	tokens   int64
	requests int64
}

func loadVolumes(ctx context.Context, c Case) (map[string][]volume, error) {
	volumes := map[string][]volume{}
	err := c.SelectStep(ctx, "pairing_volume", func(scan func(...any) error) error {
		var node string
		var v volume
		if err := scan(&node, &v.rank, &v.at, &v.tokens, &v.requests); err != nil {
			return err
		}
		volumes[node] = append(volumes[node], v)
		return nil
	})
	for _, list := range volumes {
		slices.SortStableFunc(list, func(a, b volume) int { return cmp.Compare(a.at, b.at) })
	}
	return volumes, err
}

// loadFlushes gives the instants at which nodes put their free lists in order.
func loadFlushes(ctx context.Context, c Case) (map[string][]micros, error) {
	flushes := map[string][]micros{}
	err := c.SelectStep(ctx, "pairing_flushes", func(scan func(...any) error) error {
		var node string
		var at int64
		if err := scan(&node, &at); err != nil {
			return err
		}
		flushes[node] = append(flushes[node], micros(at))
		return nil
	})
	return flushes, err
}

// loadRows fills windows with their requests.
func loadRows(ctx context.Context, c Case, windows []*window) error {
	var rows [][]any
	for i, w := range windows {
		rows = append(rows, []any{i, w.key.node, w.key.rank, w.since.Time(), w.until.Time()})
		w.rows = w.rows[:0]
	}
	if err := c.Replace(ctx, "replay_windows", rows); err != nil {
		return err
	}
	tenants := names{}
	return c.SelectStep(ctx, "pairing_rows", func(scan func(...any) error) error {
		var r row
		var id int
		var first, finished, prompt, answer sql.Null[int64]
		var tenant sql.NullString
		var reason string
		err := scan(&id, &r.source, &r.line, &tenant, &r.nodeKnown, &r.rankKnown, &r.received, &first, &finished, &prompt, &answer, &r.status, &reason)
		if err != nil {
			return err
		}
		r.tenant = tenants.name(tenant.String)
		r.first, r.finished = opt(first, toMicros), opt(finished, toMicros)
		r.prompt, r.answer = opt(prompt, same), opt(answer, same)
		r.aborted = r.status == 499 || reason == "abort"
		windows[id].rows = append(windows[id].rows, r)
		return nil
	})
}

// loadFigures gives what the ranks said of their pools, by window.
func loadFigures(ctx context.Context, c Case, windows []*window) error {
	for _, w := range windows {
		w.figures, w.anchors = w.figures[:0], nil
	}
	return c.SelectStep(ctx, "pairing_figures", func(scan func(...any) error) error {
		var id int
		var at, running sql.Null[int64]
		var f figure
		if err := scan(&id, &at, &f.tokens, &running); err != nil {
			return err
		}
		f.at = micros(at.V)
		windows[id].figures = append(windows[id].figures, f)
		return nil
	})
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// names holds each text once.
type names map[string]string

func (n names) name(s string) string {
	if held, ok := n[s]; ok {
		return held
	}
	n[s] = s
	return s
}

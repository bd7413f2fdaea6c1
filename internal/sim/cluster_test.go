package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"kvforensics/internal/evidence"
)

// small is a cluster of small pools, so that a few thousand requests wrap them
// many times and all defects occur.
func small(seed uint64) Config {
	cfg := Default(seed)
	cfg.To = cfg.From.Add(2 * time.Hour)
	cfg.Requests = 6000
	cfg.Tenants = 12
	cfg.Nodes = []Node{
		{Name: "pre-0", Role: evidence.RolePrefill, Ranks: 1, PoolTokens: 65_536},
		{Name: "pre-1", Role: evidence.RolePrefill, Ranks: 2, PoolTokens: 65_536},
		{Name: "dec-0", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 98_304, Timezone: "Europe/London"},
		{Name: "dec-1", Role: evidence.RoleDecode, Ranks: 2, PoolTokens: 98_304},
		{Name: "dec-off", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 40_960, Offload: true},
		{Name: "dec-small", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 24_576},
		{Name: "uni-0", Role: evidence.RoleUnified, Ranks: 1, PoolTokens: 131_072},
	}
	cfg.Engine.ContextLen, cfg.Engine.ChunkedPrefill, cfg.Engine.DecodeLogInterval = 90_112, 8192, 40
	cfg.Load.PromptMedian, cfg.Load.TailFrom, cfg.Load.PromptMax = 1500, 8000, 20_000
	cfg.Limits = Oversize{Served: 40, RefusedBoth: 5, RefusedSmall: 6, RefusedLength: 7, Unified: 4, UnifiedRefuse: 3}
	cfg.Faults.AbortInFlight, cfg.Faults.EarlyRelease, cfg.Faults.OffloadReuse = 0.02, 0.01, 0.3
	return cfg
}

// startCluster is Write up to the simulation itself.
func startCluster(t testing.TB, cfg *Config, dir string) (*cluster, *logFiles) {
	t.Helper()
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	work, err := newWorkload(cfg)
	if err != nil {
		t.Fatal(err)
	}
	tenants := makeTenants(cfg)
	c := newCluster(cfg, work)
	c.gateway = newGateway(c, dir, tenants)
	if c.truth, err = createTruth(c, dir, tenants); err != nil {
		t.Fatal(err)
	}
	logs := &logFiles{dir: filepath.Join(dir, "logs"), cfg: cfg}
	c.boot(logs)
	return c, logs
}

// play runs a cluster with a look after each event.
func (c *cluster) play(each func()) error {
	c.nextArrival()
	for len(c.events.items) > 0 && c.err == nil {
		e := c.events.pop()
		c.now = e.at
		e.do(e.at)
		each()
	}
	return c.err
}

func TestPagesAreConservedThroughout(t *testing.T) {
	cfg := small(3)
	c, _ := startCluster(t, &cfg, t.TempDir())
	events := 0
	err := c.play(func() {
		if events++; events%17 != 0 || t.Failed() {
			return
		}
		for _, n := range c.nodes {
			for _, d := range n.decode {
				checkDecodeRank(t, d)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var memories []*memory
	for _, n := range c.nodes {
		if n.active != 0 {
			t.Errorf("%s still has %d requests", n.cfg.Name, n.active)
		}
		for _, d := range n.decode {
			memories = append(memories, d.mem)
			if d.alloc.available() != d.pages {
				t.Errorf("%s: %d of %d pages are free at the end", n.cfg.Name, d.alloc.available(), d.pages)
			}
		}
		for _, p := range n.prefill {
			if p.alloc == nil {
				continue
			}
			memories = append(memories, p.mem)
			if got := p.alloc.available() + p.cache.evictable; got != p.pages {
				t.Errorf("%s: %d of %d pages are free or evictable at the end", n.cfg.Name, got, p.pages)
			}
		}
	}
	checkRefs(t, c.owners, nil, memories...)
}

// checkDecodeRank wants each page to be free or to belong to one request.
func checkDecodeRank(t *testing.T, d *decodeRank) {
	t.Helper()
	held := map[int]bool{}
	for _, list := range [][]*request{d.running, d.transfers} {
		for _, r := range list {
			for _, page := range pagesOf(r.pages) {
				if held[page] || page < 1 || page > d.pages {
					t.Errorf("%s: page %d belongs to two requests or does not exist", d.node.cfg.Name, page)
				}
				held[page] = true
			}
		}
	}
	if d.alloc.available()+len(held) != d.pages {
		t.Errorf("%s: %d pages free and %d held of %d", d.node.cfg.Name, d.alloc.available(), len(held), d.pages)
	}
}

var decodeLine = regexp.MustCompile(`^\[[^\]]*?(?: DP(\d))? TP\d EP\d\] Decode batch, #running-req: (\d+), #token: (\d+), token usage: ([\d.]+), ` +
	`pre-allocated usage: ([\d.]+), #prealloc-req: (\d+), #transfer-req: (\d+), #retracted-req: (\d+), cuda graph: True, gen throughput`)

// stateChecker compares a node's decode lines with its state when they are
// written.
type stateChecker struct {
	t    *testing.T
	node *node
	seen int
}

func (s *stateChecker) Write(line []byte) (int, error) {
	m := decodeLine.FindSubmatch(line)
	if m == nil {
		if bytes.Contains(line, []byte("Decode batch")) {
			s.t.Errorf("unexpected shape: %s", line)
		}
		return len(line), nil
	}
	s.seen++
	rank, _ := strconv.Atoi(string(m[1]))
	d := s.node.decode[rank]
	pages, inFlight, retracted := 0, 0, 0
	for _, r := range d.running {
		pages += countPages(r.pages)
		if want := d.pagesFor(r.prompt+r.produced-1) - r.freedTokens/d.ps; countPages(r.pages) != want {
			s.t.Errorf("a request of %d+%d tokens holds %d pages, want %d", r.prompt, r.produced, countPages(r.pages), want)
		}
	}
	for _, r := range d.transfers {
		pages += countPages(r.pages)
		inFlight += r.prompt
	}
	for _, r := range d.waiting {
		if r.produced > 0 {
			retracted++
		}
	}
	want := fmt.Sprintf("%d|%d|%.2f|%.2f|%d|%d|%d", len(d.running), pages*d.ps, float64(pages*d.ps)/float64(d.tokens),
		float64(inFlight)/float64(d.tokens), len(d.waiting)-retracted, len(d.transfers), retracted)
	if got := string(bytes.Join(m[2:], []byte("|"))); got != want {
		s.t.Errorf("line says %s, state is %s", got, want)
	}
	return len(line), nil
}

func TestDecodeLinesStateTheFigures(t *testing.T) {
	cfg := small(4)
	c, _ := startCluster(t, &cfg, t.TempDir())
	var checkers []*stateChecker
	for _, n := range c.nodes {
		if n.cfg.Role == evidence.RoleDecode {
			s := &stateChecker{t: t, node: n}
			checkers = append(checkers, s)
			// A line longer than the buffer goes straight through.
			n.log.file = &lineFile{damage: &cfg.Damage, out: bufio.NewWriterSize(s, 16)}
		}
	}
	if err := c.play(func() {}); err != nil {
		t.Fatal(err)
	}
	for _, s := range checkers {
		if s.seen < 50 {
			t.Errorf("%s: %d decode lines, want more", s.node.cfg.Name, s.seen)
		}
	}
}

// TestStateIsBounded wants four times the requests not to need more memory.
func TestStateIsBounded(t *testing.T) {
	peak := func(times int) (owners, events int) {
		cfg := small(5)
		cfg.Requests *= times
		cfg.To = cfg.From.Add(time.Duration(times) * 2 * time.Hour)
		cfg.Load.DailySwing = 0
		c, _ := startCluster(t, &cfg, t.TempDir())
		if err := c.play(func() { events = max(events, len(c.events.items)) }); err != nil {
			t.Fatal(err)
		}
		return len(c.owners.entries), events
	}
	owners1, events1 := peak(1)
	owners4, events4 := peak(4)
	if owners4 > owners1*3/2 || events4 > events1*3/2 {
		t.Errorf("state grew from %d owners and %d events to %d and %d", owners1, events1, owners4, events4)
	}
}

func TestTraceGivesArrivals(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"azure.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
		"mooncake.jsonl": `{"timestamp": 27482, "input_length": 374, "output_length": 44, "hash_ids": [0]}` + "\n" +
			`{"timestamp": 31796.579, "input_length": 396, "output_length": 109, "hash_ids": [0]}` + "\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := small(1)
		cfg.Trace, cfg.Limits = path, Oversize{}
		w, err := newWorkload(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := w.next()
		second, ok, err := w.next()
		if !ok || err != nil || first.prompt != 374 || second.prompt != 396 || second.answer != 109 || second.at-first.at != 4_314_579 {
			t.Errorf("%s: got %+v, %+v, %v", name, first, second, err)
		}
		if _, ok, err := w.next(); ok || err != nil {
			t.Errorf("%s: want the end, got %v, %v", name, ok, err)
		}
	}
}

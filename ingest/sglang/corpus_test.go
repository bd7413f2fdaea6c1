package sglang

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
)

// expected is a line of shared/logs/expected.jsonl.
type expected struct {
	File    string  `json:"file"`
	Engine  string  `json:"engine"`
	Version *string `json:"version"`
	Role    *string `json:"role"`
	Pool    *int64  `json:"pool_tokens"`
	Page    *int64  `json:"page_size"`
	Context *int64  `json:"context_len"`
	TP      *int64  `json:"tp"`
	DP      *int64  `json:"dp"`
	First   *string `json:"first_ts"`
	Last    *string `json:"last_ts"`
	Prefill *int64  `json:"prefill"`
	Decode  *int64  `json:"decode"`
	New     *int64  `json:"new"`
	Cached  *int64  `json:"cached"`
	Access  *int64  `json:"access"`
}

// corpus finds the real excerpts beside the repository; they are read in place
// and never copied.
func corpus(t *testing.T) (string, []expected) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("not inside the repository")
		}
		dir = filepath.Dir(dir)
	}
	dir = filepath.Join(dir, "..", "shared", "logs")
	f, err := os.Open(filepath.Join(dir, "expected.jsonl"))
	if err != nil {
		t.Skipf("real log excerpts are not here: %v", err)
	}
	defer f.Close()
	var list []expected
	for s := bufio.NewScanner(f); s.Scan(); {
		var x expected
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return dir, list
}

// Versions that the index knows from elsewhere: the texts do not state them.
var versionElsewhere = map[string]bool{
	"05": true, "07": true, "09": true, "10": true, "11": true, "13": true, "15": true, "17": true, "34": true, "37": true,
	"38": true, "39": true, "51": true, "58": true, "59": true, "61": true, "66": true,
}

// Files of several roles, and how the index says so.
var manyRoles = map[string][]evidence.Role{
	"06": {evidence.RolePrefill, evidence.RoleDecode},
	"41": {evidence.RolePrefill, evidence.RoleDecode},
}

func TestCorpus(t *testing.T) {
	dir, list := corpus(t)
	for _, x := range list {
		if !strings.HasPrefix(x.Engine, "sglang") {
			continue
		}
		t.Run(x.File, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, x.File))
			if err != nil {
				t.Fatal(err)
			}
			r, facts := feed(t, text)
			r.account(t, len(text))
			for _, x := range r.rejected {
				t.Errorf("line %d rejected: %s: %s", x.Line, x.Reason, x.Preview)
			}
			checkRole(t, x, facts)
			checkFigures(t, x, r)
			checkBatches(t, x, r)
			checkStamps(t, x, facts)
			switch {
			case versionElsewhere[x.File[:2]] || x.Version == nil:
				if facts.Version != "" {
					t.Errorf("version %q (%s) is not in the text", facts.Version, facts.VersionHow)
				}
			case facts.Version != *x.Version:
				t.Errorf("version %q, want %q", facts.Version, *x.Version)
			}
			if ok, reason := Sniff(text); !ok {
				t.Error("not taken for a log of SGLang")
			} else {
				t.Log(reason)
			}
		})
	}
}

func TestSniffOtherEngines(t *testing.T) {
	dir, list := corpus(t)
	for _, x := range list {
		if strings.HasPrefix(x.Engine, "sglang") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, x.File))
		if err != nil {
			t.Fatal(err)
		}
		if ok, reason := Sniff(text); ok {
			t.Errorf("%s (%s) is taken for a log of SGLang: %s", x.File, x.Engine, reason)
		}
		r, _ := feed(t, text)
		r.account(t, len(text))
		if len(r.rejected) > 0 {
			t.Errorf("%s: %v", x.File, r.rejected)
		}
	}
}

func checkRole(t *testing.T, x expected, facts Facts) {
	t.Helper()
	if want := manyRoles[x.File[:2]]; want != nil {
		for _, role := range want {
			if !facts.hasRole(role, true) && !facts.hasRole(role, false) {
				t.Errorf("role %s is missing: %v", role, facts.Roles)
			}
		}
		if facts.Role() != evidence.RoleUnknown {
			t.Errorf("one role %s for a file of several", facts.Role())
		}
		return
	}
	want := evidence.RoleUnknown
	if x.Role != nil {
		want = evidence.Role(*x.Role)
	}
	if want == "null" {
		want = evidence.RoleUnified
	}
	if facts.Role() != want {
		t.Errorf("role %q, want %q: %v", facts.Role(), want, facts.Roles)
	}
}

// checkFigures compares what launch, pool and allocation events state.
func checkFigures(t *testing.T, x expected, r *recorder) {
	t.Helper()
	pool, page, context, tp, dp := figures{}, figures{}, figures{}, figures{}, figures{}
	for _, e := range r.events {
		if e.Kind == evidence.EventPool || e.Kind == evidence.EventLaunch {
			pool.add(e.Launch.PoolTokens)
			context.add(e.Launch.ContextLen)
		}
		page.add(e.Launch.PageSize)
		tp.add(e.Launch.TPSize)
		dp.add(e.Launch.DPSize)
	}
	if x.File[:2] == "58" { // no summary line: the allocation of each rank is its pool
		ranks := map[int64]bool{}
		for _, e := range r.kind(evidence.EventKVAlloc) {
			pool.add(e.Launch.PoolTokens)
			ranks[e.DP.V] = true
		}
		if len(ranks) != 8 {
			t.Errorf("%d data-parallel ranks, want 8", len(ranks))
		}
		x.TP, x.DP = nil, nil // the index counts the ranks; no line states the sizes
	}
	pool.check(t, "pool", x.Pool)
	page.check(t, "page size", x.Page)
	context.check(t, "context", x.Context)
	tp.check(t, "tp", x.TP)
	dp.check(t, "dp", x.DP)
}

type figures map[int64]bool

func (f figures) add(n evidence.Opt[int64]) {
	if n.Known {
		f[n.V] = true
	}
}

func (f figures) check(t *testing.T, what string, want *int64) {
	t.Helper()
	switch {
	case want == nil && len(f) > 0:
		t.Errorf("%s: %v, want unknown", what, f)
	case want != nil && (len(f) != 1 || !f[*want]):
		t.Errorf("%s: %v, want %d", what, f, *want)
	}
}

func checkBatches(t *testing.T, x expected, r *recorder) {
	t.Helper()
	var tokens, cached int64
	for _, e := range r.kind(evidence.EventPrefillBatch) {
		tokens += e.Batch.NewTokens.V
		cached += e.CachedTokens.V
	}
	compare := func(what string, got int64, want *int64) {
		if want != nil && got != *want {
			t.Errorf("%s: %d, want %d", what, got, *want)
		}
	}
	compare("prefill batches", int64(len(r.kind(evidence.EventPrefillBatch))), x.Prefill)
	compare("decode batches", int64(len(r.kind(evidence.EventDecodeBatch))), x.Decode)
	compare("new tokens", tokens, x.New)
	compare("cached tokens", cached, x.Cached)
	compare("access lines", int64(len(r.kind(evidence.EventAccess))), x.Access)
}

func checkStamps(t *testing.T, x expected, facts Facts) {
	t.Helper()
	span := facts.Engine
	if x.First != nil && strings.Contains(*x.First, "T") {
		span = facts.Collector
	}
	compare := func(what, got string, want *string) {
		switch {
		case want == nil:
			if got != "" {
				t.Errorf("%s stamp %q, want none", what, got)
			}
		case got != *want && !(x.File[:2] == "17" && strings.HasPrefix(got, *want)): // the index cuts that one
			t.Errorf("%s stamp %q, want %q", what, got, *want)
		}
	}
	compare("first", span.First, x.First)
	compare("last", span.Last, x.Last)
}

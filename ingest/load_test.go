package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kvforensics/internal/evidence"
)

// memoryLoad keeps what a run hands over, with copies of texts that only live
// during the call.
type memoryLoad struct {
	mu       sync.Mutex
	requests map[int][]evidence.Request
	events   map[int][]evidence.EngineEvent
	rejects  map[int][]evidence.Rejected
	sources  []evidence.Source
	paths    map[string]int
	commits  int
}

func newMemoryLoad() *memoryLoad {
	return &memoryLoad{
		requests: map[int][]evidence.Request{}, events: map[int][]evidence.EngineEvent{},
		rejects: map[int][]evidence.Rejected{}, paths: map[string]int{},
	}
}

func (m *memoryLoad) Lanes() int { return 3 }

func (m *memoryLoad) Rows(_, id int, requests []evidence.Request, events []evidence.EngineEvent, rejects []evidence.Rejected) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range requests {
		for _, s := range []*string{
			&r.RequestID, &r.TenantID, &r.Model, &r.PrefillNode, &r.DecodeNode, &r.FinishReason,
			&r.APIKeyID, &r.SessionID, &r.RetryOf, &r.PromptText, &r.ResponseText, &r.Extra,
		} {
			*s = strings.Clone(*s)
		}
		m.requests[id] = append(m.requests[id], r)
	}
	for _, e := range events {
		for _, s := range []*string{
			&e.RID, &e.FinishReason, &e.Message, &e.Launch.Engine, &e.Launch.Version, &e.Launch.TransferBackend, &e.Launch.Flags,
		} {
			*s = strings.Clone(*s)
		}
		m.events[id] = append(m.events[id], e)
	}
	m.rejects[id] = append(m.rejects[id], rejects...)
	return nil
}

func (m *memoryLoad) Source(s evidence.Source) error {
	m.sources = append(m.sources, s)
	return m.Path(s.Path, s.ID)
}

func (m *memoryLoad) Path(path string, id int) error {
	if _, twice := m.paths[path]; twice {
		return fmt.Errorf("path %s twice", path)
	}
	m.paths[path] = id
	return nil
}

func (m *memoryLoad) Forget(id int) error {
	delete(m.requests, id)
	delete(m.events, id)
	delete(m.rejects, id)
	m.sources = slices.DeleteFunc(m.sources, func(s evidence.Source) bool { return s.ID == id })
	for path, at := range m.paths {
		if at == id {
			delete(m.paths, path)
		}
	}
	return nil
}

func (m *memoryLoad) Commit() error   { m.commits++; return nil }
func (m *memoryLoad) Rollback() error { return nil }

// sort puts rows in the order of their places, which lanes do not keep.
func (m *memoryLoad) sort() {
	for _, rows := range m.requests {
		slices.SortFunc(rows, func(a, b evidence.Request) int { return int(a.Line - b.Line) })
	}
	for _, rows := range m.rejects {
		slices.SortFunc(rows, func(a, b evidence.Rejected) int { return int(a.Line - b.Line) })
	}
}

func emptyHoldings() evidence.Holdings {
	return evidence.Holdings{ByDigest: map[evidence.Digest]int{}, ByID: map[int]evidence.Held{}, Sizes: map[int64]bool{}, Paths: map[string]int{}, NextID: 1}
}

// read runs ingest over paths and checks every account.
func read(t *testing.T, o Options, paths ...string) *memoryLoad {
	t.Helper()
	files, _, err := Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	m := newMemoryLoad()
	if _, err := Run(context.Background(), m, emptyHoldings(), files, o); err != nil {
		t.Fatal(err)
	}
	m.sort()
	for _, s := range m.sources {
		checkAccount(t, m, s)
	}
	return m
}

func checkAccount(t *testing.T, m *memoryLoad, s evidence.Source) {
	t.Helper()
	if s.Tally.Bytes() != s.ContentBytes {
		t.Errorf("%s: %d content bytes, %d accounted for: %+v", s.Path, s.ContentBytes, s.Tally.Bytes(), s.Tally)
	}
	if int64(len(m.rejects[s.ID])) != s.Tally.Rejected {
		t.Errorf("%s: %d reject rows, %d counted", s.Path, len(m.rejects[s.ID]), s.Tally.Rejected)
	}
	if s.Format == evidence.FormatJSONL && int64(len(m.requests[s.ID])) != s.Tally.Records {
		t.Errorf("%s: %d request rows, %d counted", s.Path, len(m.requests[s.ID]), s.Tally.Records)
	}
}

// write makes a file of evidence.
func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

package sim

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t testing.TB, cfg Config) (dir string, s Summary) {
	t.Helper()
	dir = t.TempDir()
	s, err := Write(t.Context(), dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return dir, s
}

func readTruth(t testing.TB, dir string) (truth Truth) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "truth", "truth.json"))
	if err == nil {
		err = json.Unmarshal(data, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// digests names the content of each file below dir.
func digests(t testing.TB, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		sums[rel] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func TestSameSeedSameBytes(t *testing.T) {
	cfg := small(7)
	cfg.Output.Gzip = true
	cfg.Damage = Damage{RowsLost: 0.1, HoursLost: 0.3, GarbageLines: 0.01, DuplicateLines: 0.01, TruncateLastLine: true}
	a, _ := write(t, cfg)
	b, _ := write(t, cfg)
	cfg.Seed = 8
	c, _ := write(t, cfg)
	first, again, other := digests(t, a), digests(t, b), digests(t, c)
	if len(first) != len(again) {
		t.Errorf("%d files, then %d", len(first), len(again))
	}
	for name, sum := range first {
		if again[name] != sum {
			t.Errorf("%s differs between two runs of one seed", name)
		}
		if name != filepath.Join("truth", ".kvforensics-truth") && other[name] == sum {
			t.Errorf("%s is the same for another seed", name)
		}
	}
}

func TestGLM53(t *testing.T) {
	dir, s := write(t, GLM53(1))
	if s.Rows != 20_000 || s.Totals.OversizeServed != 155 {
		t.Errorf("%d rows, %d oversize prompts served", s.Rows, s.Totals.OversizeServed)
	}
	served := 0
	for _, r := range rows(t, s.Files) {
		if r.PromptTokens >= 681_274 && r.HTTPStatus == 200 && r.DecodeNode != "uni-0" {
			served++
			if r.TTFT > 5000 {
				t.Errorf("an oversize answer took %v ms to begin", r.TTFT)
			}
		}
	}
	if served != 155 {
		t.Errorf("%d rows show an oversize answer, want 155", served)
	}
	var size int64
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if info, err := e.Info(); err == nil && !e.IsDir() {
			size += info.Size()
		}
		return nil
	})
	if size > 6<<20 {
		t.Errorf("the sample takes %d bytes", size)
	}
}

func TestTruth(t *testing.T) {
	cfg := small(2)
	dir, s := write(t, cfg)
	truth := readTruth(t, dir)
	byID := map[string]gatewayRow{}
	for _, r := range rows(t, s.Files) {
		byID[r.RequestID] = r
	}
	for _, defect := range defects {
		if truth.Totals.Recipients[defect] == 0 {
			t.Errorf("nothing was exposed by %s", defect)
		}
	}
	isSuspect := map[string]bool{}
	for _, x := range truth.Suspects {
		isSuspect[x.RequestID] = true
		checkSuspect(t, &x, byID)
	}
	want := cfg.Limits
	kinds := map[string]int{}
	for _, c := range truth.Controls {
		kinds[c.Kind]++
		if isSuspect[c.RequestID] {
			t.Errorf("%s (%s) is a suspect and a control", c.RequestID, c.Kind)
		}
		if refused := c.Kind != "unified_served"; refused != (byID[c.RequestID].HTTPStatus == 400) {
			t.Errorf("%s (%s) was answered with %d", c.RequestID, c.Kind, byID[c.RequestID].HTTPStatus)
		}
	}
	if got := kinds["refused_both"] + kinds["refused_decode"]; got != want.RefusedBoth+want.RefusedSmall || kinds["refused_decode"] == 0 {
		t.Errorf("nodes refused %d prompts, the decode node alone %d", got, kinds["refused_decode"])
	}
	for kind, n := range map[string]int{"refused_length": want.RefusedLength, "unified_served": want.Unified, "unified_refused": want.UnifiedRefuse} {
		if kinds[kind] != n {
			t.Errorf("%d controls %s, want %d", kinds[kind], kind, n)
		}
	}
	checkTenants(t, &truth)
}

func checkSuspect(t *testing.T, x *Suspect, byID map[string]gatewayRow) {
	t.Helper()
	slots := 0
	for i, source := range x.Sources {
		slots += source.Slots
		row := byID[source.RequestID]
		switch {
		case row.TenantID != source.TenantID:
			t.Errorf("source %s has tenant %s in truth and %s at the gateway", source.RequestID, source.TenantID, row.TenantID)
		case source.RequestID == x.RequestID:
			t.Errorf("%s is its own source", x.RequestID)
		case source.FromToken >= source.ToToken || source.ToToken > row.PromptTokens+row.CompletionTokens:
			t.Errorf("source %s lends tokens %d-%d of %d+%d", source.RequestID, source.FromToken, source.ToToken, row.PromptTokens, row.CompletionTokens)
		case i > 0 && source.Slots > x.Sources[i-1].Slots:
			t.Errorf("sources of %s are not in order", x.RequestID)
		}
	}
	if slots != x.ExposedSlots || x.Recipient != (slots > 0) {
		t.Errorf("%s: sources hold %d slots, truth says %d", x.RequestID, slots, x.ExposedSlots)
	}
	if x.DecodeNode == "uni-0" {
		t.Errorf("%s ran on a unified node", x.RequestID)
	}
	if x.Defect != OversizePlaceholder {
		return
	}
	if got := slots + x.UnwrittenSlots + x.EngineSlots; got != x.PromptTokens-1 {
		t.Errorf("%s: %d slots told apart, want all %d that were reserved and not written", x.RequestID, got, x.PromptTokens-1)
	}
	if x.HTTPStatus != 200 || byID[x.RequestID].HTTPStatus != 200 {
		t.Errorf("%s was answered with %d", x.RequestID, x.HTTPStatus)
	}
}

func checkTenants(t *testing.T, truth *Truth) {
	t.Helper()
	requests, recipients, sources := 0, 0, 0
	for _, tenant := range truth.Tenants {
		requests += tenant.Requests
		recipients += tenant.Recipient[OversizePlaceholder]
		sources += tenant.Source[OversizePlaceholder]
	}
	distinct := map[string]bool{}
	for _, x := range truth.Suspects {
		for _, source := range x.Sources {
			if x.Defect == OversizePlaceholder {
				distinct[source.RequestID] = true
			}
		}
	}
	if requests != truth.Totals.Requests || recipients != truth.Totals.Recipients[OversizePlaceholder] || sources != len(distinct) {
		t.Errorf("tenants add up to %d requests, %d recipients, %d sources; want %d, %d, %d", requests, recipients, sources,
			truth.Totals.Requests, truth.Totals.Recipients[OversizePlaceholder], len(distinct))
	}
}

func TestDamageLeavesTheTruth(t *testing.T) {
	cfg := small(6)
	dir, whole := write(t, cfg)
	want := digests(t, dir)[filepath.Join("truth", "truth.json")]
	for name, d := range map[string]Damage{
		"rows":    {RowsLost: 0.3, NoDecodeNode: 0.2, NoPrefillNode: 0.2, NoRanks: 0.5},
		"logs":    {HoursLost: 0.5, ClockSkew: time.Minute, NoStartupLines: true},
		"lines":   {GarbageLines: 0.05, DuplicateLines: 0.05, TruncateLastLine: true},
		"gateway": {GatewayOnly: true, NoIncidentFile: true},
	} {
		cfg.Damage = d
		dir, s := write(t, cfg)
		if digests(t, dir)[filepath.Join("truth", "truth.json")] != want {
			t.Errorf("%s: damage changed the truth", name)
		}
		if lost := s.Rows < whole.Rows; lost != (d.RowsLost > 0) {
			t.Errorf("%s: %d rows of %d", name, s.Rows, whole.Rows)
		}
	}
}

func TestDamageIsDone(t *testing.T) {
	cfg := small(6)
	cfg.Damage = Damage{GatewayOnly: true, NoIncidentFile: true, NoRanks: 1, NoDecodeNode: 0.5}
	dir, s := write(t, cfg)
	for _, gone := range []string{"logs", "incident.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there", gone)
		}
	}
	named := 0
	for _, r := range rows(t, s.Files) {
		if r.DecodeRank != nil {
			t.Fatal("a row names its rank")
		}
		if r.DecodeNode != "" {
			named++
		}
	}
	if named < s.Rows*4/10 || named > s.Rows*6/10 {
		t.Errorf("%d of %d rows name their decode node", named, s.Rows)
	}
}

type gatewayRow struct {
	RequestID        string  `json:"request_id"`
	TenantID         string  `json:"tenant_id"`
	DecodeNode       string  `json:"decode_node"`
	DecodeRank       *int    `json:"decode_rank"`
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
	TTFT             float64 `json:"ttft_ms"`
	HTTPStatus       int     `json:"http_status"`
}

func rows(t testing.TB, files []string) (all []gatewayRow) {
	t.Helper()
	for _, file := range files {
		if !strings.Contains(file, "gateway-") {
			continue
		}
		for line := range bytes.Lines(content(t, file)) {
			var r gatewayRow
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%s: %v: %s", file, err, line)
			}
			all = append(all, r)
		}
	}
	return all
}

func TestCSVHasTheSameRows(t *testing.T) {
	cfg := small(9)
	_, plain := write(t, cfg)
	cfg.Output.Format = "csv"
	_, s := write(t, cfg)
	var records [][]string
	for _, file := range s.Files {
		if strings.HasSuffix(file, ".csv") {
			some, err := csv.NewReader(bytes.NewReader(content(t, file))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, some[1:]...)
		}
	}
	want := rows(t, plain.Files)
	if len(records) != len(want) {
		t.Fatalf("%d rows, want %d", len(records), len(want))
	}
	status := slices.Index(strings.Split(csvHeader, ","), "http_status")
	for i, r := range records {
		if r[0] != want[i].RequestID || r[status] != map[int]string{200: "200", 400: "400", 499: "499", 500: "500", 503: "503"}[want[i].HTTPStatus] {
			t.Fatalf("row %d is %v, want %+v", i, r, want[i])
		}
	}
}

func TestEngineLogs(t *testing.T) {
	cfg := small(9)
	cfg.Engine.LogRequests, cfg.Engine.LogTimeStats = true, true
	_, s := write(t, cfg)
	counts := func(files []string, node, text string) int {
		return bytes.Count(content(t, files[slices.IndexFunc(files, func(f string) bool { return strings.Contains(f, node+".log") })]), []byte(text))
	}
	for node, texts := range map[string][]string{
		"pre-0": {"server_args=ServerArgs(", "disaggregation_mode='prefill'", "max_total_num_tokens=65536, ", "Prefill batch, #new-seq: ",
			" tokens) exceeds the maximum allowed length (65530 tokens)", "len(prefill_state_indices) = 1, len(dst_state_indices) = ",
			"Prefill transfer failed for request rank=0 req.rid='", "type=prefill): ", "'prompt_tokens': 1, "},
		"dec-0": {"KV cache is forced as chunk cache for decode server", "Decode batch, #running-req: ", "type=decode): ",
			"Decode transfer failed for request rank=0 decode_req.req.rid='", "The server is fired up and ready to roll!"},
		"dec-small": {"exceeds the maximum allowed length (24570 tokens)", "400 Bad Request"},
		"uni-0":     {"disaggregation_mode='null'", "Prefill batch, ", "Decode batch, ", "type=unified): "},
	} {
		for _, text := range texts {
			if counts(s.Files, node, text) == 0 {
				t.Errorf("%s never says %q", node, text)
			}
		}
	}
	if got, want := counts(s.Files, "pre-0", "len(prefill_state_indices)")+counts(s.Files, "pre-1", "len(prefill_state_indices)"), cfg.Limits.Served; got != want {
		t.Errorf("%d state-index warnings, want %d", got, want)
	}
	cfg.Engine.Version = "0.5.9"
	_, s = write(t, cfg)
	if counts(s.Files, "pre-0", "Prefill batch") != 0 || counts(s.Files, "pre-0", "\nFinish: obj=") == 0 {
		t.Error("0.5.9 prints no prefill batches in disaggregated mode, and request lines without a stamp")
	}
}

func TestLogsPrintLocalTime(t *testing.T) {
	cfg := small(9) // in September London is an hour ahead of UTC
	_, s := write(t, cfg)
	for _, file := range s.Files {
		text := string(content(t, file))
		last := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
		if strings.Contains(file, "dec-0.log") && !strings.HasPrefix(last, "[2026-09-01 03:") {
			t.Errorf("the London node ends with %s", last)
		}
		if strings.Contains(file, "dec-1.log") && !strings.HasPrefix(last, "[2026-09-01 02:") && !strings.HasPrefix(last, "[2026-09-01 01:") {
			t.Errorf("the UTC node ends with %s", last)
		}
	}
}

func TestWriteStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, t.TempDir(), small(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWriteRefusesNonsense(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"too few requests":   func(c *Config) { c.Requests = 10 },
		"window":             func(c *Config) { c.To = c.From },
		"version":            func(c *Config) { c.Engine.Version = "0.4.6" },
		"equal pools":        func(c *Config) { c.Nodes[0].PoolTokens, c.Nodes[1].PoolTokens = 98_304, 98_304 },
		"prompts too long":   func(c *Config) { c.Load.PromptMax = 30_000 },
		"zone":               func(c *Config) { c.Nodes[0].Timezone = "Middle/Earth" },
		"no prefill node":    func(c *Config) { c.Nodes = c.Nodes[2:] },
		"unreadable trace":   func(c *Config) { c.Trace = "no such file" },
		"pool of half pages": func(c *Config) { c.Nodes[0].PoolTokens++ },
	} {
		cfg := small(1)
		spoil(&cfg)
		if _, err := Write(t.Context(), t.TempDir(), cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func content(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil && strings.HasSuffix(file, ".gz") {
		data, err = inflate(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func inflate(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		_, err := Write(b.Context(), b.TempDir(), Default(1))
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "requests/s")
}

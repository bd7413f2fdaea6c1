package pipeline

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"kvforensics/internal/casestore"
	"kvforensics/rules"
)

// benchRecords is the size of the file that both sides read. KVF_BENCH_RECORDS
// sets another one.
func benchRecords(b *testing.B) int {
	if text := os.Getenv("KVF_BENCH_RECORDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 2_000_000
}

// writeBenchFile writes gateway records with a nested usage object, as a
// gateway copies it from the answer.
func writeBenchFile(b *testing.B, file string, records int) {
	b.Helper()
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 8, 27, 0, 0, 0, 0, time.UTC)
	for range records {
		at = at.Add(time.Duration(r.IntN(1_000_000)) * time.Microsecond)
		prompt := r.IntN(60_000) + 10
		ttft := float64(prompt)/12 + r.Float64()*100
		fmt.Fprintf(w, `{"request_id":"chatcmpl-%016x%016x","tenant_id":"t-%04x","received_at":"%s","model":"zai-org/GLM-5.3",`+
			`"prefill_node":"pre-%d","decode_node":"dec-%d","prefill_rank":0,"decode_rank":%d,"bootstrap_room":%d,`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":300,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}},`+
			`"ttft_ms":%.3f,"e2e_ms":%.3f,"http_status":200,"finish_reason":"stop","api_key_id":"key-%06x","stream":true}`+"\n",
			r.Uint64(), r.Uint64(), r.IntN(400), at.Format("2006-01-02T15:04:05.000000Z07:00"), r.IntN(4), r.IntN(8), r.IntN(2), r.Uint64()>>1,
			prompt, prompt+300, prompt/4, ttft, ttft+3000, r.IntN(1<<24))
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIngest holds our ingest (digest, provenance, rejects, joins and
// Parquet) against DuckDB's read_json into a table with the same columns. Both
// read the same file in the same run, two threads each.
func BenchmarkIngest(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "gateway.jsonl")
	records := benchRecords(b)
	writeBenchFile(b, file, records)
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("kvforensics", func(b *testing.B) {
		b.SetBytes(info.Size())
		for i := range b.N {
			ingestOnce(b, file, filepath.Join(dir, fmt.Sprintf("case-%d-%d", b.N, i)), records)
		}
		b.ReportMetric(peakMB(b), "peak-MB")
	})
	b.Run("read_json", func(b *testing.B) {
		b.SetBytes(info.Size())
		for i := range b.N {
			readJSONOnce(b, file, filepath.Join(dir, fmt.Sprintf("rival-%d-%d.duckdb", b.N, i)))
		}
	})
}

func ingestOnce(b *testing.B, file, dir string, records int) {
	ctx := context.Background()
	c, err := casestore.Create(ctx, dir, casestore.Options{Command: "bench", Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := Ingest(ctx, c, IngestOptions{Paths: []string{file}, Workers: min(2, runtime.NumCPU())}); err != nil {
		b.Fatal(err)
	}
	var n int
	if err := c.One(ctx, "SELECT count(*) FROM requests", &n); err != nil || n != records {
		b.Fatal(n, err)
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}

func readJSONOnce(b *testing.B, file, database string) {
	db, err := sql.Open("duckdb", database+"?threads=2")
	if err != nil {
		b.Fatal(err)
	}
	_, err = db.Exec(`CREATE TABLE gateway_records AS
		SELECT request_id, tenant_id, received_at, model, prefill_node, decode_node, prefill_rank, decode_rank, bootstrap_room,
		       usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens,
		       ttft_ms, e2e_ms, http_status, finish_reason, api_key_id, stream
		FROM read_json('` + file + `', format = 'newline_delimited', columns = {
			request_id: 'VARCHAR', tenant_id: 'VARCHAR', received_at: 'TIMESTAMPTZ', model: 'VARCHAR', prefill_node: 'VARCHAR', decode_node: 'VARCHAR',
			prefill_rank: 'BIGINT', decode_rank: 'BIGINT', bootstrap_room: 'UBIGINT',
			usage: 'STRUCT(prompt_tokens BIGINT, completion_tokens BIGINT, total_tokens BIGINT, prompt_tokens_details STRUCT(cached_tokens BIGINT))',
			ttft_ms: 'DOUBLE', e2e_ms: 'DOUBLE', http_status: 'BIGINT', finish_reason: 'VARCHAR', api_key_id: 'VARCHAR', stream: 'BOOLEAN'})`)
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Remove(database); err != nil {
		b.Fatal(err)
	}
}

// peakMB gives the process's largest resident size so far.
func peakMB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kb float64
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	b.Fatal("no VmHWM")
	return 0
}

// BenchmarkFlag holds the size rule's own query, the same with the account of
// what it could not assess, and the whole flag step, against a query written by
// hand that does the size rule's filter on the case's Parquet.
func BenchmarkFlag(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	records := benchRecords(b)
	folder := filepath.Join(dir, "evidence")
	if err := os.Mkdir(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	writeBenchFile(b, filepath.Join(folder, "gateway.jsonl"), records)
	if err := os.WriteFile(filepath.Join(folder, "incident.yaml"), []byte(benchPools()), 0o600); err != nil {
		b.Fatal(err)
	}
	caseDir := filepath.Join(dir, "case")
	c, err := casestore.Create(ctx, caseDir, casestore.Options{Command: "bench", Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := Ingest(ctx, c, IngestOptions{Paths: []string{folder}, Workers: 2}); err != nil {
		b.Fatal(err)
	}
	all, err := rules.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	size := &rules.Catalogue{Rules: []*rules.Rule{all.Find("oversize-answered")}, Combinations: all.Combinations}
	b.Run("size-rule", func(b *testing.B) {
		for range b.N {
			query, err := size.Rules[0].Query(ctx, c)
			if err != nil {
				b.Fatal(err)
			}
			if err := c.Replace(ctx, "hits", nil); err != nil {
				b.Fatal(err)
			}
			err = c.InTransaction(ctx, func(exec func(string, ...any) error) error {
				return exec("INSERT INTO hits SELECT 'size', source_id, line, level, reason, input_limit, ttft_bound_ms, probability, NULL FROM (" + query + ")")
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("size-rule-with-account", func(b *testing.B) {
		for range b.N {
			if err := rules.Run(ctx, c, size, time.Now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("catalogue", func(b *testing.B) {
		for range b.N {
			if err := rules.Run(ctx, c, all, time.Now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain-scan", func(b *testing.B) {
		for range b.N {
			// What the catalogue reads, each value looked at once.
			var sum uint64
			if err := c.One(ctx, `SELECT bit_xor(hash(request_id, tenant_id, received_at, model, prefill_node, prefill_rank, decode_node, decode_rank, bootstrap_room,
				prompt_tokens, cached_tokens, completion_tokens, ttft_ms, e2e_ms, first_token_at, finished_at, aborted_at, http_status, finish_reason,
				api_key_id, retry_of, extra)) FROM gateway_records`, &sum); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("flag", func(b *testing.B) {
		for range b.N {
			if err := Flag(ctx, c, all, Span{}, time.Now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by-hand", func(b *testing.B) {
		db, err := sql.Open("duckdb", "?threads=2")
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		for range b.N {
			_, err := db.Exec(`CREATE OR REPLACE TABLE suspects AS
				SELECT request_id, tenant_id, received_at, prefill_node, decode_node, prompt_tokens, http_status
				FROM read_parquet('` + filepath.Join(caseDir, casestore.ParquetDir) + `/*/*.parquet')
				WHERE prompt_tokens >= 59994 AND prompt_tokens < 1048570 AND http_status BETWEEN 200 AND 299`)
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchPools states pools so small that some prompts of the bench file reach
// the prefill limit.
func benchPools() string {
	var b strings.Builder
	b.WriteString("nodes:\n")
	for i := range 4 {
		fmt.Fprintf(&b, "  - {name: pre-%d, role: prefill, engine: sglang, version: 0.5.18, pool_tokens: 60000, context_len: 1048576}\n", i)
	}
	for i := range 8 {
		fmt.Fprintf(&b, "  - {name: dec-%d, role: decode, engine: sglang, version: 0.5.18, pool_tokens: 1310720, context_len: 1048576}\n", i)
	}
	return b.String()
}

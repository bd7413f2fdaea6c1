package pipeline

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/pairing"
)

// pairCase makes a case of so many requests on 64 decode nodes with pools of
// 32,768 pages, and 155 suspects, by SQL alone.
func pairCase(b *testing.B, requests int) *casestore.Case {
	ctx := context.Background()
	c, err := casestore.Create(ctx, b.TempDir(), casestore.Options{Now: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	err = c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		for _, statement := range []string{
			"INSERT INTO sources SELECT 1, 'x', 1, 1, 'none', 'utf-8', 'canonical-jsonl', '', 'read', NULL, 1, 0, 0, 1, 0, 0, []",
			fmt.Sprintf(`INSERT INTO gateway_records (source_id, line, byte_offset, byte_length, request_id, tenant_id, received_at,
					prefill_node, prefill_rank, decode_node, decode_rank, prompt_tokens, cached_tokens, completion_tokens, ttft_ms, e2e_ms, http_status, finish_reason)
				WITH drawn AS (
					SELECT i, hash(i) AS h, hash(i + 77) AS g, i %% (%[1]d // 155) = %[1]d // 310 AS suspect FROM range(%[1]d) t(i)
				), sized AS (
					SELECT *, CASE WHEN suspect THEN 700000 + h %% 300000
						ELSE 64 + (400 * exp(5.0 * ((h %% 10007) / 10007.0) ** 1.5))::BIGINT END AS prompt, 20 + (h // 10007) %% 900 AS answer FROM drawn
				)
				SELECT 1, i + 1, i * 500, 500, 'r' || i, 't' || (g %% 200), TIMESTAMPTZ '2026-08-27 00:00:00Z' + to_microseconds(i * (1209600000000 // %[1]d) + (g %% 100000)::BIGINT),
					'pre-' || (g %% 64), 0, 'dec-' || ((g // 64) %% 64), 0, prompt, 0, answer,
					CASE WHEN suspect THEN 300 ELSE 40 + prompt * 0.025 END, 40 + prompt * CASE WHEN suspect THEN 0 ELSE 0.025 END + answer * 18, 200, 'stop'
				FROM sized`, requests),
			`INSERT INTO pools SELECT 1000 + i, 'dec-' || i, 'decode', 'log', NULL, 1, TIMESTAMPTZ '2026-08-20 00:00:00Z', NULL, 'sglang', '0.5.18', 'log',
				2097152, 64, 1048576, 1048570, false, 'log', 'mooncake', '{}', [], 1, 1 FROM range(64) t(i)`,
			`INSERT INTO flagged SELECT source_id, line, 'oversize-placeholder', 'certain', 1, 681274, NULL, [], [] FROM gateway_records WHERE prompt_tokens >= 700000`,
		} {
			if err := exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// analystJoin is what an analyst would write: requests on the same node that
// ended before the suspect's reservation, most recent first, until they fill
// its pages.
const analystJoin = `FROM (
	SELECT s.source_id AS suspect_source_id, s.line AS suspect_line, r.source_id AS source_source_id, r.line AS source_line,
	       sum(r.prompt_tokens + r.completion_tokens) OVER (PARTITION BY s.source_id, s.line ORDER BY r.received_at DESC) AS filled, s.prompt_tokens
	FROM (SELECT r.* FROM suspects x JOIN requests r USING (source_id, line)) s
	JOIN requests r ON r.decode_node = s.decode_node AND r.received_at < s.received_at AND r.received_at > s.received_at - INTERVAL 2 HOUR
	) WHERE filled <= prompt_tokens`

func benchmarkRequests() int {
	if n, err := strconv.Atoi(os.Getenv("KVF_BENCH_REQUESTS")); err == nil {
		return n
	}
	return 1_000_000
}

// All suspects of a case with 64 nodes, 64 orderings each. KVF_BENCH_REQUESTS
// sets the size; the aim is 20,000,000 in two minutes on two cores.
func BenchmarkPair(b *testing.B) {
	c := pairCase(b, benchmarkRequests())
	ctx := context.Background()
	b.Run("replay", func(b *testing.B) {
		for b.Loop() {
			if err := Pair(ctx, c, pairing.Options{Seed: 1, Orderings: 64}); err != nil {
				b.Fatal(err)
			}
		}
		var pairs, replayed float64
		if err := c.One(ctx, "SELECT (SELECT count(*) FROM source_pairs), (SELECT sum(requests) FROM pairings)", &pairs, &replayed); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(pairs, "pairs")
		b.ReportMetric(replayed, "requests-replayed")
		b.ReportMetric(peakMB(b), "peak-MB")
	})
	b.Run("analyst-join", func(b *testing.B) {
		for b.Loop() {
			var n int64
			if err := c.One(ctx, "SELECT count(*) "+analystJoin, &n); err != nil {
				b.Fatal(err)
			}
		}
		// What it gets right, where the replay is sure.
		var joined, both, named float64
		err := c.One(ctx, `WITH joined AS (SELECT suspect_source_id, suspect_line, source_source_id, source_line `+analystJoin+`),
			named AS (FROM source_pairs WHERE source_kind = 'request' AND probability >= 0.5)
			SELECT (SELECT count(*) FROM joined), (SELECT count(*) FROM joined JOIN named USING (suspect_source_id, suspect_line, source_source_id, source_line)),
			       (SELECT count(*) FROM named)`, &joined, &both, &named)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(both/joined, "precision")
		b.ReportMetric(both/named, "recall")
	})
}

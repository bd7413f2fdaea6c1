-- Ordinary requests per prefill node and quarter octave of uncached prompt
-- tokens: answered, not aborted, and under every measured limit, for rows over
-- it would teach the envelope the fault. The node '' stands for all together. The
-- least time of a bin is its first percentile, or a tenth of its median where that
-- is more: in a small bin one faulty answer must not set the bound for itself.
WITH ordinary AS (
    SELECT prefill_node, floor(log2(uncached_tokens) * 4)::BIGINT AS bin, uncached_tokens, ttft_ms
    FROM request_facts
    WHERE ttft_ms > 0 AND uncached_tokens > 0 AND http_status BETWEEN 200 AND 299 AND aborted_at IS NULL
      AND prompt_tokens < (SELECT min(input_limit) FROM pools)
)
SELECT '' AS node, max(uncached_tokens) AS max_tokens, list_max([quantile_disc(ttft_ms, 0.01), quantile_disc(ttft_ms, 0.5) / 10]) AS low_ms, count(*) AS requests
FROM ordinary GROUP BY bin
UNION ALL
SELECT prefill_node, max(uncached_tokens), list_max([quantile_disc(ttft_ms, 0.01), quantile_disc(ttft_ms, 0.5) / 10]), count(*)
FROM ordinary WHERE prefill_node IS NOT NULL GROUP BY prefill_node, bin
ORDER BY node, max_tokens

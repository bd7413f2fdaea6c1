-- Synthetic leaks, in a copy of the case: copies of ordinary answered requests,
-- 200 a defect, that look to the gateway as a leak would. Copies of the first
-- keep their time to first token and get a prompt between the limits of their
-- two nodes; of the second the client left before the first token; for the
-- third the prefill node's log says that it gave up the transfer. Lines of the
-- copies: -1000, -2000 and -3000 downwards.
CREATE OR REPLACE TEMP TABLE donors AS
WITH limits AS (
    SELECT node, role, min(input_limit) AS low, max(input_limit) AS high FROM pools WHERE input_limit IS NOT NULL GROUP BY node, role
)
SELECT g.* REPLACE (coalesce(g.first_token_at, g.received_at + to_microseconds((g.ttft_ms * 1000)::BIGINT)) AS first_token_at,
                    coalesce(g.finished_at, g.received_at + to_microseconds((g.e2e_ms * 1000)::BIGINT)) AS finished_at),
       p.high AS prefill_limit, d.low AS decode_limit,
       row_number() OVER (ORDER BY hash(g.source_id, g.line, 'inject'), g.source_id, g.line) AS n
FROM gateway_records g ANTI JOIN flagged f USING (source_id, line)
LEFT JOIN limits p ON p.node = g.prefill_node AND p.role = 'prefill'
LEFT JOIN limits d ON d.node = g.decode_node AND d.role = 'decode'
WHERE g.http_status BETWEEN 200 AND 299 AND g.prompt_tokens > 0 AND g.received_at IS NOT NULL
  AND g.prefill_node IS NOT NULL AND g.decode_node IS NOT NULL AND coalesce(g.finished_at, g.first_token_at, g.received_at + to_microseconds((coalesce(g.e2e_ms, g.ttft_ms) * 1000)::BIGINT)) > g.received_at;

INSERT INTO gateway_records BY NAME
SELECT * EXCLUDE (prefill_limit, decode_limit, n)
       REPLACE (-1000 - n AS line, request_id || ' injected 1' AS request_id, NULL AS bootstrap_room,
                (prefill_limit + hash(n, 'prompt') % (decode_limit - prefill_limit)::UBIGINT)::BIGINT AS prompt_tokens)
FROM (FROM donors WHERE decode_limit > prefill_limit ORDER BY n LIMIT 200);

INSERT INTO gateway_records BY NAME
SELECT * EXCLUDE (prefill_limit, decode_limit, n)
       REPLACE (-2000 - n AS line, request_id || ' injected 2' AS request_id, NULL AS bootstrap_room, 499 AS http_status, 'abort' AS finish_reason,
                0 AS completion_tokens, NULL AS first_token_at, NULL AS ttft_ms, coalesce(first_token_at, finished_at) AS finished_at,
                coalesce(first_token_at, finished_at) AS aborted_at)
FROM (FROM donors ORDER BY n LIMIT 200);

INSERT INTO gateway_records BY NAME
SELECT * EXCLUDE (prefill_limit, decode_limit, n)
       REPLACE (-3000 - n AS line, request_id || ' injected 3' AS request_id, (9000000000000000000 + n)::UBIGINT AS bootstrap_room)
FROM (FROM donors WHERE first_token_at IS NOT NULL ORDER BY n LIMIT 200);

INSERT INTO engine_records BY NAME
SELECT e.* EXCLUDE (k)
       REPLACE (-3000 - d.n AS line, 'transfer_failed' AS kind, NULL AS rid, (9000000000000000000 + d.n)::UBIGINT AS bootstrap_room,
                d.received_at + (d.first_token_at - d.received_at) / 2 AS stated_at, NULL AS local_at)
FROM (FROM donors WHERE first_token_at IS NOT NULL ORDER BY n LIMIT 200) d
JOIN (SELECT x.*, v.node AS k FROM engine_records x
      JOIN (SELECT node, any_value(source_id ORDER BY source_id, line) AS source_id, any_value(line ORDER BY source_id, line) AS line
            FROM engine_events WHERE kind = 'prefill_batch' AND role = 'prefill' AND logged_at IS NOT NULL GROUP BY node) v USING (source_id, line)) e
  ON e.k = d.prefill_node;

DROP TABLE donors;

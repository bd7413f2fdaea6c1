-- What rules and analysts read.

-- Engine events with their node and, where the clock is known, their instant. A
-- fixed offset is added as a number: the calendar of a zone costs twenty times as
-- much.
CREATE VIEW engine_events AS
SELECT r.*, p.node,
       coalesce(r.stated_at,
                CASE WHEN p.zone IN ('UTC', 'Etc/UTC', 'GMT') THEN make_timestamptz(epoch_us(r.local_at))
                     WHEN p.zone IS NOT NULL THEN timezone(p.zone, r.local_at)
                     WHEN p.offset_s IS NOT NULL THEN make_timestamptz(epoch_us(r.local_at) - p.offset_s * 1000000) END) AS logged_at
FROM engine_records r LEFT JOIN placements p USING (source_id);

-- One row per request, from three sides that exclude each other, so that a
-- filter on the first, which is nearly all, reaches the stored columns:
-- gateway records that joined no engine line, those that did (filled in from
-- it), and requests that only an engine saw. Instants are added to as numbers:
-- the calendar's own arithmetic costs ten times as much.
CREATE VIEW requests AS
SELECT g.source_id, g.line, g.byte_offset, g.byte_length,
       g.request_id, g.tenant_id, g.received_at, g.time_basis, g.utc_offset_min, g.model,
       g.prefill_node, g.prefill_rank, g.decode_node, g.decode_rank, g.bootstrap_room,
       g.prompt_tokens, g.cached_tokens, g.completion_tokens,
       NULL::BIGINT AS prefill_prompt_tokens, NULL::BIGINT AS decode_prompt_tokens,
       coalesce(g.ttft_ms, (epoch_us(g.first_token_at) - epoch_us(g.received_at)) / 1000) AS ttft_ms,
       coalesce(g.e2e_ms, (epoch_us(g.finished_at) - epoch_us(g.received_at)) / 1000) AS e2e_ms,
       coalesce(g.first_token_at, to_timestamp((epoch_us(g.received_at) + g.ttft_ms * 1000) / 1000000)) AS first_token_at,
       coalesce(g.finished_at, g.aborted_at, to_timestamp((epoch_us(g.received_at) + g.e2e_ms * 1000) / 1000000)) AS finished_at,
       g.aborted_at, g.http_status, g.finish_reason,
       g.api_key_id, g.session_id, g.retry_of, g.stream, g.client_disconnected, g.extra,
       NULL::VARCHAR AS joined_by
FROM gateway_records g
ANTI JOIN request_joins j ON j.source_id = g.source_id AND j.line = g.line
ANTI JOIN duplicate_records x ON x.source_id = g.source_id AND x.line = g.line
UNION ALL
SELECT g.source_id, g.line, g.byte_offset, g.byte_length,
       g.request_id, g.tenant_id, g.received_at, g.time_basis, g.utc_offset_min, g.model,
       coalesce(g.prefill_node, p.node), coalesce(g.prefill_rank, p.dp_rank),
       coalesce(g.decode_node, d.node), coalesce(g.decode_rank, d.dp_rank),
       coalesce(g.bootstrap_room, d.bootstrap_room, p.bootstrap_room),
       coalesce(g.prompt_tokens, d.prompt_tokens), coalesce(g.cached_tokens, p.cached_tokens),
       coalesce(g.completion_tokens, d.completion_tokens),
       p.prompt_tokens, d.prompt_tokens,
       coalesce(g.ttft_ms, (epoch_us(g.first_token_at) - epoch_us(g.received_at)) / 1000),
       coalesce(g.e2e_ms, (epoch_us(g.finished_at) - epoch_us(g.received_at)) / 1000, d.e2e_ms),
       coalesce(g.first_token_at, to_timestamp((epoch_us(g.received_at) + g.ttft_ms * 1000) / 1000000)),
       coalesce(g.finished_at, g.aborted_at, to_timestamp((epoch_us(g.received_at) + g.e2e_ms * 1000) / 1000000), d.last_seen_at),
       g.aborted_at, g.http_status, coalesce(g.finish_reason, d.finish_reason),
       g.api_key_id, g.session_id, g.retry_of, g.stream, g.client_disconnected, g.extra,
       j.joined_by
FROM gateway_records g
JOIN request_joins j ON j.source_id = g.source_id AND j.line = g.line
LEFT JOIN engine_requests p ON p.engine_request_id = j.prefill_request
LEFT JOIN engine_requests d ON d.engine_request_id = j.decode_request
ANTI JOIN duplicate_records x ON x.source_id = g.source_id AND x.line = g.line
UNION ALL
SELECT d.source_id, d.line, d.byte_offset, NULL,
       d.rid, NULL, d.first_seen_at, 'engine', NULL, NULL,
       p.node, p.dp_rank, d.node, d.dp_rank, d.bootstrap_room,
       d.prompt_tokens, p.cached_tokens, d.completion_tokens, p.prompt_tokens, d.prompt_tokens,
       NULL, d.e2e_ms, NULL, d.last_seen_at, NULL, d.status, d.finish_reason,
       NULL, NULL, NULL, NULL, NULL, NULL, 'engine only'
FROM engine_requests d
LEFT JOIN (SELECT bootstrap_room, min(engine_request_id) AS id FROM engine_requests
           WHERE role = 'prefill' AND bootstrap_room > 0 GROUP BY bootstrap_room) m ON m.bootstrap_room = d.bootstrap_room
LEFT JOIN engine_requests p ON p.engine_request_id = m.id
ANTI JOIN request_joins j ON j.decode_request = d.engine_request_id
WHERE d.role IN ('decode', 'unified');

-- Requests with what is known of the nodes that served them. A named node's limit is known when
-- every boot of it was measured. serving is 'unified' where one node did both phases, 'pd' where prefill and
-- decode were apart, NULL where the evidence does not tell.
CREATE VIEW all_facts AS
WITH nodes AS NOT MATERIALIZED (
    SELECT node, bool_and(input_limit IS NOT NULL) AS measured,
           bool_and(role IS NOT DISTINCT FROM 'unified') AS unified,
           bool_or(role IN ('prefill', 'decode')) AS apart
    FROM pools WHERE node IS NOT NULL GROUP BY node
), anywhere AS NOT MATERIALIZED (
    SELECT coalesce(bool_or(input_limit IS NOT NULL AND role = 'prefill'), false) AS prefill_limit,
           coalesce(bool_or(input_limit IS NOT NULL AND role = 'decode'), false) AS decode_limit,
           coalesce(bool_or(role IN ('prefill', 'decode')), false) AS pd
    FROM pools
)
SELECT r.*,
       r.prompt_tokens - r.cached_tokens AS uncached_tokens,
       CASE WHEN p.unified OR d.unified THEN 'unified'
            WHEN r.prefill_node = r.decode_node AND NOT coalesce(p.apart, false) THEN 'unified'
            WHEN a.pd THEN 'pd' END AS serving,
       CASE WHEN r.prefill_node IS NULL THEN a.prefill_limit ELSE coalesce(p.measured, false) END AS prefill_limit_known,
       CASE WHEN r.decode_node IS NULL THEN a.decode_limit ELSE coalesce(d.measured, false) END AS decode_limit_known
FROM requests r CROSS JOIN anywhere a
LEFT JOIN nodes p ON p.node = r.prefill_node
LEFT JOIN nodes d ON d.node = r.decode_node;

-- What rules read: all facts, or, once an analysis was asked for a span, those
-- within it. The bounds stand in the view as literals: joined in, they would
-- double the cost of every scan.
CREATE VIEW request_facts AS FROM all_facts;

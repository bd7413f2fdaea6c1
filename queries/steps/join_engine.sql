-- Joins gateway and engine rows on request id and bootstrap room, where both lie
-- near each other in time: clients choose ids, and may choose one again.

DELETE FROM duplicate_records;
INSERT INTO duplicate_records
WITH repeated AS (
    SELECT hash(request_id, received_at) AS h
    FROM gateway_records GROUP BY h HAVING count(*) > 1
), rows AS (
    SELECT source_id, line, request_id, tenant_id, received_at, prompt_tokens, http_status
    FROM gateway_records WHERE received_at IS NOT NULL AND hash(request_id, received_at) IN (FROM repeated)
), ranked AS (
    SELECT source_id, line,
           first(source_id) OVER same AS of_source_id, first(line) OVER same AS of_line
    FROM rows
    WINDOW same AS (PARTITION BY request_id, tenant_id, received_at, prompt_tokens, http_status ORDER BY source_id, line)
)
SELECT source_id, line, of_source_id, of_line FROM ranked
WHERE (source_id, line) <> (of_source_id, of_line)
ORDER BY source_id, line;

DELETE FROM engine_requests;
INSERT INTO engine_requests
WITH said AS (
    SELECT e.*, coalesce(e.role, n.role, q.role) AS node_role
    FROM engine_events e
    LEFT JOIN (SELECT node, min(role) AS role FROM pools WHERE role IS NOT NULL AND node IS NOT NULL
               GROUP BY node HAVING count(DISTINCT role) = 1) q ON q.node = e.node
    LEFT JOIN (SELECT source_id, any_value(role ORDER BY line) AS role FROM engine_records
               WHERE role IS NOT NULL AND kind IN ('launch', 'role_hint', 'prefill_batch', 'decode_batch')
               GROUP BY source_id) n ON n.source_id = e.source_id
    WHERE e.kind IN ('received', 'finished', 'time_stats') AND e.rid IS NOT NULL
), grouped AS (
    SELECT min(source_id) AS source_id, min(line) AS line, min(byte_offset) AS byte_offset,
           node, any_value(node_role) AS role, max(dp_rank) AS dp_rank, rid,
           max(bootstrap_room) AS bootstrap_room, min(logged_at) AS first_seen_at, max(logged_at) AS last_seen_at,
           -- of retries under one id the placeholder's single token must not be lost
           CASE WHEN any_value(node_role) = 'prefill'
                THEN coalesce(min(prompt_tokens) FILTER (kind = 'finished'), min(prompt_tokens) FILTER (kind = 'time_stats'))
                ELSE coalesce(max(prompt_tokens) FILTER (kind = 'finished'), max(prompt_tokens) FILTER (kind = 'time_stats')) END AS prompt_tokens,
           max(cached_tokens) AS cached_tokens, max(completion_tokens) AS completion_tokens,
           max(e2e_ms) AS e2e_ms, any_value(finish_reason) AS finish_reason, max(status) AS status
    FROM said GROUP BY node, coalesce(node, source_id::VARCHAR), rid
)
SELECT row_number() OVER (ORDER BY source_id, line, rid), source_id, line, byte_offset, node, role, dp_rank,
       rid, bootstrap_room, first_seen_at, last_seen_at, prompt_tokens, cached_tokens,
       completion_tokens, e2e_ms, finish_reason, status
FROM grouped ORDER BY source_id, line, rid;

DELETE FROM request_joins;
INSERT INTO request_joins
WITH by_id AS (
    SELECT g.source_id, g.line, e.engine_request_id, e.role, e.bootstrap_room, 'request_id' AS how
    FROM gateway_records g JOIN engine_requests e ON e.rid = g.request_id
    WHERE coalesce(e.first_seen_at <= g.received_at + INTERVAL 2 HOUR AND e.last_seen_at >= g.received_at - INTERVAL 1 HOUR, true)
), rooms AS (
    SELECT source_id, line, bootstrap_room, received_at FROM gateway_records WHERE bootstrap_room > 0
    UNION
    SELECT i.source_id, i.line, i.bootstrap_room, g.received_at
    FROM by_id i JOIN gateway_records g USING (source_id, line) WHERE i.bootstrap_room > 0
), found AS (
    SELECT source_id, line, engine_request_id, role, how FROM by_id
    UNION ALL
    SELECT r.source_id, r.line, e.engine_request_id, e.role, 'bootstrap_room'
    FROM rooms r JOIN engine_requests e USING (bootstrap_room)
    WHERE coalesce(e.first_seen_at <= r.received_at + INTERVAL 2 HOUR AND e.last_seen_at >= r.received_at - INTERVAL 1 HOUR, true)
)
SELECT source_id, line,
       min(engine_request_id) FILTER (role = 'prefill') AS prefill_request,
       min(engine_request_id) FILTER (role IS DISTINCT FROM 'prefill') AS decode_request,
       string_agg(DISTINCT how, ', ' ORDER BY how) AS joined_by
FROM found GROUP BY source_id, line ORDER BY source_id, line;

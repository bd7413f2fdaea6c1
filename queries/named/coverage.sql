-- What each rule and step could and could not assess, then requests per node and hour
WITH hours AS (
    SELECT node, hour, sum(requests)::BIGINT AS requests, sum(events)::BIGINT AS events
    FROM (
        SELECT prefill_node AS node, date_trunc('hour', received_at) AS hour, count(*) AS requests, 0 AS events
        FROM requests WHERE prefill_node IS NOT NULL AND received_at IS NOT NULL GROUP BY ALL
        UNION ALL
        SELECT decode_node, date_trunc('hour', received_at), count(*), 0
        FROM requests WHERE decode_node IS NOT NULL AND received_at IS NOT NULL AND decode_node IS DISTINCT FROM prefill_node GROUP BY ALL
        UNION ALL
        SELECT node, date_trunc('hour', logged_at), 0, count(*)
        FROM engine_events WHERE node IS NOT NULL AND logged_at IS NOT NULL GROUP BY ALL
    ) GROUP BY node, hour
), bounds AS (
    -- One stray stamp must not make millions of empty hours: past two years
    -- only hours with rows are listed.
    SELECT min(hour) AS lo, CASE WHEN date_diff('hour', min(hour), max(hour)) <= 20000 THEN max(hour) ELSE min(hour) END AS hi
    FROM hours
), grid AS (
    SELECT node, unnest(generate_series((SELECT lo FROM bounds), (SELECT hi FROM bounds), INTERVAL 1 HOUR)) AS hour
    FROM (SELECT DISTINCT node FROM hours)
    UNION
    SELECT node, hour FROM hours
), lines AS (
    SELECT 1 AS part, r.rule AS step, r.assessed AS rows_assessable, g.rows_lacking AS rows_not_assessable,
           coalesce(g.field, r.why_not) AS missing_field, NULL AS node, NULL::TIMESTAMPTZ AS hour,
           NULL::BIGINT AS requests, NULL::BOOLEAN AS gap
    FROM rule_runs r LEFT JOIN rule_gaps g USING (rule)
    UNION ALL
    SELECT 2, 'join gateway to engine', count(j.source_id), count(*) - count(j.source_id),
           'request line of an engine with this request id or bootstrap room', NULL, NULL, NULL, NULL
    FROM gateway_records g LEFT JOIN request_joins j USING (source_id, line)
    UNION ALL
    SELECT 2, 'join engine to gateway', count(*) FILTER (used), count(*) FILTER (NOT used), 'gateway record', NULL, NULL, NULL, NULL
    FROM (SELECT engine_request_id IN (SELECT prefill_request FROM request_joins WHERE prefill_request IS NOT NULL
                                       UNION SELECT decode_request FROM request_joins WHERE decode_request IS NOT NULL) AS used
          FROM engine_requests)
    UNION ALL
    SELECT 2, 'repeated gateway records', (SELECT count(*) FROM gateway_records) - count(*), count(*), 'left out: the same request twice', NULL, NULL, NULL, NULL
    FROM duplicate_records
    UNION ALL
    SELECT 2, 'place requests in time', count(*) FILTER (received_at IS NOT NULL), count(*) FILTER (received_at IS NULL), 'zone of received_at', NULL, NULL, NULL, NULL
    FROM gateway_records
    UNION ALL
    SELECT 2, 'place engine events in time', count(*) FILTER (logged_at IS NOT NULL), count(*) FILTER (logged_at IS NULL), 'zone or stamp', NULL, NULL, NULL, NULL
    FROM engine_events
    UNION ALL
    SELECT 2, 'name the ' || phase, count(*) FILTER (known), count(*) FILTER (NOT known), field, NULL, NULL, NULL, NULL
    FROM (SELECT 'prefill node' AS phase, 'prefill_node' AS field, prefill_node IS NOT NULL AS known FROM requests
          UNION ALL SELECT 'decode node', 'decode_node', decode_node IS NOT NULL FROM requests
          UNION ALL SELECT 'decode rank', 'decode_rank', decode_rank IS NOT NULL FROM requests)
    GROUP BY phase, field
    UNION ALL
    SELECT 3, 'node-hour', NULL, NULL, NULL, g.node, g.hour, coalesce(h.requests, 0), coalesce(h.requests, 0) + coalesce(h.events, 0) = 0
    FROM grid g LEFT JOIN hours h USING (node, hour)
)
SELECT step, rows_assessable, coalesce(rows_not_assessable, CASE WHEN part < 3 THEN 0 END) AS rows_not_assessable,
       missing_field, node, hour, requests, gap
FROM lines ORDER BY part, step, missing_field NULLS FIRST, node, hour

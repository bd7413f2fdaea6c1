-- Where an engine log's wall clock can be held against UTC: offsets east of
-- UTC, in steps of 15 minutes, that pairs of the same moment give.
WITH pairs AS (
    SELECT source_id, 'stamps of the log collector' AS how, 1 AS preference, local_at, timezone('UTC', stated_at) AS utc
    FROM engine_records WHERE local_at IS NOT NULL AND stated_at IS NOT NULL
    UNION ALL
    SELECT e.source_id, 'request ids', 2, e.local_at,
           timezone('UTC', CASE WHEN e.kind = 'received' THEN g.received_at
                                ELSE coalesce(g.finished_at, g.received_at + to_microseconds(round(g.e2e_ms * 1000)::BIGINT)) END)
    FROM engine_records e JOIN gateway_records g ON g.request_id = e.rid
    WHERE e.kind IN ('received', 'finished') AND e.local_at IS NOT NULL
    UNION ALL
    SELECT e.source_id, 'lengths of rejected prompts', 3, e.local_at, timezone('UTC', g.received_at)
    FROM engine_records e
    JOIN (SELECT prompt_tokens, any_value(received_at) AS received_at FROM gateway_records
          WHERE prompt_tokens IN (SELECT prompt_tokens FROM engine_records WHERE kind = 'rejected')
          GROUP BY prompt_tokens HAVING count(*) = 1) g ON g.prompt_tokens = e.prompt_tokens
    WHERE e.kind = 'rejected' AND e.local_at IS NOT NULL
), measured AS (
    SELECT source_id, how, preference, epoch(local_at) - epoch(utc) AS distance,
           (round((epoch(local_at) - epoch(utc)) / 900) * 900)::BIGINT AS offset_s
    FROM pairs WHERE utc IS NOT NULL
)
SELECT source_id, how, offset_s, count(*) AS pairs
FROM measured WHERE abs(distance - offset_s) < 150 AND offset_s BETWEEN -50400 AND 50400
GROUP BY source_id, how, preference, offset_s
ORDER BY source_id, preference, pairs DESC, offset_s

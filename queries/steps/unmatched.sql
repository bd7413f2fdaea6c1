-- What engines did of which no gateway row tells: prompts that a prefill node
-- rejected, and hours in which engines worked and the gateway logged nothing.
WITH rejected AS (
    SELECT DISTINCT e.node, e.logged_at, e.prompt_tokens, e.rid FROM engine_events e
    WHERE e.kind = 'rejected' AND e.logged_at IS NOT NULL AND e.prompt_tokens IS NOT NULL AND e.node IN (SELECT node FROM pools WHERE role = 'prefill')
), refused AS (
    SELECT DISTINCT e.logged_at, e.prompt_tokens FROM engine_events e
    WHERE e.kind = 'rejected' AND e.logged_at IS NOT NULL AND e.node IN (SELECT node FROM pools WHERE role = 'decode')
), known AS (
    SELECT prompt_tokens, received_at FROM requests WHERE prompt_tokens IN (SELECT prompt_tokens FROM rejected) AND received_at IS NOT NULL
), worked AS (
    SELECT DISTINCT date_trunc('hour', logged_at) AS hour FROM engine_events
    WHERE kind IN ('decode_batch', 'prefill_batch') AND logged_at IS NOT NULL AND coalesce(new_tokens, tokens, 0) > 64
), logged AS (
    SELECT DISTINCT date_trunc('hour', received_at) AS hour FROM requests WHERE received_at IS NOT NULL
)
SELECT (SELECT count(*) FROM rejected x
        WHERE NOT EXISTS (FROM known k WHERE k.prompt_tokens = x.prompt_tokens AND k.received_at BETWEEN x.logged_at - INTERVAL 120 SECOND AND x.logged_at + INTERVAL 5 SECOND)
          AND NOT EXISTS (FROM refused d WHERE d.prompt_tokens = x.prompt_tokens AND d.logged_at BETWEEN x.logged_at - INTERVAL 120 SECOND AND x.logged_at + INTERVAL 120 SECOND)),
       -- An hour next to one with rows may hold the end of an answer.
       (SELECT count(*) FROM worked w WHERE NOT EXISTS (FROM logged l WHERE l.hour BETWEEN w.hour - INTERVAL 1 HOUR AND w.hour + INTERVAL 1 HOUR))

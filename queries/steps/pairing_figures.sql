-- What ranks said of their pools while their history is replayed. A log that
-- names no rank has one.
SELECT w.window_id, epoch_us(e.logged_at), e.tokens, e.running_reqs
FROM engine_events e JOIN replay_windows w ON e.node = w.node AND coalesce(e.dp_rank, 0) = w.rank
WHERE e.kind = 'decode_batch' AND e.tokens IS NOT NULL
  AND e.logged_at BETWEEN w.since AND w.until
ORDER BY w.window_id, e.logged_at, e.source_id, e.line

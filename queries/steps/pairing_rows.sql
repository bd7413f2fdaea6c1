-- Requests that may have held pages of a rank while its history is replayed:
-- those that name it, and those that do not name what would exclude it.
WITH served AS (
    SELECT r.source_id, r.line, r.tenant_id, r.decode_node, r.decode_rank, r.received_at, r.first_token_at,
           coalesce(r.finished_at, r.first_token_at, r.received_at) AS finished_at,
           r.finished_at IS NOT NULL AS finish_known,
           r.prompt_tokens, r.completion_tokens, r.http_status, r.finish_reason
    FROM requests r
    WHERE r.received_at IS NOT NULL AND coalesce(r.http_status, 200) NOT IN (400, 503)
), near AS (
    SELECT w.window_id, s.* FROM served s JOIN replay_windows w ON s.decode_node = w.node
    WHERE coalesce(s.decode_rank, w.rank) = w.rank AND s.received_at <= w.until AND s.finished_at >= w.since
    UNION ALL
    SELECT w.window_id, s.* FROM (FROM served WHERE decode_node IS NULL) s
    JOIN replay_windows w ON s.received_at <= w.until AND s.finished_at >= w.since
)
SELECT n.window_id, n.source_id, n.line, n.tenant_id, n.decode_node IS NOT NULL AS node_known, n.decode_rank IS NOT NULL AS rank_known,
       epoch_us(n.received_at), epoch_us(n.first_token_at), CASE WHEN n.finish_known THEN epoch_us(n.finished_at) END,
       n.prompt_tokens, n.completion_tokens, coalesce(n.http_status, 200), coalesce(n.finish_reason, '')
FROM near n
ORDER BY n.window_id, n.received_at, n.source_id, n.line

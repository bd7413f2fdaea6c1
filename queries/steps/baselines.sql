-- Simple guesses at the sources of each suspect, which the replay must beat:
-- most recent      the last request that ended on the decode node
-- recent by size   the last ones on node and rank whose tokens fill the suspect's prompt, the oldest of them in part
-- last hour        all that ended on the node in the hour before, each with the same probability
-- A rank that is not stated may be any. Requests that wrote no KV, refused or
-- without a known token, are left out.
WITH suspect AS (
    SELECT s.source_id, s.line, s.defect, r.request_id, r.decode_node, r.decode_rank, r.prompt_tokens, epoch_us(r.received_at) AS received_us
    FROM suspects s JOIN requests r USING (source_id, line)
), ended AS (
    SELECT source_id, line, request_id, decode_node, decode_rank, epoch_us(finished_at) AS ended_us,
           coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0) AS tokens
    FROM requests WHERE coalesce(http_status, 200) NOT IN (400, 503)
), earlier AS (
    SELECT s.source_id AS suspect_source_id, s.line AS suspect_line, s.defect, s.request_id AS suspect_id, s.prompt_tokens AS wanted,
           e.source_id, e.line, e.request_id, e.tokens, e.ended_us,
           coalesce(e.decode_rank = s.decode_rank, true) AS same_rank,
           e.ended_us >= s.received_us - 3600000000 AS in_last_hour
    FROM suspect s JOIN ended e ON e.decode_node = s.decode_node AND e.ended_us < s.received_us
    WHERE e.tokens > 0 AND NOT (e.source_id = s.source_id AND e.line = s.line)
), most_recent AS (
    FROM earlier
    QUALIFY row_number() OVER (PARTITION BY suspect_source_id, suspect_line, defect ORDER BY ended_us DESC, source_id, line) = 1
), by_size AS (
    SELECT *, wanted - (sum(tokens) OVER (PARTITION BY suspect_source_id, suspect_line, defect ORDER BY ended_us DESC, source_id, line
                                          ROWS UNBOUNDED PRECEDING) - tokens) AS room
    FROM earlier WHERE same_rank
), last_hour AS (
    SELECT *, least(1, wanted / sum(tokens) OVER (PARTITION BY suspect_source_id, suspect_line, defect)) AS share
    FROM earlier WHERE in_last_hour
), guesses AS (
    SELECT 'most recent' AS method, suspect_source_id, suspect_line, suspect_id, defect, source_id, line, request_id,
           1 AS probability, least(tokens, wanted) AS exposed_tokens
    FROM most_recent
    UNION ALL
    SELECT 'recent by size', suspect_source_id, suspect_line, suspect_id, defect, source_id, line, request_id,
           least(1, room / tokens), least(tokens, room)
    FROM by_size WHERE room > 0
    UNION ALL
    SELECT 'last hour', suspect_source_id, suspect_line, suspect_id, defect, source_id, line, request_id,
           share, share * tokens
    FROM last_hour WHERE share > 0
)
SELECT method, defect, suspect_id, suspect_source_id, suspect_line, request_id, source_id, line,
       probability::DOUBLE, exposed_tokens::DOUBLE, NULL::BIGINT AS from_token, NULL::BIGINT AS to_token
FROM guesses

-- Requests of a tenant that may have attended to others' KV, with whose.
WITH reads AS (
    SELECT p.suspect_source_id AS source_id, p.suspect_line AS line, p.defect,
           sum(p.exposed_tokens) FILTER (p.source_kind <> 'none') AS tokens,
           array_to_string(list(DISTINCT coalesce(r.tenant_id, '') ORDER BY coalesce(r.tenant_id, ''))
               FILTER (p.source_kind = 'request' AND r.tenant_id IS DISTINCT FROM s.tenant_id), chr(31)) AS tenants,
           coalesce(bool_or(p.source_kind = 'unknown' AND p.exposed_tokens > 0), false) AS unknown_owner
    FROM source_pairs p
    JOIN requests s ON s.source_id = p.suspect_source_id AND s.line = p.suspect_line
    LEFT JOIN requests r ON r.source_id = p.source_source_id AND r.line = p.source_line
    GROUP BY ALL
), crossed AS (
    SELECT suspect_source_id AS source_id, suspect_line AS line, defect, least(1, sum(cross_probability)) AS cross
    FROM pairings GROUP BY ALL
)
SELECT r.tenant_id, x.defect, coalesce(r.request_id, ''), epoch_us(r.received_at), x.level, x.probability, coalesce(c.cross, 1),
       coalesce(d.tokens, 0), coalesce(r.prompt_tokens, 0), coalesce(r.completion_tokens, 0), coalesce(r.http_status, 0),
       array_to_string(x.rules, ', '), coalesce(d.tenants, ''), coalesce(d.unknown_owner, true)
FROM suspects x JOIN requests r USING (source_id, line)
LEFT JOIN reads d USING (source_id, line, defect)
LEFT JOIN crossed c USING (source_id, line, defect)
WHERE r.tenant_id IS NOT NULL
ORDER BY r.tenant_id, r.received_at NULLS LAST, r.request_id, x.source_id, x.line, x.defect

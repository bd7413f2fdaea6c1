-- Requests of a tenant that requests of others may have read, with who these
-- others are. Who they are never leaves the provider: packs show pseudonyms.
SELECT r.tenant_id, p.defect, coalesce(r.request_id, ''), epoch_us(r.received_at), coalesce(any_value(d.cross_probability), least(1, sum(p.probability))),
       sum(p.exposed_tokens), min(p.source_from_token), max(p.source_to_token),
       CASE WHEN count(DISTINCT p.source_part) = 1 THEN coalesce(any_value(p.source_part), '') ELSE 'both' END,
       array_to_string(list(DISTINCT coalesce(s.tenant_id, '') ORDER BY coalesce(s.tenant_id, '')), chr(31))
FROM source_pairs p
JOIN requests s ON s.source_id = p.suspect_source_id AND s.line = p.suspect_line
JOIN requests r ON r.source_id = p.source_source_id AND r.line = p.source_line
LEFT JOIN source_reads d ON d.source_id = p.source_source_id AND d.line = p.source_line AND d.defect = p.defect
WHERE p.source_kind = 'request' AND r.tenant_id IS NOT NULL AND s.tenant_id IS DISTINCT FROM r.tenant_id
GROUP BY r.tenant_id, p.defect, r.request_id, r.received_at, r.source_id, r.line
ORDER BY r.tenant_id, r.received_at NULLS LAST, r.request_id, r.source_id, r.line, p.defect

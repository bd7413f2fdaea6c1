-- Suspects with the requests whose KV they may have read, most exposed tokens first
SELECT s.request_id AS suspect_id, s.tenant_id AS suspect_tenant, p.source_kind,
       r.request_id AS source_request_id, r.tenant_id AS source_tenant, p.defect, p.decode_node, p.decode_rank,
       p.probability, p.mc_error, p.exposed_tokens, p.exposed_pages, p.source_from_token, p.source_to_token, p.source_part,
       (epoch_us(s.received_at) - epoch_us(r.finished_at)) / 1000000 AS seconds_before,
       CASE WHEN p.source_kind = 'request' THEN r.tenant_id IS DISTINCT FROM s.tenant_id END AS cross_tenant,
       p.suspect_source_id, p.suspect_line, p.source_source_id, p.source_line
FROM source_pairs p
JOIN requests s ON s.source_id = p.suspect_source_id AND s.line = p.suspect_line
LEFT JOIN requests r ON r.source_id = p.source_source_id AND r.line = p.source_line
ORDER BY s.received_at NULLS LAST, s.request_id, p.suspect_source_id, p.suspect_line, p.defect,
         p.source_kind = 'request' DESC, p.exposed_tokens DESC, p.source_source_id, p.source_line, p.source_kind

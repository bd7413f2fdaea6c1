-- Every file found: what it was taken for, why, and its account
SELECT s.source_id, p.path, s.sha256, s.bytes, s.format, s.format_reason, s.records, s.rejected,
       t.first_at, t.last_at,
       s.ignored, s.content_bytes, s.record_bytes, s.rejected_bytes, s.ignored_bytes, s.compression, s.encoding,
       s.state, s.problem, s.notes, c.node, c.node_how, c.zone, c.offset_s, c.clock_how, p.other_paths
FROM sources s
LEFT JOIN (SELECT source_id, min(path) AS path, list(path ORDER BY path)[2:] AS other_paths
           FROM source_paths GROUP BY source_id) p USING (source_id)
LEFT JOIN placements c USING (source_id)
LEFT JOIN (SELECT source_id, min(logged_at) AS first_at, max(logged_at) AS last_at
           FROM (SELECT source_id, received_at AS logged_at FROM gateway_records UNION ALL SELECT source_id, logged_at FROM engine_events)
           GROUP BY source_id) t USING (source_id)
ORDER BY s.source_id

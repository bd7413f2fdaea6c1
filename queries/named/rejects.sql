-- Records that could not be read, with their place and the reason
SELECT r.source_id, r.line, r.byte_offset, r.reason, r.preview, r.byte_length, p.path
FROM rejects r LEFT JOIN (SELECT source_id, min(path) AS path FROM source_paths GROUP BY source_id) p USING (source_id)
ORDER BY r.source_id, r.byte_offset, r.line, r.reason

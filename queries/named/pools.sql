-- Measured KV pools per node, rank and boot, with the input limit M
SELECT p.node, p.role, p.rank, p.valid_from, p.valid_to, p.engine, p.engine_version, p.pool_tokens, p.page_size,
       p.context_len, p.input_limit, p.capacity_gap, p.source_id, p.line,
       p.origin, p.role_how, p.version_how, p.ranks, p.transfer_backend, p.flags, a.advisories, p.notes
FROM pools p
LEFT JOIN (SELECT pool_id, list(advisory || ': ' || state ORDER BY advisory) AS advisories
           FROM pool_advisories GROUP BY pool_id) a USING (pool_id)
ORDER BY p.node NULLS LAST, p.valid_from NULLS FIRST, p.rank NULLS FIRST, p.pool_id

-- Pools that answers were generated from. A log that names no rank has one. The
-- last column but one tells that it served before the first request of the
-- evidence: by more than two seconds, as log lines have whole seconds and clocks
-- differ. The last is what no prefill node takes.
SELECT node, role, coalesce(rank, 0), epoch_us(valid_from), epoch_us(valid_to), coalesce(engine_version, ''), pool_tokens, page_size, input_limit,
       coalesce(json_extract_string(flags, '$.disaggregation_decode_enable_radix_cache') IN ('true', 'True'), false),
       try_cast(json_extract_string(flags, '$.num_reserved_decode_tokens') AS BIGINT),
       EXISTS (SELECT 1 FROM engine_events e
               WHERE e.node = p.node AND e.kind IN ('decode_batch', 'access') AND e.logged_at >= p.valid_from
                 AND e.logged_at < (SELECT min(received_at) FROM requests) - INTERVAL 2 SECONDS),
       CASE WHEN role = 'decode' THEN (SELECT CASE WHEN count(*) = count(input_limit) THEN max(input_limit) END FROM pools WHERE role = 'prefill') END
FROM pools p
WHERE node IS NOT NULL AND role IN ('decode', 'unified')
ORDER BY node, coalesce(rank, 0), valid_from NULLS FIRST, pool_id

-- Requests by which KV may have come into pages that were not theirs: aborts in
-- flight and offloaded prompts. A rule that may give more than the context which
-- its hits have leaves the rest to the replay. landed is when the prefill node gave up, its
-- writes over, if its log says.
WITH gave_up AS (
    SELECT bootstrap_room, max(logged_at) AS at FROM engine_events
    WHERE kind = 'transfer_failed' AND role = 'prefill' AND bootstrap_room > 0 AND logged_at IS NOT NULL
    GROUP BY bootstrap_room
)
SELECT x.defect, h.source_id, h.line, any_value(h.rule ORDER BY h.rule), max(h.probability),
       any_value(r.decode_node), any_value(r.decode_rank), any_value(r.prompt_tokens), any_value(epoch_us(r.received_at)), any_value(epoch_us(r.finished_at)),
       any_value(epoch_us(g.at))
FROM hits h JOIN rule_runs x USING (rule) JOIN requests r USING (source_id, line)
LEFT JOIN gave_up g ON g.bootstrap_room = r.bootstrap_room
WHERE h.level = 'context' AND x.level <> 'context' AND h.suppressed IS NULL AND x.defect IN ('abort-late-write', 'offload-slot-reuse')
GROUP BY x.defect, h.source_id, h.line
ORDER BY x.defect, h.source_id, h.line

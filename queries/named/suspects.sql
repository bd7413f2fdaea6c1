-- Requests that may have read another request's KV, with level, rules and reasons
SELECT r.request_id, r.tenant_id, r.received_at, r.model, r.prefill_node, r.decode_node, r.decode_rank,
       s.defect, s.level, r.prompt_tokens, s.input_limit, r.http_status, r.ttft_ms, s.ttft_bound_ms, s.rules, s.reasons,
       r.prefill_rank, r.cached_tokens, r.completion_tokens, s.probability, s.source_id, s.line, r.byte_offset
FROM suspects s JOIN requests r USING (source_id, line)
ORDER BY r.received_at NULLS LAST, r.request_id, s.source_id, s.line, s.defect

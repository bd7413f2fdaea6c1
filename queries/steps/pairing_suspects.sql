-- Flagged requests whose sources are to be found.
SELECT s.source_id, s.line, s.defect, s.level IN ('certain', 'strong'), s.probability, r.tenant_id, r.decode_node, r.decode_rank, r.prompt_tokens,
       epoch_us(r.received_at), epoch_us(r.first_token_at), epoch_us(r.finished_at)
FROM flagged s JOIN requests r USING (source_id, line)
ORDER BY s.source_id, s.line, s.defect

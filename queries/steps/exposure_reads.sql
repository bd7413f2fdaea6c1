-- Requests whose KV other tenants' suspects may have read.
SELECT x.defect, r.tenant_id, x.cross_probability, x.firm_probability, x.cross_tokens, epoch_us(r.received_at)
FROM source_reads x JOIN requests r USING (source_id, line)
WHERE x.cross_probability > 0 AND r.tenant_id IS NOT NULL
ORDER BY x.defect, r.tenant_id, x.source_id, x.line

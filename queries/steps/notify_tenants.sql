-- Tenants with what the count of exposure says of them, one row per direction
-- and defect.
SELECT x.tenant_id, coalesce(i.name, ''), coalesce(i.country, ''), coalesce(i.contact, ''), coalesce(i.sector, ''),
       coalesce(i.notice_hours, 0), coalesce(i.role, ''),
       x.direction, x.defect, x.floor, x.best, x.ceiling, x.exposed_tokens, epoch_us(x.first_at), epoch_us(x.last_at), x.state, x.reason
FROM tenant_exposure x LEFT JOIN incident_tenants i USING (tenant_id)
ORDER BY x.tenant_id, x.direction DESC, list_position(['oversize-placeholder', 'abort-late-write', 'abort-early-release', 'offload-slot-reuse'], x.defect)

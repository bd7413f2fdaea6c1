-- Tenants in both directions: how many requests (floor, best, ceiling), state and reason
SELECT tenant_id, direction, defect, floor, best, ceiling, exposed_tokens, first_at, last_at, state, reason
FROM tenant_exposure
ORDER BY defect, direction DESC, best DESC NULLS LAST, ceiling DESC, tenant_id

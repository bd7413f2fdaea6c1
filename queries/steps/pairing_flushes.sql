-- Cache flushes of nodes: they put the free list in order.
SELECT node, epoch_us(logged_at) FROM engine_events
WHERE kind = 'flush' AND node IS NOT NULL AND logged_at IS NOT NULL
GROUP BY ALL ORDER BY ALL

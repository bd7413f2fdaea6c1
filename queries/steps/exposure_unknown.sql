-- How many requests without a named owner suspects may have attended to: those
-- that the rows lack, and one for each suspect's first page, which came whole
-- from a prefill node. A suspect that could not be replayed has no such count:
-- its tokens are all unknown. Last, the suspects that the rows lack.
WITH windows AS (
    SELECT defect, decode_node, decode_rank, replayed_from, any_value(missing_read) AS missing_read, any_value(missing_suspects) AS missing_suspects
    FROM pairings WHERE decode_node IS NOT NULL GROUP BY ALL
), by_window AS (
    SELECT defect, sum(missing_read) AS requests, sum(missing_suspects) AS lost FROM windows GROUP BY defect
), by_suspect AS (
    SELECT defect, count(DISTINCT (suspect_source_id, suspect_line)) AS suspects,
           count(*) FILTER (decode_node IS NULL) AS unpaired
    FROM pairings GROUP BY defect
)
SELECT s.defect, coalesce(w.requests, 0) + CASE WHEN s.defect = 'oversize-placeholder' THEN s.suspects - s.unpaired ELSE 0 END, s.unpaired, coalesce(w.lost, 0)
FROM by_suspect s LEFT JOIN by_window w USING (defect)
ORDER BY s.defect

-- When each defect was at work: first and last bad evidence, which are suspects
-- that are certain, strong or likelier than not, and the clean evidence next to
-- them: for the oversize placeholder an oversize prompt that was refused. The
-- other defects leave no clean evidence.
WITH bad AS (
    SELECT s.defect, min(r.received_at) AS first_at, max(r.received_at) AS last_at
    FROM suspects s JOIN requests r USING (source_id, line)
    WHERE s.level IN ('certain', 'strong') OR s.probability >= 0.5
    GROUP BY s.defect
), clean AS (
    SELECT 'oversize-placeholder' AS defect, r.received_at AS at
    FROM hits h JOIN requests r USING (source_id, line) WHERE h.rule = 'oversize-refused'
)
SELECT b.defect, epoch_us(max(c.at) FILTER (c.at < b.first_at)), epoch_us(b.first_at), epoch_us(b.last_at), epoch_us(min(c.at) FILTER (c.at > b.last_at))
FROM bad b LEFT JOIN clean c USING (defect)
GROUP BY b.defect, b.first_at, b.last_at ORDER BY b.defect

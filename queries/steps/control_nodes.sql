-- Negative control, in a copy of the case: ordinary requests are dealt out to
-- decode nodes anew, in the shares that they had.
CREATE OR REPLACE TEMP TABLE dealt AS
WITH served AS (
    SELECT r.source_id, r.line, r.decode_node, r.decode_rank,
           row_number() OVER (ORDER BY r.source_id, r.line) AS place,
           row_number() OVER (ORDER BY hash(r.source_id, r.line, 'nodes'), r.source_id, r.line) AS other
    FROM requests r ANTI JOIN flagged f USING (source_id, line)
    WHERE r.decode_node IS NOT NULL AND coalesce(r.joined_by, '') <> 'engine only'
)
SELECT a.source_id, a.line, b.decode_node, b.decode_rank FROM served a JOIN served b ON a.place = b.other;

UPDATE gateway_records g SET decode_node = d.decode_node, decode_rank = d.decode_rank
FROM dealt d WHERE d.source_id = g.source_id AND d.line = g.line;

DROP TABLE dealt;

-- 25 suspects are enough to measure chance.
DELETE FROM hits;
DELETE FROM flagged WHERE defect <> 'oversize-placeholder' OR (source_id, line) NOT IN (
    SELECT (source_id, line) FROM flagged WHERE defect = 'oversize-placeholder' ORDER BY hash(source_id, line, 'kept'), source_id, line LIMIT 25);

-- What the evidence as a whole lacks: unread or rejected parts, requests without
-- a place in time, requests that only an engine saw, and how many requests the
-- replay found missing beside those that it holds. Histories of one defect do
-- not overlap, those of two may: the defect that shows most counts.
WITH histories AS (
    SELECT defect, any_value(missing_requests) AS lost, any_value(requests) AS held
    FROM pairings WHERE decode_node IS NOT NULL GROUP BY defect, decode_node, decode_rank, replayed_from
), by_defect AS (
    SELECT sum(lost) AS lost, sum(held) AS held FROM histories GROUP BY defect
)
SELECT (SELECT count(*) FROM sources WHERE state <> 'read'),
       (SELECT count(*) FROM rejects),
       (SELECT count(*) FROM gateway_records WHERE received_at IS NULL),
       (SELECT count(*) FROM requests WHERE joined_by = 'engine only'),
       (SELECT coalesce(max(lost), 0) FROM by_defect),
       (SELECT coalesce(arg_max(held, lost), 0) FROM by_defect)

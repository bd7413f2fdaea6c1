-- What the evidence as a whole lacks: unread or rejected parts, requests without
-- a place in time, requests that only an engine saw, and the share that the
-- replay found missing from the rows.
SELECT (SELECT count(*) FROM sources WHERE state <> 'read'),
       (SELECT count(*) FROM rejects),
       (SELECT count(*) FROM gateway_records WHERE received_at IS NULL),
       (SELECT count(*) FROM requests WHERE joined_by = 'engine only'),
       (SELECT coalesce(sum(w.lost), 0) FROM (SELECT any_value(missing_requests) AS lost FROM pairings GROUP BY decode_node, decode_rank, replayed_from) w),
       (SELECT coalesce(sum(w.held), 0) FROM (SELECT any_value(requests) AS held FROM pairings GROUP BY decode_node, decode_rank, replayed_from) w)

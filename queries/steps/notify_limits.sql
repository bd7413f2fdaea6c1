-- What the evidence as a whole could not show, as lines for every pack: shares
-- and reasons, no figure that tells how large the platform is.
SELECT 'rule' AS what, r.rule AS subject,
       CASE WHEN r.ran THEN concat(round(100 * r.not_assessed / greatest(r.assessed + r.not_assessed, 1), 2), ' % of the requests it speaks of lacked what it needs')
            ELSE concat('did not run: ', r.why_not) END AS limitation
FROM rule_runs r WHERE r.subject = 'request' AND (NOT r.ran OR r.not_assessed > 0)
UNION ALL
SELECT 'files', 'evidence', concat(count(*) FILTER (state <> 'read'), ' files were not wholly read') FROM sources HAVING count(*) FILTER (state <> 'read') > 0
UNION ALL
SELECT 'records', 'evidence', concat(round(100 * (SELECT count(*) FROM rejects) / greatest((SELECT count(*) FROM gateway_records), 1), 2), ' % of records were rejected as unreadable')
WHERE (SELECT count(*) FROM rejects) > 0
UNION ALL
SELECT 'estimate', d.defect, concat('suspects that nobody saw: ', coalesce(concat(round(d.unseen, 1), ' (', round(d.unseen_low, 1), ' to ', round(d.unseen_high, 1), '), '), ''), d.unseen_method) FROM defect_exposure d
UNION ALL
SELECT 'assumption', d.defect, unnest(d.assumptions) FROM defect_exposure d
UNION ALL
SELECT 'control', k.defect, concat(k.control, ': ', k.found, ' of ', k.total, ' (', k.note, ')') FROM controls k WHERE k.total > 0
ORDER BY 1, 2, 3

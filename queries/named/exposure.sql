-- The incident by defect class: suspects, source requests, tenants, and what nobody saw
SELECT defect, suspects_floor, suspects_best, suspects_ceiling, recipients_floor, recipients_best, recipients_ceiling, sources_floor, sources_best, sources_ceiling,
       tenants_exposed, tenants_open, unseen AS estimated_unseen, unseen_low, unseen_high, unseen_method, assumptions,
       began_after, began_by, ended_after, ended_by
FROM defect_exposure
ORDER BY list_position(['oversize-placeholder', 'abort-late-write', 'abort-early-release', 'offload-slot-reuse'], defect), defect

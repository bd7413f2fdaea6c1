-- Negative controls and synthetic leaks: what is found where the answer is known
SELECT control, defect, total, found, CASE WHEN total > 0 THEN found / total END AS share, low AS share_low, high AS share_high, note
FROM controls
ORDER BY list_position(['shuffled nodes', 'shuffled times', 'injected'], control),
         list_position(['oversize-placeholder', 'abort-late-write', 'abort-early-release', 'offload-slot-reuse'], defect)

-- When the defects were at work, over all of them.
SELECT epoch_us(min(began_by)), epoch_us(max(ended_after)), epoch_us(max(began_after)), epoch_us(min(ended_by)),
       coalesce(array_to_string(list(defect ORDER BY defect) FILTER (began_by IS NOT NULL), ', '), ''),
       (SELECT epoch_us(max(received_at)) FROM requests)
FROM defect_exposure

-- Tokens that requests reserved and how many there were, by node, rank and ten
-- minutes.
SELECT decode_node, coalesce(decode_rank, -1), epoch_us(received_at) // 600000000 * 600000000 AS bin,
       sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0))::BIGINT, count(*)
FROM requests
WHERE received_at IS NOT NULL AND decode_node IS NOT NULL AND coalesce(http_status, 200) NOT IN (400, 503)
GROUP BY ALL ORDER BY ALL

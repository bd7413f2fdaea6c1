package pipeline

import (
	"context"
	"database/sql"
	"fmt"

	"kvforensics/internal/casestore"
)

// Explanation shows the rows behind a suspect.
type Explanation struct {
	Verdicts []string // one line per defect
	Sections []Section
}

// Section is a group of rows, each with its place in the evidence.
type Section struct {
	Title string
	Rows  []ExplainedRow
}

// ExplainedRow is one row as text and where it comes from; Path is empty for
// what was derived.
type ExplainedRow struct {
	Path         string
	Line, Offset int64
	Text         string
}

// explainQueries select, for one request (its source and line as $1 and $2),
// path, line, byte offset and text of the rows behind it.
var explainQueries = []struct{ title, sql string }{
	{"gateway or engine record", `SELECT p.path, r.line, r.byte_offset,
		concat_ws(', ', 'request ' || r.request_id, 'tenant ' || coalesce(r.tenant_id, 'unknown'),
			'received ' || strftime(r.received_at, '%Y-%m-%dT%H:%M:%S.%fZ'), 'http ' || r.http_status,
			'prompt ' || r.prompt_tokens, 'cached ' || r.cached_tokens, 'completion ' || r.completion_tokens,
			'ttft ' || r.ttft_ms || ' ms', 'prefill ' || r.prefill_node || coalesce(' rank ' || r.prefill_rank, ''),
			'decode ' || r.decode_node || coalesce(' rank ' || r.decode_rank, ''), 'serving ' || coalesce(r.serving, 'unknown'), 'joined by ' || r.joined_by)
		FROM request_facts r LEFT JOIN paths p USING (source_id) WHERE r.source_id = $1 AND r.line = $2`},
	{"what the rules say", `SELECT NULL, 0, 0, h.rule || ' (' || h.level || ', reads ' || r.family || '): ' || h.reason || coalesce(', SET ASIDE: ' || h.suppressed, '')
		FROM hits h JOIN rule_runs r USING (rule) WHERE h.source_id = $1 AND h.line = $2 ORDER BY h.rule`},
	{"measured pools of its nodes at that time", `SELECT p.path, coalesce(o.line, 0), coalesce(e.byte_offset, 0),
		concat_ws(', ', o.node, o.role || ' (' || o.role_how || ')', 'rank ' || o.rank, 'pool ' || o.pool_tokens, 'context ' || o.context_len,
			'limit ' || o.input_limit, 'engine ' || coalesce(o.engine_version, 'version unknown') || ' (' || o.version_how || ')',
			'from ' || o.origin, 'since ' || coalesce(strftime(o.valid_from, '%Y-%m-%dT%H:%M:%SZ'), 'unknown'), array_to_string(o.notes, '; '))
		FROM requests r
		JOIN pools o ON o.node IN (r.prefill_node, r.decode_node)
			AND coalesce(r.received_at >= o.valid_from, true) AND coalesce(r.received_at < o.valid_to, true)
		LEFT JOIN paths p ON p.source_id = o.source_id
		LEFT JOIN (SELECT source_id, line, min(byte_offset) AS byte_offset FROM engine_records GROUP BY ALL) e ON e.source_id = o.source_id AND e.line = o.line
		WHERE r.source_id = $1 AND r.line = $2 ORDER BY o.role DESC, o.node, o.rank`},
	{"envelope of time to first token", `SELECT NULL, 0, 0, concat('prompts of ', e.from_tokens, ' uncached tokens and more: at least ', round(e.bound_ms, 1), ' ms',
			CASE WHEN e.slope_ms > 0 THEN concat(' and ', round(e.slope_ms * 1000, 3), ' ms for each further 1000 tokens') ELSE '' END,
			', from ', e.support, ' ordinary requests of ', CASE WHEN e.prefill_node = '' THEN 'all nodes' ELSE e.prefill_node END)
		FROM request_facts r ASOF JOIN ttft_envelope e
			ON e.prefill_node = CASE WHEN r.prefill_node IN (SELECT prefill_node FROM ttft_envelope) THEN r.prefill_node ELSE '' END
			AND r.uncached_tokens >= e.from_tokens
		WHERE r.source_id = $1 AND r.line = $2`},
	{"engine lines near it", `SELECT p.path, e.line, e.byte_offset,
		concat_ws(', ', e.kind, 'node ' || e.node, strftime(e.logged_at, '%Y-%m-%dT%H:%M:%SZ'), 'prompt ' || e.prompt_tokens, 'limit ' || e.limit_tokens,
			'new tokens ' || e.new_tokens, 'cached ' || e.cached_tokens, 'tokens ' || e.tokens, 'room ' || e.bootstrap_room, 'rid ' || e.rid, e.message)
		FROM requests r JOIN engine_events e ON (e.rid = r.request_id OR (r.bootstrap_room > 0 AND e.bootstrap_room = r.bootstrap_room)
			OR (e.node IN (r.prefill_node, r.decode_node) AND e.logged_at BETWEEN r.received_at - INTERVAL 2 SECOND AND coalesce(r.first_token_at, r.received_at) + INTERVAL 2 SECOND
				AND e.kind IN ('rejected', 'state_index', 'prefill_batch', 'decode_batch', 'transfer_failed', 'abort', 'canary', 'checksum', 'corruption')))
		LEFT JOIN paths p ON p.source_id = e.source_id
		WHERE r.source_id = $1 AND r.line = $2 ORDER BY e.logged_at, e.source_id, e.line LIMIT 40`},
}

// Explain gathers the rows behind every request with the given id; none where
// the case has no such request.
func Explain(ctx context.Context, c *casestore.Case, requestID string) (list []Explanation, err error) {
	type place struct{ source, line int64 }
	var places []place
	err = c.Select(ctx, "SELECT source_id, line FROM requests WHERE request_id = ? ORDER BY source_id, line", func(scan func(...any) error) error {
		var p place
		err := scan(&p.source, &p.line)
		places = append(places, p)
		return err
	}, requestID)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		e, err := explain(ctx, c, p.source, p.line)
		if err != nil {
			return nil, fmt.Errorf("explain %q: %w", requestID, err)
		}
		list = append(list, e)
	}
	return list, nil
}

func explain(ctx context.Context, c *casestore.Case, source, line int64) (Explanation, error) {
	var e Explanation
	err := c.Select(ctx, `SELECT defect || ': ' || level || ', by ' || array_to_string(rules, ', ') FROM suspects
		WHERE source_id = ? AND line = ? ORDER BY defect`, func(scan func(...any) error) error {
		var verdict string
		err := scan(&verdict)
		e.Verdicts = append(e.Verdicts, verdict)
		return err
	}, source, line)
	if err != nil {
		return e, err
	}
	const paths = "WITH paths AS (SELECT source_id, min(path) AS path FROM source_paths GROUP BY source_id) "
	for _, q := range explainQueries {
		s := Section{Title: q.title}
		err := c.Select(ctx, paths+q.sql, func(scan func(...any) error) error {
			var r ExplainedRow
			var path sql.NullString
			err := scan(&path, &r.Line, &r.Offset, &r.Text)
			r.Path = path.String
			s.Rows = append(s.Rows, r)
			return err
		}, source, line)
		if err != nil {
			return e, fmt.Errorf("%s: %w", q.title, err)
		}
		e.Sections = append(e.Sections, s)
	}
	return e, nil
}

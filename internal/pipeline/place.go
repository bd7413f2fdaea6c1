package pipeline

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/evidence"
	"kvforensics/internal/incident"
)

// place says for every engine log which node it belongs to and how its wall
// clock maps to UTC.
func place(ctx context.Context, c *casestore.Case, in *incident.Incident, zone *time.Location) error {
	hints, err := clockHints(ctx, c)
	if err != nil {
		return err
	}
	known, err := gatewayNodes(ctx, c)
	if err != nil {
		return err
	}
	var rows [][]any
	err = c.Select(ctx, `SELECT s.source_id, min(p.path),
			count(local_at) FILTER (stated_at IS NULL), count(stated_at)
		FROM sources s JOIN source_paths p USING (source_id) LEFT JOIN engine_records e USING (source_id)
		WHERE s.format = ? GROUP BY s.source_id ORDER BY s.source_id`, func(scan func(...any) error) error {
		var id int
		var path string
		var wall, stated int64
		if err := scan(&id, &path, &wall, &stated); err != nil {
			return err
		}
		node, how, ok := in.NodeForLog(path, known)
		if !ok {
			node = ""
		}
		clock := placeClock(zoneFor(in, node, zone), wall, stated, hints[id])
		rows = append(rows, []any{id, casestore.NullText(node), how, casestore.NullText(clock.zone), casestore.Null(clock.offset), clock.how})
		return nil
	}, evidence.FormatSGLang)
	if err != nil {
		return fmt.Errorf("place engine logs: %w", err)
	}
	return c.Replace(ctx, "placements", rows)
}

func gatewayNodes(ctx context.Context, c *casestore.Case) ([]string, error) {
	var known []string
	err := c.Select(ctx, `SELECT DISTINCT prefill_node FROM gateway_records WHERE prefill_node IS NOT NULL
		UNION SELECT DISTINCT decode_node FROM gateway_records WHERE decode_node IS NOT NULL ORDER BY 1`,
		func(scan func(...any) error) error {
			var node string
			if err := scan(&node); err != nil {
				return err
			}
			known = append(known, node)
			return nil
		})
	return known, err
}

// zoneFor gives the stated zone of a node's clock: its own, else the one of
// the command line, else the incident's.
func zoneFor(in *incident.Incident, node string, zone *time.Location) *time.Location {
	for _, n := range in.Nodes {
		if n.Name == node && n.Timezone != nil {
			return n.Timezone
		}
	}
	if zone != nil {
		return zone
	}
	return in.Timezone
}

// hint is an offset from UTC that pairs of the same moment gave.
type hint struct {
	how    string
	offset int64 // seconds east
	pairs  int64
}

func clockHints(ctx context.Context, c *casestore.Case) (map[int][]hint, error) {
	hints := map[int][]hint{}
	err := c.SelectStep(ctx, "clock_hints", func(scan func(...any) error) error {
		var id int
		var h hint
		if err := scan(&id, &h.how, &h.offset, &h.pairs); err != nil {
			return err
		}
		hints[id] = append(hints[id], h)
		return nil
	})
	return hints, err
}

type clock struct {
	zone   string
	offset evidence.Opt[int64]
	how    string
}

// unusableClock begins the account of a log whose wall clock has no place in
// UTC.
const unusableClock = "unusable"

// minPairs is how many pairs of the same moment must agree, and none disagree,
// before an offset is inferred.
const minPairs = 3

// placeClock decides how a log's wall clock maps to UTC. Wall counts records
// with nothing but a wall clock, stated those that fix the instant themselves.
func placeClock(zone *time.Location, wall, stated int64, hints []hint) clock {
	switch {
	case zone != nil:
		return clock{zone: zone.String(), how: "stated: " + zone.String()}
	case wall == 0 && stated > 0:
		return clock{how: "stated in the lines"}
	case wall == 0:
		return clock{how: "no stamps"}
	case len(hints) == 0:
		return clock{how: unusableClock + ": no zone stated and nothing to align with; give --tz or timezone in incident.yaml"}
	}
	best := hints[0]
	for _, h := range hints[1:] {
		if h.how == best.how {
			return clock{how: fmt.Sprintf("%s: %s give both %s (%d pairs) and %s (%d pairs)", unusableClock, best.how,
				offsetText(best.offset), best.pairs, offsetText(h.offset), h.pairs)}
		}
	}
	if best.pairs < minPairs {
		return clock{how: fmt.Sprintf("%s: only %d pairs of %s", unusableClock, best.pairs, best.how)}
	}
	return clock{offset: evidence.Some(best.offset), how: fmt.Sprintf("inferred: %s, from %d pairs of %s", offsetText(best.offset), best.pairs, best.how)}
}

func offsetText(seconds int64) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Sprintf("UTC%c%02d:%02d", sign, seconds/3600, seconds/60%60)
}

// startEvents reads what engines said at their start, and the lines that show
// their role.
func startEvents(ctx context.Context, c *casestore.Case) ([]evidence.PlacedEvent, error) {
	var list []evidence.PlacedEvent
	err := c.Select(ctx, `SELECT source_id, line, kind, node, logged_at, role, dp_rank, tp_rank, pp_rank, engine, engine_version,
			page_size, context_len, pool_tokens, max_input_len, dp_size, transfer_backend, flags
		FROM engine_events
		WHERE kind IN ('launch', 'pool', 'kv_alloc', 'role_hint')
		UNION ALL
		(SELECT DISTINCT ON (source_id, role) source_id, line, kind, node, logged_at, role, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
		 FROM engine_events WHERE kind IN ('prefill_batch', 'decode_batch') AND role IS NOT NULL ORDER BY source_id, role, line)
		ORDER BY source_id, line`, func(scan func(...any) error) error {
		e, err := scanStart(scan)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read start-up lines: %w", err)
	}
	return list, nil
}

func scanStart(scan func(...any) error) (evidence.PlacedEvent, error) {
	var e evidence.PlacedEvent
	var kind string
	var at sql.NullTime
	var node, role, engine, version, backend, flags sql.NullString
	var dp, tp, pp, page, contextLen, pool, limit, dpSize sql.NullInt64
	err := scan(&e.SourceID, &e.Line, &kind, &node, &at, &role, &dp, &tp, &pp, &engine, &version,
		&page, &contextLen, &pool, &limit, &dpSize, &backend, &flags)
	e.Kind, e.Node, e.Role = evidence.EventKind(kind), node.String, evidence.Role(role.String)
	e.At = evidence.Opt[evidence.Micros]{V: evidence.MicrosOf(at.Time), Known: at.Valid}
	if !at.Valid {
		e.At.V = 0
	}
	e.DP, e.TP, e.PP = number(dp), number(tp), number(pp)
	e.Launch = evidence.Launch{
		Engine: engine.String, Version: version.String, PageSize: number(page), ContextLen: number(contextLen),
		PoolTokens: number(pool), MaxInputLen: number(limit), DPSize: number(dpSize),
		TransferBackend: backend.String, Flags: flags.String,
	}
	return e, err
}

func number(n sql.NullInt64) evidence.Opt[int64] {
	return evidence.Opt[int64]{V: n.Int64, Known: n.Valid}
}

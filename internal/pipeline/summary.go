package pipeline

import (
	"context"
	"database/sql"
	"time"

	"kvforensics/internal/casestore"
)

// Summary is what triage says at its end.
type Summary struct {
	Dir         string
	First, Last sql.NullTime // of the requests that have a place in time
	Sources     SourceCounts
	Problems    []SourceProblem
	Nodes       []NodePools
	Unmeasured  []UnmeasuredNode
	Levels      []LevelCount // certain, strong, possible
	Defects     []LevelCount
	Refused     int64 // oversize requests refused as they should be
	Recipients  Range
	Tenants     TenantCounts
	Exposures   []Exposure // by defect class; none before the exposure step
	Controls    []Control  // of which there is something to tell
	Gaps        []Gap
	Uncovered   string // defect classes for which no rule looks
	Suppressed  int64  // hits that a site's filters set aside
	Outside     int64  // requests outside the span that was asked for: in no count
	Silent      int64  // hours in which engines worked and the gateway logged nothing
	Findings    int64  // what rules say of nodes
	Counted     bool   // Recipients come from the count of exposure, not from suspects alone
	Unplaced    int64  // gateway records without a place in time
	Repeated    int64  // gateway records left out as repetitions
}

// SourceCounts sums up the accounts of all sources.
type SourceCounts struct {
	Sources, Unread, Records, Rejected, Ignored, Requests, Events int64
}

// SourceProblem is a file that was not wholly read or placed.
type SourceProblem struct{ Path, Problem string }

// NodePools sums up the measured pools of a node over its ranks and boots.
type NodePools struct {
	Node, Role, Origin   string
	Boots                int64
	LowPool, HighPool    sql.NullInt64
	LowLimit, HighLimit  sql.NullInt64
	Context              sql.NullInt64
	Gap                  bool
	Version, VersionHow  string
	RanksDisagree, Noted bool
}

// UnmeasuredNode serves traffic and has no measured pool.
type UnmeasuredNode struct {
	Node     string
	Requests int64
}

// LevelCount counts distinct requests.
type LevelCount struct {
	Level, Defect string
	Requests      int64
}

// Range is a count as floor, best and ceiling.
type Range struct {
	Floor   int64
	Best    float64
	Ceiling int64
	Blind   int64 // rows in the ceiling that could not be assessed
	Lost    int64 // suspects in the ceiling that the rows lack, by the engines' figures
}

// TenantCounts counts tenants by what is known of them as recipients.
type TenantCounts struct{ All, Certain, Strong, Possible int64 }

// Exposure is what one defect class comes to.
type Exposure struct {
	Defect                                   string
	Sources                                  Range
	Estimated                                bool // Sources.Best means something
	Exposed, NotRuledOut, Out                int64
	Named, Unknown, None                     float64 // tokens that suspects attended to, by owner
	Unseen, UnseenLow, UnseenTop             sql.NullFloat64
	UnseenMethod                             string
	BeganAfter, BeganBy, EndedAfter, EndedBy sql.NullTime
}

// Control is what was found where the answer is known.
type Control struct {
	Name, Defect string
	Total, Found int64
}

// Gap is what a rule could not assess.
type Gap struct {
	Rule, Field string
	Rows        int64
	Ran         bool
}

// Incomplete reports whether part of the input was rejected, unread, has no
// place in time, or is plainly missing.
func (s Summary) Incomplete() bool {
	return s.Sources.Rejected > 0 || len(s.Problems) > 0 || s.Unplaced > 0 || s.Silent > 0
}

// Summarise reads the summary from the case.
func Summarise(ctx context.Context, c *casestore.Case) (Summary, error) {
	s := Summary{Dir: c.Dir()}
	for _, read := range []func(context.Context, *casestore.Case) error{
		s.readCounts, s.readProblems, s.readNodes, s.readUnmeasured, s.readLevels, s.readTenants, s.readExposures, s.readControls, s.readGaps, s.readRange,
	} {
		if err := read(ctx, c); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Summary) readCounts(ctx context.Context, c *casestore.Case) error {
	n := &s.Sources
	if err := c.One(ctx, `SELECT count(*), count(*) FILTER (state <> 'read'), coalesce(sum(records), 0)::BIGINT,
			coalesce(sum(rejected), 0)::BIGINT, coalesce(sum(ignored), 0)::BIGINT FROM sources`,
		&n.Sources, &n.Unread, &n.Records, &n.Rejected, &n.Ignored); err != nil {
		return err
	}
	return c.One(ctx, `SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM engine_records),
			(SELECT min(received_at) FROM requests), (SELECT max(received_at) FROM requests),
			(SELECT count(*) FROM gateway_records WHERE received_at IS NULL), (SELECT count(*) FROM duplicate_records)`,
		&n.Requests, &n.Events, &s.First, &s.Last, &s.Unplaced, &s.Repeated)
}

func (s *Summary) readProblems(ctx context.Context, c *casestore.Case) error {
	return c.Select(ctx, `SELECT p.path, coalesce(s.problem, c.clock_how)
		FROM sources s JOIN (SELECT source_id, min(path) AS path FROM source_paths GROUP BY source_id) p USING (source_id)
		LEFT JOIN placements c ON c.source_id = s.source_id AND starts_with(c.clock_how, ?)
		WHERE s.state <> 'read' OR c.source_id IS NOT NULL ORDER BY p.path`, func(scan func(...any) error) error {
		var p SourceProblem
		err := scan(&p.Path, &p.Problem)
		s.Problems = append(s.Problems, p)
		return err
	}, unusableClock)
}

func (s *Summary) readNodes(ctx context.Context, c *casestore.Case) error {
	return c.Select(ctx, `SELECT coalesce(node, '(no node)'), coalesce(max(role), 'unknown'), string_agg(DISTINCT origin, ', ' ORDER BY origin),
			count(DISTINCT valid_from), min(pool_tokens), max(pool_tokens), min(input_limit), max(input_limit), max(context_len),
			coalesce(bool_or(capacity_gap), false), coalesce(string_agg(DISTINCT engine_version, ', ' ORDER BY engine_version), ''),
			coalesce(max(version_how), ''), count(*) FILTER (array_to_string(notes, ' ') LIKE '%ranks disagree%') > 0, count(*) FILTER (len(notes) > 0) > 0
		FROM pools GROUP BY node ORDER BY node NULLS LAST`, func(scan func(...any) error) error {
		var n NodePools
		err := scan(&n.Node, &n.Role, &n.Origin, &n.Boots, &n.LowPool, &n.HighPool, &n.LowLimit, &n.HighLimit, &n.Context,
			&n.Gap, &n.Version, &n.VersionHow, &n.RanksDisagree, &n.Noted)
		s.Nodes = append(s.Nodes, n)
		return err
	})
}

func (s *Summary) readUnmeasured(ctx context.Context, c *casestore.Case) error {
	return c.Select(ctx, `WITH served AS (
			SELECT prefill_node AS node, count(*) AS requests FROM requests WHERE prefill_node IS NOT NULL GROUP BY 1
			UNION ALL SELECT decode_node, count(*) FROM requests WHERE decode_node IS NOT NULL AND decode_node IS DISTINCT FROM prefill_node GROUP BY 1)
		SELECT node, sum(requests)::BIGINT FROM served
		WHERE node NOT IN (SELECT node FROM pools WHERE node IS NOT NULL AND input_limit IS NOT NULL)
		GROUP BY node ORDER BY node`, func(scan func(...any) error) error {
		var n UnmeasuredNode
		err := scan(&n.Node, &n.Requests)
		s.Unmeasured = append(s.Unmeasured, n)
		return err
	})
}

// suspectLevels gives each suspect request its highest level.
const suspectLevels = `WITH top AS (
	SELECT source_id, line, max(list_position(['possible', 'strong', 'certain'], level)) AS rank, max(probability) AS probability
	FROM suspects GROUP BY source_id, line) `

func (s *Summary) readLevels(ctx context.Context, c *casestore.Case) error {
	count := func(to *[]LevelCount) func(func(...any) error) error {
		return func(scan func(...any) error) error {
			var n LevelCount
			err := scan(&n.Level, &n.Defect, &n.Requests)
			*to = append(*to, n)
			return err
		}
	}
	err := c.Select(ctx, suspectLevels+`SELECT l.level, '', count(t.rank) FROM (VALUES ('certain', 3), ('strong', 2), ('possible', 1)) l(level, rank)
		LEFT JOIN top t USING (rank) GROUP BY l.level, l.rank ORDER BY l.rank DESC`, count(&s.Levels))
	if err != nil {
		return err
	}
	err = c.Select(ctx, `SELECT level, defect, count(*) FROM suspects GROUP BY level, defect
		ORDER BY defect, list_position(['certain', 'strong', 'possible'], level)`, count(&s.Defects))
	if err != nil {
		return err
	}
	return c.One(ctx, "SELECT count(*) FROM hits WHERE rule = 'oversize-refused' AND suppressed IS NULL", &s.Refused)
}

func (s *Summary) readTenants(ctx context.Context, c *casestore.Case) error {
	n := &s.Tenants
	return c.One(ctx, suspectLevels+`, tenants AS (
			SELECT r.tenant_id, max(t.rank) AS rank FROM requests r JOIN top t USING (source_id, line) GROUP BY r.tenant_id)
		SELECT (SELECT count(DISTINCT tenant_id) FROM gateway_records), count(*) FILTER (rank = 3), count(*) FILTER (rank = 2), count(*) FILTER (rank = 1) FROM tenants`,
		&n.All, &n.Certain, &n.Strong, &n.Possible)
}

func (s *Summary) readExposures(ctx context.Context, c *casestore.Case) error {
	return c.Select(ctx, `SELECT d.defect, d.sources_floor, coalesce(d.sources_best, 0), d.sources_ceiling, d.sources_best IS NOT NULL,
			count(t.tenant_id) FILTER (t.state IN ('confirmed', 'exposed')), count(t.tenant_id) FILTER (t.state = 'not ruled out'), count(t.tenant_id) FILTER (t.state = 'ruled out'),
			coalesce(any_value(p.named), 0), coalesce(any_value(p.unknown), 0), coalesce(any_value(p.none), 0),
			d.unseen, d.unseen_low, d.unseen_high, d.unseen_method, d.began_after, d.began_by, d.ended_after, d.ended_by
		FROM defect_exposure d
		LEFT JOIN tenant_exposure t ON t.defect = d.defect AND t.direction = 'source'
		LEFT JOIN (SELECT defect, sum(exposed_tokens) FILTER (source_kind = 'request') AS named, sum(exposed_tokens) FILTER (source_kind = 'unknown') AS unknown,
				sum(exposed_tokens) FILTER (source_kind = 'none') AS none FROM source_pairs GROUP BY defect) p ON p.defect = d.defect
		GROUP BY ALL ORDER BY d.defect DESC`,
		func(scan func(...any) error) error {
			var e Exposure
			r := &e.Sources
			err := scan(&e.Defect, &r.Floor, &r.Best, &r.Ceiling, &e.Estimated, &e.Exposed, &e.NotRuledOut, &e.Out,
				&e.Named, &e.Unknown, &e.None, &e.Unseen, &e.UnseenLow, &e.UnseenTop, &e.UnseenMethod,
				&e.BeganAfter, &e.BeganBy, &e.EndedAfter, &e.EndedBy)
			s.Exposures = append(s.Exposures, e)
			return err
		})
}

func (s *Summary) readControls(ctx context.Context, c *casestore.Case) error {
	return c.Select(ctx, `SELECT control, defect, total, found FROM controls WHERE total > 0
		ORDER BY list_position(['shuffled nodes', 'shuffled times', 'injected'], control), defect DESC`,
		func(scan func(...any) error) error {
			var k Control
			err := scan(&k.Name, &k.Defect, &k.Total, &k.Found)
			s.Controls = append(s.Controls, k)
			return err
		})
}

func (s *Summary) readGaps(ctx context.Context, c *casestore.Case) (err error) {
	if s.Uncovered, err = c.Fact(ctx, factUncovered); err != nil {
		return err
	}
	if err := c.One(ctx, "SELECT count(*) FROM node_findings", &s.Findings); err != nil {
		return err
	}
	if err := c.One(ctx, "SELECT coalesce(sum(suppressed), 0)::BIGINT FROM rule_runs", &s.Suppressed); err != nil {
		return err
	}
	return c.Select(ctx, `SELECT r.rule, g.field, g.rows_lacking, r.ran FROM rule_runs r JOIN rule_gaps g USING (rule)
		ORDER BY r.ran, r.rule, g.rows_lacking DESC, g.field`,
		func(scan func(...any) error) error {
			var g Gap
			err := scan(&g.Rule, &g.Field, &g.Rows, &g.Ran)
			s.Gaps = append(s.Gaps, g)
			return err
		})
}

// readRange counts recipients. Floor: certain suspects. Best: the sum of the
// probabilities of certain and strong ones. Ceiling: all suspects, every row
// that the size rule could not assess, and the suspects that the rows lack.
func (s *Summary) readRange(ctx context.Context, c *casestore.Case) error {
	r := &s.Recipients
	err := c.One(ctx, suspectLevels+`SELECT count(*) FILTER (rank = 3), coalesce(sum(probability) FILTER (rank >= 2), 0), count(*) FROM top`,
		&r.Floor, &r.Best, &r.Ceiling)
	if err != nil {
		return err
	}
	err = c.One(ctx, `SELECT coalesce(sum(rows_lacking), 0)::BIGINT FROM rule_gaps WHERE rule = 'oversize-answered'`, &r.Blind)
	if err != nil {
		return err
	}
	var rejected int64
	err = c.SelectStep(ctx, "unmatched", func(scan func(...any) error) error { return scan(&rejected, &s.Silent) })
	if err != nil {
		return err
	}
	if err := c.One(ctx, "SELECT (SELECT count(*) FROM requests) - (SELECT count(*) FROM request_facts)", &s.Outside); err != nil {
		return err
	}
	err = c.One(ctx, `SELECT coalesce(round(sum(lost)), 0)::BIGINT FROM (
			SELECT any_value(missing_suspects) AS lost FROM pairings WHERE defect = 'oversize-placeholder' AND decode_node IS NOT NULL
			GROUP BY decode_node, decode_rank, replayed_from)`, &r.Lost)
	if err != nil {
		return err
	}
	r.Lost = max(r.Lost, rejected)
	r.Ceiling += r.Blind + r.Lost
	// Once exposure is counted, a recipient is a suspect that met somebody.
	return c.Select(ctx, "SELECT sum(recipients_floor)::BIGINT, sum(coalesce(recipients_best, 0)), sum(recipients_ceiling)::BIGINT FROM defect_exposure HAVING count(*) > 0",
		func(scan func(...any) error) error {
			s.Counted = true
			return scan(&r.Floor, &r.Best, &r.Ceiling)
		})
}

// When gives t in UTC as people write it, or "unknown".
func When(t sql.NullTime) string {
	if !t.Valid {
		return "unknown"
	}
	return t.Time.UTC().Format(time.RFC3339)
}

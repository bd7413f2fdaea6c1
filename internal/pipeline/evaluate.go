package pipeline

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"kvforensics/internal/casestore"
	"kvforensics/internal/score"
	"kvforensics/queries"
)

// Evaluation scores a case against the truth of its incident.
type Evaluation struct {
	score.Report
	TenantsCounted bool // there is a query that counts tenants
}

// pairMethods are the ways of naming sources, as they are shown: the case's own,
// then those of the step baselines.
var pairMethods = []string{"replay", "most recent", "recent by size", "last hour"}

// Evaluate holds the suspects, pairs and tenants of a case against the truth.
func Evaluate(ctx context.Context, c *casestore.Case, truth score.Truth) (Evaluation, error) {
	p := score.Prediction{Known: map[string]bool{}}
	err := c.Select(ctx, "SELECT DISTINCT request_id FROM requests WHERE request_id IS NOT NULL", func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		p.Known[id] = true
		return err
	})
	if err != nil {
		return Evaluation{}, fmt.Errorf("read requests: %w", err)
	}
	if p.Suspects, err = predictedSuspects(ctx, c); err != nil {
		return Evaluation{}, fmt.Errorf("read suspects: %w", err)
	}
	if p.Methods, err = predictedPairs(ctx, c); err != nil {
		return Evaluation{}, fmt.Errorf("read pairs: %w", err)
	}
	_, counted := queries.Find("tenants")
	if counted {
		if p.Tenants, err = predictedTenants(ctx, c); err != nil {
			return Evaluation{}, fmt.Errorf("read tenants: %w", err)
		}
	}
	return Evaluation{score.Evaluate(truth, p), counted}, nil
}

// selectNamed selects columns from the named query called name.
func selectNamed(ctx context.Context, c *casestore.Case, columns, name, where string, each func(scan func(...any) error) error) error {
	q, ok := queries.Find(name)
	if !ok {
		return fmt.Errorf("no query %q", name)
	}
	return c.Select(ctx, "SELECT "+columns+" FROM (\n"+q.SQL+"\n) WHERE "+where, each)
}

func predictedSuspects(ctx context.Context, c *casestore.Case) ([]score.Suspect, error) {
	var list []score.Suspect
	err := selectNamed(ctx, c, "request_id, source_id, line, defect, level", "suspects", "true", func(scan func(...any) error) error {
		var r requestRef
		var s score.Suspect
		err := scan(&r.id, &r.source, &r.line, &s.Defect, &s.Level)
		s.RequestID = r.name()
		list = append(list, s)
		return err
	})
	return list, err
}

// predictedPairs gives the pairs of each method whose source is a request.
func predictedPairs(ctx context.Context, c *casestore.Case) ([]score.Method, error) {
	byMethod := map[string][]score.Pair{}
	take := func(scan func(...any) error) error {
		method, p, err := scanPair(scan)
		byMethod[method] = append(byMethod[method], p)
		return err
	}
	err := selectNamed(ctx, c, `'replay', defect, suspect_id, suspect_source_id, suspect_line, source_request_id, source_source_id, source_line,
		probability, exposed_tokens, source_from_token, source_to_token`, "pairs", "source_kind = 'request'", take)
	if err != nil {
		return nil, err
	}
	if err := c.SelectStep(ctx, "baselines", take); err != nil {
		return nil, err
	}
	var list []score.Method
	for _, name := range pairMethods {
		list = append(list, score.Method{Name: name, Pairs: byMethod[name]})
	}
	return list, nil
}

func scanPair(scan func(...any) error) (method string, p score.Pair, err error) {
	var suspect, source requestRef
	var from, to sql.NullInt64 // no range: 0 to 0
	err = scan(&method, &p.Defect, &suspect.id, &suspect.source, &suspect.line, &source.id, &source.source, &source.line,
		&p.Probability, &p.Tokens, &from, &to)
	if err == nil && !(p.Probability >= 0 && p.Probability <= 1) {
		err = fmt.Errorf("suspect %s, source %s: %v is no probability", suspect.name(), source.name(), p.Probability)
	}
	p.SuspectID, p.SourceID, p.From, p.To = suspect.name(), source.name(), from.Int64, to.Int64
	return method, p, err
}

func predictedTenants(ctx context.Context, c *casestore.Case) ([]score.Tenant, error) {
	var list []score.Tenant
	columns := "tenant_id, direction, defect, floor::DOUBLE, best::DOUBLE, ceiling::DOUBLE, state"
	err := selectNamed(ctx, c, columns, "tenants", "tenant_id IS NOT NULL", func(scan func(...any) error) error {
		var t score.Tenant
		var floor, best, ceiling sql.NullFloat64
		var state sql.NullString
		err := scan(&t.TenantID, &t.Direction, &t.Defect, &floor, &best, &ceiling, &state)
		t.Floor, t.Best, t.Ceiling, t.State = stated(floor), stated(best), stated(ceiling), state.String
		list = append(list, t)
		return err
	})
	return list, err
}

// stated gives a number, NaN where there is none.
func stated(n sql.NullFloat64) float64 {
	if !n.Valid {
		return math.NaN()
	}
	return n.Float64
}

// requestRef is a request by its id, if it has one, and its place in the evidence.
type requestRef struct {
	id           sql.NullString
	source, line int64
}

// name gives the id, or the place where there is no id: no truth holds that.
func (r requestRef) name() string {
	if r.id.Valid {
		return r.id.String
	}
	return fmt.Sprintf("record %d:%d", r.source, r.line)
}

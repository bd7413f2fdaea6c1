package rules

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// Case is what running rules needs of a case.
type Case interface {
	One(ctx context.Context, query string, into ...any) error
	Replace(ctx context.Context, table string, rows [][]any) error
	InTransaction(ctx context.Context, do func(exec func(statement string, args ...any) error) error) error
	Step(ctx context.Context, name string) error
}

// Run runs the rules over the case and leaves hits, suspects, and an account
// of what each rule could not assess.
func Run(ctx context.Context, c Case, list []*Rule) error {
	var runs, gaps [][]any
	var ready []*Rule
	whyNot := map[string]string{}
	for _, r := range list {
		lacks, err := lacking(ctx, c, r)
		if err != nil {
			return fmt.Errorf("rule %s: %w", r.Name, err)
		}
		if lacks != "" {
			whyNot[r.Name] = lacks
			continue
		}
		ready = append(ready, r)
	}
	if err := runAll(ctx, c, ready); err != nil {
		return err
	}
	assessed, lackingRows, err := assess(ctx, c, list)
	if err != nil {
		return err
	}
	for i, r := range list {
		var hits int64
		if err := c.One(ctx, "SELECT count(*) FROM hits WHERE rule = "+quote(r.Name), &hits); err != nil {
			return err
		}
		why, lacks := whyNot[r.Name]
		if lacks {
			// Nothing was assessed, whatever the single rows hold.
			gaps = append(gaps, []any{r.Name, why, assessed[i] + sum(lackingRows[i])})
			runs = append(runs, []any{r.Name, r.ID, r.Title, r.Defect, r.Family, string(r.Level), r.Digest, false, why, 0, hits})
			continue
		}
		runs = append(runs, []any{r.Name, r.ID, r.Title, r.Defect, r.Family, string(r.Level), r.Digest, true, nil, assessed[i], hits})
		for k, need := range r.Needs {
			if lackingRows[i][k] > 0 {
				gaps = append(gaps, []any{r.Name, need.Field, lackingRows[i][k]})
			}
		}
	}
	if err := c.Replace(ctx, "rule_runs", runs); err != nil {
		return err
	}
	if err := c.Replace(ctx, "rule_gaps", gaps); err != nil {
		return err
	}
	return c.Step(ctx, "combine_hits")
}

func sum(counts []int64) int64 {
	var n int64
	for _, c := range counts {
		n += c
	}
	return n
}

// lacking names the first telemetry that the case lacks.
func lacking(ctx context.Context, c Case, r *Rule) (string, error) {
	for _, t := range r.Telemetry {
		var has bool
		if err := c.One(ctx, "SELECT coalesce(("+t.SQL+"), false)", &has); err != nil {
			return "", err
		}
		if !has {
			return "the case has no " + t.What, nil
		}
	}
	return "", nil
}

func runAll(ctx context.Context, c Case, list []*Rule) error {
	statements := map[string]string{}
	for _, r := range list {
		query, err := r.Query(ctx, c)
		if err != nil {
			return fmt.Errorf("rule %s: %w", r.Name, err)
		}
		statements[r.Name] = fmt.Sprintf(`INSERT INTO hits SELECT %s, source_id, line, level, reason, input_limit, ttft_bound_ms, probability
			FROM (%s) ORDER BY source_id, line`, quote(r.Name), query)
	}
	return c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		if err := exec("DELETE FROM hits"); err != nil {
			return err
		}
		for _, r := range list {
			if err := exec(statements[r.Name]); err != nil {
				return fmt.Errorf("rule %s: %w", r.Name, err)
			}
		}
		return nil
	})
}

// Query gives the rule's SQL with the values of its parameters and constants.
func (r *Rule) Query(ctx context.Context, c Case) (string, error) {
	values := map[string]string{}
	for _, p := range r.Parameters {
		values["$"+p.Name] = strconv.FormatFloat(p.Default, 'g', -1, 64)
	}
	for _, k := range r.Constants {
		var n sql.NullInt64
		if err := c.One(ctx, k.SQL, &n); err != nil {
			return "", fmt.Errorf("constant %s: %w", k.Name, err)
		}
		values["$"+k.Name] = "NULL"
		if n.Valid {
			values["$"+k.Name] = strconv.FormatInt(n.Int64, 10)
		}
	}
	return mark.ReplaceAllStringFunc(r.SQL, func(m string) string { return values[m] }), nil
}

// assess counts, in one scan for all rules, the rows that each rule could
// assess and those that lacked something, each under the first thing it lacked.
func assess(ctx context.Context, c Case, list []*Rule) (assessed []int64, lacks [][]int64, err error) {
	var columns []string
	for _, r := range list {
		has := "(" + r.Applies + ")"
		for _, n := range r.Needs {
			columns = append(columns, fmt.Sprintf("count(*) FILTER (%s AND NOT coalesce(%s, false))", has, n.condition()))
			has += " AND coalesce(" + n.condition() + ", false)"
		}
		columns = append(columns, fmt.Sprintf("count(*) FILTER (%s)", has))
	}
	counts := make([]int64, len(columns))
	into := make([]any, len(columns))
	for i := range counts {
		into[i] = &counts[i]
	}
	if err := c.One(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM request_facts", into...); err != nil {
		return nil, nil, fmt.Errorf("count rows that rules can assess: %w", err)
	}
	for _, r := range list {
		n := len(r.Needs)
		lacks = append(lacks, counts[:n])
		assessed = append(assessed, counts[n])
		counts = counts[n+1:]
	}
	return assessed, lacks, nil
}

func (n Need) condition() string {
	if n.SQL != "" {
		return "(" + n.SQL + ")"
	}
	return n.Field + " IS NOT NULL"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

package rules

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Case is what running rules needs of a case.
type Case interface {
	One(ctx context.Context, query string, into ...any) error
	Select(ctx context.Context, query string, each func(scan func(into ...any) error) error, args ...any) error
	Replace(ctx context.Context, table string, rows [][]any) error
	InTransaction(ctx context.Context, do func(exec func(statement string, args ...any) error) error) error
	Step(ctx context.Context, name string) error
}

// Run judges the case by the catalogue and leaves hits, suspects, findings about
// nodes, and an account of what each rule could not assess. now tells how long
// rules take.
func Run(ctx context.Context, c Case, list *Catalogue, now func() time.Time) error {
	var ready []*Rule
	whyNot := map[string]string{}
	for _, r := range list.Rules {
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
	took, err := runAll(ctx, c, ready, list.Suppressions, now)
	if err != nil {
		return err
	}
	if err := account(ctx, c, list.Rules, whyNot); err != nil {
		return err
	}
	var times, levels [][]any
	for _, r := range ready {
		times = append(times, []any{r.Name, took[r.Name].Seconds() * 1e3})
	}
	if err := c.Replace(ctx, "rule_times", times); err != nil {
		return err
	}
	for _, k := range list.Combinations {
		levels = append(levels, []any{string(k.Strongest), k.Families, string(k.Gives)})
	}
	if err := c.Replace(ctx, "level_combinations", levels); err != nil {
		return err
	}
	return c.Step(ctx, "combine_hits")
}

// account keeps what became of each rule.
func account(ctx context.Context, c Case, list []*Rule, whyNot map[string]string) error {
	counts, err := assess(ctx, c, list)
	if err != nil {
		return err
	}
	var runs, gaps [][]any
	for i, r := range list {
		n := counts[i]
		var hits, suppressed int64
		if err := c.One(ctx, "SELECT count(*) FILTER (suppressed IS NULL), count(suppressed) FROM hits WHERE rule = "+quote(r.Name), &hits, &suppressed); err != nil {
			return err
		}
		if r.Subject == OfNode {
			if err := c.One(ctx, "SELECT count(*) FROM node_findings WHERE rule = "+quote(r.Name), &hits); err != nil {
				return err
			}
		}
		run := []any{r.Name, r.ID, r.Title, string(r.Of()), r.Defect, r.Family, string(r.Level), string(r.Status), r.Digest, r.settings()}
		why, lacks := whyNot[r.Name]
		if lacks {
			// Nothing was assessed, whatever the single rows hold.
			gaps = append(gaps, []any{r.Name, why, n.assessed + sum(n.lacking)})
			runs = append(runs, append(run, false, why, 0, n.assessed+sum(n.lacking), hits, suppressed))
			continue
		}
		runs = append(runs, append(run, true, nil, n.assessed, sum(n.lacking), hits, suppressed))
		for k, need := range r.Needs {
			if n.lacking[k] > 0 {
				gaps = append(gaps, []any{r.Name, need.Field, n.lacking[k]})
			}
		}
	}
	if err := c.Replace(ctx, "rule_runs", runs); err != nil {
		return err
	}
	return c.Replace(ctx, "rule_gaps", gaps)
}

// Of gives what the rule's hits name.
func (r *Rule) Of() Subject {
	if r.Subject == "" {
		return OfRequest
	}
	return r.Subject
}

// settings gives the values of the parameters, in the rule's order.
func (r *Rule) settings() string {
	var list []string
	for _, p := range r.Parameters {
		list = append(list, p.Name+"="+strconv.FormatFloat(p.Default, 'g', -1, 64))
	}
	return strings.Join(list, ", ")
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

func runAll(ctx context.Context, c Case, list []*Rule, suppressions []Suppression, now func() time.Time) (map[string]time.Duration, error) {
	statements := map[string]string{}
	for _, r := range list {
		query, err := r.Query(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.Name, err)
		}
		if r.Subject == OfNode {
			statements[r.Name] = fmt.Sprintf(`INSERT INTO node_findings SELECT %s, node, rank, found_at, reason
				FROM (%s) ORDER BY node, rank, found_at, reason`, quote(r.Name), query)
			continue
		}
		// No hit gets more than the rule's own level.
		statements[r.Name] = fmt.Sprintf(`INSERT INTO hits SELECT %s, source_id, line,
				['context', 'possible', 'strong', 'certain'][least(list_position(['context', 'possible', 'strong', 'certain'], level), %d)],
				reason, input_limit, ttft_bound_ms, probability, NULL
			FROM (%s) ORDER BY source_id, line`, quote(r.Name), r.Level.Rank()+1, query)
	}
	took := map[string]time.Duration{}
	err := c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		for _, table := range []string{"hits", "node_findings"} {
			if err := exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		for _, r := range list {
			began := now()
			if err := exec(statements[r.Name]); err != nil {
				return fmt.Errorf("rule %s: %w", r.Name, err)
			}
			took[r.Name] = now().Sub(began)
		}
		for _, s := range suppressions {
			if err := exec(s.update(list)); err != nil {
				return fmt.Errorf("suppression of %s: %w", s.Rule, err)
			}
		}
		return nil
	})
	return took, err
}

// update marks the hits that s sets aside, unless another one has.
func (s Suppression) update(list []*Rule) string {
	rule := "true"
	if s.Rule != "*" {
		name := s.Rule
		for _, r := range list {
			if r.ID == s.Rule {
				name = r.Name
			}
		}
		rule = "rule = " + quote(name)
	}
	return fmt.Sprintf(`UPDATE hits SET suppressed = %s WHERE suppressed IS NULL AND %s
		AND (source_id, line) IN (SELECT (source_id, line) FROM request_facts WHERE %s)`,
		quote(fmt.Sprintf("%s (%s, %s)", s.Reason, s.Author, s.Date)), rule, s.Where)
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

// assessment counts the rows of which a rule speaks.
type assessment struct {
	assessed int64
	lacking  []int64 // by need: rows that lack it and nothing before it
}

// assess counts the rows that each rule could assess and those that lacked
// something. One scan for all rules of a subject tells how many rows meet which
// conditions: rules share most of theirs.
func assess(ctx context.Context, c Case, list []*Rule) ([]assessment, error) {
	counts := make([]assessment, len(list))
	for subject, view := range map[Subject]string{OfRequest: "request_facts", OfNode: "pools"} {
		var conditions conditions
		for i, r := range list {
			if r.Of() == subject {
				counts[i].lacking = make([]int64, len(r.Needs))
				conditions.add(r.Applies)
				for _, n := range r.Needs {
					conditions.add(n.condition())
				}
			}
		}
		if len(conditions) == 0 {
			continue
		}
		err := c.Select(ctx, "SELECT count(*), "+conditions.words()+" FROM "+view+" GROUP BY ALL", func(scan func(...any) error) error {
			var rows int64
			met := make([]int64, (len(conditions)-1)/wordBits+1)
			into := []any{&rows}
			for i := range met {
				into = append(into, &met[i])
			}
			if err := scan(into...); err != nil {
				return err
			}
			for i, r := range list {
				if r.Of() == subject {
					counts[i].take(r, conditions, met, rows)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("count rows that rules can assess: %w", err)
		}
	}
	return counts, nil
}

// take adds rows that meet the conditions marked in met.
func (a *assessment) take(r *Rule, list conditions, met []int64, rows int64) {
	if !list.met(r.Applies, met) {
		return
	}
	for k, n := range r.Needs {
		if !list.met(n.condition(), met) {
			a.lacking[k] += rows
			return
		}
	}
	a.assessed += rows
}

// conditions are predicates over rows, each once.
type conditions []string

func (l *conditions) add(condition string) {
	if !slices.Contains(*l, condition) {
		*l = append(*l, condition)
	}
}

const wordBits = 60

// words are expressions that tell which conditions a row meets, one bit each.
func (l conditions) words() string {
	var words []string
	for block := range slices.Chunk(l, wordBits) {
		var bits []string
		for i, condition := range block {
			bits = append(bits, fmt.Sprintf("CASE WHEN %s THEN %d ELSE 0 END", condition, int64(1)<<i))
		}
		words = append(words, "("+strings.Join(bits, " | ")+")::BIGINT")
	}
	return strings.Join(words, ", ")
}

func (l conditions) met(condition string, words []int64) bool {
	i := slices.Index(l, condition)
	return words[i/wordBits]>>(i%wordBits)&1 == 1
}

func (n Need) condition() string {
	if n.SQL != "" {
		return "(" + n.SQL + ")"
	}
	return n.Field + " IS NOT NULL"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Planner plans SQL without running it.
type Planner interface {
	One(ctx context.Context, query string, into ...any) error
}

// plan has the database plan a SELECT.
func plan(ctx context.Context, c Planner, what, statement string) error {
	if err := c.One(ctx, "SELECT count(*) FROM ("+statement+") WHERE false", new(int64)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Plan has the database plan all SQL of the rule without running it.
func (r *Rule) Plan(ctx context.Context, c Planner) error {
	view := "request_facts"
	columns := "source_id, line, level, reason, input_limit, ttft_bound_ms, probability"
	if r.Subject == OfNode {
		view, columns = "pools", "node, rank, found_at, reason"
	}
	problems := []error{plan(ctx, c, "applies", "SELECT 1 FROM "+view+" WHERE "+r.Applies)}
	for _, n := range r.Needs {
		problems = append(problems, plan(ctx, c, "need "+n.Field, "SELECT 1 FROM "+view+" WHERE coalesce("+n.condition()+", false)"))
	}
	for _, t := range r.Telemetry {
		problems = append(problems, plan(ctx, c, "telemetry "+t.What, t.SQL))
	}
	for _, k := range r.Constants {
		problems = append(problems, plan(ctx, c, "constant "+k.Name, k.SQL))
	}
	// Constants are numbers: any will do.
	values := map[string]string{}
	for _, p := range r.Parameters {
		values["$"+p.Name] = strconv.FormatFloat(p.Default, 'g', -1, 64)
	}
	query := mark.ReplaceAllStringFunc(r.SQL, func(m string) string {
		if v, ok := values[m]; ok {
			return v
		}
		return "NULL"
	})
	return errors.Join(append(problems, plan(ctx, c, "sql", "SELECT "+columns+" FROM ("+query+")"))...)
}

// Plan has the database plan the predicate.
func (s Suppression) Plan(ctx context.Context, c Planner) error {
	return plan(ctx, c, "where", "SELECT 1 FROM request_facts WHERE "+s.Where)
}

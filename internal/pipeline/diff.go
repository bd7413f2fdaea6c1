package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvforensics/internal/casestore"
)

// Change is how one suspect differs between two cases.
type Change struct {
	What, RequestID, Tenant, Defect string // What: new, gone, changed
	LevelA, LevelB                  string
	RulesA, RulesB                  []string
	Cause                           string // rule, data or version that made the difference
}

// verdict is what a case says of one suspect.
type verdict struct {
	id, tenant, level string
	rules             []string
}

// ruleState is what bears on a rule's hits.
type ruleState struct {
	digest, settings, why string
	ran                   bool
	suppressed            int64
}

// side is one of the two cases.
type side struct {
	c        *casestore.Case
	suspects map[[2]string]verdict // by record and defect
	rules    map[string]ruleState
	version  string
	pools    string
	facts    map[string]string // by record: what its row says
}

// Diff compares the suspects of two cases. Records are told by their request id,
// or else by the digest of their file and the line.
func Diff(ctx context.Context, a, b *casestore.Case) ([]Change, error) {
	var sides [2]side
	for i, c := range []*casestore.Case{a, b} {
		s, err := readSide(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", c.Dir(), err)
		}
		sides[i] = s
	}
	keys := map[[2]string]bool{}
	for _, s := range sides {
		for k := range s.suspects {
			keys[k] = true
		}
	}
	for i := range sides {
		if err := sides[i].readFacts(ctx, keys); err != nil {
			return nil, fmt.Errorf("compare %s: %w", sides[i].c.Dir(), err)
		}
	}
	var list []Change
	for _, k := range slices.SortedFunc(maps.Keys(keys), func(x, y [2]string) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	}) {
		x, inA := sides[0].suspects[k]
		y, inB := sides[1].suspects[k]
		if inA && inB && x.level == y.level && slices.Equal(x.rules, y.rules) {
			continue
		}
		ch := Change{What: "changed", RequestID: cmp.Or(x.id, y.id), Tenant: cmp.Or(x.tenant, y.tenant), Defect: k[1],
			LevelA: x.level, LevelB: y.level, RulesA: x.rules, RulesB: y.rules, Cause: cause(k[0], x, y, &sides[0], &sides[1])}
		if !inA {
			ch.What = "new"
		} else if !inB {
			ch.What = "gone"
		}
		list = append(list, ch)
	}
	return list, nil
}

// record names a row of requests r whose source is s.
const record = "coalesce(r.request_id, concat(s.sha256, ' line ', r.line))"

func readSide(ctx context.Context, c *casestore.Case) (side, error) {
	s := side{c: c, suspects: map[[2]string]verdict{}, rules: map[string]ruleState{}, facts: map[string]string{}}
	err := c.Select(ctx, `SELECT `+record+`, x.defect, coalesce(r.request_id, ''), coalesce(r.tenant_id, ''), x.level, array_to_string(x.rules, ' ')
		FROM suspects x JOIN requests r USING (source_id, line) JOIN sources s USING (source_id)`, func(scan func(...any) error) error {
		var key [2]string
		var v verdict
		var names string
		err := scan(&key[0], &key[1], &v.id, &v.tenant, &v.level, &names)
		v.rules = strings.Fields(names)
		s.suspects[key] = v
		return err
	})
	if err != nil {
		return s, err
	}
	err = c.Select(ctx, "SELECT rule, digest, settings, coalesce(why_not, ''), ran, suppressed FROM rule_runs", func(scan func(...any) error) error {
		var name string
		var r ruleState
		err := scan(&name, &r.digest, &r.settings, &r.why, &r.ran, &r.suppressed)
		s.rules[name] = r
		return err
	})
	if err != nil {
		return s, err
	}
	if s.version, err = c.Fact(ctx, factVersion); err != nil {
		return s, err
	}
	return s, c.One(ctx, `SELECT coalesce(string_agg(concat_ws(' ', node, rank, role, valid_from, pool_tokens, input_limit, engine_version), chr(10) ORDER BY pool_id), '')
		FROM pools`, &s.pools)
}

// readFacts gives what the rows of the suspects of either case say.
func (s *side) readFacts(ctx context.Context, keys map[[2]string]bool) error {
	wanted := map[string]bool{}
	for k := range keys {
		wanted[k[0]] = true
	}
	return s.c.Select(ctx, `SELECT `+record+` AS record, concat_ws(' ', r.received_at, r.prefill_node, r.prefill_rank, r.decode_node, r.decode_rank,
			r.prompt_tokens, r.cached_tokens, r.completion_tokens, r.ttft_ms, r.e2e_ms, r.http_status)
		FROM request_facts r JOIN sources s USING (source_id) WHERE record IN (SELECT unnest(?))`, func(scan func(...any) error) error {
		var key, text string
		err := scan(&key, &text)
		s.facts[key] = text
		return err
	}, slices.Sorted(maps.Keys(wanted)))
}

// cause says what made the difference, the nearest first: a rule, the row, the
// pools, the version, or else other evidence.
func cause(key string, x, y verdict, a, b *side) string {
	var causes []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(x.rules, y.rules)))) {
		if slices.Contains(x.rules, name) != slices.Contains(y.rules, name) {
			if why := ruleCause(name, a.rules, b.rules); why != "" {
				causes = append(causes, why)
			}
		}
	}
	if len(causes) > 0 {
		return strings.Join(causes, "; ")
	}
	inA, inB := a.facts[key], b.facts[key]
	switch {
	case inA == "":
		return "data: the record is in B alone, or outside A's span"
	case inB == "":
		return "data: the record is in A alone, or outside B's span"
	case inA != inB:
		return "data: the record says something else"
	case a.pools != b.pools:
		return "data: measured pools differ"
	case a.version != b.version:
		return fmt.Sprintf("version: %s and %s", a.version, b.version)
	}
	return "data: other evidence differs (engine lines, or what is ordinary)"
}

func ruleCause(name string, a, b map[string]ruleState) string {
	x, inA := a[name]
	y, inB := b[name]
	switch {
	case !inA:
		return "rule: " + name + " is in B alone"
	case !inB:
		return "rule: " + name + " is in A alone"
	case x.digest != y.digest:
		return "rule: " + name + " was edited"
	case x.settings != y.settings:
		return fmt.Sprintf("rule: %s ran with %s and %s", name, x.settings, y.settings)
	case x.ran != y.ran && !x.ran:
		return "data: " + name + " did not run in A: " + x.why
	case x.ran != y.ran:
		return "data: " + name + " did not run in B: " + y.why
	case x.suppressed != y.suppressed:
		return "rule: " + name + " has other suppressions"
	}
	return ""
}

package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
	"kvforensics/internal/strictyaml"
)

func TestBuiltinRulesAreRead(t *testing.T) {
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, r := range list.Rules {
		if twin, twice := ids[r.ID]; twice {
			t.Errorf("%s and %s share an id", r.Name, twin)
		}
		ids[r.ID] = r.Name
		if r.File != "rules/builtin/"+r.Name+".yaml" {
			t.Errorf("%s lies in %s", r.Name, r.File)
		}
	}
	if got := strings.Join(Uncovered(list.Rules), " "); got != "" {
		t.Errorf("uncovered: %s", got)
	}
}

const goodRule = `id: 5f0c1f3a-7d0e-4f0b-9a43-0e0a5c1f7bff
name: a-rule
title: t
defect: oversize-placeholder
level: strong
family: size
description: e
references: [r]
applies: "true"
needs: [{field: prompt_tokens}]
sql: SELECT 1
status: stable
false_positives: [f]
author: a
date: 2026-12-07
samples: [{name: s, expect: {a: strong, b: none}}]
`

func TestRuleErrorsNameTheirPlace(t *testing.T) {
	if _, err := Read("r.yaml", []byte(goodRule)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"level: strong", "level: sure", `r.yaml:5:1: level: want context, possible, strong or certain, not "sure"`},
		{"defect: oversize-placeholder", "defect: odd", "r.yaml:4:1: defect: want one of"},
		{"family: size", "famly: size", `r.yaml:6:1: unknown key "famly", did you mean "family"?`},
		{"sql: SELECT 1", "sql: SELECT $x", "r.yaml:11:1: sql: $x is no parameter or constant of the rule"},
		{"id: 5f0c1f3a-7d0e-4f0b-9a43-0e0a5c1f7bff", "id: 7", `r.yaml:1:1: id: want a UUID in lower case, not "7"`},
		{"status: stable", "status: fine", `want stable, experimental or hypothesis, not "fine"`},
		{"{a: strong, b: none}", "{a: strong}", "samples: no sample expects none"},
		{"{a: strong, b: none}", "{b: none}", "samples: no sample expects a hit"},
		{"samples: [{name: s, expect: {a: strong, b: none}}]\n", "", `missing key "samples"`},
		{"date: 2026-12-07", "date: today", "want YYYY-MM-DD"},
		{"title: t", "title: t\nsubject: node", "a rule of nodes makes no request a suspect"},
	} {
		_, err := Read("r.yaml", []byte(strings.Replace(goodRule, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.to, err, c.want)
		}
	}
	// All errors are reported, not the first.
	broken := strings.Replace(strings.Replace(goodRule, "level: strong", "level: sure", 1), "id: 5f0c", "id: XX", 1)
	if _, err := Read("r.yaml", []byte(broken)); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestVersionsInOrder(t *testing.T) {
	order := []string{"0.4.4", "0.4.5", "0.4.5.post1", "0.4.6rc0", "0.4.6", "0.4.6.post5", "0.5.0rc0", "0.5.0rc1", "0.5.0", "0.5.9", "0.5.10", "0.5.18", "0.5.20", "0.10.0", "1.0.0"}
	for i := range order {
		for k := range order {
			a, okA := parseVersion(order[i])
			b, okB := parseVersion("v" + order[k])
			if !okA || !okB || a.less(b) != (i < k) {
				t.Errorf("%s < %s: %t", order[i], order[k], a.less(b))
			}
		}
	}
	for _, odd := range []string{"", "main", "0.5", "0.5.x", "0.4.1 (git)", "2026-08 nightly", "0.5.6.dev12+gabc"} {
		if _, ok := parseVersion(odd); ok && odd != "0.5" {
			t.Errorf("%q was taken for a release", odd)
		}
	}
}

func TestAdvisoryStates(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	list := all.Advisories
	want := map[string]string{
		"0.4.5": "unverified", "0.4.5.post1": "affected", "0.5.18": "affected", "0.5.19": "unverified",
		"0.5.20": "fixed", "0.5.21": "fixed", "": "unknown version", "main": "unknown version",
	}
	for version, state := range want {
		for _, m := range MatchAll([]evidence.Pool{{ID: 1, Engine: "sglang", EngineVersion: version}}, list) {
			if m.Advisory == "sglang-30233" && m.State != state {
				t.Errorf("%q: %s, want %s", version, m.State, state)
			}
		}
	}
	if m := MatchAll([]evidence.Pool{{Engine: "vllm", EngineVersion: "0.5.18"}}, list); len(m) != 0 {
		t.Errorf("another engine matched: %+v", m)
	}
}

// The published schema is that of the rules that are read.
func TestSchemaIsPublished(t *testing.T) {
	want, err := strictyaml.Schema("kvforensics rule", Rule{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../docs/rule.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/rule.schema.json is out of date: kvforensics rules schema > docs/rule.schema.json")
	}
}

func TestCatalogueChoosesAndSets(t *testing.T) {
	c, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Choose([]string{"oversize-answered", "implausible-ttft"}, []string{"oversize-answered"}); err != nil || len(c.Rules) != 1 || c.Rules[0].Name != "implausible-ttft" {
		t.Errorf("%v, %d rules", err, len(c.Rules))
	}
	if err := c.Set("implausible-ttft", "margin", 0.25); err != nil || !strings.Contains(c.Rules[0].settings(), "margin=0.25") {
		t.Errorf("%v, %s", err, c.Rules[0].settings())
	}
	for _, err := range []error{c.Choose([]string{"absent"}, nil), c.Set("absent", "margin", 1), c.Set("implausible-ttft", "absent", 1)} {
		if err == nil {
			t.Error("what is absent was taken")
		}
	}
}

func TestTwoRulesOfOneNameAreRefused(t *testing.T) {
	c, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, change := range [][2]string{{"name: a-rule", "name: oversize-answered"}, {"5f0c1f3a-7d0e-4f0b-9a43-0e0a5c1f7bff", "5f0c1f3a-7d0e-4f0b-9a43-0e0a5c1f7b01"}} {
		file := filepath.Join(dir, fmt.Sprint(i, ".yaml"))
		if err := os.WriteFile(file, []byte(strings.Replace(goodRule, change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(file); err == nil {
			t.Errorf("%s was taken", change[1])
		}
		c.Rules = slices.DeleteFunc(c.Rules, func(r *Rule) bool { return r.File == file })
	}
}

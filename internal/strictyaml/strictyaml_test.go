package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type level int

func (l *level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low":
		*l = 1
	case "high":
		*l = 2
	default:
		return fmt.Errorf("want low or high, not %q", text)
	}
	return nil
}

type part struct {
	ID    string `yaml:"id,required"`
	Count *int64 `yaml:"count"`
	Level level  `yaml:"level"`
}

func (p *part) Check(r *Report) {
	if p.Count != nil && *p.Count < 0 {
		r.Addf("count", "must not be negative")
	}
}

type span struct {
	From int8    `yaml:"from"`
	To   float64 `yaml:"to"`
}

type sheet struct {
	Title  string            `yaml:"title"`
	Live   bool              `yaml:"live"`
	Span   span              `yaml:"span"`
	Parts  []part            `yaml:"parts"`
	Labels map[string]string `yaml:"labels"`
	Rows   [][]int           `yaml:"rows"`
	Next   *sheet            `yaml:"next"`
	Hidden string
}

func (s *sheet) Check(r *Report) {
	if s.Span.From > 100 {
		r.Addf("span.from", "is above %d", 100)
		r.Addf("parts[7].id", "is not there")
	}
}

func ptr[T any](v T) *T { return &v }

func TestDecode(t *testing.T) {
	const text = `
title: 0.10
live: true
span: {from: -5, to: 2.5}
parts:
  - id: NO
    count: 0
    level: high
  - {id: "2", count: ~}
labels: {a.b: yes, "": 007}
rows: [[1, 2], []]
next:
  title: |
    two
    lines
  span:
`
	want := sheet{
		Title: "0.10",
		Live:  true,
		Span:  span{-5, 2.5},
		Parts: []part{
			{ID: "NO", Count: ptr(int64(0)), Level: 2},
			{ID: "2"},
		},
		Labels: map[string]string{"a.b": "yes", "": "007"},
		Rows:   [][]int{{1, 2}, {}},
		Next:   &sheet{Title: "two\nlines\n"},
	}
	var got sheet
	if err := Decode("sheet.yaml", []byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "~", "\ufeff"} {
		var s sheet
		if err := Decode("sheet.yaml", []byte(text), &s); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var p part
		err := Decode("part.yaml", []byte(text), &p)
		if err == nil || !strings.HasSuffix(err.Error(), `:1: missing key "id"`) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string // without the file's name
	}{
		{"unknown key", "title: a\ncolour: red\n", []string{`2:1: unknown key "colour"`}},
		{"unknown key, close", "parts:\n  - id: a\n    cuont: 1\n", []string{`3:5: parts[0]: unknown key "cuont", did you mean "count"?`}},
		{"unknown key, too short to guess", "span: {x: 1}", []string{`1:8: span: unknown key "x"`}},
		{"untagged field", "Hidden: a", []string{`1:1: unknown key "Hidden"`}},
		{"duplicate key", "title: a\nlive: true\ntitle: b\n", []string{`3:1: duplicate key "title", first on line 1`}},
		{"duplicate key below an unknown one", "x: {a: 1,\n a: 2}", []string{`1:1: unknown key "x"`, `2:2: duplicate key "a", first on line 1`}},
		{"missing key", "parts:\n- count: 1\n- id:\n", []string{`2:3: parts[0]: missing key "id"`, `3:3: parts[1]: missing key "id"`}},
		{"missing value", "parts: [{id: ''}]", []string{`1:10: parts[0].id: is empty`}},
		{"null items", "parts: [~]\nlabels: {a: }\n", []string{`1:9: parts[0]: is empty`, `2:10: labels.a: is empty`}},
		{"key that is no scalar", "[a]: b\n? {c: d}\n: e\n", []string{`1:1: a key must be plain text, not a list`, `2:3: a key must be plain text, not a mapping`}},
		{"root that is no mapping", "- a\n", []string{`1:1: want a mapping, not a list`}},

		{"text", "title: [a]", []string{`1:1: title: want text, not a list`}},
		{"boolean", "live: yes", []string{`1:1: live: want true or false, not "yes"`}},
		{"quoted boolean", `live: "true"`, []string{`1:1: live: want true or false, not "true"`}},
		{"mapping", "span: 3", []string{`1:1: span: want a mapping, not "3"`}},
		{"map", "labels: [a]", []string{`1:1: labels: want a mapping, not a list`}},
		{"list", "parts: {id: a}", []string{`1:1: parts: want a list, not a mapping`}},
		{"whole number", "span:\n  from: 1.5\n", []string{`2:3: span.from: want a whole number, not "1.5"`}},
		{"octal", "span: {from: 064}", []string{`1:8: span.from: want a whole number, not "064"`}},
		{"quoted number", "span: {from: '6'}", []string{`1:8: span.from: want a whole number, not "6"`}},
		{"range", "span: {from: 128}", []string{`1:8: span.from: 128 is out of range`}},
		{"number", "span: {to: .inf}", []string{`1:8: span.to: want a number, not ".inf"`}},
		{"item", "rows:\n- [1, x]\n", []string{`2:7: rows[0][1]: want a whole number, not "x"`}},
		{"own type", "parts: [{id: a, level: mid}]", []string{`1:17: parts[0].level: want low or high, not "mid"`}},
		{"own type, no scalar", "parts: [{id: a, level: [low]}]", []string{`1:17: parts[0].level: want text, not a list`}},
		{"key that needs quoting", "labels: {a.b: [], \"c\\e\": []}", []string{`1:10: labels."a.b": want text, not a list`, `1:19: labels."c\x1b": want text, not a list`}},
		{"columns count characters", "labels: {é: a, b: []}", []string{`1:16: labels.b: want text, not a list`}},

		{"checker", "parts: [{id: a, count: -1}]", []string{`1:17: parts[0].count: must not be negative`}},
		{"checker of an absent path", "title: a\nspan: {from: 101}\nparts: []", []string{`2:8: span.from: is above 100`, `3:1: parts[7].id: is not there`}},
		{"all at once, by position", "next: {parts: [{count: -1}]}\nlive: 1\nnope: 2\n", []string{
			`1:16: next.parts[0]: missing key "id"`,
			`1:17: next.parts[0].count: must not be negative`,
			`2:1: live: want true or false, not "1"`,
			`3:1: unknown key "nope"`,
		}},

		{"alias", "title: &t a\nlabels: {b: *t}\n", []string{`1:8: anchor &t is not allowed`, `2:13: alias *t is not allowed, write the value out`}},
		{"alias to itself", "next: &n\n  next: *n\n", []string{`1:7: anchor &n is not allowed`, `2:9: alias *n is not allowed, write the value out`}},
		{"unknown alias", "title: *t", []string{`1:1: unknown anchor 't' referenced`}},
		{"tag", "title: !!str 5\nlive: !x true\n", []string{`1:8: tag "!!str" is not allowed`, `2:1: live: want true or false, not "true"`, `2:7: tag "!x" is not allowed`}},
		{"two documents", "title: a\n---\nlive: true\n", []string{`2:1: a second document begins here, want one only`}},
		{"broken second document", "title: a\n---\n[\n", []string{`4:1: did not find expected node content`}},

		{"unclosed list", "title: a\nrows: [1\nlive: true\n", []string{`2:1: did not find expected ',' or ']'`}},
		{"item among keys", "title: a\n- b\n", []string{`2:1: did not find expected key`}},
		{"wrong indent", "span:\n  to: 1\n from: 2\n", []string{`3:1: did not find expected key`}},
		{"tab", "title: a\nspan:\n\tto: 1\n", []string{`3:1: found character that cannot start any token`}},
		{"unclosed quote", "title: \"a\n", []string{`2:1: found unexpected end of stream`}},
		{"not UTF-8", "title: a\nnext: é\xff", []string{`2:8: byte 0xFF is not valid UTF-8`}},
		{"UTF-16", "\xff\xfet\x00", []string{`1:1: byte 0xFF is not valid UTF-8`}},
		{"control character", "title: \x1b[1m", []string{`1:8: control character U+001B is not allowed`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s sheet
			wantProblems(t, Decode("f.yaml", []byte(test.text), &s), test.want...)
		})
	}
}

func wantProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got error %v, want Problems", err)
	}
	for i := range want {
		want[i] = "f.yaml:" + want[i]
	}
	if got := problems.Error(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestBounds(t *testing.T) {
	decode := func(text string) error {
		var s sheet
		return Decode("f.yaml", []byte(text), &s)
	}
	t.Run("size", func(t *testing.T) {
		if err := decode("title: a #" + strings.Repeat("-", maxBytes-10)); err != nil {
			t.Error(err)
		}
		wantProblems(t, decode(strings.Repeat("#", maxBytes+1)), "1:1: file has 4194305 bytes, more than the limit of 4194304")
	})
	t.Run("depth", func(t *testing.T) {
		nested := func(n int) string { return "rows: " + strings.Repeat("[", n) + strings.Repeat("]", n) }
		wantProblems(t, decode(nested(maxDepth-1)), "1:9: rows[0][0]: want a whole number, not a list")
		wantProblems(t, decode(nested(maxDepth)), "1:9: rows[0][0]: want a whole number, not a list", "1:106: nested deeper than 100 levels")
		wantProblems(t, decode(strings.Repeat("[", maxBytes)), "1:1: exceeded max depth of 10000")
		wantProblems(t, decode(strings.Repeat("- ", maxBytes/2)), "1:1: exceeded max depth of 10000")
	})
	t.Run("billion laughs", func(t *testing.T) {
		text := "a: &a [lol, lol]\n"
		for c := 'b'; c <= 'z'; c++ {
			text += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9))
		}
		if err := decode(text); err == nil || !strings.Contains(err.Error(), "alias *a is not allowed") {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("problems", func(t *testing.T) {
		err := decode("rows: [[" + strings.Repeat("x,", 100_000) + "]]")
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != maxProblems+1 {
			t.Fatalf("got %d problems", len(problems))
		}
		if got := problems[maxProblems].Message; got != "99000 more problems are not shown" {
			t.Errorf("last is %q", got)
		}
	})
	t.Run("message", func(t *testing.T) {
		err := decode("live: " + strings.Repeat("é", maxBytes/4))
		if n := len(err.Error()); n > maxMessageBytes+30 {
			t.Errorf("error has %d bytes", n)
		}
	})
}

type positions struct {
	Names []part `yaml:"names"`
	got   map[string][2]int
}

func (p *positions) Check(r *Report) {
	p.got = map[string][2]int{}
	for _, path := range []string{"", "names", "names[1]", "names[1].count", "names[1].level", "names[2]", "names[x]", "other", "."} {
		line, column := r.Position(path)
		p.got[path] = [2]int{line, column}
	}
}

func TestPosition(t *testing.T) {
	var p positions
	if err := Decode("f.yaml", []byte("# hi\nnames:\n  - id: a\n  - id: b\n    count: 3\n"), &p); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int{
		"":               {2, 1},
		"names":          {2, 1},
		"names[1]":       {4, 5},
		"names[1].count": {5, 5},
		"names[1].level": {4, 5},
		"names[2]":       {2, 1},
		"names[x]":       {2, 1},
		"other":          {2, 1},
		".":              {2, 1},
	}
	if !reflect.DeepEqual(p.got, want) {
		t.Errorf("got %v\nwant %v", p.got, want)
	}
}

func TestDecodePanics(t *testing.T) {
	for _, into := range []any{nil, sheet{}, (*sheet)(nil), ptr(3)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("decode into %T: no panic", into)
				}
			}()
			Decode("f.yaml", nil, into)
		}()
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"",
		"title: a\nlive: true\nspan: {from: 1, to: 2.5}\n",
		"parts:\n  - id: a\n    count: 3\n    level: low\n  - {id: b}\n",
		"labels: {a: b, \"c\\e\": 'd'}\nrows: [[1], [2, 3]]\n",
		"next:\n  next:\n    title: |\n      x\n",
		"a: &a [x]\nb: [*a, *a]\nc: {<<: *a}\n",
		"title: a\n---\ntitle: b\n...\n",
		"%YAML 1.1\n%TAG ! tag:x,2026:\n---\ntitle: !y z\n",
		"? [a]\n: b\n? c\n# d\n",
		"title: \"\\u00e9\\\n  x\" # c\r\nlive: no\r\n",
		"[[[[{{{{- - - -",
		"\ufefftitle: \u0085 é",
		"\xff\xfea\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sheet
		err := Decode("f.yaml", data, &s)
		if err == nil {
			return
		}
		problems := err.(Problems)
		if len(problems) == 0 {
			t.Fatal("error without a problem")
		}
		for i, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("problem %d: %+v", i, p)
			}
			if i > 0 && p.Line < problems[i-1].Line {
				t.Errorf("problem %d: out of order: %v", i, p)
			}
			for _, r := range p.Message {
				if r < ' ' {
					t.Errorf("problem %d: control character in %q", i, p.Message)
				}
			}
		}
	})
}

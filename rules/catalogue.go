package rules

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml advisories.yaml levels.yaml
var builtin embed.FS

// Catalogue is all that judging a case needs.
type Catalogue struct {
	Rules        []*Rule // in order of name
	Advisories   []Advisory
	Combinations []Combination
	Suppressions []Suppression
}

// Builtin gives the catalogue that ships with the program.
func Builtin() (*Catalogue, error) {
	c := &Catalogue{}
	files, err := fs.Glob(builtin, "builtin/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := builtin.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r, err := Read(path.Join("rules", file), text)
		if err != nil {
			return nil, err
		}
		r.ships = true
		c.Rules = append(c.Rules, r)
	}
	text, err := builtin.ReadFile("advisories.yaml")
	if err != nil {
		return nil, err
	}
	if c.Advisories, err = ReadAdvisories("rules/advisories.yaml", text); err != nil {
		return nil, err
	}
	if text, err = builtin.ReadFile("levels.yaml"); err != nil {
		return nil, err
	}
	c.Combinations, err = ReadCombinations("rules/levels.yaml", text)
	return c, errors.Join(err, c.sort())
}

// Add reads a rule file, or all rule files of a folder, into the catalogue.
func (c *Catalogue) Add(name string) error {
	list, err := ReadPath(name)
	c.Rules = append(c.Rules, list...)
	return errors.Join(err, c.sort())
}

// ReadPath reads a rule file, or all *.yaml and *.yml of a folder. The error
// joins what is wrong with every file.
func ReadPath(name string) (list []*Rule, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	files := []string{name}
	if info.IsDir() {
		files = nil
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("read rules: %s holds no *.yaml", name)
		}
	}
	var problems []error
	for _, file := range files {
		text, err := readBounded(file)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		r, err := Read(file, text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, r)
	}
	return list, errors.Join(problems...)
}

// readBounded reads a file that people write by hand.
func readBounded(file string) ([]byte, error) {
	const most = 1 << 20
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("read rules: %s is no file of at most 1 MiB", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return text, nil
}

// sort puts rules in order of name and refuses two of one name or id.
func (c *Catalogue) sort() error {
	slices.SortStableFunc(c.Rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	ids := map[string]*Rule{}
	var problems []error
	for i, r := range c.Rules {
		if twin := ids[r.ID]; twin != nil {
			problems = append(problems, fmt.Errorf("%s: id %s is that of %s", r.File, r.ID, twin.File))
		} else if i > 0 && c.Rules[i-1].Name == r.Name {
			problems = append(problems, fmt.Errorf("%s: name %s is that of %s", r.File, r.Name, c.Rules[i-1].File))
		}
		ids[r.ID] = r
	}
	return errors.Join(problems...)
}

// Find gives the rule with this name or id, or nil.
func (c *Catalogue) Find(key string) *Rule {
	i := slices.IndexFunc(c.Rules, func(r *Rule) bool { return r.Name == key || r.ID == key })
	if i < 0 {
		return nil
	}
	return c.Rules[i]
}

// Choose keeps the named rules (all, where only is empty) but for those in except.
func (c *Catalogue) Choose(only, except []string) error {
	for _, key := range slices.Concat(only, except) {
		if c.Find(key) == nil {
			return fmt.Errorf("no rule %q", key)
		}
	}
	named := func(r *Rule, list []string) bool { return slices.Contains(list, r.Name) || slices.Contains(list, r.ID) }
	c.Rules = slices.DeleteFunc(c.Rules, func(r *Rule) bool {
		return len(only) > 0 && !named(r, only) || named(r, except)
	})
	return nil
}

// Set gives a parameter another value than its default.
func (c *Catalogue) Set(rule, parameter string, value float64) error {
	r := c.Find(rule)
	if r == nil {
		return fmt.Errorf("no rule %q", rule)
	}
	for i := range r.Parameters {
		if p := &r.Parameters[i]; p.Name == parameter {
			p.Default = value
			return nil
		}
	}
	return fmt.Errorf("rule %s has no parameter %q", r.Name, parameter)
}

// Ships tells that the rule is one of those that ship with the program.
func (r *Rule) Ships() bool { return r.ships }

package rules

import (
	"fmt"

	"kvforensics/internal/strictyaml"
)

// Combination says which level signs of one request and defect come to that
// read different evidence.
type Combination struct {
	Strongest Level `yaml:"strongest,required"` // among the signs
	Families  int   `yaml:"families,required"`  // at least so many kinds of evidence
	Gives     Level `yaml:"gives,required"`
}

// Check implements strictyaml.Checker.
func (c *Combination) Check(report *strictyaml.Report) {
	for key, l := range map[string]Level{"strongest": c.Strongest, "gives": c.Gives} {
		if l != "" && l.Rank() < Possible.Rank() {
			report.Addf(key, "want possible, strong or certain, not %q", l)
		}
	}
	if c.Gives.Rank() < c.Strongest.Rank() {
		report.Addf("gives", "signs that agree can't lower a level")
	}
}

// ReadCombinations reads a file of combinations.
func ReadCombinations(file string, text []byte) ([]Combination, error) {
	var list struct {
		Combinations []Combination `yaml:"combinations,required"`
	}
	if err := strictyaml.Decode(file, text, &list); err != nil {
		return nil, err
	}
	return list.Combinations, nil
}

// Suppression sets hits aside that a site knows to be none. They are counted,
// kept with the reason, and raise no level.
type Suppression struct {
	Rule   string `yaml:"rule,required"`  // name or id, or * for all
	Where  string `yaml:"where,required"` // a predicate over request_facts
	Reason string `yaml:"reason,required"`
	Author string `yaml:"author,required"`
	Date   string `yaml:"date,required"` // YYYY-MM-DD
}

// Check implements strictyaml.Checker.
func (s *Suppression) Check(report *strictyaml.Report) {
	if s.Date != "" && !date.MatchString(s.Date) {
		report.Addf("date", "want YYYY-MM-DD, not %q", s.Date)
	}
}

// AddSuppressions reads a file of suppressions into the catalogue.
func (c *Catalogue) AddSuppressions(file string) error {
	text, err := readBounded(file)
	if err != nil {
		return err
	}
	var list struct {
		Suppressions []Suppression `yaml:"suppressions,required"`
	}
	if err := strictyaml.Decode(file, text, &list); err != nil {
		return err
	}
	for _, s := range list.Suppressions {
		if s.Rule != "*" && c.Find(s.Rule) == nil {
			return fmt.Errorf("%s: no rule %q", file, s.Rule)
		}
	}
	c.Suppressions = append(c.Suppressions, list.Suppressions...)
	return nil
}

package cli

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kvforensics/internal/pipeline"
	"kvforensics/rules"
)

// catalogueFlags say which rules judge a case.
type catalogueFlags struct {
	paths, only, except, settings []string
	advisories                    string
	suppress                      []string
}

func (f *catalogueFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.paths, "rules", nil, "rule file, or folder of them, beside the built-in ones")
	flags.StringSliceVar(&f.only, "only", nil, "run these rules alone (names or ids)")
	flags.StringSliceVar(&f.except, "except", nil, "leave these rules out (names or ids)")
	flags.StringArrayVar(&f.settings, "set", nil, "RULE.PARAMETER=NUMBER: another value than the rule's own")
	flags.StringVar(&f.advisories, "advisories", "", "file of advisories in the place of the built-in ones")
	flags.StringArrayVar(&f.suppress, "suppress", nil, "file of suppressions: hits that are set aside, and counted")
}

// load gives the catalogue that the flags ask for.
func (f *catalogueFlags) load(ctx context.Context, now time.Time) (*rules.Catalogue, error) {
	list, err := rules.Builtin()
	if err != nil {
		return nil, err
	}
	for _, path := range f.paths {
		if err := list.Add(path); err != nil {
			return nil, err
		}
	}
	for _, s := range f.settings {
		target, value, ok := strings.Cut(s, "=")
		rule, parameter, dotted := strings.Cut(target, ".")
		number, err := strconv.ParseFloat(value, 64)
		if !ok || !dotted || err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, usagef("--set %q: want RULE.PARAMETER=NUMBER", s)
		}
		if err := list.Set(rule, parameter, number); err != nil {
			return nil, usagef("--set %q: %w", s, err)
		}
	}
	if f.advisories != "" {
		if err := list.UseAdvisories(f.advisories); err != nil {
			return nil, err
		}
	}
	for _, file := range f.suppress {
		if err := list.AddSuppressions(file); err != nil {
			return nil, err
		}
	}
	// What others wrote runs in the case: it may reach nothing else.
	site := &rules.Catalogue{Suppressions: list.Suppressions, Rules: slices.DeleteFunc(slices.Clone(list.Rules), (*rules.Rule).Ships)}
	if len(site.Rules)+len(site.Suppressions) > 0 {
		if err := inTemp(func(dir string) error { return pipeline.LintRules(ctx, site, dir, now) }); err != nil {
			return nil, err
		}
	}
	if err := list.Choose(f.only, f.except); err != nil {
		return nil, usagef("--only and --except: %w", err)
	}
	return list, nil
}

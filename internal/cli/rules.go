package cli

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/internal/strictyaml"
	"kvforensics/rules"
)

func (a *app) newRules() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List, show, check and test the rules by which requests are flagged",
		Args:  wantArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.newRulesList(), a.newRulesShow(), a.newRulesLint(), a.newRulesTest(), a.newRulesNew(), a.newRulesSchema())
	return cmd
}

func (a *app) newRulesList() *cobra.Command {
	var catalogue catalogueFlags
	var format string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Name the rules, with level, status and what they look for",
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.ParseFormat(format)
			if err != nil {
				return usageError{err}
			}
			list, err := catalogue.load(cmd.Context(), a.now())
			if err != nil {
				return err
			}
			var columns []output.Column
			for _, name := range []string{"rule", "level", "status", "defect", "family", "subject", "title", "id"} {
				columns = append(columns, output.Column{Name: name, Type: output.Text})
			}
			var rows listed
			for _, r := range list.Rules {
				rows = append(rows, []any{r.Name, string(r.Level), string(r.Status), r.Defect, r.Family, string(r.Of()), r.Title, r.ID})
			}
			return a.write("", f, columns, &rows)
		},
	}
	catalogue.add(cmd)
	cmd.Flags().StringVar(&format, "format", "table", "table, csv, jsonl, parquet or arrow")
	return cmd
}

// listed gives rows that are at hand.
type listed [][]any

func (l *listed) Next() ([]any, error) {
	if len(*l) == 0 {
		return nil, io.EOF
	}
	row := (*l)[0]
	*l = (*l)[1:]
	return row, nil
}

//go:embed rule.tmpl
var ruleText string

// ruleTemplate gives a rule in words.
var ruleTemplate = template.Must(template.New("rule").Funcs(template.FuncMap{"inert": output.Inert, "lines": inertLines}).Parse(ruleText))

// inertLines neutralises a text of several lines.
func inertLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = "  " + output.Inert(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (a *app) newRulesShow() *cobra.Command {
	var catalogue catalogueFlags
	cmd := &cobra.Command{
		Use:   "show RULE",
		Short: "Show a rule: what it says, what it needs, how it goes about it, its SQL and samples",
		Args:  wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := catalogue.load(cmd.Context(), a.now())
			if err != nil {
				return err
			}
			r := list.Find(args[0])
			if r == nil {
				return usagef("no rule %q; kvforensics rules list names them", args[0])
			}
			return ruleTemplate.Execute(a.stdout, r)
		},
	}
	catalogue.add(cmd)
	return cmd
}

func (a *app) newRulesLint() *cobra.Command {
	return &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check rule files: form, samples, and whether the SQL can be run",
		Args:  wantArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			var problems []error
			for _, path := range paths {
				list, err := rules.ReadPath(path)
				problems = append(problems, err, inTemp(func(dir string) error {
					return pipeline.LintRules(cmd.Context(), &rules.Catalogue{Rules: list}, dir, a.now())
				}))
				if err == nil {
					fmt.Fprintf(a.stdout, "%s: %d rules read\n", output.Inert(path), len(list))
				}
			}
			return errors.Join(problems...)
		},
	}
}

func (a *app) newRulesTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run rules over their samples (default: the built-in rules)",
		RunE: func(cmd *cobra.Command, paths []string) error {
			list, err := rules.Builtin()
			if err != nil {
				return err
			}
			if len(paths) > 0 {
				list.Rules = nil
			}
			for _, path := range paths {
				if err := list.Add(path); err != nil {
					return err
				}
			}
			return inTemp(func(dir string) error { return a.testRules(cmd.Context(), list, dir) })
		},
	}
}

func (a *app) testRules(ctx context.Context, list *rules.Catalogue, dir string) error {
	failed := 0
	for _, r := range list.Rules {
		results, err := pipeline.TryRule(ctx, list, r, dir, a.now)
		if err != nil {
			return cancelled(ctx, err)
		}
		for _, x := range results {
			verdict := "ok  "
			if len(x.Wrong) > 0 {
				verdict = "FAIL"
				failed++
			}
			fmt.Fprintf(a.stdout, "%s  %s: %s\n", verdict, x.Rule, output.Inert(x.Sample))
			for _, w := range x.Wrong {
				fmt.Fprintf(a.stdout, "        %s\n", output.Inert(w))
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("test rules: %d samples do not hold", failed)
	}
	return nil
}

// inTemp calls do with a folder that is gone afterwards.
func inTemp(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "kvforensics-rules-")
	if err != nil {
		return err
	}
	return errors.Join(do(dir), os.RemoveAll(dir))
}

//go:embed newrule.yaml
var newRule string

func (a *app) newRulesNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new FILE.yaml",
		Short: "Write a rule to start from: complete, with samples that hold",
		Args:  wantArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			name := strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
			text := strings.NewReplacer("$ID", newUUID(), "$NAME", name, "$DATE", a.now().UTC().Format("2006-01-02")).Replace(newRule)
			if _, err := rules.Read(args[0], []byte(text)); err != nil {
				return usagef("rules new: %w", err)
			}
			f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				return fmt.Errorf("write rule: %w", err)
			}
			_, err = f.WriteString(text)
			if err = errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("write rule: %w", err)
			}
			fmt.Fprintf(a.stdout, "%s written; next: kvforensics rules test %s\n", output.Inert(args[0]), output.Inert(args[0]))
			return nil
		},
	}
}

// newUUID gives a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (a *app) newRulesSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rule files",
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			text, err := strictyaml.Schema("kvforensics rule", rules.Rule{})
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
}

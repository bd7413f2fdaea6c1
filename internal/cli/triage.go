package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"kvforensics/ingest"
	"kvforensics/internal/casestore"
	"kvforensics/internal/exposure"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/queries"
	"kvforensics/rules"
)

// evidenceFlags are the flags of commands that read evidence.
type evidenceFlags struct {
	dir         string
	incident    string
	keepContent bool
	force       bool
}

func (f *evidenceFlags) add(cmd *cobra.Command) {
	addCaseFlag(cmd, &f.dir)
	flags := cmd.Flags()
	flags.StringVar(&f.incident, "incident", "", "incident.yaml to use (default: the one among the evidence)")
	flags.BoolVar(&f.keepContent, "keep-content", false, "keep prompt and answer texts in the case")
	flags.BoolVar(&f.force, "force", false, "read the files again even if the case holds them")
}

func addCaseFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "case", "", "folder of the case (required)")
	if err := cmd.MarkFlagRequired("case"); err != nil {
		panic(err) // the flag was added a line above
	}
}

// analysisFlags are the flags of commands that run rules.
type analysisFlags struct {
	failOn string
	since  string
	until  string
	rules  catalogueFlags
}

func (f *analysisFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.failOn, "fail-on", "", "exit 4 when there are suspects of this level or above: possible, strong, certain")
	flags.StringVar(&f.since, "since", "", "assess requests received at or after this time (RFC 3339)")
	flags.StringVar(&f.until, "until", "", "assess requests received before this time (RFC 3339)")
	f.rules.add(cmd)
}

func (f *analysisFlags) level() (rules.Level, error) {
	l := rules.Level(f.failOn)
	if f.failOn != "" && l.Rank() < rules.Possible.Rank() {
		return "", usagef("--fail-on %q: want possible, strong or certain", f.failOn)
	}
	return l, nil
}

func (a *app) newTriage() *cobra.Command {
	var evidence evidenceFlags
	var analysis analysisFlags
	var pair pairFlags
	cmd := &cobra.Command{
		Use:   "triage PATH... --case DIR",
		Short: "Read evidence, flag suspects, name whose data they may have read, and print the summary",
		Long:  "Triage runs all steps: it reads files, folders and glob patterns into the case, measures\nKV pools, flags suspects, replays page allocators to name whose data they may have\nread, counts what that means for each tenant, and prints a summary." + "\n" + exitHelp,
		Args:  wantArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return a.runTriage(cmd.Context(), paths, evidence, analysis, pair)
		},
	}
	evidence.add(cmd)
	analysis.add(cmd)
	pair.add(cmd)
	return cmd
}

func (a *app) runTriage(ctx context.Context, paths []string, e evidenceFlags, f analysisFlags, p pairFlags) (err error) {
	failOn, err := f.level()
	if err != nil {
		return err
	}
	c, err := casestore.Create(ctx, e.dir, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(c, &err)
	if err := a.ingest(ctx, c, paths, e); err != nil {
		return err
	}
	if err := a.flag(ctx, c, f); err != nil {
		return err
	}
	if err := a.pair(ctx, c, p); err != nil {
		return err
	}
	if err := pipeline.Expose(ctx, c, exposure.Options{Threshold: defaultThreshold}); err != nil {
		return err
	}
	requests, err := pipeline.Requests(ctx, c)
	if err != nil {
		return err
	}
	if requests <= controlRequests {
		if err := a.controls(ctx, c, f.rules, p); err != nil {
			return err
		}
	}
	return a.conclude(ctx, c, failOn)
}

func (a *app) newIngest() *cobra.Command {
	var evidence evidenceFlags
	cmd := &cobra.Command{
		Use:   "ingest PATH... --case DIR",
		Short: "Read evidence into the case and measure pools",
		Long:  "Ingest reads files, folders and glob patterns into the case. Content that the case\nholds already is not read again." + "\n" + exitHelp,
		Args:  wantArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) (err error) {
			c, err := casestore.Create(cmd.Context(), evidence.dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			if err := a.ingest(cmd.Context(), c, paths, evidence); err != nil {
				return err
			}
			return a.concludeIngest(cmd.Context(), c)
		},
	}
	evidence.add(cmd)
	return cmd
}

func (a *app) ingest(ctx context.Context, c *casestore.Case, paths []string, e evidenceFlags) error {
	zone, err := a.zone()
	if err != nil {
		return err
	}
	workers := a.threads
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	meter := a.newMeter()
	outcome, err := pipeline.Ingest(ctx, c, pipeline.IngestOptions{
		Paths: paths, Incident: e.incident, Zone: zone, KeepContent: e.keepContent, Force: e.force,
		Workers: workers, OnProgress: meter.show, OnFile: a.nameFile,
	})
	meter.clear()
	if err != nil {
		return err
	}
	if !a.quiet {
		for _, s := range outcome.Skipped {
			fmt.Fprintf(a.stderr, "kvforensics: skipped %s\n", output.Inert(s))
		}
	}
	return nil
}

func (a *app) nameFile(f ingest.File) {
	if a.verbose {
		fmt.Fprintf(a.stderr, "kvforensics: reading %s\n", output.Inert(f.Path))
	}
}

func (a *app) newFlag() *cobra.Command {
	var dir, explain string
	var analysis analysisFlags
	cmd := &cobra.Command{
		Use:   "flag --case DIR",
		Short: "Run the rules over the case, or explain one suspect",
		Long:  "Flag runs the rules over what the case holds and prints the summary. With --explain it\nshows the rows behind one request instead." + "\n" + exitHelp,
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if explain != "" {
				return a.runExplain(cmd.Context(), dir, explain)
			}
			failOn, err := analysis.level()
			if err != nil {
				return err
			}
			c, err := casestore.Open(cmd.Context(), dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			if err := a.flag(cmd.Context(), c, analysis); err != nil {
				return err
			}
			if err := a.accountForRules(cmd.Context(), c); err != nil {
				return err
			}
			return a.conclude(cmd.Context(), c, failOn)
		},
	}
	addCaseFlag(cmd, &dir)
	analysis.add(cmd)
	cmd.Flags().StringVar(&explain, "explain", "", "show the rows behind the suspect with this request id")
	return cmd
}

func (a *app) flag(ctx context.Context, c *casestore.Case, f analysisFlags) error {
	span, err := f.span()
	if err != nil {
		return err
	}
	list, err := f.rules.load(ctx, a.now())
	if err != nil {
		return err
	}
	return pipeline.Flag(ctx, c, list, span, a.now)
}

// accountForRules prints what became of each rule, one line each.
func (a *app) accountForRules(ctx context.Context, c *casestore.Case) (err error) {
	if a.quiet {
		return nil
	}
	t, err := c.Table(ctx, "SELECT rule, level, assessed, not_assessed, hits, suppressed, took_ms, why FROM ("+queries.MustFind("rules").SQL+")")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := a.write("", output.Table, columnsOf(t), typedRows{t}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout)
	return err
}

// conclude prints the summary and gives the outcome of the command.
func (a *app) conclude(ctx context.Context, c *casestore.Case, failOn rules.Level) error {
	s, err := pipeline.Summarise(ctx, c)
	if err != nil {
		return err
	}
	if !a.quiet {
		printSummary(a.stdout, s)
	}
	if failOn != "" && slices.ContainsFunc(s.Levels, func(n pipeline.LevelCount) bool {
		return n.Requests > 0 && rules.Level(n.Level).Rank() >= failOn.Rank()
	}) {
		return errSuspects
	}
	if s.Incomplete() {
		return errPartly
	}
	return nil
}

func (a *app) concludeIngest(ctx context.Context, c *casestore.Case) error {
	s, err := pipeline.Summarise(ctx, c)
	if err != nil {
		return err
	}
	if !a.quiet {
		printIngested(a.stdout, s)
	}
	if s.Incomplete() {
		return errPartly
	}
	return nil
}

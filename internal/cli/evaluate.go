package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/internal/score"
)

type evaluateFlags struct{ dir, truth, format string }

func (a *app) newEvaluate() *cobra.Command {
	var f evaluateFlags
	cmd := &cobra.Command{
		Use:   "evaluate --case DIR --truth FILE",
		Short: "Hold a case against the known truth of a synthetic incident",
		Long: "Evaluate scores the suspects, pairs and tenants of a case by the truth.json that sample\n" +
			"writes beside an incident: precision, recall, calibration. Simple guesses at the sources\n" +
			"are scored beside the case's own, which must beat them." + "\n" + exitHelp,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runEvaluate(cmd.Context(), f) },
	}
	addCaseFlag(cmd, &f.dir)
	flags := cmd.Flags()
	flags.StringVar(&f.truth, "truth", "", "truth.json of the incident (required)")
	if err := cmd.MarkFlagRequired("truth"); err != nil {
		panic(err) // the flag was added a line above
	}
	flags.StringVar(&f.format, "format", "table", "table or jsonl")
	return cmd
}

func (a *app) runEvaluate(ctx context.Context, f evaluateFlags) (err error) {
	format := output.Format(f.format)
	if format != output.Table && format != output.JSONL {
		return usagef("unknown format %q: want table or jsonl", f.format)
	}
	truth, err := readTruth(f.truth)
	if err != nil {
		return err
	}
	c, err := casestore.OpenReadOnly(ctx, f.dir, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(c, &err)
	e, err := pipeline.Evaluate(ctx, c, truth)
	if err != nil {
		return cancelled(ctx, fmt.Errorf("evaluate: %w", err))
	}
	if format == output.JSONL {
		return a.write("", format, metricColumns, metricsOf(e))
	}
	return printEvaluation(a.stdout, e)
}

func readTruth(path string) (truth score.Truth, err error) {
	file, err := os.Open(path)
	if err != nil {
		return truth, fmt.Errorf("read truth: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if truth, err = score.ReadTruth(file); err != nil {
		return truth, fmt.Errorf("read truth %s: %w", path, err)
	}
	return truth, nil
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
)

func (a *app) newDiff() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff CASE-A CASE-B",
		Short: "Compare the suspects of two cases: new, gone and changed, and what caused it",
		Long:  "Diff names the suspects that B has and A has not, the other way round, and those whose\nlevel or rules differ, each with the rule, data or version that made the difference." + "\n" + exitHelp,
		Args:  wantArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			f, err := output.ParseFormat(format)
			if err != nil {
				return usageError{err}
			}
			return a.diff(cmd.Context(), dirs[0], dirs[1], f)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, csv, jsonl, parquet or arrow")
	return cmd
}

func (a *app) diff(ctx context.Context, dirA, dirB string, f output.Format) (err error) {
	caseA, err := casestore.OpenReadOnly(ctx, dirA, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(caseA, &err)
	caseB, err := casestore.OpenReadOnly(ctx, dirB, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(caseB, &err)
	changes, err := pipeline.Diff(ctx, caseA, caseB)
	if err != nil {
		return cancelled(ctx, err)
	}
	columns := []output.Column{{Name: "change", Type: output.Text}, {Name: "request_id", Type: output.Text}, {Name: "tenant_id", Type: output.Text},
		{Name: "defect", Type: output.Text}, {Name: "level_a", Type: output.Text}, {Name: "level_b", Type: output.Text},
		{Name: "rules_a", Type: output.TextList}, {Name: "rules_b", Type: output.TextList}, {Name: "cause", Type: output.Text}}
	var rows listed
	for _, c := range changes {
		rows = append(rows, []any{c.What, c.RequestID, c.Tenant, c.Defect, c.LevelA, c.LevelB, c.RulesA, c.RulesB, c.Cause})
	}
	return a.write("", f, columns, &rows)
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/pipeline"
)

// controlRequests bounds the cases for which triage runs the controls: they
// take about as long as two more triages.
const controlRequests = 100_000

func (a *app) newControls() *cobra.Command {
	var dir string
	var pair pairFlags
	var catalogue catalogueFlags
	cmd := &cobra.Command{
		Use:   "controls --case DIR",
		Short: "Try the analysis where the answer is known: shuffled nodes and times, injected leaks",
		Long: "Controls pairs copies of the case in which the nodes or the times of ordinary requests\nare shuffled, and counts the pairs that come back by chance. It puts synthetic leaks\ninto a third copy and counts those that the rules find. The case itself stays as it is.\n" +
			exitHelp,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := casestore.Open(cmd.Context(), dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			if err := a.controls(cmd.Context(), c, catalogue, pair); err != nil {
				return err
			}
			return a.conclude(cmd.Context(), c, "")
		},
	}
	addCaseFlag(cmd, &dir)
	pair.add(cmd)
	catalogue.add(cmd)
	return cmd
}

func (a *app) controls(ctx context.Context, c *casestore.Case, r catalogueFlags, f pairFlags) error {
	o, err := a.pairOptions(f)
	if err != nil {
		return err
	}
	list, err := r.load(ctx, a.now())
	if err != nil {
		return err
	}
	return pipeline.Controls(ctx, c, list, o, a.caseOptions())
}

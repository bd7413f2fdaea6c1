package cli

import (
	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/exposure"
	"kvforensics/internal/pipeline"
)

// defaultThreshold is the probability from which a tenant counts as exposed
// (shared method, step 3).
const defaultThreshold = 0.95

func (a *app) newExposure() *cobra.Command {
	var dir string
	threshold := defaultThreshold
	cmd := &cobra.Command{
		Use:   "exposure --case DIR",
		Short: "Count what the pairs mean for each tenant: floor, best estimate and ceiling",
		Long: "Exposure counts each tenant's requests that others may have read, and those that may\nhave read others', and says which tenants are exposed, not ruled out, or ruled out.\n" +
			"It wants the pairs of kvforensics pair." + "\n" + exitHelp,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if threshold <= 0 || threshold > 1 {
				return usagef("--threshold %g: want a probability", threshold)
			}
			c, err := casestore.Open(cmd.Context(), dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			if err := pipeline.Expose(cmd.Context(), c, exposure.Options{Threshold: threshold}); err != nil {
				return err
			}
			return a.conclude(cmd.Context(), c, "")
		},
	}
	addCaseFlag(cmd, &dir)
	cmd.Flags().Float64Var(&threshold, "threshold", defaultThreshold, "probability from which a tenant counts as exposed")
	return cmd
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/pipeline"
	"kvforensics/pairing"
)

// pairFlags are the flags of commands that replay allocators.
type pairFlags struct {
	seed      uint64
	orderings int
}

func (f *pairFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 1, "seed of what the replay draws")
	flags.IntVar(&f.orderings, "orderings", 64, "draw at most so many orderings for each suspect")
}

func (a *app) newPair() *cobra.Command {
	var dir, explain string
	var pair pairFlags
	cmd := &cobra.Command{
		Use:   "pair --case DIR",
		Short: "Replay page allocators and name the likely sources of each suspect",
		Long:  "Pair replays the page allocator of each decode node and rank that may have served a\nsuspect, and reads off whose KV lay in the pages that the suspect did not write. With\n--explain it shows the page map of one suspect instead." + "\n" + exitHelp,
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := casestore.Open(cmd.Context(), dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			if explain != "" {
				return a.explainPages(cmd.Context(), c, explain, pair)
			}
			if err := a.pair(cmd.Context(), c, pair); err != nil {
				return err
			}
			return a.conclude(cmd.Context(), c, "")
		},
	}
	addCaseFlag(cmd, &dir)
	pair.add(cmd)
	cmd.Flags().StringVar(&explain, "explain", "", "show whose pages the suspect with this request id took, and why it was given them")
	return cmd
}

func (a *app) pair(ctx context.Context, c *casestore.Case, f pairFlags) error {
	o, err := a.pairOptions(f)
	if err != nil {
		return err
	}
	return pipeline.Pair(ctx, c, o)
}

func (a *app) pairOptions(f pairFlags) (pairing.Options, error) {
	if f.orderings < 1 {
		return pairing.Options{}, usagef("--orderings %d: want at least 1", f.orderings)
	}
	return pairing.Options{Seed: f.seed, Orderings: f.orderings, Threads: a.threads}, nil
}

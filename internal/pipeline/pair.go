package pipeline

import (
	"context"

	"kvforensics/internal/casestore"
	"kvforensics/pairing"
)

// Pair replays page allocators and names the likely sources of every suspect.
func Pair(ctx context.Context, c *casestore.Case, o pairing.Options) error {
	return pairing.Run(ctx, c, o)
}

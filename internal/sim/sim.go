package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Summary says what Write has written.
type Summary struct {
	Rows      int    // gateway records
	Requests  int    // that the gateway received; more than Rows where rows were lost
	Totals    Totals // of the truth
	Files     []string
	TruthFile string
	Tenants   int
	Nodes     int
}

// Write simulates cfg and writes evidence and truth below dir, which it makes.
// It streams: memory is bounded by the cluster's pools and by the number of
// injected requests, not by that of all requests.
func Write(ctx context.Context, dir string, cfg Config) (Summary, error) {
	if err := cfg.validate(); err != nil {
		return Summary{}, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Summary{}, fmt.Errorf("write evidence: %w", err)
	}
	work, err := newWorkload(&cfg)
	if err != nil {
		return Summary{}, err
	}
	defer work.close()
	tenants := makeTenants(&cfg)
	c := newCluster(&cfg, work)
	c.gateway = newGateway(c, dir, tenants)
	if c.truth, err = createTruth(c, dir, tenants); err != nil {
		return Summary{}, err
	}
	logs := &logFiles{dir: filepath.Join(dir, "logs"), cfg: &cfg}
	c.boot(logs)
	err = errors.Join(c.run(ctx), c.gateway.close(), c.truth.close(), logs.close())
	if err == nil && !cfg.Damage.NoIncidentFile {
		err = writeIncident(&cfg, dir, tenants)
	}
	if err != nil {
		return Summary{}, err
	}
	if got := c.truth.totals.OversizeServed; got != cfg.Limits.Served {
		return Summary{}, fmt.Errorf("simulate: %d oversize prompts were served, not %d", got, cfg.Limits.Served)
	}
	return Summary{
		Rows: c.gateway.rows, Requests: c.truth.totals.Requests, Totals: c.truth.totals,
		Files: append(c.gateway.files, logs.paths...), TruthFile: c.truth.file.Name(),
		Tenants: len(tenants), Nodes: len(cfg.Nodes),
	}, nil
}

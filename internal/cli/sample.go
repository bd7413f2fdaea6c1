package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kvforensics/internal/sim"
)

// shapes of incident that the sample command can write.
var shapes = map[string]func(seed uint64) sim.Config{"glm-5.3": sim.GLM53, "busy": sim.Default}

type sampleFlags struct {
	force    bool
	seed     uint64
	shape    string
	requests int
	tenants  int
	trace    string
	gzip     bool
	format   string
	engine   string
	stats    bool
	logAll   bool
	interval int
	damage   sim.Damage
}

func (a *app) newSample() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample OUT",
		Short: "Write a synthetic incident with its truth beside it",
		Long: "Sample simulates a cluster, its page allocators and its faults, and writes what gateway\n" +
			"and engines would have logged to OUT, with the truth in OUT/truth. The same seed gives\n" +
			"the same bytes. Damage spoils the evidence and leaves the incident as it is." + "\n" + exitHelp,
		Args: wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runSample(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	flags.StringVar(&f.shape, "shape", "glm-5.3", "glm-5.3 (the public incident) or busy (all four defects, dense traffic)")
	flags.IntVar(&f.requests, "requests", 0, "gateway rows (default: as the shape has)")
	flags.IntVar(&f.tenants, "tenants", 0, "tenants (default: as the shape has)")
	flags.StringVar(&f.trace, "trace", "", "take arrivals and lengths from this trace file")
	flags.BoolVar(&f.gzip, "gzip", false, "compress what is written (default: as the shape has)")
	flags.StringVar(&f.format, "format", "jsonl", "gateway rows as jsonl or csv")
	flags.StringVar(&f.engine, "engine-version", "0.5.18", "whose log lines to write: 0.5.18 or 0.5.9")
	flags.BoolVar(&f.stats, "log-time-stats", false, "engines log ReqTimeStats lines")
	flags.BoolVar(&f.logAll, "log-requests", false, "engines log Finish lines")
	flags.IntVar(&f.interval, "decode-log-interval", 0, "decode steps between two Decode batch lines (default: as the shape has; engines: 40)")
	flags.BoolVar(&f.force, "force", false, "write into a folder that is not empty")
	d := &f.damage
	flags.Float64Var(&d.RowsLost, "lose-rows", 0, "share of gateway rows lost")
	flags.Float64Var(&d.HoursLost, "lose-hours", 0, "share of hours lost from each engine log")
	flags.Float64Var(&d.NoDecodeNode, "no-decode-node", 0, "share of rows without decode_node")
	flags.Float64Var(&d.NoPrefillNode, "no-prefill-node", 0, "share of rows without prefill_node")
	flags.Float64Var(&d.NoRanks, "no-ranks", 0, "share of rows without ranks")
	flags.DurationVar(&d.ClockSkew, "skew", 0, "largest error of a node's clock")
	flags.Float64Var(&d.GarbageLines, "garbage", 0, "unreadable lines put in, per line")
	flags.Float64Var(&d.DuplicateLines, "duplicate", 0, "share of lines that appear twice")
	flags.BoolVar(&d.TruncateLastLine, "truncate", false, "cut the last line of every file")
	flags.BoolVar(&d.GatewayOnly, "gateway-only", false, "no engine logs")
	flags.BoolVar(&d.NoIncidentFile, "no-incident", false, "no incident.yaml")
	flags.BoolVar(&d.NoStartupLines, "no-startup", false, "engine logs begin after the start")
	return cmd
}

func (a *app) runSample(cmd *cobra.Command, out string, f sampleFlags) error {
	shape, ok := shapes[f.shape]
	if !ok {
		return usagef("--shape %q: want glm-5.3 or busy", f.shape)
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 && !f.force {
		return fmt.Errorf("sample: %s is not empty: --force writes into it all the same", out)
	}
	d := f.damage
	for _, share := range []float64{d.RowsLost, d.HoursLost, d.NoDecodeNode, d.NoPrefillNode, d.NoRanks, d.DuplicateLines} {
		if !(share >= 0 && share <= 1) {
			return usagef("sample: %v is no share: want 0 to 1", share)
		}
	}
	if d.ClockSkew < 0 || !(d.GarbageLines >= 0) {
		return usagef("sample: --skew and --garbage can't be less than 0")
	}
	cfg := shape(f.seed)
	cfg.Damage = d
	set := cmd.Flags().Changed
	if set("requests") {
		cfg.Requests = f.requests
	}
	if set("tenants") {
		cfg.Tenants = f.tenants
	}
	if set("decode-log-interval") {
		cfg.Engine.DecodeLogInterval = f.interval
	}
	if set("gzip") {
		cfg.Output.Gzip = f.gzip
	}
	cfg.Trace, cfg.Output.Format, cfg.Engine.Version = f.trace, f.format, f.engine
	cfg.Engine.LogTimeStats, cfg.Engine.LogRequests = f.stats, f.logAll
	s, err := sim.Write(cmd.Context(), out, cfg)
	if err != nil {
		return cancelled(cmd.Context(), fmt.Errorf("sample: %w", err))
	}
	if !a.quiet {
		printSample(a.stdout, out, s)
	}
	return nil
}

func printSample(w io.Writer, out string, s sim.Summary) {
	p := page{w}
	p.line("wrote", "%s: %d gateway rows of %d tenants, %d nodes, %d files", out, s.Rows, s.Tenants, s.Nodes, len(s.Files))
	var defects []string
	for defect, n := range s.Totals.Suspects {
		defects = append(defects, fmt.Sprintf("%d %s", n, defect))
	}
	slices.Sort(defects)
	p.line("leaks", "%s", strings.Join(defects, ", "))
	p.line("truth", "%s", s.TruthFile)
	p.line("next", "kvforensics triage %s --case DIR", out)
}

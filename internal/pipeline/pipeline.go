// Package pipeline runs the stages in their order over one case: ingest, then
// what is derived from the evidence, then the rules. It alone knows the order.
package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"kvforensics/ingest"
	"kvforensics/internal/casestore"
	"kvforensics/internal/evidence"
	"kvforensics/internal/incident"
	"kvforensics/internal/measure"
	"kvforensics/rules"
)

// IngestOptions of an ingest run.
type IngestOptions struct {
	Paths       []string
	Incident    string         // path of incident.yaml; "": found among the files, or the one the case holds
	Zone        *time.Location // for times without a zone; nil: as incident.yaml says
	KeepContent bool
	Force       bool // read files again that the case holds
	Workers     int
	OnProgress  func(ingest.Progress)
	OnFile      func(ingest.File)
}

// Facts of the case that the pipeline keeps.
const (
	factIncident     = "incident.yaml"
	factIncidentPath = "incident.yaml path"
	factDerivedFor   = "derived for"
	factZone         = "zone"
	factUncovered    = "defects without a rule"
	factVersion      = "flagged by version"
)

// Ingest reads evidence into the case and derives joins, places and pools
// from all that the case holds.
func Ingest(ctx context.Context, c *casestore.Case, o IngestOptions) (ingest.Outcome, error) {
	files, skipped, err := ingest.Find(o.Paths)
	if err != nil {
		return ingest.Outcome{}, err
	}
	in, err := takeIncident(ctx, c, o.Incident, files)
	if err != nil {
		return ingest.Outcome{}, err
	}
	zone, err := takeZone(ctx, c, o.Zone)
	if err != nil {
		return ingest.Outcome{}, err
	}
	outcome, err := load(ctx, c, files, o, zoneFor(in, "", zone))
	outcome.Skipped = skipped
	if err != nil {
		return outcome, err
	}
	return outcome, derive(ctx, c, in, zone)
}

func load(ctx context.Context, c *casestore.Case, files []ingest.File, o IngestOptions, zone *time.Location) (outcome ingest.Outcome, err error) {
	if err := c.ForgetUnread(ctx); err != nil {
		return outcome, err
	}
	if o.Force {
		if err := forget(ctx, c, files); err != nil {
			return outcome, err
		}
	}
	holdings, err := c.Holdings(ctx)
	if err != nil {
		return outcome, err
	}
	l, err := c.BeginLoad(ctx, max(1, o.Workers))
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return ingest.Run(ctx, l, holdings, files, ingest.Options{
		Zone: zone, KeepContent: o.KeepContent, OnProgress: o.OnProgress, OnFile: o.OnFile,
	})
}

// forget drops what the case holds of the files.
func forget(ctx context.Context, c *casestore.Case, files []ingest.File) error {
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if err := c.ForgetPaths(ctx, paths); err != nil {
		return err
	}
	return c.SetFact(ctx, factDerivedFor, "")
}

// takeIncident reads incident.yaml: the named one, else the only one among the
// files, else the one that the case holds.
func takeIncident(ctx context.Context, c *casestore.Case, named string, files []ingest.File) (*incident.Incident, error) {
	path := named
	for _, f := range files {
		base := filepath.Base(f.Path)
		if named != "" || f.Problem != "" || (base != "incident.yaml" && base != "incident.yml") {
			continue
		}
		if path != "" {
			return nil, fmt.Errorf("read incident.yaml: both %s and %s lie among the evidence; name one with --incident", path, f.Path)
		}
		path = f.Path
	}
	if path == "" {
		return heldIncident(ctx, c)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read incident.yaml: %w", err)
	}
	in, err := incident.Load(path, text)
	if err != nil {
		return nil, err
	}
	if err := c.SetFact(ctx, factIncident, string(text)); err != nil {
		return nil, err
	}
	return in, c.SetFact(ctx, factIncidentPath, path)
}

func heldIncident(ctx context.Context, c *casestore.Case) (*incident.Incident, error) {
	text, err := c.Fact(ctx, factIncident)
	if err != nil {
		return nil, err
	}
	path, err := c.Fact(ctx, factIncidentPath)
	if err != nil {
		return nil, err
	}
	return incident.Load(path, []byte(text))
}

// takeZone keeps the zone of the command line for later runs on the case.
func takeZone(ctx context.Context, c *casestore.Case, zone *time.Location) (*time.Location, error) {
	if zone != nil {
		return zone, c.SetFact(ctx, factZone, zone.String())
	}
	name, err := c.Fact(ctx, factZone)
	if err != nil || name == "" {
		return nil, err
	}
	return time.LoadLocation(name)
}

// derive rebuilds what follows from the evidence, unless it stands already.
func derive(ctx context.Context, c *casestore.Case, in *incident.Incident, zone *time.Location) error {
	state, err := evidenceState(ctx, c)
	if err != nil {
		return err
	}
	done, err := c.Fact(ctx, factDerivedFor)
	if err != nil {
		return err
	}
	if done == state {
		return nil
	}
	if err := keepTenants(ctx, c, in); err != nil {
		return err
	}
	if err := place(ctx, c, in, zone); err != nil {
		return err
	}
	if err := measurePools(ctx, c, in); err != nil {
		return err
	}
	if err := c.Step(ctx, "join_engine"); err != nil {
		return err
	}
	if err := c.WriteParquet(ctx); err != nil {
		return err
	}
	return c.SetFact(ctx, factDerivedFor, state)
}

// evidenceState names what derivation depends on.
func evidenceState(ctx context.Context, c *casestore.Case) (string, error) {
	var sources string
	err := c.One(ctx, "SELECT coalesce(string_agg(source_id || ' ' || coalesce(sha256, ''), chr(10) ORDER BY source_id), '') FROM sources", &sources)
	if err != nil {
		return "", err
	}
	var facts string
	err = c.One(ctx, "SELECT coalesce(string_agg(name || ' ' || value, chr(10) ORDER BY name), '') FROM case_facts WHERE name IN ('"+factIncident+"', '"+factZone+"')", &facts)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(sources+"\x00"+facts))), nil
}

func keepTenants(ctx context.Context, c *casestore.Case, in *incident.Incident) error {
	var rows [][]any
	for _, t := range in.Tenants {
		rows = append(rows, []any{t.ID, casestore.NullText(t.Name), casestore.NullText(t.Country), casestore.NullText(t.Contact),
			casestore.NullText(t.Sector), casestore.Null(t.NoticeHours), casestore.NullText(string(t.Role))})
	}
	return c.Replace(ctx, "incident_tenants", rows)
}

func measurePools(ctx context.Context, c *casestore.Case, in *incident.Incident) error {
	starts, err := startEvents(ctx, c)
	if err != nil {
		return err
	}
	seenAs, err := gatewayRoles(ctx, c)
	if err != nil {
		return err
	}
	pools := measure.Pools(starts, in, seenAs)
	var rows [][]any
	for _, p := range pools {
		rows = append(rows, poolRow(p))
	}
	return c.Replace(ctx, "pools", rows)
}

func poolRow(p evidence.Pool) []any {
	text, null := casestore.NullText, casestore.Null[int64]
	line := any(nil)
	if p.SourceID.Known {
		line = p.Line
	}
	return []any{p.ID, text(p.Node), text(string(p.Role)), p.RoleHow, null(p.Rank), null(p.Ranks),
		casestore.Null(p.ValidFrom), casestore.Null(p.ValidTo), text(p.Engine), text(p.EngineVersion), p.VersionHow,
		null(p.PoolTokens), null(p.PageSize), null(p.ContextLen), null(p.InputLimit), casestore.Null(p.CapacityGap),
		p.Origin, text(p.TransferBackend), text(p.Flags), casestore.Texts(p.Notes), null(p.SourceID), line}
}

// matchAdvisories holds the measured pools against advisories.
func matchAdvisories(ctx context.Context, c *casestore.Case, advisories []rules.Advisory) error {
	var pools []evidence.Pool
	err := c.Select(ctx, `SELECT pool_id, coalesce(engine, ''), coalesce(engine_version, ''), coalesce(transfer_backend, ''), coalesce(flags, '')
		FROM pools ORDER BY pool_id`, func(scan func(...any) error) error {
		var p evidence.Pool
		err := scan(&p.ID, &p.Engine, &p.EngineVersion, &p.TransferBackend, &p.Flags)
		pools = append(pools, p)
		return err
	})
	if err != nil {
		return err
	}
	var rows [][]any
	for _, m := range rules.MatchAll(pools, advisories) {
		rows = append(rows, []any{m.PoolID, m.Advisory, m.Defect, m.State})
	}
	return c.Replace(ctx, "pool_advisories", rows)
}

// gatewayRoles tells the role of nodes from the fields in which gateway rows
// name them. A node that serves both phases of a request is unified.
func gatewayRoles(ctx context.Context, c *casestore.Case) (map[string]evidence.Role, error) {
	roles := map[string]evidence.Role{}
	err := c.Select(ctx, `WITH pairs AS (SELECT DISTINCT prefill_node, decode_node FROM gateway_records)
		SELECT prefill_node, CASE WHEN prefill_node = decode_node THEN 'unified' ELSE 'prefill' END AS role FROM pairs WHERE prefill_node IS NOT NULL
		UNION SELECT decode_node, CASE WHEN prefill_node = decode_node THEN 'unified' ELSE 'decode' END FROM pairs WHERE decode_node IS NOT NULL
		ORDER BY 1, 2`,
		func(scan func(...any) error) error {
			var node, role string
			if err := scan(&node, &role); err != nil {
				return err
			}
			if seen, ok := roles[node]; ok && string(seen) != role {
				role = string(evidence.RoleUnknown) // rows disagree: the node is no witness of its own role
			}
			roles[node] = evidence.Role(role)
			return nil
		})
	return roles, err
}

// Span bounds the requests that are assessed by the time at which they were
// received. Requests without a place in time are always assessed.
type Span struct {
	Since, Until evidence.Opt[evidence.Micros]
}

// keep makes the span that of the view request_facts.
func (s Span) keep(ctx context.Context, c *casestore.Case) error {
	view := "CREATE OR REPLACE VIEW request_facts AS FROM all_facts WHERE true"
	for _, bound := range []struct {
		compare string
		at      evidence.Opt[evidence.Micros]
	}{{">=", s.Since}, {"<", s.Until}} {
		if bound.at.Known {
			view += fmt.Sprintf(" AND (received_at IS NULL OR received_at %s TIMESTAMPTZ '%s')", bound.compare, bound.at.V.Time().Format("2006-01-02 15:04:05.999999Z07:00"))
		}
	}
	if err := c.InTransaction(ctx, func(exec func(string, ...any) error) error { return exec(view) }); err != nil {
		return fmt.Errorf("bound the analysis: %w", err)
	}
	return nil
}

// Version gives the program's version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// Flag judges the case by a catalogue: it holds pools against advisories, fits the
// envelope of time to first token and runs the rules. now tells how long they take.
func Flag(ctx context.Context, c *casestore.Case, list *rules.Catalogue, span Span, now func() time.Time) error {
	if err := span.keep(ctx, c); err != nil {
		return err
	}
	if err := c.SetFact(ctx, factVersion, Version()); err != nil {
		return err
	}
	if err := matchAdvisories(ctx, c, list.Advisories); err != nil {
		return err
	}
	if err := fitEnvelope(ctx, c); err != nil {
		return err
	}
	if err := c.SetFact(ctx, factUncovered, strings.Join(rules.Uncovered(list.Rules), ", ")); err != nil {
		return err
	}
	if err := rules.Run(ctx, c, list, now); err != nil {
		return err
	}
	return clearPairs(ctx, c)
}

// clearPairs drops what was worked out for earlier suspects.
func clearPairs(ctx context.Context, c *casestore.Case) error {
	for _, table := range []string{"crossed", "source_pairs", "pairings", "source_reads", "tenant_exposure", "defect_exposure", "controls"} {
		if err := c.Replace(ctx, table, nil); err != nil {
			return err
		}
	}
	return nil
}

func fitEnvelope(ctx context.Context, c *casestore.Case) error {
	bins, err := ttftBins(ctx, c)
	if err != nil {
		return err
	}
	var rows [][]any
	for from := 0; from < len(bins); {
		to := from
		for to < len(bins) && bins[to].Node == bins[from].Node {
			to++
		}
		for _, k := range measure.Envelope(bins[from].Node, bins[from:to]) {
			rows = append(rows, []any{k.Node, k.FromTokens, k.BoundMs, k.SlopeMs, k.Support, k.Extrapolated})
		}
		from = to
	}
	return c.Replace(ctx, "ttft_envelope", rows)
}

// ttftBins gives the bins of all nodes together first, under the name "", then
// those of each named node.
func ttftBins(ctx context.Context, c *casestore.Case) ([]measure.Bin, error) {
	var bins []measure.Bin
	err := c.SelectStep(ctx, "ttft_bins", func(scan func(...any) error) error {
		var b measure.Bin
		err := scan(&b.Node, &b.MaxTokens, &b.LowMs, &b.Requests)
		bins = append(bins, b)
		return err
	})
	return bins, err
}

package pipeline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/sim"
)

// incidentOf simulates an incident and gives its folder and truth.
func incidentOf(t *testing.T, cfg sim.Config) (string, sim.Truth) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "evidence")
	if _, err := sim.Write(context.Background(), dir, cfg); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "truth", "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth sim.Truth
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	return dir, truth
}

// oversizeScore counts oversize suspects against the truth, over the rows that the
// evidence still has.
type oversizeScore struct {
	leaks, found, certain, strong, false_ int
}

func scoreOf(t *testing.T, c *casestore.Case, truth sim.Truth) oversizeScore {
	t.Helper()
	leak := map[string]bool{}
	for _, s := range truth.Suspects {
		if s.Defect == sim.OversizePlaceholder {
			leak[s.RequestID] = true
		}
	}
	var got oversizeScore
	err := c.Select(context.Background(), `SELECT r.request_id, coalesce(s.level, '') FROM requests r
		LEFT JOIN suspects s ON s.source_id = r.source_id AND s.line = r.line AND s.defect = 'oversize-placeholder'`,
		func(scan func(...any) error) error {
			var id, level string
			if err := scan(&id, &level); err != nil {
				return err
			}
			switch {
			case leak[id] && level == "":
				got.leaks++
			case leak[id]:
				got.leaks++
				got.found++
				if level == "certain" {
					got.certain++
				} else if level == "strong" {
					got.strong++
				}
			case level == "certain", level == "strong":
				got.false_++
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func small(seed uint64) sim.Config {
	cfg := sim.GLM53(seed)
	cfg.Requests = 5000
	return cfg
}

// Every oversize answer is a certain suspect, and nothing else is one: no
// refused request, none that a unified node served.
func TestSuspectsAgainstTheTruth(t *testing.T) {
	busy := sim.Default(5)
	busy.Requests = 12_000
	for name, cfg := range map[string]sim.Config{"glm-5.3 seed 2": small(2), "glm-5.3 seed 3": small(3), "glm-5.3 seed 4": small(4), "busy seed 5": busy} {
		t.Run(name, func(t *testing.T) {
			dir, truth := incidentOf(t, cfg)
			c, _ := triage(t, dir)
			got := scoreOf(t, c, truth)
			if got.leaks != cfg.Limits.Served || got.certain != got.leaks || got.false_ != 0 {
				t.Errorf("%+v, want %d leaks, all certain, none false", got, cfg.Limits.Served)
			}
			checkControls(t, c, truth)
		})
	}
}

func checkControls(t *testing.T, c *casestore.Case, truth sim.Truth) {
	t.Helper()
	suspects := verdicts(t, c)
	for _, control := range truth.Controls {
		if v, ok := suspects[control.RequestID]; ok {
			t.Errorf("%s (%s) is %q", control.RequestID, control.Kind, v)
		}
	}
}

// Damaged evidence: no leak that is still in the rows may be missed, and none
// may be made up. How sure the verdict is may fall.
func TestSuspectsInDamagedEvidence(t *testing.T) {
	for name, damage := range map[string]sim.Damage{
		"rows lost":        {RowsLost: 0.05},
		"hours lost":       {HoursLost: 0.2},
		"no decode node":   {NoDecodeNode: 0.3},
		"no prefill node":  {NoPrefillNode: 0.3},
		"no ranks":         {NoRanks: 1},
		"clock skew":       {ClockSkew: 500 * time.Millisecond},
		"garbage":          {GarbageLines: 0.02},
		"lines twice":      {DuplicateLines: 0.02},
		"cut files":        {TruncateLastLine: true},
		"gateway only":     {GatewayOnly: true},
		"no incident file": {NoIncidentFile: true},
		"no start-up":      {NoStartupLines: true},
		"all at once": {RowsLost: 0.02, HoursLost: 0.1, NoDecodeNode: 0.1, NoPrefillNode: 0.1, NoRanks: 0.3,
			ClockSkew: 300 * time.Millisecond, GarbageLines: 0.01, DuplicateLines: 0.01, TruncateLastLine: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := small(6)
			cfg.Damage = damage
			dir, truth := incidentOf(t, cfg)
			c, _ := triage(t, dir)
			got := scoreOf(t, c, truth)
			t.Logf("%+v", got)
			if got.found != got.leaks || got.false_ != 0 {
				t.Errorf("%+v: a leak was missed or made up", got)
			}
			if lost := cfg.Limits.Served - got.leaks; lost > 0 && damage.RowsLost == 0 && !damage.TruncateLastLine && damage.GarbageLines == 0 {
				t.Errorf("%d leaks are gone from the rows", lost)
			}
			checkControls(t, c, truth)
			checkSaidAloud(t, c, damage)
		})
	}
}

// checkSaidAloud wants the summary to name what the damage took.
func checkSaidAloud(t *testing.T, c *casestore.Case, damage sim.Damage) {
	t.Helper()
	s, err := Summarise(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if damage.GarbageLines > 0 && (s.Sources.Rejected == 0 || !s.Incomplete()) {
		t.Error("garbage lines, and nothing was rejected")
	}
	if damage.DuplicateLines > 0 && s.Repeated == 0 {
		t.Error("lines twice, and no record counts as repeated")
	}
	if damage.GatewayOnly || damage.NoStartupLines {
		for _, n := range s.Nodes {
			if !strings.Contains(n.Origin, "incident.yaml") {
				t.Errorf("%s: pool from %q, want incident.yaml named", n.Node, n.Origin)
			}
		}
	}
}

package casestore

import (
	"context"
	"testing"

	"kvforensics/queries"
)

// Every named query and step must fit the schema of a fresh case.
func TestQueriesFitTheSchema(t *testing.T) {
	ctx := context.Background()
	c, err := Create(ctx, t.TempDir(), Options{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, q := range queries.All() {
		if err := c.Select(ctx, q.SQL, func(func(...any) error) error { return nil }); err != nil {
			t.Errorf("query %s: %v", q.Name, err)
		}
	}
	for _, step := range []string{"join_engine", "combine_hits", "early_release", "control_nodes", "control_times", "control_inject"} {
		if err := c.Step(ctx, step); err != nil {
			t.Error(err)
		}
	}
	for _, step := range []string{
		"ttft_bins", "clock_hints", "baselines",
		"pairing_suspects", "pairing_triggers", "pairing_pools", "pairing_volume", "pairing_flushes", "pairing_rows", "pairing_figures",
		"exposure_tenants", "exposure_reads", "exposure_suspects", "exposure_unknown", "exposure_gaps", "exposure_families", "exposure_detectors", "exposure_interval",
	} {
		if err := c.SelectStep(ctx, step, func(func(...any) error) error { return nil }); err != nil {
			t.Error(err)
		}
	}
}

package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"kvforensics/rules"
)

// Every built-in rule says of its samples what they expect.
func TestBuiltinRulesHoldTheirSamples(t *testing.T) {
	ctx := context.Background()
	list, err := rules.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Rules {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			results, err := TryRule(ctx, list, r, t.TempDir(), time.Now)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range results {
				if len(x.Wrong) > 0 {
					t.Errorf("sample %q:\n  %s", x.Sample, strings.Join(x.Wrong, "\n  "))
				}
			}
		})
	}
}

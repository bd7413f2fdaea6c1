package notify

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Preview gives the notice that a tenant would receive, as Markdown.
func Preview(ctx context.Context, c Case, incident Incident, secret []byte, tenantID string, e Edition) ([]byte, error) {
	b, err := load(ctx, c, incident, secret)
	if err != nil {
		return nil, fmt.Errorf("preview pack: %w", err)
	}
	for _, p := range b.packs {
		if p.Tenant.ID == tenantID || p.Ref == tenantID {
			return p.notice(e)
		}
	}
	return nil, fmt.Errorf("preview pack: the case has no tenant %q", tenantID)
}

// Statuses says of every tenant who was told and which clocks run, at a time.
func Statuses(ctx context.Context, c Case, incident Incident, secret []byte, now time.Time) ([]Status, error) {
	b, err := load(ctx, c, incident, secret)
	if err != nil {
		return nil, fmt.Errorf("read notices: %w", err)
	}
	return b.statuses(now), nil
}

// Check reports what keeps a notice from being recorded at now.
func (n Notice) Check(now time.Time) error {
	switch {
	case !slices.Contains(Kinds, n.Kind):
		return fmt.Errorf("kind %q: want one of %q", n.Kind, Kinds)
	case n.At.IsZero():
		return fmt.Errorf("no time is stated")
	case n.At.After(now):
		return fmt.Errorf("%s is in the future", n.At.UTC().Format(time.RFC3339))
	case n.Who == "":
		return fmt.Errorf("nobody is named")
	}
	return nil
}

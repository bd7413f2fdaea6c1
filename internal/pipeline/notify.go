package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/evidence"
	"kvforensics/notify"
	"kvforensics/notify/assess"
)

// factSecret is what references and pseudonyms of packs are drawn from. It is
// made once, at random, and stays in the case.
const factSecret = "pack secret"

func packSecret(ctx context.Context, c *casestore.Case) ([]byte, error) {
	text, err := c.Fact(ctx, factSecret)
	if err != nil {
		return nil, err
	}
	if text == "" {
		fresh := make([]byte, 32)
		rand.Read(fresh) // never fails
		text = hex.EncodeToString(fresh)
		if err := c.SetFact(ctx, factSecret, text); err != nil {
			return nil, err
		}
	}
	return hex.DecodeString(text)
}

// packIncident gives what incident.yaml states for packs.
func packIncident(ctx context.Context, c *casestore.Case) (notify.Incident, error) {
	var tenants int
	if err := c.One(ctx, "SELECT count(*) FROM tenant_exposure", &tenants); err != nil {
		return notify.Incident{}, err
	}
	if tenants == 0 {
		return notify.Incident{}, fmt.Errorf("make packs: exposure is not counted: run kvforensics pair and kvforensics exposure")
	}
	in, err := heldIncident(ctx, c)
	if err != nil {
		return notify.Incident{}, err
	}
	role := assess.Role(in.Role)
	if role == "" {
		role = assess.Processor
	}
	moment := func(at evidence.Opt[evidence.Micros]) time.Time {
		if !at.Known {
			return time.Time{}
		}
		return at.V.Time()
	}
	return notify.Incident{Name: in.Name, Model: in.Model, Role: role, CaseLead: in.CaseLead,
		FirstSignal: moment(in.Aware.FirstSignal), Aware: moment(in.Aware.Provider)}, nil
}

// Notify builds the packs of the case.
func Notify(ctx context.Context, c *casestore.Case, o notify.Options) (notify.Outcome, error) {
	var err error
	if o.Incident, err = packIncident(ctx, c); err != nil {
		return notify.Outcome{}, err
	}
	if o.Secret, err = packSecret(ctx, c); err != nil {
		return notify.Outcome{}, err
	}
	return notify.Build(ctx, c, o)
}

// PreviewNotice gives the notice to one tenant.
func PreviewNotice(ctx context.Context, c *casestore.Case, tenant string, e notify.Edition) ([]byte, error) {
	in, err := packIncident(ctx, c)
	if err != nil {
		return nil, err
	}
	secret, err := packSecret(ctx, c)
	if err != nil {
		return nil, err
	}
	return notify.Preview(ctx, c, in, secret, tenant, e)
}

// NoticeStatus says of every tenant who was told and which clocks run.
func NoticeStatus(ctx context.Context, c *casestore.Case, now time.Time) ([]notify.Status, error) {
	in, err := packIncident(ctx, c)
	if err != nil {
		return nil, err
	}
	secret, err := packSecret(ctx, c)
	if err != nil {
		return nil, err
	}
	return notify.Statuses(ctx, c, in, secret, now)
}

// RecordNotice adds a step to a tenant's notices. A late step needs a note.
func RecordNotice(ctx context.Context, c *casestore.Case, tenant string, n notify.Notice, now time.Time) error {
	if err := n.Check(now); err != nil {
		return fmt.Errorf("record notice: %w", err)
	}
	list, err := NoticeStatus(ctx, c, n.At)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.TenantID != tenant && s.Pack != tenant {
			continue
		}
		late := n.Kind == notify.Sent && !s.NoticeDue.IsZero() && n.At.After(s.NoticeDue) ||
			n.Kind == notify.RegulatorTold && !s.RegulatorBy.IsZero() && n.At.After(s.RegulatorBy)
		if late && n.Note == "" {
			return fmt.Errorf("record notice: it is late; --note must say why")
		}
		return c.InTransaction(ctx, func(exec func(string, ...any) error) error {
			return exec("INSERT INTO notices SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ? FROM notices",
				s.TenantID, n.Kind, n.At, n.Who, n.Channel, n.Reference, n.Note, now)
		})
	}
	return fmt.Errorf("record notice: the case has no tenant %q", tenant)
}

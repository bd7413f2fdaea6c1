package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kvforensics/internal/evidence"
	"kvforensics/notify/assess"
)

// Case is what notify needs of a case.
type Case interface {
	SelectStep(ctx context.Context, name string, each func(scan func(into ...any) error) error) error
	Select(ctx context.Context, query string, each func(scan func(into ...any) error) error, args ...any) error
}

// book holds all tenants of a case: it stays with the provider.
type book struct {
	incident *Incident
	packs    []*Pack // in order of tenant id
	secret   []byte
	keys     map[key]bool
}

// key ties a pseudonym to the customer behind it.
type key struct{ PackRef, Pseudonym, TenantID string }

// Load reads what packs are made of. Pseudonyms come from the secret.
func load(ctx context.Context, c Case, incident Incident, secret []byte) (*book, error) {
	b := &book{incident: &incident, secret: secret, keys: map[key]bool{}}
	err := c.SelectStep(ctx, "notify_incident", func(scan func(...any) error) error {
		var times [5]sql.Null[int64]
		err := scan(&times[0], &times[1], &times[2], &times[3], &incident.Defects, &times[4])
		for i, into := range []*time.Time{&incident.Began, &incident.Ended, &incident.CleanBefore, &incident.CleanAfter, &incident.Cutoff} {
			*into = instant(times[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.SelectStep(ctx, "notify_limits", func(scan func(...any) error) error {
		var l Limit
		err := scan(&l.What, &l.Subject, &l.Limitation)
		incident.Limits = append(incident.Limits, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	incident.Ref = "I-" + b.opaque("incident", incident.Name)
	byID, err := b.loadTenants(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := b.loadEvents(ctx, c, byID); err != nil {
		return nil, err
	}
	return b, c.Select(ctx, "SELECT tenant_id, kind, epoch_us(done_at), who, channel, reference, note, epoch_us(recorded_at) FROM notices ORDER BY number",
		func(scan func(...any) error) error {
			var id string
			var n Notice
			var at, recorded sql.Null[int64]
			err := scan(&id, &n.Kind, &at, &n.Who, &n.Channel, &n.Reference, &n.Note, &recorded)
			n.At, n.Recorded = instant(at), instant(recorded)
			if p := byID[id]; p != nil {
				p.Notices = append(p.Notices, n)
			}
			return err
		})
}

func (b *book) loadTenants(ctx context.Context, c Case) (map[string]*Pack, error) {
	byID := map[string]*Pack{}
	return byID, c.SelectStep(ctx, "notify_tenants", func(scan func(...any) error) error {
		var t Tenant
		var x Exposure
		var best sql.Null[float64]
		var first, last sql.Null[int64]
		err := scan(&t.ID, &t.Name, &t.Country, &t.Contact, &t.Sector, &t.NoticeHours, &t.Role,
			&x.Direction, &x.Defect, &x.Floor, &best, &x.Ceiling, &x.Tokens, &first, &last, &x.State, &x.Reason)
		if err != nil {
			return err
		}
		x.Best, x.Estimated, x.First, x.Last = best.V, best.Valid, instant(first), instant(last)
		p := byID[t.ID]
		if p == nil {
			p = &Pack{Incident: b.incident, Tenant: t, Ref: "T-" + b.opaque("tenant", t.ID)}
			byID[t.ID] = p
			b.packs = append(b.packs, p)
		}
		p.Exposures = append(p.Exposures, x)
		return nil
	})
}

func (b *book) loadEvents(ctx context.Context, c Case, byID map[string]*Pack) error {
	readers, origins := map[*Pack]map[string]int{}, map[*Pack]map[string]int{}
	err := c.SelectStep(ctx, "notify_source_events", func(scan func(...any) error) error {
		var id, others string
		var e SourceEvent
		var at, from, to sql.Null[int64]
		if err := scan(&id, &e.Defect, &e.RequestID, &at, &e.Probability, &e.Tokens, &from, &to, &e.Part, &others); err != nil {
			return err
		}
		if p := byID[id]; p != nil {
			e.At, e.From, e.To = instant(at), from.V, to.V
			e.Readers = b.name(p, others, readers)
			p.Out = append(p.Out, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.SelectStep(ctx, "notify_recipient_events", func(scan func(...any) error) error {
		var id, others string
		var e RecipientEvent
		var at sql.Null[int64]
		if err := scan(&id, &e.Defect, &e.RequestID, &at, &e.Level, &e.Probability, &e.Cross, &e.Tokens, &e.Prompt, &e.Answer, &e.Status,
			&e.Rules, &others, &e.UnknownOwner); err != nil {
			return err
		}
		if p := byID[id]; p != nil {
			e.At = instant(at)
			e.Origins = b.name(p, others, origins)
			p.In = append(p.In, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sectors := map[string]int{}
	for _, p := range b.packs {
		sectors[p.Tenant.Sector]++
	}
	for _, p := range b.packs {
		p.Recipients = b.parties(p, readers[p], byID, sectors)
		p.Sources = b.parties(p, origins[p], byID, sectors)
	}
	return nil
}

// name gives the pseudonyms of other customers, and counts them.
func (b *book) name(p *Pack, others string, counts map[*Pack]map[string]int) (names []string) {
	if counts[p] == nil {
		counts[p] = map[string]int{}
	}
	for id := range strings.SplitSeq(others, "\x1f") {
		if id == "" {
			continue
		}
		counts[p][id]++
		names = append(names, b.pseudonym(p, id))
	}
	slices.Sort(names)
	return names
}

// shared is how many customers must share a sector before it is named.
const shared = 5

// parties gives what a tenant may know of other customers, and notes the keys.
func (b *book) parties(p *Pack, counts map[string]int, byID map[string]*Pack, sectors map[string]int) (list []Party) {
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		party := Party{Pseudonym: b.pseudonym(p, id), Region: "not stated", Events: counts[id]}
		if other := byID[id]; other != nil {
			party.Region = region(other.Tenant.Country)
			if s := other.Tenant.Sector; s != "" && sectors[s] >= shared {
				party.Sector = s
			}
		}
		b.keys[key{p.Ref, party.Pseudonym, id}] = true
		list = append(list, party)
	}
	slices.SortFunc(list, func(x, y Party) int { return strings.Compare(x.Pseudonym, y.Pseudonym) })
	return list
}

// pseudonym names another customer to the tenant of a pack: not the same in two
// packs, and not to be guessed without the case's secret.
func (b *book) pseudonym(p *Pack, other string) string { return "R-" + b.opaque(p.Tenant.ID, other) }

func (b *book) opaque(for_, what string) string {
	mac := hmac.New(sha256.New, b.secret)
	fmt.Fprintf(mac, "%d:%s%s", len(for_), for_, what)
	return base32.StdEncoding.EncodeToString(mac.Sum(nil))[:8]
}

// eea are the countries of the European Economic Area.
var eea = strings.Fields("AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK ES")

func region(country string) string {
	switch {
	case country == "":
		return "not stated"
	case country == "GB":
		return "UK"
	case slices.Contains(eea, country):
		return "EEA"
	}
	return "other"
}

func instant(n sql.Null[int64]) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return evidence.Micros(n.V).Time()
}

// proposals are the proposed answers for one direction of a pack.
func (p *Pack) proposals(direction string, matrix assess.Matrix) ([]assess.Proposal, error) {
	word := p.state(direction)
	state, _, err := assess.FromProgram(word)
	if err != nil {
		return nil, err
	}
	exposure := assess.Exposure{State: state, Method: "replay of page allocators over request and engine logs"}
	if state == assess.RuledOut {
		exposure.EvidenceIDs, exposure.Coverage = []string{"E1"}, evidence.Some(1.0)
	}
	facts := assess.Facts{Role: p.Incident.Role, SecurityFailure: assess.Yes, ProgramState: word, Exposure: exposure,
		Integrity: assess.NotYetKnown, Availability: assess.No}
	return assess.Propose(facts, matrix)
}

package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"kvforensics/internal/workbook"
	"kvforensics/notify/assess"
)

// twin is the pack for machines. Its form is docs/pack.schema.json.
func (p *Pack) twin(e Edition, report workbook.Report) ([]byte, error) {
	text, err := json.MarshalIndent(Twin{
		Schema: "kvforensics-pack-1", Incident: p.Incident.Ref, Pack: p.Ref, TenantID: p.Tenant.ID, Version: e.Number, Built: stamp(e.Built), Cutoff: stamp(p.Incident.Cutoff),
		ProviderRole: string(p.Incident.Role), ProviderAware: stamp(p.Incident.Aware), Began: stamp(p.Incident.Began), Ended: stamp(p.Incident.Ended),
		AsSource: p.state(AsSource), AsRecipient: p.state(AsRecipient), Exposures: twinExposures(p.Exposures), Source: twinOut(p.Out), Recipient: twinIn(p.In),
		Limits: twinLimits(p.Incident.Limits), Cut: report.Cut, Continued: report.SplitSheets,
	}, "", "  ")
	return append(text, '\n'), err
}

// Twin is a pack in JSON. Times are RFC 3339 in UTC, "" where not known.
type Twin struct {
	Schema        string         `json:"schema"`
	Incident      string         `json:"incident"`
	Pack          string         `json:"pack"`
	TenantID      string         `json:"tenant_id"`
	Version       int            `json:"version"`
	Built         string         `json:"built"`
	Cutoff        string         `json:"data_cutoff"`
	ProviderRole  string         `json:"provider_role"`
	ProviderAware string         `json:"provider_aware"`
	Began         string         `json:"began"`
	Ended         string         `json:"ended"`
	AsSource      string         `json:"as_source"`
	AsRecipient   string         `json:"as_recipient"`
	Exposures     []TwinExposure `json:"exposures"`
	Source        []TwinSource   `json:"source_requests"`
	Recipient     []TwinReader   `json:"recipient_requests"`
	Limits        []TwinLimit    `json:"limits"`
	Cut           []string       `json:"cells_cut"`
	Continued     []string       `json:"sheets_continued"`
}

// TwinExposure is a count.
type TwinExposure struct {
	Direction string   `json:"direction"`
	Defect    string   `json:"defect"`
	Floor     int64    `json:"floor"`
	Best      *float64 `json:"best"` // null: not estimated
	Ceiling   int64    `json:"ceiling"`
	State     string   `json:"state"`
	Reason    string   `json:"reason"`
}

// TwinSource is a request that others may have read.
type TwinSource struct {
	RequestID   string   `json:"request_id"`
	At          string   `json:"received_at"`
	Defect      string   `json:"defect"`
	Probability float64  `json:"probability"`
	Tokens      float64  `json:"expected_tokens"`
	Part        string   `json:"part"`
	From        int64    `json:"from_token"`
	To          int64    `json:"to_token"`
	Recipients  []string `json:"recipients"` // pseudonyms
}

// TwinReader is a request that may have read others'.
type TwinReader struct {
	RequestID    string   `json:"request_id"`
	At           string   `json:"received_at"`
	Defect       string   `json:"defect"`
	Level        string   `json:"level"`
	Probability  float64  `json:"probability"`
	Cross        float64  `json:"probability_of_another_customer"`
	Tokens       float64  `json:"expected_tokens"`
	Sources      []string `json:"sources"` // pseudonyms
	UnknownOwner bool     `json:"unknown_owner"`
}

// TwinLimit is something that the evidence could not show.
type TwinLimit struct {
	Kind       string `json:"kind"`
	Of         string `json:"of"`
	Limitation string `json:"limitation"`
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func twinExposures(list []Exposure) (out []TwinExposure) {
	for _, x := range list {
		t := TwinExposure{x.Direction, x.Defect, x.Floor, nil, x.Ceiling, x.State, x.Reason}
		if x.Estimated {
			t.Best = &x.Best
		}
		out = append(out, t)
	}
	return out
}

func twinOut(list []SourceEvent) []TwinSource {
	out := []TwinSource{}
	for _, x := range list {
		out = append(out, TwinSource{x.RequestID, stamp(x.At), x.Defect, x.Probability, x.Tokens, x.Part, x.From, x.To, x.Readers})
	}
	return out
}

func twinIn(list []RecipientEvent) []TwinReader {
	out := []TwinReader{}
	for _, x := range list {
		out = append(out, TwinReader{x.RequestID, stamp(x.At), x.Defect, x.Level, x.Probability, x.Cross, x.Tokens, x.Origins, x.UnknownOwner})
	}
	return out
}

func twinLimits(list []Limit) []TwinLimit {
	out := []TwinLimit{}
	for _, l := range list {
		out = append(out, TwinLimit{l.What, l.Subject, l.Limitation})
	}
	return out
}

// Status says how far the telling of one tenant has come.
type Status struct {
	TenantID, Pack         string
	AsSource, AsRecipient  string
	Sent, Received, Aware  time.Time
	NoticeDue, RegulatorBy time.Time
	Notice, Regulator      assess.ClockState
	Overdue                bool
}

// statuses of all tenants at a time.
func (b *book) statuses(now time.Time) (list []Status) {
	for _, p := range b.packs {
		s := Status{TenantID: p.Tenant.ID, Pack: p.Ref, AsSource: p.state(AsSource), AsRecipient: p.state(AsRecipient),
			Sent: p.at(Sent), Received: p.at(Received), Aware: p.at(TenantAware), Notice: assess.NotStarted, Regulator: assess.NotStarted}
		if p.affected() {
			// Without hours in the contract the notice is due without undue delay:
			// 72 hours are shown as the latest that leaves the tenant any time.
			hours := p.Tenant.NoticeHours
			if hours == 0 {
				hours = 72
			}
			if c, err := assess.NoticeClock(b.incident.Aware, hours); err == nil {
				s.NoticeDue, s.Notice = c.Target(), c.State(now, s.Sent)
			}
			if c, err := assess.RegulatorClock(s.Aware, s.Received, 72); err == nil {
				s.RegulatorBy, s.Regulator = c.Target(), c.State(now, p.at(RegulatorTold))
			}
			s.Overdue = s.Notice == assess.Overdue || s.Regulator == assess.Overdue
		}
		list = append(list, s)
	}
	return list
}

// writeProvider leaves what the provider alone may see: the register of all
// packs, the key of pseudonyms, and its own record.
func (b *book) writeProvider(o Options, out Outcome) error {
	registerRows := [][]string{{"pack", "tenant_id", "tenant", "as source", "as recipient", "notice due", "notice", "regulator"}}
	names := map[string]string{}
	for _, p := range b.packs {
		names[p.Tenant.ID] = p.name()
	}
	for _, s := range out.Tenants {
		registerRows = append(registerRows, safe(s.Pack, s.TenantID, names[s.TenantID], s.AsSource, s.AsRecipient, assess.UTC(s.NoticeDue), string(s.Notice), string(s.Regulator)))
	}
	keyRows := [][]string{{"pack", "pseudonym", "tenant_id"}}
	for _, k := range slices.SortedFunc(maps.Keys(b.keys), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.PackRef, y.PackRef), cmp.Compare(x.Pseudonym, y.Pseudonym))
	}) {
		keyRows = append(keyRows, safe(k.PackRef, k.Pseudonym, k.TenantID))
	}
	register, err := csvOf(registerRows)
	if err != nil {
		return err
	}
	keys, err := csvOf(keyRows)
	if err != nil {
		return err
	}
	in := b.incident
	record := fmt.Sprintf("# The provider's own record of %s (Art. 33(5))\n\nNot for customers. Role: %s. Built %s, v%02d.\n\n"+
		"- aware: %s; first signal: %s\n- at work: %s\n- defects: %s\n- packs: %d, tenants ruled out on evidence: %d\n- as processor: notice under Art. 33(2) to every affected tenant, whatever the risk\n"+
		"- as controller of its own data (abuse logs, billing, training, staff): assess Art. 33(1) and 34 apart\n- every pack was searched for the identifiers of all other tenants before it was put in place; too short to be searched for: %d\n",
		markdown(in.Ref), markdown(string(in.Role)), assess.UTC(o.Edition.Built), o.Edition.Number, orUnknown(assess.UTC(in.Aware)), orUnknown(assess.UTC(in.FirstSignal)),
		orUnknown(span(in)), markdown(in.Defects), out.Packs+out.Kept, out.RuledOut, len(out.Unsearched))
	return place(o.Out+"/provider", []file{{"keys.csv", keys}, {"record.md", []byte(record)}, {"register-of-packs.csv", register}})
}

func safe(values ...string) []string {
	for i, v := range values {
		values[i] = workbook.CSVCell(v)
	}
	return values
}

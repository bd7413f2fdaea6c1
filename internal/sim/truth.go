package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Defect names a class of exposure, as in rules and reports.
type Defect string

// The defect classes.
const (
	OversizePlaceholder Defect = "oversize-placeholder"
	AbortLateWrite      Defect = "abort-late-write"
	AbortEarlyRelease   Defect = "abort-early-release"
	OffloadSlotReuse    Defect = "offload-slot-reuse"
)

var defects = []Defect{OversizePlaceholder, AbortLateWrite, AbortEarlyRelease, OffloadSlotReuse}

// Truth is the content of truth/truth.json: what really happened, by the
// requests of the gateway. Counts of requests are of the whole incident,
// whatever evidence of it was lost.
type Truth struct {
	Version  int           `json:"version"` // 1
	Seed     uint64        `json:"seed"`
	Config   Config        `json:"config"`
	Suspects []Suspect     `json:"suspects"` // in the order in which they ended
	Controls []Control     `json:"controls"` // oversize prompts that were treated as they should be
	Tenants  []TenantTruth `json:"tenants"`
	Totals   Totals        `json:"totals"`
}

// Suspect is one request whose answer was computed over KV that it did not
// write, for one defect. Slots hold one token's KV each.
//
// For oversize-placeholder the slots of all sources, UnwrittenSlots and
// EngineSlots sum to prompt_tokens - 1: all that was reserved for the prompt
// but the one token that came. For offload-slot-reuse a slot counts once for
// each request that wrote it while the suspect attended to it.
type Suspect struct {
	RequestID    string    `json:"request_id"`
	TenantID     string    `json:"tenant_id"`
	Defect       Defect    `json:"defect"`
	ReceivedAt   time.Time `json:"received_at"`
	ReservedAt   time.Time `json:"reserved_at"` // when its pages were taken on the decode node
	PrefillNode  string    `json:"prefill_node"`
	PrefillRank  int       `json:"prefill_rank"`
	DecodeNode   string    `json:"decode_node"`
	DecodeRank   int       `json:"decode_rank"`
	PromptTokens int       `json:"prompt_tokens"`
	HTTPStatus   int       `json:"http_status"`

	Recipient      bool     `json:"recipient"`    // it attended to another request's rows
	CrossTenant    bool     `json:"cross_tenant"` // to another tenant's
	ReservedPages  int      `json:"reserved_pages"`
	ExposedSlots   int      `json:"exposed_slots"`   // sum over Sources
	UnwrittenSlots int      `json:"unwritten_slots"` // zeros since boot
	EngineSlots    int      `json:"engine_slots"`    // health probes' and its own
	Sources        []Source `json:"sources"`         // most slots first
}

// Source is an earlier or later request whose rows a suspect attended to.
// Tokens are positions in the source's own sequence, its prompt first;
// ToToken is excluded, and not every position between need be exposed.
type Source struct {
	RequestID string `json:"source_request_id"`
	TenantID  string `json:"source_tenant"`
	Pages     int    `json:"pages"`
	Slots     int    `json:"slots"`
	FromToken int    `json:"from_token"`
	ToToken   int    `json:"to_token"`
	Part      string `json:"part"` // prompt, answer or both
}

// Control is an oversize prompt that exposed nobody: refused with 400, or
// served by a unified node.
type Control struct {
	RequestID    string `json:"request_id"`
	TenantID     string `json:"tenant_id"`
	Kind         string `json:"kind"` // refused_both (nodes), refused_decode (node alone), refused_length (tokenizer), unified_served, unified_refused
	PrefillNode  string `json:"prefill_node"`
	DecodeNode   string `json:"decode_node"`
	PromptTokens int    `json:"prompt_tokens"`
	HTTPStatus   int    `json:"http_status"`
}

// TenantTruth counts a tenant's requests in either direction, by defect.
// A source request read by several suspects counts once.
type TenantTruth struct {
	TenantID            string         `json:"tenant_id"`
	Requests            int            `json:"requests"`
	Recipient           map[Defect]int `json:"recipient"`
	RecipientCross      map[Defect]int `json:"recipient_cross_tenant"`
	Source              map[Defect]int `json:"source"`
	SourceCross         map[Defect]int `json:"source_cross_tenant"`
	ExposedSlotsAsCross int            `json:"exposed_slots_cross_tenant"` // its rows, read by others; a slot once per suspect
}

// Totals sums up the incident.
type Totals struct {
	Requests       int            `json:"requests"`
	ByStatus       map[int]int    `json:"by_status"`
	Suspects       map[Defect]int `json:"suspects"`
	Recipients     map[Defect]int `json:"recipients"`
	OversizeServed int            `json:"oversize_served"` // answered with 200
	AbortsInFlight int            `json:"aborts_in_flight"`
}

// truthWriter writes suspects as they end and the rest at the end.
type truthWriter struct {
	c        *cluster
	file     *os.File
	out      *bufio.Writer
	names    []tenant
	tenants  []TenantTruth
	controls []Control
	totals   Totals
	suspects int
	err      error
}

func createTruth(c *cluster, dir string, names []tenant) (*truthWriter, error) {
	dir = filepath.Join(dir, "truth")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("write truth: %w", err)
	}
	marker := filepath.Join(dir, ".kvforensics-truth")
	if err := os.WriteFile(marker, []byte("This folder is the truth of a synthetic incident, not evidence.\n"), 0o666); err != nil {
		return nil, fmt.Errorf("write truth: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "truth.json"))
	if err != nil {
		return nil, fmt.Errorf("write truth: %w", err)
	}
	t := &truthWriter{c: c, file: f, out: bufio.NewWriterSize(f, 1<<16), names: names}
	t.totals = Totals{ByStatus: map[int]int{}, Suspects: map[Defect]int{}, Recipients: map[Defect]int{}}
	for _, name := range names {
		t.tenants = append(t.tenants, TenantTruth{TenantID: name.ID, Recipient: map[Defect]int{},
			RecipientCross: map[Defect]int{}, Source: map[Defect]int{}, SourceCross: map[Defect]int{}})
	}
	t.text(`{"version":1,"seed":`)
	t.json(c.cfg.Seed)
	t.text(",\n\"config\":")
	t.json(c.cfg)
	t.text(",\n\"suspects\":[")
	return t, nil
}

func (t *truthWriter) text(s string) {
	if _, err := t.out.WriteString(s); t.err == nil {
		t.err = err
	}
}

func (t *truthWriter) json(v any) {
	data, err := json.Marshal(v)
	if t.err == nil {
		t.err = err
	}
	t.text(string(data))
}

// ended takes in a request that the client has an answer to.
func (t *truthWriter) ended(r *request) {
	t.totals.Requests++
	t.totals.ByStatus[r.status]++
	t.tenants[r.tenant].Requests++
	if r.flying && r.status == 499 {
		t.totals.AbortsInFlight++
	}
	if r.placeholder && r.status == 200 {
		t.totals.OversizeServed++
	}
	if kind := controlKind(r); kind != "" {
		t.controls = append(t.controls, Control{
			RequestID: t.c.requestID(r.number), TenantID: t.names[r.tenant].ID, Kind: kind,
			PrefillNode: r.p.node.cfg.Name, DecodeNode: r.d.node.cfg.Name, PromptTokens: r.prompt, HTTPStatus: r.status,
		})
	}
	for _, x := range r.exposed {
		t.suspect(r, x)
	}
}

// controlKind says in which way an injected prompt was treated as it should
// be, "" for all other requests.
func controlKind(r *request) string {
	switch r.kind {
	case unifiedServed:
		return "unified_served"
	case unifiedRefused:
		return "unified_refused"
	case oversizeLength:
		return "refused_length"
	case oversizeBoth, oversizeSmall:
		if r.prompt < r.p.node.limit {
			return "refused_decode"
		}
		return "refused_both"
	}
	return ""
}

func (t *truthWriter) suspect(r *request, x *exposure) {
	s := Suspect{
		RequestID: t.c.requestID(r.number), TenantID: t.names[r.tenant].ID, Defect: x.defect,
		ReceivedAt: time.UnixMicro(r.at).UTC(), ReservedAt: time.UnixMicro(r.reservedAt).UTC(),
		PrefillNode: r.p.node.cfg.Name, PrefillRank: r.p.index, DecodeNode: r.d.node.cfg.Name, DecodeRank: r.d.index,
		PromptTokens: r.prompt, HTTPStatus: r.status,
		ReservedPages: r.d.pagesFor(r.prompt), UnwrittenSlots: x.unwritten, EngineSlots: x.engine,
		Sources: make([]Source, 0, len(x.sources)),
	}
	slices.SortStableFunc(x.sources, func(a, b *sourceSlots) int { return b.slots - a.slots })
	for _, from := range x.sources {
		s.ExposedSlots += from.slots
		s.CrossTenant = s.CrossTenant || from.tenant != r.tenant
		s.Sources = append(s.Sources, Source{
			RequestID: t.c.requestID(from.number), TenantID: t.names[from.tenant].ID, Pages: from.pages, Slots: from.slots,
			FromToken: from.from, ToToken: from.to, Part: from.part(),
		})
	}
	s.Recipient = s.ExposedSlots > 0
	t.count(&s, r, x)
	if t.suspects > 0 {
		t.text(",")
	}
	t.suspects++
	t.text("\n")
	t.json(s)
}

func (t *truthWriter) count(s *Suspect, r *request, x *exposure) {
	t.totals.Suspects[x.defect]++
	if !s.Recipient {
		return
	}
	t.totals.Recipients[x.defect]++
	t.tenants[r.tenant].Recipient[x.defect]++
	if s.CrossTenant {
		t.tenants[r.tenant].RecipientCross[x.defect]++
	}
	for _, from := range x.sources {
		tenant := &t.tenants[from.tenant]
		if from.first {
			tenant.Source[x.defect]++
		}
		if from.firstCross {
			tenant.SourceCross[x.defect]++
		}
		if from.tenant != r.tenant {
			tenant.ExposedSlotsAsCross += from.slots
		}
	}
}

func (t *truthWriter) close() error {
	t.text("\n],\n\"controls\":[")
	for i, control := range t.controls {
		if i > 0 {
			t.text(",")
		}
		t.text("\n")
		t.json(control)
	}
	t.text("\n],\n\"tenants\":")
	t.json(t.tenants)
	t.text(",\n\"totals\":")
	t.json(t.totals)
	t.text("}\n")
	if t.err == nil {
		t.err = t.out.Flush()
	}
	if err := t.file.Close(); t.err == nil {
		t.err = err
	}
	if t.err != nil {
		return fmt.Errorf("write truth: %w", t.err)
	}
	return nil
}

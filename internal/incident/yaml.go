package incident

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the machine of an examiner may have no zone files

	"kvforensics/internal/evidence"
	"kvforensics/internal/strictyaml"
)

type incidentYAML struct {
	Name     string       `yaml:"incident"`
	Role     Party        `yaml:"role"`
	Model    string       `yaml:"model"`
	Timezone zone         `yaml:"timezone"`
	Window   windowYAML   `yaml:"window"`
	Aware    awareYAML    `yaml:"aware"`
	Nodes    []nodeYAML   `yaml:"nodes"`
	Tenants  []tenantYAML `yaml:"tenants"`
	CaseLead string       `yaml:"case_lead"`
}

type windowYAML struct {
	From *instant `yaml:"from"`
	To   *instant `yaml:"to"`
}

type awareYAML struct {
	FirstSignal *instant `yaml:"first_signal"`
	Provider    *instant `yaml:"provider"`
}

type nodeYAML struct {
	Name            string        `yaml:"name,required"`
	Role            evidence.Role `yaml:"role"`
	Engine          string        `yaml:"engine"`
	Version         string        `yaml:"version"`
	TransferBackend string        `yaml:"transfer_backend"`
	Timezone        zone          `yaml:"timezone"`
	Log             string        `yaml:"log"`
	Addresses       []string      `yaml:"addresses"`
	Ranks           *int64        `yaml:"ranks"`
	PoolTokens      *int64        `yaml:"pool_tokens"`
	PageSize        *int64        `yaml:"page_size"`
	ContextLen      *int64        `yaml:"context_len"`
	Flags           flagsYAML     `yaml:"flags"`
}

type flagsYAML struct {
	DeferredKVRelease *bool  `yaml:"deferred_kv_release"`
	KVChecksum        *bool  `yaml:"kv_checksum"`
	KVCanary          string `yaml:"kv_canary"`
}

type tenantYAML struct {
	ID          string `yaml:"id,required"`
	Name        string `yaml:"name"`
	Country     string `yaml:"country"`
	Contact     string `yaml:"contact"`
	Sector      string `yaml:"sector"`
	NoticeHours *int64 `yaml:"notice_hours"`
	Role        Party  `yaml:"role"`
}

// zone is the name of a time zone, such as Europe/London.
type zone struct{ *time.Location }

func (z *zone) UnmarshalText(text []byte) error {
	name := string(text)
	// Local would be the zone of whoever examines the case.
	if name == "" || name == "Local" {
		return fmt.Errorf("want the name of a time zone, such as Europe/London, not %q", name)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return fmt.Errorf("unknown time zone %q", name)
	}
	z.Location = location
	return nil
}

type instant evidence.Micros

func (i *instant) UnmarshalText(text []byte) error {
	var t time.Time
	if err := t.UnmarshalText(text); err != nil {
		return fmt.Errorf("want a time with its offset, such as 2026-08-27T00:00:00Z, not %q", text)
	}
	*i = instant(evidence.MicrosOf(t))
	return nil
}

func (y *incidentYAML) Check(r *strictyaml.Report) {
	checkOneOf(r, "role", y.Role, Processor, Controller)
	checkUnique(r, "nodes", "name", y.Nodes, func(n nodeYAML) string { return n.Name })
	checkUnique(r, "tenants", "id", y.Tenants, func(t tenantYAML) string { return t.ID })
}

func (y *windowYAML) Check(r *strictyaml.Report) {
	if y.From != nil && y.To != nil && *y.To <= *y.From {
		r.Addf("to", "must be later than from")
	}
}

func (y *nodeYAML) Check(r *strictyaml.Report) {
	checkOneOf(r, "role", y.Role, evidence.RolePrefill, evidence.RoleDecode, evidence.RoleUnified)
	checkOneOf(r, "transfer_backend", y.TransferBackend, "mooncake", "nixl", "mori", "ascend", "custom", "fake")
	if _, err := path.Match(y.Log, ""); errors.Is(err, path.ErrBadPattern) {
		r.Addf("log", "%q is not a valid glob", y.Log)
	}
	checkAtLeast(r, "ranks", y.Ranks, 1)
	checkAtLeast(r, "pool_tokens", y.PoolTokens, 1)
	checkAtLeast(r, "page_size", y.PageSize, 1)
	checkAtLeast(r, "context_len", y.ContextLen, 1)
}

func (y *flagsYAML) Check(r *strictyaml.Report) {
	checkOneOf(r, "kv_canary", y.KVCanary, "none", "log", "raise")
}

func (y *tenantYAML) Check(r *strictyaml.Report) {
	checkOneOf(r, "role", y.Role, Processor, Controller)
	checkAtLeast(r, "notice_hours", y.NoticeHours, 0)
	if y.Country != "" && !isCountry(y.Country) {
		r.Addf("country", "want two letters, such as GB, not %q", y.Country)
	}
}

func isCountry(s string) bool {
	isLetter := func(b byte) bool { return 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' }
	return len(s) == 2 && isLetter(s[0]) && isLetter(s[1])
}

func checkOneOf[T ~string](r *strictyaml.Report, key string, value T, allowed ...T) {
	if value == "" || slices.Contains(allowed, value) {
		return
	}
	var list string
	for i, a := range allowed {
		switch i {
		case 0:
		case len(allowed) - 1:
			list += " or "
		default:
			list += ", "
		}
		list += string(a)
	}
	r.Addf(key, "want %s, not %q", list, value)
}

func checkAtLeast(r *strictyaml.Report, key string, value *int64, least int64) {
	if value != nil && *value < least {
		r.Addf(key, "must be at least %d, not %d", least, *value)
	}
}

// checkUnique wants the names of a list's items to differ. An empty name is a
// problem that has been reported.
func checkUnique[T any](r *strictyaml.Report, list, key string, items []T, name func(T) string) {
	first := map[string]int{}
	for i, item := range items {
		n := name(item)
		if earlier, ok := first[n]; ok && n != "" {
			r.Addf(fmt.Sprintf("%s[%d].%s", list, i, key), "%q is also the %s of %s[%d]", n, key, list, earlier)
			continue
		}
		first[n] = i
	}
}

func (y *incidentYAML) incident() *Incident {
	in := &Incident{
		Name:     y.Name,
		Role:     y.Role,
		Model:    y.Model,
		Timezone: y.Timezone.Location,
		Window:   Window{micros(y.Window.From), micros(y.Window.To)},
		Aware:    Aware{micros(y.Aware.FirstSignal), micros(y.Aware.Provider)},
		CaseLead: y.CaseLead,
	}
	for _, n := range y.Nodes {
		in.Nodes = append(in.Nodes, n.node())
	}
	for _, t := range y.Tenants {
		in.Tenants = append(in.Tenants, t.tenant())
	}
	return in
}

func (y *nodeYAML) node() Node {
	return Node{
		Name:            y.Name,
		Role:            y.Role,
		Engine:          y.Engine,
		Version:         y.Version,
		TransferBackend: y.TransferBackend,
		Timezone:        y.Timezone.Location,
		Log:             y.Log,
		Addresses:       y.Addresses,
		Ranks:           opt(y.Ranks),
		PoolTokens:      opt(y.PoolTokens),
		PageSize:        opt(y.PageSize),
		ContextLen:      opt(y.ContextLen),
		Flags:           Flags{opt(y.Flags.DeferredKVRelease), opt(y.Flags.KVChecksum), y.Flags.KVCanary},
	}
}

func (y *tenantYAML) tenant() Tenant {
	return Tenant{
		ID:          y.ID,
		Name:        y.Name,
		Country:     strings.ToUpper(y.Country),
		Contact:     y.Contact,
		Sector:      y.Sector,
		NoticeHours: opt(y.NoticeHours),
		Role:        y.Role,
	}
}

func opt[T any](p *T) evidence.Opt[T] {
	if p == nil {
		return evidence.Opt[T]{}
	}
	return evidence.Some(*p)
}

func micros(i *instant) evidence.Opt[evidence.Micros] { return opt((*evidence.Micros)(i)) }

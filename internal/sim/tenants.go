package sim

import "fmt"

// tenant is an invented customer.
type tenant struct {
	ID, Name, Country, Contact, Sector string
	NoticeHours                        int
	Role                               string
	keys                               [3]string
}

var (
	invented = []string{"Nether Wexcombe", "Upper Tidmarsh", "Great Snoring Bay", "Little Haverpool", "Port Ambleford",
		"Kirk Ellonby", "Llanfaredig", "Inverquoich", "Ballymarrow", "St Osric", "Thistlewick", "Marlowe Green"}
	trades = []struct{ name, sector string }{
		{"Health Trust", "health"}, {"Building Society", "finance"}, {"Borough Council", "public"},
		{"Legal Partners", "legal"}, {"Insurance", "finance"}, {"Clinic", "health"}, {"College", "education"},
		{"Logistics", "transport"}, {"Energy", "energy"}, {"Software", "technology"}, {"Retail", "retail"},
	}
	countries   = []string{"GB", "GB", "GB", "GB", "GB", "GB", "IE", "GB", "FR", "DE", "US"}
	noticeHours = []int{24, 48, 72, 24, 12}
)

// makeTenants invents tenants, the busiest not first.
func makeTenants(cfg *Config) []tenant {
	rng := newRand(cfg.Seed, streamTenants, 0)
	all := make([]tenant, cfg.Tenants)
	place, trade := rng.Perm(len(invented)), rng.Perm(len(trades))
	for i := range all {
		t := trades[trade[i%len(trades)]]
		id := fmt.Sprintf("t-%04x", (uint32(i)*40503+uint32(cfg.Seed)*7919)&0xffff)
		if i >= 1<<16 {
			id = fmt.Sprintf("t-%08x", i)
		}
		name := fmt.Sprintf("%s %s (synthetic)", invented[place[i%len(invented)]], t.name)
		if n := len(trades) * len(invented); i >= n {
			name = fmt.Sprintf("%s %d (synthetic)", name[:len(name)-len(" (synthetic)")], i/n+1)
		}
		role := "controller"
		if rng.IntN(5) == 0 {
			role = "processor"
		}
		all[i] = tenant{
			ID: id, Name: name, Country: countries[rng.IntN(len(countries))], Contact: "dpo@" + id + ".example",
			Sector: t.sector, NoticeHours: noticeHours[rng.IntN(len(noticeHours))], Role: role,
		}
		for k := range all[i].keys {
			all[i].keys[k] = fmt.Sprintf("key-%s-%d", id[2:], k)
		}
	}
	return all
}

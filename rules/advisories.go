package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kvforensics/internal/evidence"
	"kvforensics/internal/strictyaml"
)

// Advisory states which versions of an engine carry a defect.
type Advisory struct {
	ID           string `yaml:"id,required"`
	Engine       string `yaml:"engine,required"`
	Defect       string `yaml:"defect,required"`
	AffectedFrom string `yaml:"affected_from,required"` // inclusive
	AffectedTo   string `yaml:"affected_to,required"`   // inclusive: the last version known to carry it
	FixedFrom    string `yaml:"fixed_from"`             // the first version said to be fixed, "": none; between the two: unverified
	// Backends are the transfer back ends of which it speaks; none: all.
	Backends []string `yaml:"backends"`
	// ClosedBy names a flag with which an affected version does not carry the
	// defect.
	ClosedBy string `yaml:"closed_by"`
	Source   string `yaml:"source,required"`
	AsOf     string `yaml:"as_of,required"`
}

// Check implements strictyaml.Checker.
func (a *Advisory) Check(report *strictyaml.Report) {
	for key, text := range map[string]string{"affected_from": a.AffectedFrom, "affected_to": a.AffectedTo, "fixed_from": a.FixedFrom} {
		if _, ok := parseVersion(text); text != "" && !ok {
			report.Addf(key, "want a version like 0.5.18 or 0.4.5.post1, not %q", text)
		}
	}
}

// Match is an advisory's verdict on a boot.
type Match struct {
	PoolID   int
	Advisory string
	Defect   string
	State    string // affected, fixed, closed by flag, unverified, unknown version, unknown back end
}

// ReadAdvisories reads a file of advisories.
func ReadAdvisories(file string, text []byte) ([]Advisory, error) {
	var list struct {
		Advisories []Advisory `yaml:"advisories,required"`
	}
	if err := strictyaml.Decode(file, text, &list); err != nil {
		return nil, err
	}
	return list.Advisories, nil
}

// UseAdvisories puts the advisories of a file in the place of those that ship.
func (c *Catalogue) UseAdvisories(file string) error {
	text, err := readBounded(file)
	if err != nil {
		return err
	}
	c.Advisories, err = ReadAdvisories(file, text)
	return err
}

// MatchAll holds every boot against every advisory for its engine.
func MatchAll(pools []evidence.Pool, list []Advisory) []Match {
	var matches []Match
	for _, p := range pools {
		for _, a := range list {
			if (p.Engine == "" || p.Engine == a.Engine) && a.speaksOf(p.TransferBackend) {
				matches = append(matches, Match{p.ID, a.ID, a.Defect, a.stateOf(&p)})
			}
		}
	}
	return matches
}

// speaksOf reports whether the advisory covers a back end; one that is not known
// may be any.
func (a Advisory) speaksOf(backend string) bool {
	return len(a.Backends) == 0 || backend == "" || slices.ContainsFunc(a.Backends, func(b string) bool { return strings.EqualFold(b, backend) })
}

func (a Advisory) stateOf(p *evidence.Pool) string {
	state := a.state(p.EngineVersion)
	switch {
	case state == "affected" && a.ClosedBy != "" && flagSet(p.Flags, a.ClosedBy):
		return "closed by flag"
	case state == "fixed" && len(a.Backends) > 0 && p.TransferBackend == "":
		return "unknown back end"
	}
	return state
}

// flagSet reports whether a JSON object of flags holds the name as true.
func flagSet(flags, name string) bool {
	var values map[string]any
	if flags == "" || json.Unmarshal([]byte(flags), &values) != nil {
		return false
	}
	set, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(values[name])))
	return err == nil && set
}

func (a Advisory) state(text string) string {
	v, ok := parseVersion(text)
	if !ok {
		return "unknown version"
	}
	bound := func(s string) version { b, _ := parseVersion(s); return b }
	switch {
	case v.less(bound(a.AffectedFrom)):
		return "unverified"
	case !bound(a.AffectedTo).less(v):
		return "affected"
	case a.FixedFrom == "" || v.less(bound(a.FixedFrom)):
		return "unverified"
	}
	return "fixed"
}

// version is release numbers, then: release candidate (or a large number for
// the release itself), post-release.
type version [5]int

const released = 1 << 30

var versionForm = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?(?:rc(\d+))?(?:\.?post(\d+))?(?:\+.*)?$`)

// parseVersion reads versions as SGLang writes them. A development build is no
// release, and its place between releases is not known.
func parseVersion(s string) (version, bool) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return version{}, false
	}
	v := version{3: released}
	for i, text := range m[1:] {
		if n, err := strconv.Atoi(text); err == nil {
			v[i] = n
		}
	}
	return v, true
}

func (v version) less(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

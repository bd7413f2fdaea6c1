package assess

import (
	_ "embed"
	"fmt"
	"slices"

	"kvforensics/internal/strictyaml"
)

//go:embed picklists.yaml
var shippedPicklists []byte

// Config holds the names, citations, lists and the matrix that a pack shows.
// They are configuration because some are unverified and some will change.
type Config struct {
	Regulator         Regulator  `yaml:"regulator,required"`
	Citations         []Citation `yaml:"citations,required"`
	DataCategories    List       `yaml:"data_categories,required"`
	SubjectCategories List       `yaml:"subject_categories,required"`
	Likelihood        List       `yaml:"likelihood,required"`
	Harms             List       `yaml:"harms,required"`
	Effects           List       `yaml:"effects,required"`
	Impact            List       `yaml:"impact,required"`
	Recovery          List       `yaml:"recovery,required"`
	Told              List       `yaml:"told,required"`
	Exemptions        List       `yaml:"exemptions,required"`
	Matrix            Matrix     `yaml:"matrix,required"`
}

// Mark says how far a value has been checked.
type Mark string

// The marks of the reference.
const (
	Verified  Mark = "V"  // read in the source
	Secondary Mark = "V2" // read in a secondary source
	ToCheck   Mark = "R"  // from general knowledge of a public text
	Inferred  Mark = "I"  // our own conclusion
)

// UnmarshalText takes a mark and nothing else.
func (m *Mark) UnmarshalText(text []byte) error {
	*m = Mark(text)
	if !slices.Contains([]Mark{Verified, Secondary, ToCheck, Inferred}, *m) {
		return fmt.Errorf("want V, V2, R or I, not %q", text)
	}
	return nil
}

// Regulator is whom a controller notifies.
type Regulator struct {
	DisplayName string `yaml:"display_name,required"`
	NotifyHours int    `yaml:"notify_hours,required"` // from awareness
	Mark        Mark   `yaml:"mark,required"`
	Source      string `yaml:"source,required"`
}

// Check implements strictyaml.Checker.
func (r *Regulator) Check(report *strictyaml.Report) {
	if r.NotifyHours < 1 {
		report.Addf("notify_hours", "want at least 1, not %d", r.NotifyHours)
	}
}

// Citation is how the pack cites a provision.
type Citation struct {
	ID       string `yaml:"id,required"`
	Text     string `yaml:"text,required"`
	Formerly string `yaml:"formerly"` // its number before; "": the same
	Mark     Mark   `yaml:"mark,required"`
	Source   string `yaml:"source,required"`
}

// String gives the citation with its former number.
func (c Citation) String() string {
	if c.Formerly == "" {
		return c.Text
	}
	return c.Text + ", formerly " + c.Formerly
}

// Check implements strictyaml.Checker: what the code cites must be there, and
// once.
func (c *Config) Check(report *strictyaml.Report) {
	for i, citation := range c.Citations {
		if c.citation(citation.ID) < i {
			report.Addf(fmt.Sprintf("citations[%d]", i), "id %q stands twice", citation.ID)
		}
	}
	for _, id := range []string{CiteBreach, CiteComplaintToController, CiteComplaintToRegulator} {
		if c.citation(id) < 0 {
			report.Addf("citations", "want one with the id %q", id)
		}
	}
}

func (c Config) citation(id string) int {
	return slices.IndexFunc(c.Citations, func(citation Citation) bool { return citation.ID == id })
}

// Shipped gives the configuration that ships with the program.
func Shipped() (Config, error) { return ReadConfig("picklists.yaml", shippedPicklists) }

// ReadConfig reads a whole configuration that replaces the one that ships. The
// error names file and every fault in text.
func ReadConfig(file string, text []byte) (Config, error) {
	var c Config
	if err := strictyaml.Decode(file, text, &c); err != nil {
		return Config{}, err
	}
	return c, nil
}

// The ids of citations that every configuration has.
const (
	CiteBreach                = "breach"
	CiteComplaintToController = "complaint to controller"
	CiteComplaintToRegulator  = "complaint to regulator"
)

// Cite gives the citation with the id, with its former number if it has one:
// "Art. 4(1)(12), formerly 4(12)". An id that is not configured is an error.
func (c Config) Cite(id string) (string, error) {
	i := c.citation(id)
	if i < 0 {
		return "", fmt.Errorf("cite %q: no such citation is configured", id)
	}
	return c.Citations[i].String(), nil
}

// cite is Cite for an id that every configuration has. A Config that nobody
// read has no citations; the id must do.
func (c Config) cite(id string) string {
	if i := c.citation(id); i >= 0 {
		return c.Citations[i].String()
	}
	return id
}

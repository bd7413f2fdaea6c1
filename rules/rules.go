// Package rules holds the signs by which a request becomes a suspect. A rule
// is a YAML file that an analyst can read, with the SQL that finds its rows;
// this package reads such files and runs them over the case's public views.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"kvforensics/internal/strictyaml"
)

// Level says how sure a sign is (exposure.md, step 1).
type Level string

// Levels, weakest first. A context hit is no exposure.
const (
	Context  Level = "context"
	Possible Level = "possible"
	Strong   Level = "strong"
	Certain  Level = "certain"
)

var levels = []Level{Context, Possible, Strong, Certain}

// Rank orders levels; an unknown level ranks -1.
func (l Level) Rank() int { return slices.Index(levels, l) }

// Status says how far a rule can be relied on.
type Status string

// Statuses: a stable rule was measured on incidents with known truth, an
// experimental one was not, and a hypothesis rests on what engines are thought
// to do.
const (
	Stable       Status = "stable"
	Experimental Status = "experimental"
	Hypothesis   Status = "hypothesis"
)

// Subject is what a rule's hits name.
type Subject string

// Subjects; a rule that states none speaks of requests.
const (
	OfRequest Subject = "request"
	OfNode    Subject = "node"
)

// Rule is one sign.
type Rule struct {
	ID     string `yaml:"id,required" schema:"pattern=^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" doc:"UUID, never reused"` // UUID, never reused
	Name   string `yaml:"name,required" schema:"pattern=^[a-z][a-z0-9_-]*$" doc:"what people type"`                                             // what people type
	Title  string `yaml:"title,required"`                                                                                                       //
	Status Status `yaml:"status,required" schema:"enum=stable|experimental|hypothesis" doc:"how far it can be relied on"`                       // how far it can be relied on
	// Subject is what a hit names: a request, or a node with a time.
	Subject Subject `yaml:"subject" schema:"enum=request|node" doc:"what a hit names; request where it is left out"`
	Defect  string  `yaml:"defect,required" schema:"enum=oversize-placeholder|abort-late-write|abort-early-release|offload-slot-reuse|capacity-gap"` // a defect class of domain.md
	Level   Level   `yaml:"level,required" schema:"enum=context|possible|strong|certain" doc:"the highest level it gives"`                           // the highest level the rule gives
	// Family names the evidence that the rule reads. Rules of one family are
	// not independent of each other.
	Family      string `yaml:"family,required" doc:"the evidence it reads; two rules of one family are one sign"`
	Description string `yaml:"description,required"`
	// FalsePositives say what looks like a hit and is none.
	FalsePositives []string `yaml:"false_positives,required"`
	References     []string `yaml:"references,required"`
	Author         string   `yaml:"author,required"`
	Date           string   `yaml:"date,required" schema:"pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"` // of the last change, YYYY-MM-DD
	// Applies is a predicate over request_facts, or over pools where the subject
	// is a node: the rows of which the rule speaks.
	Applies string `yaml:"applies,required" doc:"predicate over request_facts, or pools for nodes: the rows of which it speaks"`
	// Needs are expressions over requests without which a row can't be
	// assessed, each with the name under which it is reported missing.
	Needs []Need `yaml:"needs,required"`
	// Telemetry are conditions on the case without which the rule can't run.
	Telemetry  []Telemetry `yaml:"telemetry"`
	Parameters []Parameter `yaml:"parameters"`
	// Constants are numbers of the case that are worked out before the rule
	// runs, so that a filter by them can skip what it need not read.
	Constants []Constant `yaml:"constants"`
	// SQL selects source_id, line, level, reason, input_limit, ttft_bound_ms
	// and probability of the requests hit, or node, rank, found_at and reason of
	// the nodes. $name stands for a parameter or constant.
	SQL string `yaml:"sql,required" doc:"query that gives the hits; $name stands for a parameter or constant"`
	// Samples are small bodies of evidence with what the rule must say of them.
	Samples []Sample `yaml:"samples,required"`

	File   string // as named to Read
	Digest string // SHA-256 of the file, in hexadecimal
	ships  bool
}

// Need is something a row must have to be assessed.
type Need struct {
	Field string `yaml:"field,required"`
	SQL   string `yaml:"sql"` // an expression that is NULL or false where the field lacks; "": the column Field
}

// Telemetry is something the case must have.
type Telemetry struct {
	What string `yaml:"what,required"`
	SQL  string `yaml:"sql,required"` // a SELECT of one boolean
}

// Constant is a number that the case gives.
type Constant struct {
	Name string `yaml:"name,required"`
	SQL  string `yaml:"sql,required"` // a SELECT of one number; NULL where the case has none
}

// Parameter is a number that an analyst may tune.
type Parameter struct {
	Name        string  `yaml:"name,required"`
	Unit        string  `yaml:"unit,required"`
	Default     float64 `yaml:"default,required"`
	Description string  `yaml:"description,required"`
}

var (
	uuid       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	identifier = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	date       = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	mark       = regexp.MustCompile(`\$[a-z_]+`)

	// exposures are the defect classes of domain.md by which one request reads
	// another's KV; capacity-gap is only a precondition.
	exposures = []string{"oversize-placeholder", "abort-late-write", "abort-early-release", "offload-slot-reuse"}
	defects   = append(slices.Clone(exposures), "capacity-gap")
)

// Uncovered names the defect classes for which no rule of the list looks.
func Uncovered(list []*Rule) []string {
	var names []string
	for _, d := range exposures {
		if !slices.ContainsFunc(list, func(r *Rule) bool { return r.Defect == d && r.Level != Context }) {
			names = append(names, d)
		}
	}
	return names
}

// Check implements strictyaml.Checker.
func (r *Rule) Check(report *strictyaml.Report) {
	if r.ID != "" && !uuid.MatchString(r.ID) {
		report.Addf("id", "want a UUID in lower case, not %q", r.ID)
	}
	if r.Name != "" && !identifier.MatchString(r.Name) {
		report.Addf("name", "want lower-case letters, digits and -, not %q", r.Name)
	}
	if r.Defect != "" && !slices.Contains(defects, r.Defect) {
		report.Addf("defect", "want one of %s, not %q", strings.Join(defects, ", "), r.Defect)
	}
	if r.Level != "" && r.Level.Rank() < 0 {
		report.Addf("level", "want context, possible, strong or certain, not %q", r.Level)
	}
	if r.Status != "" && !slices.Contains([]Status{Stable, Experimental, Hypothesis}, r.Status) {
		report.Addf("status", "want stable, experimental or hypothesis, not %q", r.Status)
	}
	if r.Subject != "" && r.Subject != OfRequest && r.Subject != OfNode {
		report.Addf("subject", "want request or node, not %q", r.Subject)
	}
	if r.Subject == OfNode && r.Level != Context {
		report.Addf("level", "a rule of nodes makes no request a suspect: want context")
	}
	if r.Date != "" && !date.MatchString(r.Date) {
		report.Addf("date", "want YYYY-MM-DD, not %q", r.Date)
	}
	r.checkSamples(report)
	for _, m := range mark.FindAllString(r.SQL, -1) {
		if !slices.ContainsFunc(r.Parameters, func(p Parameter) bool { return "$"+p.Name == m }) &&
			!slices.ContainsFunc(r.Constants, func(c Constant) bool { return "$"+c.Name == m }) {
			report.Addf("sql", "%s is no parameter or constant of the rule", m)
		}
	}
}

// Read reads one rule file. The error is of type strictyaml.Problems.
func Read(file string, text []byte) (*Rule, error) {
	r := &Rule{}
	if err := strictyaml.Decode(file, text, r); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	r.File, r.Digest = file, hex.EncodeToString(sum[:])
	return r, nil
}

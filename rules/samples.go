package rules

import (
	_ "embed"
	"slices"

	"kvforensics/internal/strictyaml"
)

// Sample is a small body of evidence with what a rule must say of it.
type Sample struct {
	Name string `yaml:"name,required"`
	// Gateway holds request records, one JSON object a line.
	Gateway string `yaml:"gateway"`
	// Logs are engine logs by node.
	Logs map[string]string `yaml:"logs"`
	// Incident is an incident.yaml; "": Bed.
	Incident string `yaml:"incident"`
	// Ordinary is how many ordinary requests are added, for rules that compare
	// with them.
	Ordinary int `yaml:"ordinary"`
	// Expect gives the level of the hit for each request id, or node, that the
	// sample is about; none: no hit.
	Expect map[string]string `yaml:"expect,required"`
}

// NoHit is the level of what must not be hit.
const NoHit = "none"

// Bed is the incident.yaml of samples that state none: a prefill node pre-0
// with a pool of 681,280 tokens, a decode node dec-0 with 1,310,720, and a
// unified node uni-0.
//
//go:embed bed.yaml
var Bed string

// checkSamples refuses a rule that shows no hit, or nothing that is none.
func (r *Rule) checkSamples(report *strictyaml.Report) {
	if len(r.Samples) == 0 {
		return // the missing key is reported
	}
	hit, miss := false, false
	for _, s := range r.Samples {
		for _, level := range s.Expect {
			hit, miss = hit || level != NoHit, miss || level == NoHit
			if level != NoHit && !slices.Contains(levels, Level(level)) {
				report.Addf("samples", "sample %q: want context, possible, strong, certain or none, not %q", s.Name, level)
			}
		}
	}
	if !hit {
		report.Addf("samples", "no sample expects a hit")
	}
	if !miss {
		report.Addf("samples", "no sample expects none")
	}
}

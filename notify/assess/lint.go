package assess

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Finding is a fault of a letter's text.
type Finding struct {
	Line    int // from 1
	Text    string
	Problem string
}

var (
	article77     = regexp.MustCompile(`(?i)\bart(?:icle)?s?\.?[\s\p{Z}]*(?:\d+(?:\([^)\n]*\))*[\s\p{Z}]*(?:,|;|&|-|–|and|or|to)[\s\p{Z}]*)*77\b`)
	notNotifiable = regexp.MustCompile(`(?i)\bno[tn][\s\p{Z}\p{Pd}]+(?:a[\s\p{Z}]+)?notifiable\b`)
)

// LintLetter reports, in the order of the text, citations of Art. 77, which the
// 2025 Act repealed, and verdicts that only the controller may give.
func (c Config) LintLetter(text string) []Finding {
	var findings []Finding
	for _, rule := range []struct {
		form    *regexp.Regexp
		problem string
	}{
		{article77, "Art. 77 UK GDPR is repealed: cite " + c.cite(CiteComplaintToController) + " and " + c.cite(CiteComplaintToRegulator)},
		{notNotifiable, "whether to notify is the controller's decision: state facts, or the proposal"},
	} {
		for _, at := range rule.form.FindAllStringIndex(text, -1) {
			line := 1 + strings.Count(text[:at[0]], "\n")
			findings = append(findings, Finding{line, text[at[0]:at[1]], rule.problem})
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return findings
}

package notify

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"kvforensics/internal/workbook"
)

// guard searches finished files for what belongs to other tenants.
type guard struct {
	matcher *workbook.Matcher
	owners  map[string][]string // tenants by what is theirs
	short   []string            // identifiers too short to be told from other text
}

// shortest is how long an identifier must be to be searched for.
const shortest = 4

// newGuard takes every tenant's identifiers: id, name, contact and its domain,
// and the canaries, which are nobody's.
func newGuard(b *book, canaries []string) *guard {
	g := &guard{owners: map[string][]string{}}
	add := func(owner, what string) {
		switch {
		case what == "":
		case utf8.RuneCountInString(what) < shortest:
			if !slices.Contains(g.short, what) {
				g.short = append(g.short, what)
			}
		case !slices.Contains(g.owners[what], owner):
			g.owners[what] = append(g.owners[what], owner)
		}
	}
	for _, p := range b.packs {
		t := p.Tenant
		add(t.ID, t.ID)
		add(t.ID, t.Name)
		add(t.ID, t.Contact)
		if _, domain, ok := strings.Cut(t.Contact, "@"); ok {
			add(t.ID, domain)
		}
	}
	for _, c := range canaries {
		add("", c)
	}
	needles := make([]string, 0, len(g.owners))
	for what := range g.owners {
		needles = append(needles, what)
	}
	slices.Sort(needles)
	g.matcher = workbook.NewMatcher(needles)
	return g
}

// check reports every identifier of another tenant that a file holds.
func (g *guard) check(p *Pack, files []file) error {
	var found []string
	for _, f := range files {
		hits := workbook.SearchBytes(f.name, f.body, g.matcher)
		if strings.HasSuffix(f.name, ".xlsx") {
			reader := bytes.NewReader(f.body)
			if err := workbook.Inspect(reader, reader.Size()); err != nil {
				return err
			}
			var err error
			if hits, err = g.matcher.Search(reader, reader.Size()); err != nil {
				return err
			}
		}
		for _, h := range hits {
			if !slices.Contains(g.owners[h.Needle], p.Tenant.ID) && !g.partOfOwn(p, h.Needle) {
				found = append(found, fmt.Sprintf("%s %s", f.name, h.Part))
			}
		}
	}
	if len(found) > 0 {
		// The identifier itself stays out of the message: it may be read by the
		// wrong tenant.
		return fmt.Errorf("search finished files: an identifier of another tenant, or a canary, is in %s", strings.Join(slices.Compact(found), ", "))
	}
	return nil
}

// partOfOwn tells that a needle occurs only within the tenant's own identifiers,
// as t-1 does in t-12, and nowhere in the pack apart from them.
func (g *guard) partOfOwn(p *Pack, needle string) bool {
	own := []string{p.Tenant.ID, p.Tenant.Name, p.Tenant.Contact}
	return slices.ContainsFunc(own, func(s string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(needle))
	}) && !p.mentions(regexp.MustCompile(`(?i)(^|[^\pL\pN])`+regexp.QuoteMeta(needle)+`($|[^\pL\pN])`))
}

// mentions looks through all that the pack is made of but the tenant itself.
func (p *Pack) mentions(what *regexp.Regexp) bool {
	texts := []string{p.Incident.Name, p.Incident.Model, p.Incident.CaseLead, p.Incident.Defects}
	for _, l := range p.Incident.Limits {
		texts = append(texts, l.What, l.Subject, l.Limitation)
	}
	for _, x := range p.Exposures {
		texts = append(texts, x.Reason)
	}
	for _, x := range p.Out {
		texts = append(texts, x.RequestID)
	}
	for _, x := range p.In {
		texts = append(texts, x.RequestID, x.Rules)
	}
	for _, x := range slices.Concat(p.Recipients, p.Sources) {
		texts = append(texts, x.Pseudonym, x.Sector, x.Region)
	}
	for _, n := range p.Notices {
		texts = append(texts, n.Who, n.Channel, n.Reference, n.Note)
	}
	return slices.ContainsFunc(texts, what.MatchString)
}

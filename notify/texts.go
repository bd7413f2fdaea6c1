package notify

import (
	"bytes"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"text/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"kvforensics/internal/workbook"
	"kvforensics/notify/assess"
)

//go:embed templates
var templates embed.FS

var (
	texts = template.Must(template.New("").Funcs(template.FuncMap{"md": markdown}).ParseFS(templates, "templates/*.md"))
	page  = htmltemplate.Must(htmltemplate.ParseFS(templates, "templates/page.html"))
)

// markdown makes a text inert in Markdown and in the HTML that is made of it.
func markdown(s string) string {
	s = strings.Join(strings.Fields(workbook.Visible(s)), " ")
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>#!|&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	// Many readers make links of bare addresses.
	return strings.NewReplacer("://", ":\\/\\/", "@", "\\@").Replace(b.String())
}

// row of a table in the notice.
type noticeRow struct{ Direction, Defect, Floor, Best, Ceiling, State, Reason string }

type noticeMoment struct{ UTC, London, What, Surety string }

// notice is the processor's notice as Markdown.
func (p *Pack) notice(e Edition) ([]byte, error) {
	in := p.Incident
	data := map[string]any{
		"Version": fmt.Sprintf("v%02d", e.Number), "Built": assess.UTC(e.Built), "To": p.name(), "Ref": p.Ref, "TenantID": p.Tenant.ID,
		"Service": in.Model, "Role": string(in.Role), "Contact": orUnknown(in.CaseLead), "Incident": in.Ref,
		"AsSource": shown(p.state(AsSource)), "AsRecipient": shown(p.state(AsRecipient)), "SourceRange": ranged(p.sum(AsSource)), "RecipientRange": ranged(p.sum(AsRecipient)),
		"Span": orUnknown(span(in)), "Defects": orUnknown(in.Defects), "Recipients": len(p.Recipients), "Sources": len(p.Sources), "Actions": p.actions(), "Limits": in.Limits,
	}
	var moments []noticeMoment
	for _, m := range p.moments() {
		moments = append(moments, noticeMoment{assess.UTC(m.at), assess.London(m.at), m.what, m.surety})
	}
	var rows []noticeRow
	for _, x := range p.Exposures {
		best := "not estimated"
		if x.Estimated {
			best = fmt.Sprintf("%.1f", x.Best)
		}
		rows = append(rows, noticeRow{x.Direction, x.Defect, fmt.Sprint(x.Floor), best, fmt.Sprint(x.Ceiling), shown(x.State), x.Reason})
	}
	data["Moments"], data["Exposures"] = moments, rows
	return fill("notice.md", data)
}

// letter is a draft to the people concerned, for the controller to complete.
func (p *Pack) letter(e Edition) ([]byte, error) {
	day := func(s string) string {
		if s == "" {
			return "[date]"
		}
		return s[:len("2006-01-02")]
	}
	us, err := e.Config.Cite(assess.CiteComplaintToController)
	if err != nil {
		return nil, err
	}
	regulator, err := e.Config.Cite(assess.CiteComplaintToRegulator)
	if err != nil {
		return nil, err
	}
	text, err := fill("letter.md", map[string]any{
		"Start": day(assess.UTC(p.Incident.Began)), "End": day(assess.UTC(p.Incident.Ended)),
		"Regulator": e.Config.Regulator.DisplayName, "ComplainToUs": us, "ComplainToRegulator": regulator,
	})
	if err != nil {
		return nil, err
	}
	for _, f := range e.Config.LintLetter(string(text)) {
		return nil, fmt.Errorf("write letter: line %d: %s: %s", f.Line, f.Problem, f.Text)
	}
	return text, nil
}

func fill(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := texts.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// toHTML makes a page of Markdown. Raw HTML in it is left out.
func toHTML(title string, text []byte) ([]byte, error) {
	var body, out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(text, &body); err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	err := page.Execute(&out, map[string]any{"Title": title, "Body": htmltemplate.HTML(body.String())})
	return out.Bytes(), err
}

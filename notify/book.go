package notify

import (
	"fmt"
	"strings"
	"time"

	"kvforensics/internal/workbook"
	"kvforensics/notify/assess"
)

// Edition is what differs between two builds of the same facts.
type Edition struct {
	Number  int       // from 1
	Built   time.Time // stands in every file
	Program string    // version
	Config  assess.Config
}

const (
	provider = workbook.Provider
	tenant   = workbook.Tenant
)

func text(s string) workbook.Cell {
	if s == "" {
		return nil
	}
	return workbook.Text(s)
}

func number(n int64) workbook.Cell { return workbook.Int(n) }

// book lays the pack out as a workbook: the sheets in the order in which a Data
// Protection Officer reads them.
func (p *Pack) book(e Edition) (*workbook.Book, error) {
	b := &workbook.Book{Title: "Breach assessment pack " + p.Ref, Created: e.Built, Lists: lists(e.Config)}
	decisions, err := p.decisionSheet(e)
	if err != nil {
		return nil, err
	}
	b.Sheets = []workbook.Sheet{
		p.readMe(e), p.summary(e), p.timeline(), p.exposureSheet(), dataSheet(e.Config), p.recipientSheet(), p.riskSheet(), p.enisaSheet(),
		decisions, p.icoSheet(e), p.registerSheet(e), p.actionSheet(), p.limitSheet(), p.noticeSheet(), p.changeSheet(e),
	}
	return b, nil
}

func lists(c assess.Config) []workbook.List {
	quarters := []string{"0.25", "0.5", "0.75", "1"}
	return []workbook.List{
		{Name: "yes_no", Values: []string{"Yes", "No", assess.NotYetKnown}},
		{Name: "likelihood", Values: c.Likelihood.Texts()},
		{Name: "severity", Values: []string{string(assess.NoHarm), string(assess.MinorHarm), string(assess.ModerateHarm), string(assess.SeriousHarm), string(assess.SevereHarm), assess.NotYetKnown}},
		{Name: "harm", Values: c.Harms.Texts()},
		{Name: "effect", Values: c.Effects.Texts()},
		{Name: "impact", Values: c.Impact.Texts()},
		{Name: "recovery", Values: c.Recovery.Texts()},
		{Name: "told", Values: c.Told.Texts()},
		{Name: "exemption", Values: c.Exemptions.Texts()},
		{Name: "subjects", Values: c.SubjectCategories.Texts()},
		{Name: "decision", Values: []string{"Notify", "Do not notify", "Notify in phases", assess.NotYetKnown}},
		{Name: "regime", Values: []string{"UK GDPR", "DPA 2018 Part 3", "DPA 2018 Part 4", "EU GDPR", "UK GDPR and EU GDPR"}},
		{Name: "status", Values: []string{"Open", "In progress", "Done", "Not needed"}},
		{Name: "dpc", Values: []string{"1", "2", "3", "4"}},
		{Name: "ei", Values: quarters},
		{Name: "circumstance", Values: []string{"0", "0.25", "0.5"}},
		{Name: "malice", Values: []string{"0", "0.5"}},
	}
}

func field(by workbook.Party, list string, decision bool) workbook.Field {
	return workbook.Field{By: by, List: list, Decision: decision, Wrap: true}
}

func said(label, value string) workbook.FormRow {
	return workbook.FormRow{Label: label, Value: text(value), Field: field(provider, "", false)}
}

func asked(label, list string, decision bool, help string) workbook.FormRow {
	return workbook.FormRow{Label: label, Help: help, Field: field(tenant, list, decision)}
}

func column(header string, width float64) workbook.Column {
	return workbook.Column{Header: header, Width: width, Field: field(provider, "", false)}
}

func askedColumn(header string, width float64, list string, decision bool) workbook.Column {
	return workbook.Column{Header: header, Width: width, Field: field(tenant, list, decision)}
}

func (p *Pack) readMe(e Edition) workbook.Sheet {
	return workbook.Sheet{Name: "Read me", Title: "Breach assessment pack", Protected: true,
		Notes: []string{
			"Factual record – not legal advice. DRAFT until a named person signs on the sheet Art 33 & 34 decisions.",
			"Grey cells are filled in by the provider. Cells with a thick left edge and “▸ fill in” are yours.",
			"The provider does not decide whether you must notify. It states facts with their limits, and shows how a proposal follows.",
			"“Exposed” means that memory holding your data lay within reach of another customer's request. Whether any of it was shown is another question; exposed is not disclosed.",
			"“Not ruled out” means exactly that. Missing records are never read as innocence.",
			"No prompt or answer text is in this pack, and no other customer is named. Do not put the data itself into it.",
		},
		Blocks: []workbook.Block{workbook.Form{Rows: []workbook.FormRow{
			said("Incident", p.Incident.Ref), said("Your reference", p.Ref), said("Customer", p.name()), said("Your identifier with us", p.Tenant.ID),
			said("Provider's role", string(p.Incident.Role)), said("Your role, as we know it", p.Tenant.Role),
			said("Service", p.Incident.Model), said("Contact at the provider", p.Incident.CaseLead),
			said("Version", fmt.Sprintf("v%02d, DRAFT", e.Number)), said("Built", assess.UTC(e.Built)),
			said("Data cut-off", orUnknown(assess.UTC(p.Incident.Cutoff))), said("Made by", "kvforensics "+e.Program),
			said("Digests", "SHA-256 of every file of this pack: manifest.json beside it"),
			asked("If you are a processor yourself", "", false, "for whom: pass the notice up without undue delay; its text may be forwarded as it is"),
			asked("Regime", "regime", false, "UK GDPR, unless another applies to you"),
		}}}}
}

func orUnknown(s string) string {
	if s == "" {
		return assess.NotYetKnown
	}
	return s
}

// ranged writes a count as floor – best – ceiling.
func ranged(x Exposure) string {
	if !x.Estimated {
		return fmt.Sprintf("%d – not estimated – %d", x.Floor, x.Ceiling)
	}
	return fmt.Sprintf("%d – %.1f – %d", x.Floor, x.Best, x.Ceiling)
}

// shown gives the words for a program state.
func shown(state string) string {
	if _, words, err := assess.FromProgram(state); err == nil {
		return words
	}
	return assess.NotYetKnown
}

func (p *Pack) summary(e Edition) workbook.Sheet {
	notice, _ := assess.NoticeClock(p.Incident.Aware, max(p.Tenant.NoticeHours, 1))
	regulator, _ := assess.RegulatorClock(p.at(TenantAware), p.at(Received), e.Config.Regulator.NotifyHours)
	rows := []workbook.FormRow{
		said("As source: your data may have reached others", shown(p.state(AsSource))),
		said("Your requests that others' requests could read (floor – best – ceiling)", ranged(p.sum(AsSource))),
		said("As recipient: others' data may have reached you", shown(p.state(AsRecipient))),
		said("Your requests that could read others' (floor – best – ceiling)", ranged(p.sum(AsRecipient))),
		said("People and records", assess.NotYetKnown+": the provider does not read prompts; you can tell from the request ids on the sheet Exposure"),
		said("The fault was at work from", orUnknown(assess.UTC(p.Incident.Began))),
		said("until", orUnknown(assess.UTC(p.Incident.Ended))),
		said("Provider aware", orUnknown(assess.UTC(p.Incident.Aware))),
	}
	if p.Tenant.NoticeHours > 0 {
		rows = append(rows, said("Notice due to you by contract", fmt.Sprintf("%s (%d hours after the provider became aware): %s",
			orUnknown(assess.UTC(notice.Target())), p.Tenant.NoticeHours, notice.State(e.Built, p.at(Sent)))))
	}
	rows = append(rows,
		said("Notice sent", orUnknown(assess.UTC(p.at(Sent)))), said("Notice received", orUnknown(assess.UTC(p.at(Received)))),
		said("You became aware (you decide)", strings.TrimSpace(orUnknown(assess.UTC(p.at(TenantAware)))+" "+regulator.Mark())),
		said("72 hours end", orUnknown(assess.UTC(regulator.Target()))), said("in London", orUnknown(assess.London(regulator.Target()))),
		said("Note on the hour rule", orUnknown(assess.UTC(regulator.LatestArguable()))+": the hour of the start not counted; do not plan by it"),
		said("Your clock", string(regulator.State(e.Built, p.at(RegulatorTold)))),
		said("Decisions outstanding", "Art. 33(1) and Art. 34: sheet Art 33 & 34 decisions"),
	)
	blocks := append([]workbook.Block{workbook.Form{Rows: rows}, p.counts()}, p.perDay()...)
	return workbook.Sheet{Name: "Summary", Title: "Summary", Blocks: blocks, Protected: true}
}

// moment is a line of the timeline.
type moment struct {
	at                   time.Time
	what, source, surety string
}

func (p *Pack) moments() (list []moment) {
	add := func(at time.Time, what, source, surety string) {
		if !at.IsZero() {
			list = append(list, moment{at, what, source, surety})
		}
	}
	in := p.Incident
	add(in.CleanBefore, "last clean evidence before the fault", "request log", "measured")
	add(in.Began, "first request that shows the fault", "request and engine logs", "measured; it may have begun earlier")
	for _, direction := range []string{AsSource, AsRecipient} {
		for _, x := range p.Exposures {
			if x.Direction == direction {
				add(x.First, "your first request affected as "+direction+" ("+x.Defect+")", "replay", "by probability")
				add(x.Last, "your last request affected as "+direction+" ("+x.Defect+")", "replay", "by probability")
			}
		}
	}
	add(in.Ended, "last request that shows the fault", "request and engine logs", "measured; it may have gone on")
	add(in.CleanAfter, "first clean evidence after the fault", "request log", "measured")
	add(in.FirstSignal, "first signal at the provider", "stated by the provider", "stated")
	add(in.Aware, "provider aware", "stated by the provider", "stated")
	for _, n := range p.Notices {
		add(n.At, n.Kind, strings.TrimSpace(n.Channel+" "+n.Reference), "recorded by "+n.Who)
	}
	sortMoments(list)
	return list
}

func (p *Pack) timeline() workbook.Sheet {
	t := workbook.Table{Title: "Timeline", Columns: []workbook.Column{column("No.", 6), column("UTC", 24), column("London", 32), column("Event", 50), column("Source", 28), column("How sure", 30)}}
	for i, m := range p.moments() {
		t.Rows = append(t.Rows, []workbook.Cell{number(int64(i + 1)), text(assess.UTC(m.at)), text(assess.London(m.at)), text(m.what), text(m.source), text(m.surety)})
	}
	return workbook.Sheet{Name: "Timeline", Title: "Timeline", Blocks: []workbook.Block{t}}
}

// counts tells a direction and defect per row.
func (p *Pack) counts() workbook.Table {
	t := workbook.Table{Title: "By defect", Columns: []workbook.Column{column("Direction and defect", 30), column("Floor – best – ceiling, and state", 45), column("Why the counts differ, and what is not known", 60)}}
	for _, x := range p.Exposures {
		t.Rows = append(t.Rows, []workbook.Cell{text(x.Direction + ", " + x.Defect), text(ranged(x) + ": " + shown(x.State)), text(x.Reason)})
	}
	return t
}

// perDay charts the tenant's exposure over time.
func (p *Pack) perDay() []workbook.Block {
	days := p.days()
	if len(days) == 0 {
		return nil
	}
	t := workbook.Table{Title: "Per day, expected", Columns: []workbook.Column{column("Day (UTC)", 30), column("Your requests that others may have read", 45), column("Your requests that may have read others'", 60)}}
	for i := range t.Columns[1:] {
		t.Columns[i+1].Format = "0.0"
	}
	for _, d := range days {
		t.Rows = append(t.Rows, []workbook.Cell{text(d.day), workbook.Number(d.out), workbook.Number(d.in)})
	}
	return []workbook.Block{t, workbook.Chart{Title: "Your requests that others may have read, by day", Table: t.Title, Labels: t.Columns[0].Header, Values: t.Columns[1].Header}}
}

func (p *Pack) exposureSheet() workbook.Sheet {
	t := workbook.Table{Columns: []workbook.Column{column("Direction", 11), column("Request id", 36), column("Received (UTC)", 25), column("Defect", 21), column("Probability", 12),
		column("Tokens, expected", 12), column("Part", 9), column("From – to token", 17), column("Other customers", 34), column("Level and signs", 34)}}
	t.Columns[4].Format, t.Columns[5].Format = "0.00", "0"
	for _, x := range p.Out {
		var reach string
		if x.To > 0 {
			reach = fmt.Sprintf("%d – %d", x.From, x.To)
		}
		t.Rows = append(t.Rows, []workbook.Cell{text(AsSource), text(x.RequestID), text(assess.UTC(x.At)), text(x.Defect), workbook.Number(x.Probability), workbook.Number(x.Tokens),
			text(x.Part), text(reach), text(few(x.Readers)), nil})
	}
	for _, x := range p.In {
		whose := few(x.Origins)
		if x.UnknownOwner {
			whose = strings.TrimPrefix(whose+", and an owner whom no log names", ", and ")
		}
		t.Rows = append(t.Rows, []workbook.Cell{text(AsRecipient), text(x.RequestID), text(assess.UTC(x.At)), text(x.Defect), workbook.Number(min(x.Probability, x.Cross)), workbook.Number(x.Tokens),
			nil, nil, text(whose), text(x.Level + ": " + x.Rules)})
	}
	return workbook.Sheet{Name: "Exposure", Title: "Exposure: your requests, in both directions",
		Notes: []string{
			"Source: another customer's request may have read this one. Recipient: this one may have read another customer's.",
			"Probability: the share of replays of the page allocator that fit the logs in which it happened. Floor: reached with 99 % if probabilities are right. Best: their sum. Ceiling: every candidate, and what no log names.",
			"Names of other customers are pseudonyms, valid in this pack alone.",
		}, Blocks: []workbook.Block{t}}
}

// few names at most eight.
func few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// day sums up a day's expected requests.
type day struct {
	day     string
	out, in float64
}

func (p *Pack) days() (list []day) {
	index := map[string]int{}
	at := func(t time.Time) *day {
		if t.IsZero() {
			return nil
		}
		name := t.UTC().Format("2006-01-02")
		i, ok := index[name]
		if !ok {
			i = len(list)
			index[name] = i
			list = append(list, day{day: name})
		}
		return &list[i]
	}
	for _, x := range p.Out {
		if d := at(x.At); d != nil {
			d.out += x.Probability
		}
	}
	for _, x := range p.In {
		if d := at(x.At); d != nil {
			d.in += min(x.Probability, x.Cross)
		}
	}
	sortDays(list)
	return list
}

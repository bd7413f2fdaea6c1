package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kvforensics/internal/workbook"
	"kvforensics/notify/assess"
)

func sortMoments(list []moment) {
	slices.SortStableFunc(list, func(x, y moment) int { return x.at.Compare(y.at) })
}

func sortDays(list []day) {
	slices.SortFunc(list, func(x, y day) int { return cmp.Compare(x.day, y.day) })
}

func dataSheet(c assess.Config) workbook.Sheet {
	t := workbook.Table{Title: "Categories of personal data", Columns: []workbook.Column{column("Category", 48), column("Flag", 10),
		askedColumn("Present", 14, "yes_no", true), askedColumn("How much", 20, "", false), askedColumn("Confirmed by", 22, "", false)}}
	for _, item := range c.DataCategories.Items {
		t.Rows = append(t.Rows, []workbook.Cell{text(item.Text), text(string(item.Flag))})
	}
	people := workbook.Table{Title: "People concerned", Columns: []workbook.Column{askedColumn("Category of people", 36, "subjects", false),
		askedColumn("Fewest", 12, "", false), askedColumn("Best", 12, "", false), askedColumn("Most", 12, "", false),
		askedColumn("Records, fewest – most", 22, "", false), askedColumn("Countries", 24, "", false), askedColumn("Method", 40, "", false)},
		Rows: make([][]workbook.Cell, 6)}
	return workbook.Sheet{Name: "Data & people", Title: "Data and people",
		Notes:  []string{"Only you know what your requests held. Look up the request ids of the sheet Exposure in your own logs. State ranges, and say how you counted."},
		Blocks: []workbook.Block{t, people}}
}

func (p *Pack) recipientSheet() workbook.Sheet {
	who := func(title, what string, parties []Party, more ...workbook.Column) workbook.Table {
		t := workbook.Table{Title: title, Columns: append([]workbook.Column{column("Pseudonym", 14), column("Kind", 30), column("Region", 12), column("Sector", 18), column(what, 16)}, more...)}
		for _, x := range parties {
			t.Rows = append(t.Rows, []workbook.Cell{text(x.Pseudonym), text("business customer of the provider"), text(x.Region), text(x.Sector), number(int64(x.Events))})
		}
		return t
	}
	return workbook.Sheet{Name: "Recipients", Title: "Other customers, by pseudonym",
		Notes: []string{
			"The provider fills in what other customers confirm. Pseudonyms are valid in this pack alone; who is behind one is known to the provider only.",
			"A recipient counts as trusted only with stated grounds.",
		},
		Blocks: []workbook.Block{
			who("May have received your data", "Your requests", p.Recipients, column("Bound to confidentiality", 20), column("Told at", 20), column("Read?", 14), column("Passed on?", 14),
				column("Deleted?", 14), column("Confirmation ref", 20), askedColumn("Trusted?", 14, "yes_no", true), askedColumn("Grounds", 40, "", false)),
			who("Whose data may have reached you", "Your requests", p.Sources, askedColumn("Kept anywhere?", 16, "yes_no", true), askedColumn("Deleted at", 20, "", false),
				askedColumn("Passed on?", 14, "yes_no", true), askedColumn("Confirmed to the provider", 24, "", false)),
		}}
}

func (p *Pack) riskSheet() workbook.Sheet {
	return workbook.Sheet{Name: "Risk", Title: "Risk to people, by group",
		Notes: []string{"Assess groups apart where people differ (a secret address, children, patients). The worst group drives the result."},
		Blocks: []workbook.Block{workbook.Table{Title: "Groups", Columns: []workbook.Column{
			askedColumn("Group", 28, "", false), askedColumn("People, at most", 14, "", false), askedColumn("Harm", 30, "harm", false), askedColumn("Severity", 14, "severity", true),
			askedColumn("Likelihood that data was disclosed", 20, "likelihood", true), askedColumn("Likelihood of harm", 20, "likelihood", true), askedColumn("Reason", 50, "", false),
			askedColumn("What lessens it", 34, "", false), askedColumn("What remains", 34, "", false)},
			Rows: make([][]workbook.Cell, 8)}}}
}

// enisaSheet scores severity. Its formula stands where the layout of a form puts
// the cells: the first value lies in B7.
func (p *Pack) enisaSheet() workbook.Sheet {
	cell := func(row int) string { return fmt.Sprintf("B%d", enisaFirst+row) }
	score := assess.ScoreFormula(assess.Cells{Context: cell(0), Identification: cell(1), Confidentiality: cell(2), Integrity: cell(3), Availability: cell(4), Malice: cell(5)})
	return workbook.Sheet{Name: "ENISA", Title: "ENISA severity (2013 method, advisory)",
		Notes: []string{
			"SE = DPC × EI + circumstances. Below 2: low. From 2: medium. From 3: high. From 4: very high; a band begins at its limit.",
			"Not law, and no substitute for the sheet Risk. Score groups apart and keep the worst. There is no score until all six inputs are set.",
			"A software fault is not malicious (0). Fragments in answers of known, bound customers usually score 0.25 for confidentiality; 0.5 if those who received them cannot be listed.",
		},
		Blocks: []workbook.Block{workbook.Form{Title: "Inputs", Rows: []workbook.FormRow{
			asked("Data processing context (DPC)", "dpc", true, "1 simple, 2 behavioural, 3 financial, 4 sensitive, raised or lowered by volume and traits"),
			asked("Ease of identification (EI)", "ei", true, "0.25 negligible, 0.5 limited, 0.75 significant, 1 maximum"),
			asked("Loss of confidentiality", "circumstance", true, "0 no evidence of use, 0.25 known recipients, 0.5 unknown recipients"),
			asked("Loss of integrity", "circumstance", true, "0.25 recoverable, 0.5 not"),
			asked("Loss of availability", "circumstance", true, "0.25 temporary, 0.5 full"),
			asked("Malicious intent", "malice", true, "0 accident or fault, 0.5 intent"),
			{Label: "Severity (0: not yet scored)", Value: workbook.Formula{Expr: score}, Field: workbook.Field{By: provider, Format: "0.00"}},
			asked("More than 100 people?", "yes_no", true, "stands beside the score and does not change it"),
			asked("Unintelligible to others (encrypted, key safe)?", "yes_no", true, ""),
			asked("Art. 9 data?", "yes_no", true, ""),
			asked("Band that you set instead", "", false, "only with a reason"),
			asked("Reason", "", false, ""),
		}}}}
}

// enisaFirst is the row of the first input: heading, three notes, a gap and the
// form's title lie above it.
const enisaFirst = 7

// decisionSheet has a form for each question, so that it can be read and signed on
// paper.
func (p *Pack) decisionSheet(e Edition) (workbook.Sheet, error) {
	sheet := workbook.Sheet{Name: "Art 33 & 34 decisions", Title: "Decisions of the controller",
		Notes: []string{
			"The provider proposes on what it knows, which leaves out what your requests held. A named person decides, with a reason, also where nothing is notified.",
			"Whatever you decide: record the breach under Art. 33(5) (sheet Register row), near misses too.",
		}}
	for _, direction := range []string{AsSource, AsRecipient} {
		proposals, err := p.proposals(direction, e.Config.Matrix)
		if err != nil {
			return sheet, fmt.Errorf("propose for %s as %s: %w", p.Ref, direction, err)
		}
		for _, x := range proposals {
			form := workbook.Form{Title: fmt.Sprintf("As %s: %s", direction, x.Question), Rows: []workbook.FormRow{
				said("Proposal", x.Word), said("Decided by", "the "+x.DecidedBy), said("Facts", strings.Join(x.Facts, "\n")), said("Working", strings.Join(x.Working, "\n")),
				said("Not yet known", strings.Join(x.Missing, "\n"))}}
			if x.DecidedBy != "provider" {
				form.Rows = append(form.Rows, decisionRows(x.Duty)...)
			}
			sheet.Blocks = append(sheet.Blocks, form)
		}
	}
	return sheet, nil
}

func decisionRows(duty assess.Duty) []workbook.FormRow {
	rows := []workbook.FormRow{
		asked("Decision", "decision", true, ""), asked("Reason", "", false, "always, also where nothing is notified"), asked("Decided by (name)", "", false, ""), asked("Role", "", false, ""),
		asked("Date and time", "", false, "with zone"), asked("DPO's advice", "", false, ""), asked("Followed? If not, why", "", false, ""),
	}
	switch duty {
	case assess.NotifyRegulator:
		rows = append(rows, asked("If later than 72 hours: why", "", false, "Art. 33(1): reasons must accompany a late notification"))
	case assess.TellPeople:
		rows = append(rows, asked("Exemption under Art. 34(3)", "exemption", true, "with evidence"))
	}
	return rows
}

func (p *Pack) icoSheet(e Edition) workbook.Sheet {
	rows := []workbook.FormRow{}
	known := func(q, value string) { rows = append(rows, said(q, orUnknown(value))) }
	ask := func(q, list string) { rows = append(rows, asked(q, list, false, "")) }
	ask("1 Spoken to the regulator's staff already? With whom", "")
	known("2 Initial or follow-up report", "Initial report, unless you have reported before")
	ask("3 Case reference of an earlier report", "")
	known("4 What happened, and how", p.whatHappened())
	known("5 Caused by a cyber incident?", "No: a software fault, no attack is known")
	known("6 How it was found", "The provider found it in request and engine logs and told its customers")
	known("7 When it was discovered (by the provider)", assess.UTC(p.Incident.Aware))
	known("8 When it happened", span(p.Incident))
	ask("9 Categories of personal data (sheet Data & people)", "")
	ask("10 Number of records", "")
	ask("11 Number of people who could be affected", "")
	ask("12 Categories of people", "subjects")
	ask("13 Potential consequences", "")
	ask("14 Likelihood of significant consequences", "likelihood")
	known("15 Confidentiality, integrity or availability", "Confidentiality, not ruled out; integrity of answers that you received may be affected too")
	rows = append(rows, asked("16 Impact on your organisation", "impact", false, "cyber incidents only"), asked("17 Recovery time", "recovery", false, "cyber incidents only"))
	ask("18 Data-protection training of staff involved", "")
	ask("19 If the report is late, why", "")
	known("20 Measures in place before (at the provider)", "See the notice; your own: please add")
	known("21 Actions taken (at the provider)", "See the notice; your own: please add")
	ask("22 Steps to prevent it happening again, with dates", "")
	rows = append(rows, asked("23 Have you told the people?", "told", false, ""))
	ask("24 Other organisations told", "")
	ask("25 Organisation, registration number, address, sector", "")
	ask("26 Person reporting", "")
	ask("27 Data Protection Officer or contact", "")
	known("28 Others involved", "The provider, as "+string(p.Incident.Role)+", incident "+p.Incident.Ref)
	return workbook.Sheet{Name: "ICO form answers", Title: "Answers for the form of the " + e.Config.Regulator.DisplayName,
		Notes:  []string{"In the order of the form. Put no personal data into a report: no names, no prompt text."},
		Blocks: []workbook.Block{workbook.Form{Rows: rows}}}
}

// whatHappened says it in words that a tenant can use as they are.
func (p *Pack) whatHappened() string {
	return "A hosted AI service that we use kept working memory of finished requests and, by a software fault, let later requests of other customers compute over it. " +
		"Requests that should have been refused as too long, or that were cancelled, could be answered with the help of another customer's data. " +
		"The answers were fluent and no error was logged. Seen from us: as source " + shown(p.state(AsSource)) + ", as recipient " + shown(p.state(AsRecipient)) + "."
}

func span(in *Incident) string {
	if in.Began.IsZero() {
		return ""
	}
	return assess.UTC(in.Began) + " to " + assess.UTC(in.Ended) + " by the evidence; it may have begun earlier and ended later"
}

func (p *Pack) registerSheet(e Edition) workbook.Sheet {
	var rows []workbook.FormRow
	for _, c := range p.register(e) {
		if c.value == "" {
			rows = append(rows, asked(c.name, "", false, ""))
		} else {
			rows = append(rows, said(c.name, c.value))
		}
	}
	return workbook.Sheet{Name: "Register row", Title: "Row for your register under Art. 33(5)",
		Notes: []string{"Also as register.csv. Keep it even if nothing is notified."}, Blocks: []workbook.Block{workbook.Form{Rows: rows}}}
}

func (p *Pack) actionSheet() workbook.Sheet {
	t := workbook.Table{Title: "Actions", Columns: []workbook.Column{column("No.", 6), column("Action", 70), askedColumn("Owner", 22, "", false), askedColumn("Due", 16, "", false),
		askedColumn("Status", 14, "status", true), askedColumn("Closed", 16, "", false)}}
	for i, a := range p.actions() {
		t.Rows = append(t.Rows, []workbook.Cell{number(int64(i + 1)), text(a)})
	}
	return workbook.Sheet{Name: "Actions", Title: "Actions", Blocks: []workbook.Block{t}}
}

// actions are what the tenant should do now.
func (p *Pack) actions() (list []string) {
	list = []string{"Keep your own logs of the time in question, and stop their deletion."}
	if p.state(AsSource) != "ruled out" {
		list = append(list, "Look up the request ids of the sheet Exposure: what personal data did prompts and answers hold, and of how many people?")
	}
	if p.state(AsRecipient) != "ruled out" {
		list = append(list, "Search stored answers of the request ids listed as recipient. Do not read on, copy, forward or train on them; keep a hash and the time, then delete.",
			"Tell the provider whether such an answer was read, stored or passed on, and confirm the deletion in writing.")
	}
	return append(list, "Decide on Art. 33 and Art. 34, with reasons (sheet Art 33 & 34 decisions).", "Enter the breach in your register (sheet Register row).",
		"If you are a processor for others: pass the notice on without undue delay.", "Tell the provider when you received the notice, and when you consider yourself aware.")
}

func (p *Pack) limitSheet() workbook.Sheet {
	method := workbook.Table{Title: "Evidence", Columns: []workbook.Column{column("Id", 8), column("What", 40), column("Source", 34), column("Limits", 80)}, Rows: [][]workbook.Cell{
		{text("E1"), text("Request records of the gateway"), text("provider; digests in the provider's case"), text("what the gateway did not log can't be seen")},
		{text("E2"), text("Logs of prefill and decode engines"), text("provider; digests in the provider's case"), text("neither fault leaves an error or a line of its own")},
		{text("E3"), text("Replay of page allocators"), text("kvforensics"), text("a model: measured on simulated incidents, and by the controls below")},
	}}
	limits := workbook.Table{Title: "What the evidence could not show", Columns: []workbook.Column{column("Kind", 14), column("Of", 30), column("Limitation", 110)}}
	for _, l := range p.Incident.Limits {
		limits.Rows = append(limits.Rows, []workbook.Cell{text(l.What), text(l.Subject), text(l.Limitation)})
	}
	return workbook.Sheet{Name: "Evidence & limits", Title: "Evidence, and what it could not show", Blocks: []workbook.Block{method, limits}}
}

func (p *Pack) noticeSheet() workbook.Sheet {
	t := workbook.Table{Title: "Notices", Columns: []workbook.Column{column("Step", 18), column("UTC", 24), column("London", 32), column("Who", 24), column("Channel", 18), column("Reference", 24), column("Note", 50)}}
	for _, n := range p.Notices {
		t.Rows = append(t.Rows, []workbook.Cell{text(n.Kind), text(assess.UTC(n.At)), text(assess.London(n.At)), text(n.Who), text(n.Channel), text(n.Reference), text(n.Note)})
	}
	more := workbook.Table{Title: "Yours", Columns: []workbook.Column{askedColumn("Step", 18, "", false), askedColumn("When (with zone)", 24, "", false), askedColumn("Who", 24, "", false),
		askedColumn("To whom", 24, "", false), askedColumn("Channel and reference", 30, "", false)}, Rows: make([][]workbook.Cell, 6)}
	return workbook.Sheet{Name: "Notices", Title: "Who was told what, and when", Blocks: []workbook.Block{t, more}}
}

func (p *Pack) changeSheet(e Edition) workbook.Sheet {
	t := workbook.Table{Title: "Changes", Columns: []workbook.Column{column("Version", 10), column("When (UTC)", 24), column("Who", 22), column("What", 60), column("Why", 40)},
		Rows: [][]workbook.Cell{{text(fmt.Sprintf("v%02d", e.Number)), text(assess.UTC(e.Built)), text("kvforensics " + e.Program), text("built from the provider's case"), text("Art. 33(4): later versions follow as facts come in")}}}
	return workbook.Sheet{Name: "Change log", Title: "Change log", Blocks: []workbook.Block{t}}
}

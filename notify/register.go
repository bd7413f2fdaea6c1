package notify

import (
	"encoding/csv"
	"fmt"
	"strings"

	"kvforensics/internal/workbook"
	"kvforensics/notify/assess"
)

// cell is a column of the register with its value; "" is for the tenant to fill.
type registerCell struct{ name, value string }

// register is the row for the tenant's own register of breaches (Art. 33(5)).
func (p *Pack) register(e Edition) []registerCell {
	in := p.Incident
	late := func(state string) string {
		if state == "ruled out" {
			return "no"
		}
		return shown(state)
	}
	return []registerCell{
		{"ref", p.Ref}, {"incident", in.Ref}, {"regime", ""}, {"role", p.Tenant.Role}, {"processor", "provider, incident " + in.Ref},
		{"breach start", orUnknown(assess.UTC(in.Began))}, {"breach end", orUnknown(assess.UTC(in.Ended))}, {"first signal", orUnknown(assess.UTC(in.FirstSignal))},
		{"processor aware", orUnknown(assess.UTC(in.Aware))}, {"notice received", assess.UTC(p.at(Received))}, {"aware", assess.UTC(p.at(TenantAware))},
		{"discovered how", "told by the provider"}, {"description", p.whatHappened()}, {"cause", "software fault at the provider (" + in.Defects + ")"},
		{"confidentiality, integrity, availability", "confidentiality not ruled out; integrity of answers received not ruled out"}, {"systems", in.Model},
		{"as source", late(p.state(AsSource))}, {"own requests within reach of others (floor – best – ceiling)", ranged(p.sum(AsSource))},
		{"as recipient", late(p.state(AsRecipient))}, {"own requests that could read others (floor – best – ceiling)", ranged(p.sum(AsRecipient))},
		{"data categories", ""}, {"Art. 9", ""}, {"Art. 10", ""}, {"subject categories", ""}, {"children or vulnerable", ""},
		{"people min", ""}, {"people best", ""}, {"people max", ""}, {"records min", ""}, {"records best", ""}, {"records max", ""}, {"countries", ""},
		{"effects so far", ""}, {"likely consequences", ""}, {"measures before", ""}, {"containment", ""}, {"deletion confirmed", ""},
		{"likelihood", ""}, {"severity", ""}, {"ENISA severity and band", ""}, {"override and reason", ""},
		{"Art. 33 decision", ""}, {"reason", ""}, {"notified at", assess.UTC(p.at(RegulatorTold))}, {"regulator's reference", ""}, {"reason for delay", ""},
		{"Art. 34 decision", ""}, {"exemption", ""}, {"people told at", assess.UTC(p.at(PeopleTold))}, {"other bodies told", ""}, {"complaints received (" + complaints(e.Config) + ")", ""},
		{"prevention: action, owner, due", ""}, {"lessons", ""}, {"near miss", ""}, {"decided by, role, date", ""}, {"DPO's advice, date", ""}, {"followed, or why not", ""},
		{"next review", ""}, {"closed", ""}, {"pack", fmt.Sprintf("v%02d of %s", e.Number, assess.UTC(e.Built))},
	}
}

// complaints cites where people complain to the controller.
func complaints(c assess.Config) string {
	text, err := c.Cite(assess.CiteComplaintToController)
	if err != nil {
		return "controller"
	}
	return text
}

// registerCSV is the register's row as CSV, safe to open in a spreadsheet.
func (p *Pack) registerCSV(e Edition) ([]byte, error) {
	var names, values []string
	for _, c := range p.register(e) {
		names, values = append(names, workbook.CSVCell(c.name)), append(values, workbook.CSVCell(c.value))
	}
	return csvOf([][]string{names, values})
}

func csvOf(rows [][]string) ([]byte, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

package assess

import "fmt"

// groupRisk is the risk to a group with its working.
type groupRisk struct {
	group     Group
	low, high Level // what the risk can be, for what is not yet known
	working   []string
	missing   []string
}

func (g *groupRisk) workf(format string, args ...any) {
	g.working = append(g.working, "Group "+g.group.title()+": "+fmt.Sprintf(format, args...)+".")
}

// raise sets a floor under the risk.
func (g *groupRisk) raise(floor Level, why string) {
	if g.low < floor {
		g.low, g.high = floor, max(g.high, floor)
		g.workf("%s, so the proposal is not below %q", why, floor)
	}
}

func (g *groupRisk) fact() string {
	return fmt.Sprintf("Group %s: disclosure %s, harm if disclosed %s, severity of that harm %s, Art. 9 data %s, Art. 10 data %s, vulnerable people %s.",
		g.group.title(), shown(g.group.Disclosure), shown(g.group.Likelihood), shown(g.group.Severity),
		g.group.Article9, g.group.Article10, g.group.Vulnerable)
}

// risk judges a group by the matrix. Facts about the data and the recipients
// only raise what the matrix says: the assessor's likelihood already counts
// what is reassuring.
func (f Facts) risk(group Group, m Matrix) groupRisk {
	g := groupRisk{group: group}
	g.low, g.high = m.between(group.Severity, group.Likelihood)
	g.workf("severity %s and likelihood %s give %s", shown(group.Severity), shown(group.Likelihood), span(g.low, g.high))
	for _, q := range []struct {
		what  string
		known bool
	}{
		{"likelihood of disclosure", known(group.Disclosure) || f.Exposure.State != NotRuledOut},
		{"likelihood of harm", known(group.Likelihood)},
		{"severity of harm", known(group.Severity)},
		{"Art. 9 data", known(group.Article9)},
		{"Art. 10 data", known(group.Article10)},
		{"vulnerable people", known(group.Vulnerable)},
	} {
		if !q.known {
			g.missing = append(g.missing, group.title()+": "+q.what)
		}
	}
	if f.Exposure.State == RuledOut {
		return g
	}
	if why := group.sensitivity(); why != "" {
		g.raise(RiskLikely, why+", and disclosure is not ruled out")
	}
	// What is not ruled out is judged as if it had happened (section 5.4).
	state := "disclosure is confirmed"
	if f.Exposure.State == NotRuledOut {
		if !known(group.Severity) {
			return g // the range already holds every harm
		}
		state = "disclosure is not ruled out"
	}
	if group.Severity != NoHarm && group.Severity != MinorHarm {
		g.raise(RiskLikely, state+", and the harm may be more than minor")
	}
	if why := f.Recipients.distrust(); why != "" && group.Severity != NoHarm {
		g.raise(RiskLikely, state+", and "+why)
	} else if why == "" {
		g.workf("every recipient is trusted on the grounds stated")
	}
	return g
}

// span gives the words for what lies between two levels.
func span(low, high Level) string {
	if low == high {
		return low.String()
	}
	return fmt.Sprintf("%s to %s", low, high)
}

package assess

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kvforensics/internal/evidence"
)

// mild is a group of people to whom little can happen.
func mild() Group {
	return Group{
		Name: "customers", People: evidence.Some[int64](40), Article9: No, Article10: No, Vulnerable: No,
		Disclosure: Likely, Likelihood: Unlikely, Severity: MinorHarm, Reason: "names only",
	}
}

// confirmedBreach is L4: one colleague received the data and deleted it.
func confirmedBreach() Facts {
	return Facts{
		Role: Controller, SecurityFailure: Yes, PersonalData: Yes, Integrity: No, Availability: No,
		Exposure: Exposure{State: Confirmed, EvidenceIDs: []string{"EV-1"}, Method: "hash match", Coverage: evidence.Some(1.0)},
		Groups:   []Group{mild()},
		Recipients: Recipients{Complete: Yes, List: []Recipient{{
			Pseudonym: "R-7KQ2", Inside: Yes, PassedOn: No, Deleted: Yes, Confirmation: "mail of 13 March", Grounds: "colleague bound by the staff handbook",
		}}},
	}
}

func propose(t *testing.T, f Facts) map[Duty]Proposal {
	t.Helper()
	list, err := Propose(f, shipped(t).Matrix)
	if err != nil {
		t.Fatal(err)
	}
	byDuty := map[Duty]Proposal{}
	for _, p := range list {
		byDuty[p.Duty] = p
	}
	return byDuty
}

func wantWords(t *testing.T, got map[Duty]Proposal, want map[Duty]string) {
	t.Helper()
	for duty, word := range want {
		if got[duty].Word != word {
			t.Errorf("%s: got %q, want %q; working: %q", duty, got[duty].Word, word, got[duty].Working)
		}
	}
}

func mentions(p Proposal, text string) bool {
	return strings.Contains(strings.Join(slices.Concat(p.Facts, p.Working, p.Missing), "\n"), text)
}

// L1, and the other parts of the definition.
func TestGate(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"L1 no personal data": func(f *Facts) { f.PersonalData = No },
		"no security failure": func(f *Facts) { f.SecurityFailure = No },
		"no effect":           func(f *Facts) { f.Exposure.State = RuledOut },
		"no data, rest open":  func(f *Facts) { f.PersonalData, f.SecurityFailure = No, NotYetKnown },
	} {
		t.Run(name, func(t *testing.T) {
			f := confirmedBreach()
			change(&f)
			got := propose(t, f)
			for _, duty := range []Duty{Breach, NotifyRegulator, TellPeople} {
				if p := got[duty]; p.Word != WordNoBreach || !p.ReasonRequired || p.Low != 0 || p.High != 0 {
					t.Errorf("%s: got %+v", duty, p)
				}
			}
		})
	}
	for name, change := range map[string]func(*Facts){
		"personal data":    func(f *Facts) { f.PersonalData = "" },
		"security failure": func(f *Facts) { f.SecurityFailure = NotYetKnown },
		"effect":           func(f *Facts) { f.Exposure.State = NotRuledOut },
		"effect, other":    func(f *Facts) { f.Exposure.State, f.Integrity = RuledOut, NotYetKnown },
	} {
		f := confirmedBreach()
		change(&f)
		if p := propose(t, f)[Breach]; p.Word != WordBreachUnknown || len(p.Missing) != 1 {
			t.Errorf("%s not yet known: got %+v", name, p)
		}
	}
	f := confirmedBreach()
	f.Exposure.State, f.Availability = RuledOut, Yes
	wantWords(t, propose(t, f), map[Duty]string{Breach: WordBreach})
}

// L2
func TestHealthDataNotRuledOut(t *testing.T) {
	f := confirmedBreach()
	f.Exposure = Exposure{State: NotRuledOut, Method: "logs read", Coverage: evidence.Some(0.4)}
	f.ProgramState = "exposed"
	f.Groups[0].Article9 = Yes
	p := propose(t, f)[NotifyRegulator]
	if p.Low < RiskLikely || p.Word != WordRisk {
		t.Errorf("got %q, %s to %s", p.Word, p.Low, p.High)
	}
	for _, text := range []string{"40 %", "exposed (disclosure not ruled out)", "Art. 9", "as if it had happened"} {
		if !mentions(p, text) {
			t.Errorf("proposal does not mention %q: %+v", text, p)
		}
	}
	f.Exposure.State, f.ProgramState, f.Exposure.EvidenceIDs = RuledOut, "ruled out", []string{"EV-1"}
	if list, err := Propose(f, shipped(t).Matrix); err == nil {
		t.Errorf("logs of 40 %% rule it out: %+v", list)
	}
}

// Unknown sensitivity must not pass for none.
func TestSensitivityNotYetKnown(t *testing.T) {
	for name, change := range map[string]func(*Group){
		"Art. 9":     func(g *Group) { g.Article9 = NotYetKnown },
		"Art. 10":    func(g *Group) { g.Article10 = "" },
		"vulnerable": func(g *Group) { g.Vulnerable = Yes },
	} {
		f := confirmedBreach()
		change(&f.Groups[0])
		if p := propose(t, f)[NotifyRegulator]; p.Word != WordRisk || !mentions(p, name) {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

// L3
func TestRuledOutWithoutEvidenceIsAnError(t *testing.T) {
	f := confirmedBreach()
	f.Exposure.State, f.Exposure.EvidenceIDs = RuledOut, nil
	if _, err := Propose(f, shipped(t).Matrix); err == nil || !strings.Contains(err.Error(), "without an evidence id") {
		t.Errorf("error is %v", err)
	}
}

// L4 and L5
func TestTrustedRecipient(t *testing.T) {
	p := propose(t, confirmedBreach())[NotifyRegulator]
	if p.Word != WordUnlikely || !p.ReasonRequired || p.High != RiskUnlikely {
		t.Errorf("L4: got %+v", p)
	}
	for name, change := range map[string]func(*Facts){
		"L4 without grounds":  func(f *Facts) { f.Recipients.List[0].Grounds = " " },
		"L5 outside, promise": func(f *Facts) { r := &f.Recipients.List[0]; r.Inside, r.Deleted = No, NotYetKnown },
		"outside, confirmed":  func(f *Facts) { f.Recipients.List[0].Inside = No },
		"promise":             func(f *Facts) { f.Recipients.List[0].Confirmation = "" },
		"passed on":           func(f *Facts) { f.Recipients.List[0].PassedOn = Yes },
		"passed on, unknown":  func(f *Facts) { f.Recipients.List[0].PassedOn = "" },
		"more recipients":     func(f *Facts) { f.Recipients.Complete = NotYetKnown },
		"no recipient named":  func(f *Facts) { f.Recipients.List = nil },
		"more than minor":     func(f *Facts) { f.Groups[0].Severity, f.Groups[0].Likelihood = ModerateHarm, VeryUnlikely },
		"one of two":          func(f *Facts) { f.Recipients.List = append(f.Recipients.List, Recipient{Pseudonym: "R-2"}) },
	} {
		f := confirmedBreach()
		change(&f)
		if p := propose(t, f)[NotifyRegulator]; p.Word != WordRisk || p.Low != RiskLikely {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

// L6
func TestSubgroupIsNotAveragedAway(t *testing.T) {
	f := confirmedBreach()
	f.Groups[0].Name, f.Groups[0].People = "low risk", evidence.Some[int64](250000)
	secret := mild()
	secret.Name, secret.People, secret.Likelihood, secret.Severity = "secret addresses", evidence.Some[int64](12), Likely, SevereHarm
	f.Groups = append(f.Groups, secret)
	got := propose(t, f)
	wantWords(t, got, map[Duty]string{NotifyRegulator: WordHighRisk, TellPeople: WordTell})
	if p := got[TellPeople]; !slices.Equal(p.Groups, []string{"secret addresses"}) || !mentions(p, "(at most 12)") {
		t.Errorf("people to tell: %q", p.Groups)
	}
}

// L7, and the other exemptions.
func TestExemptions(t *testing.T) {
	ids := []string{"EV-9"}
	for name, tt := range map[string]struct {
		exemption Exemption
		word      string
		says      string
	}{
		"none claimed":        {Exemption{}, WordTell, "severe"},
		"L7 key on same host": {Exemption{Kind: Unintelligible, Measure: "AES", Evidence: ids, DataUnintelligible: Yes, KeyApart: No}, WordTell, "is rejected"},
		"a, readable":         {Exemption{Kind: Unintelligible, Measure: "AES", Evidence: ids, DataUnintelligible: No, KeyApart: Yes}, WordTell, "is rejected"},
		"a, key unknown":      {Exemption{Kind: Unintelligible, Measure: "AES", Evidence: ids, DataUnintelligible: Yes}, WordTell, "is not shown so far"},
		"a, no evidence":      {Exemption{Kind: Unintelligible, Measure: "AES", DataUnintelligible: Yes, KeyApart: Yes}, WordTell, "evidence for the exemption"},
		"a":                   {Exemption{Kind: Unintelligible, Measure: "AES", Evidence: ids, DataUnintelligible: Yes, KeyApart: Yes}, WordExempt, "EV-9"},
		"b":                   {Exemption{Kind: Mitigated, Measure: "all passwords reset", Evidence: ids, HighRiskGone: Yes}, WordExempt, "34(3)(b)"},
		"b, no measures":      {Exemption{Kind: Mitigated, Evidence: ids, HighRiskGone: Yes}, WordTell, "which measures"},
		"b, risk remains":     {Exemption{Kind: Mitigated, Measure: "m", Evidence: ids, HighRiskGone: No}, WordTell, "is rejected"},
		"c":                   {Exemption{Kind: Disproportion, Measure: "public notice", Evidence: ids, Effort: "no addresses"}, WordExempt, "34(3)(c)"},
		"c, nothing public":   {Exemption{Kind: Disproportion, Evidence: ids, Effort: "no addresses"}, WordTell, "how the public is told"},
		"c, no effort":        {Exemption{Kind: Disproportion, Measure: "public notice", Evidence: ids}, WordTell, "disproportionate"},
	} {
		f := confirmedBreach()
		f.Groups[0].Severity, f.Groups[0].Likelihood = SevereHarm, VeryLikely
		f.Exemption = tt.exemption
		got := propose(t, f)
		wantWords(t, got, map[Duty]string{NotifyRegulator: WordHighRisk, TellPeople: tt.word})
		if !mentions(got[TellPeople], tt.says) {
			t.Errorf("%s: does not say %q: %+v", name, tt.says, got[TellPeople])
		}
	}
	f := confirmedBreach()
	f.Exemption = Exemption{Kind: Unintelligible, Measure: "AES", Evidence: ids, DataUnintelligible: Yes, KeyApart: Yes}
	got := propose(t, f)
	wantWords(t, got, map[Duty]string{TellPeople: WordNoHighRisk})
	if mentions(got[TellPeople], "exemption") {
		t.Errorf("there is nothing to be exempt from: %+v", got[TellPeople])
	}
	f.Groups[0].Severity = NotYetKnown
	got = propose(t, f)
	wantWords(t, got, map[Duty]string{TellPeople: WordTellUnknown})
	if !mentions(got[TellPeople], "is shown by EV-9") {
		t.Errorf("the exemption is not weighed: %+v", got[TellPeople])
	}
}

// L8
func TestProcessorLeavesDecisionsToTheTenant(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"breach":           func(*Facts) {},
		"no personal data": func(f *Facts) { f.PersonalData = No },
		"nothing known": func(f *Facts) {
			*f = Facts{Exposure: Exposure{State: NotRuledOut, Method: "no logs"}}
		},
	} {
		f := confirmedBreach()
		change(&f)
		f.Role = Processor
		got := propose(t, f)
		for _, duty := range []Duty{Breach, NotifyRegulator, TellPeople} {
			if got[duty].DecidedBy != "tenant" {
				t.Errorf("%s, %s: decided by %q", name, duty, got[duty].DecidedBy)
			}
		}
		if p := got[NotifyTenant]; p.Word != WordNotice || p.DecidedBy != "provider" {
			t.Errorf("%s: notice is %+v", name, p)
		}
	}
	got := propose(t, confirmedBreach())
	if _, ok := got[NotifyTenant]; ok || got[NotifyRegulator].DecidedBy != "controller" {
		t.Errorf("a controller gets %+v", got)
	}
}

func TestUnknownFacts(t *testing.T) {
	open := confirmedBreach()
	open.Exposure = Exposure{State: NotRuledOut, Method: "no logs"}
	open.Groups[0].Severity, open.Groups[0].Disclosure = NotYetKnown, ""
	got := propose(t, open)
	wantWords(t, got, map[Duty]string{NotifyRegulator: WordUnknown, TellPeople: WordTellUnknown})
	for _, missing := range []string{"severity of harm", "likelihood of disclosure"} {
		if !mentions(Proposal{Missing: got[NotifyRegulator].Missing}, missing) {
			t.Errorf("%q is not missing: %q", missing, got[NotifyRegulator].Missing)
		}
	}
	open.Groups[0].Article9 = NotYetKnown
	wantWords(t, propose(t, open), map[Duty]string{NotifyRegulator: WordRisk, TellPeople: WordTellUnknown})
	open.Groups = nil
	wantWords(t, propose(t, open), map[Duty]string{NotifyRegulator: WordUnknown, TellPeople: WordTellUnknown})
}

func TestFactsOutOfTheirLists(t *testing.T) {
	for fault, change := range map[string]func(*Facts){
		"role is":              func(f *Facts) { f.Role = "" },
		"personal data is":     func(f *Facts) { f.PersonalData = "yes" },
		"does not mean":        func(f *Facts) { f.ProgramState = "exposed" },
		"is unknown":           func(f *Facts) { f.ProgramState = "leaked" },
		"likelihood is":        func(f *Facts) { f.Groups[0].Likelihood = "likely" },
		"severity is":          func(f *Facts) { f.Groups[0].Severity = "bad" },
		"without a reason":     func(f *Facts) { f.Groups[0].Severity, f.Groups[0].Reason = NoHarm, "" },
		"has no name":          func(f *Facts) { f.Groups[0].Name = "" },
		"number of people":     func(f *Facts) { f.Groups[0].People = evidence.Some[int64](-1) },
		"exemption is":         func(f *Facts) { f.Exemption.Kind = "d" },
		`recipient "R-7KQ2":`:  func(f *Facts) { f.Recipients.List[0].Deleted = "promised" },
		"method is not stated": func(f *Facts) { f.Exposure.Method = "" },
	} {
		f := confirmedBreach()
		change(&f)
		if _, err := Propose(f, shipped(t).Matrix); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("error is %v, want %q", err, fault)
		}
	}
	for name, m := range map[string]Matrix{
		"empty": {}, "gap": {Levels: map[Harm]map[Likelihood]Level{MinorHarm: {Likely: HighRisk}}},
	} {
		if _, err := Propose(confirmedBreach(), m); err == nil {
			t.Errorf("a matrix that is %s is taken", name)
		}
	}
}

func TestMatrixCanBeReplaced(t *testing.T) {
	text := strings.Replace(string(shippedPicklists), "    minor:\n      Very unlikely: risk unlikely\n      Unlikely: risk unlikely", "    minor:\n      Very unlikely: risk unlikely\n      Unlikely: risk likely", 1)
	own, err := ReadConfig("own.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Propose(confirmedBreach(), own.Matrix)
	if err != nil {
		t.Fatal(err)
	}
	if got := list[1]; got.Duty != NotifyRegulator || got.Word != WordRisk {
		t.Errorf("got %+v", got)
	}
}

// anyFacts draws facts that are in their lists.
func anyFacts(r *rand.Rand) Facts {
	answer := func() Answer { return []Answer{Yes, No, NotYetKnown}[r.IntN(3)] }
	text := func() string { return []string{"", "stated"}[r.IntN(2)] }
	likelihood := func() Likelihood { return append(slices.Clone(likelihoods), NotYetKnown)[r.IntN(6)] }
	f := Facts{
		Role: []Role{Controller, Processor}[r.IntN(2)], SecurityFailure: answer(), PersonalData: answer(), Integrity: answer(), Availability: answer(),
		Exposure: Exposure{
			State: []State{Confirmed, NotRuledOut, RuledOut}[r.IntN(3)], EvidenceIDs: []string{"EV-1"}, Method: "m", Coverage: evidence.Some(1.0),
		},
		Exemption: Exemption{
			Kind: []ExemptionKind{NoExemption, Unintelligible, Mitigated, Disproportion}[r.IntN(4)], Measure: text(), Evidence: []string{"EV-2"}[:r.IntN(2)],
			DataUnintelligible: answer(), KeyApart: answer(), HighRiskGone: answer(), Effort: text(),
		},
		Recipients: Recipients{Complete: answer()},
	}
	for i := range r.IntN(3) {
		f.Groups = append(f.Groups, Group{
			Name: fmt.Sprint("group ", i), Article9: answer(), Article10: answer(), Vulnerable: answer(), Disclosure: likelihood(), Likelihood: likelihood(),
			Severity: append(slices.Clone(harms), NotYetKnown)[r.IntN(6)], Reason: "r",
		})
	}
	for range r.IntN(3) {
		f.Recipients.List = append(f.Recipients.List, Recipient{Inside: answer(), PassedOn: answer(), Deleted: answer(), Confirmation: text(), Grounds: text()})
	}
	return f
}

func TestProposalsOverManyFacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matrix := shipped(t).Matrix
	seen := map[string]int{}
	for range 20000 {
		f := anyFacts(r)
		list, err := Propose(f, matrix)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		again, err := Propose(f, matrix)
		if err != nil || !reflect.DeepEqual(list, again) {
			t.Fatalf("%+v: two answers", f)
		}
		for _, p := range list {
			seen[p.Word]++
			all := strings.Join(slices.Concat([]string{p.Question, p.Word}, p.Facts, p.Working, p.Missing), "\n")
			if strings.Contains(strings.ToLower(all), "notifiable") {
				t.Fatalf("%+v: decides: %s", f, all)
			}
			if p.Question == "" || p.DecidedBy == "" || len(p.Working) == 0 || p.Low > p.High {
				t.Fatalf("%+v: incomplete: %+v", f, p)
			}
			if p.Duty != NotifyTenant && !strings.Contains(p.Word, "the controller decides") {
				t.Fatalf("%+v: leaves no decision: %+v", f, p)
			}
		}
		worse(t, f, matrix, list)
	}
	for _, word := range []string{
		WordNoBreach, WordBreach, WordBreachUnknown, WordUnlikely, WordUnknown, WordRisk, WordHighRisk,
		WordNoHighRisk, WordTellUnknown, WordTell, WordExempt, WordNotice,
	} {
		if seen[word] == 0 {
			t.Errorf("no facts lead to %q", word)
		}
	}
}

// worse makes one thing worse at a time; no risk may fall.
func worse(t *testing.T, f Facts, m Matrix, before []Proposal) {
	t.Helper()
	for i := range f.Groups {
		for name, change := range map[string]func(*Group){
			"harm": func(g *Group) {
				if at := slices.Index(harms, g.Severity); at >= 0 {
					g.Severity = harms[min(at+1, len(harms)-1)]
				}
			},
			"likelihood": func(g *Group) {
				if at := slices.Index(likelihoods, g.Likelihood); at >= 0 {
					g.Likelihood = likelihoods[min(at+1, len(likelihoods)-1)]
				}
			},
			"Art. 9": func(g *Group) { g.Article9 = Yes },
		} {
			changed := f
			changed.Groups = slices.Clone(f.Groups)
			change(&changed.Groups[i])
			after, err := Propose(changed, m)
			if err != nil {
				t.Fatal(err)
			}
			for k := range before {
				if after[k].Low < before[k].Low || after[k].High < before[k].High {
					t.Fatalf("%+v: more %s lowers %s", f, name, before[k].Duty)
				}
			}
		}
	}
}

// L9
func TestLintLetter(t *testing.T) {
	c := shipped(t)
	for _, text := range []string{
		"You may complain under Art. 77 UK GDPR.", "article 77", "Art.77(1)", "Article\u00a077", "Articles 12, 15(1) and 77 of the UK GDPR", "ARTICLE\n77",
	} {
		got := c.LintLetter("Dear reader,\n" + text)
		if len(got) != 1 || got[0].Line != 2 || !strings.Contains(got[0].Problem, "s.164A") || !strings.Contains(got[0].Problem, "s.165") {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	for _, text := range []string{"This is not notifiable.", "NOT\nnotifiable", "Not notifiable"} {
		if got := c.LintLetter(text); len(got) != 1 || got[0].Line != 1 {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	for _, text := range []string{"", "You may complain to us (s.164A) or to the ICO (s.165).", "Art. 7 and 177", "Art. 770", "77 people", "a notifiable breach", "part 77"} {
		if got := c.LintLetter(text); got != nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	if got := c.LintLetter("not notifiable\nArt. 77"); len(got) != 2 || got[0].Line != 1 || got[1].Line != 2 {
		t.Errorf("order is %+v", got)
	}
}

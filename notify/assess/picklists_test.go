package assess

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func shipped(t *testing.T) Config {
	t.Helper()
	c, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Config) lists() map[string]*List {
	return map[string]*List{
		"data categories": &c.DataCategories, "subject categories": &c.SubjectCategories, "likelihood": &c.Likelihood,
		"harms": &c.Harms, "effects": &c.Effects, "impact": &c.Impact, "recovery": &c.Recovery, "told": &c.Told, "exemptions": &c.Exemptions,
	}
}

func TestShippedListsSayWhereTheyAreFrom(t *testing.T) {
	c := shipped(t)
	sizes := map[string]int{
		"data categories": 17, "subject categories": 10, "likelihood": 6, "harms": 12, "effects": 4,
		"impact": 4, "recovery": 6, "told": 7, "exemptions": 5,
	}
	for name, list := range c.lists() {
		if len(list.Items) != sizes[name] {
			t.Errorf("%s has %d items, want %d", name, len(list.Items), sizes[name])
		}
		if !slices.Contains(list.Texts(), NotYetKnown) {
			t.Errorf("%s lacks %q", name, NotYetKnown)
		}
		for _, item := range list.Items {
			if item.Mark == "" || item.Source == "" {
				t.Errorf("%s: %q has no mark or source", name, item.Text)
			}
		}
	}
	if item := c.Harms.Items[c.Harms.index("Physical harm")]; item.Mark != ToCheck {
		t.Errorf("physical harm is marked %s", item.Mark)
	}
}

// The code's words must be those that the drop-down offers.
func TestLikelihoodsAreThoseOfTheList(t *testing.T) {
	c := shipped(t)
	var words []string
	for _, l := range slices.Backward(likelihoods) {
		words = append(words, string(l))
	}
	if words = append(words, NotYetKnown); !slices.Equal(c.Likelihood.Texts(), words) {
		t.Errorf("list has %q, code has %q", c.Likelihood.Texts(), words)
	}
}

func TestFlagsOfCategories(t *testing.T) {
	c := shipped(t)
	article9 := []string{
		"Racial or ethnic origin", "Political opinions", "Religious or philosophical beliefs", "Trade union membership",
		"Sex life data", "Sexual orientation data", "Health data", "Genetic or biometric data",
	}
	for _, text := range c.DataCategories.Texts() {
		if text == NotYetKnown {
			continue
		}
		for flag, want := range map[Flag]bool{
			FlagArticle9: slices.Contains(article9, text), FlagArticle10: text == "Criminal convictions, offences", FlagChildren: false,
		} {
			if got, err := c.DataCategories.Raises(flag, []string{text}); err != nil || got != answerOf(want) {
				t.Errorf("%s raises %s: got %s, %v", text, flag, got, err)
			}
		}
	}
	for _, tt := range []struct {
		list   List
		flag   Flag
		chosen []string
		want   Answer
	}{
		{c.DataCategories, FlagArticle9, nil, NotYetKnown},
		{c.DataCategories, FlagArticle9, []string{"Location data", NotYetKnown}, NotYetKnown},
		{c.DataCategories, FlagArticle9, []string{NotYetKnown, "Health data"}, Yes},
		{c.DataCategories, FlagArticle9, []string{"Location data", "Gender reassignment data"}, No},
		{c.SubjectCategories, FlagChildren, []string{"Patients", "Children"}, Yes},
		{c.SubjectCategories, FlagVulnerable, []string{"Patients", "Children"}, No},
	} {
		if got, err := tt.list.Raises(tt.flag, tt.chosen); err != nil || got != tt.want {
			t.Errorf("%q raise %s: got %s, %v; want %s", tt.chosen, tt.flag, got, err, tt.want)
		}
	}
	if got, err := c.DataCategories.Raises(FlagArticle9, []string{"Health data", "health data"}); err == nil || got != NotYetKnown {
		t.Errorf("a choice that is not in the list is taken: %s", got)
	}
}

func TestCitations(t *testing.T) {
	c := shipped(t)
	for id, want := range map[string]string{
		CiteBreach:                "Art. 4(1)(12), formerly 4(12)",
		CiteComplaintToController: "DPA 2018 s.164A",
		CiteComplaintToRegulator:  "DPA 2018 s.165",
	} {
		if got, err := c.Cite(id); err != nil || got != want {
			t.Errorf("%s: got %q, %v", id, got, err)
		}
	}
	if got, err := c.Cite("no such id"); err == nil {
		t.Errorf("got %q", got)
	}
	if c.Regulator.DisplayName != "Information Commissioner's Office (ICO)" || c.Regulator.NotifyHours != 72 {
		t.Errorf("got %+v", c.Regulator)
	}
}

func TestConfigIsReadStrictly(t *testing.T) {
	for name, tt := range map[string]struct{ old, new, fault string }{
		"mark":             {"mark: V2", "mark: V3", "want V, V2, R or I"},
		"unknown key":      {"display_name:", "displayname:", "unknown key"},
		"hours":            {"notify_hours: 72", "notify_hours: 0", "want at least 1"},
		"flag":             {"flag: children", "flag: minors", "want Art. 9"},
		"list without":     {"    - {text: Other}\n", "    - {text: Users}\n", "stands twice"},
		"not yet known":    {"Complete (already recovered)}\n    - {text: Not yet known}", "Complete (already recovered)}", `want "Not yet known" among them`},
		"cited by code":    {"id: complaint to regulator", "id: complaint", `want one with the id "complaint to regulator"`},
		"citation twice":   {"id: periods", "id: breach", "stands twice"},
		"level":            {"Very likely: high risk", "Very likely: fine", "want risk unlikely"},
		"less risk":        {"    severe:\n      Very unlikely: risk likely\n      Unlikely: high risk", "    severe:\n      Very unlikely: risk likely\n      Unlikely: risk unlikely", "less risk"},
		"missing level":    {"      Unlikely: high risk\n", "", "have no level"},
		"unknown severity": {"    severe:", "    awful:", `severity "severe"`},
	} {
		text := bytes.Replace(shippedPicklists, []byte(tt.old), []byte(tt.new), 1)
		if bytes.Equal(text, shippedPicklists) {
			t.Fatalf("%s: %q does not occur", name, tt.old)
		}
		if _, err := ReadConfig("own.yaml", text); err == nil || !strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), "own.yaml") {
			t.Errorf("%s: error is %v, want %q", name, err, tt.fault)
		}
	}
}

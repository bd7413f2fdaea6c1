package assess

import (
	"fmt"
	"slices"

	"kvforensics/internal/strictyaml"
)

// List is a list to pick from.
type List struct {
	Mark   Mark   `yaml:"mark,required"`
	Source string `yaml:"source,required"`
	Items  []Item `yaml:"items,required"`
}

// Item is a choice of a list.
type Item struct {
	Text   string `yaml:"text,required"`
	Flag   Flag   `yaml:"flag"`   // what choosing it means; "": nothing
	Mark   Mark   `yaml:"mark"`   // stated, else that of the list
	Source string `yaml:"source"` // stated, else that of the list
}

// Flag is a matter of weight that choices can raise.
type Flag string

// The flags.
const (
	FlagArticle9   Flag = "Art. 9"  // special category data
	FlagArticle10  Flag = "Art. 10" // criminal convictions and offences
	FlagChildren   Flag = "children"
	FlagVulnerable Flag = "vulnerable"
)

// UnmarshalText takes a flag and nothing else.
func (f *Flag) UnmarshalText(text []byte) error {
	*f = Flag(text)
	if !slices.Contains([]Flag{FlagArticle9, FlagArticle10, FlagChildren, FlagVulnerable}, *f) {
		return fmt.Errorf("want Art. 9, Art. 10, children or vulnerable, not %q", text)
	}
	return nil
}

// Check implements strictyaml.Checker. It gives every item its mark and source.
func (l *List) Check(report *strictyaml.Report) {
	for i := range l.Items {
		item := &l.Items[i]
		if l.index(item.Text) < i {
			report.Addf(fmt.Sprintf("items[%d]", i), "%q stands twice", item.Text)
		}
		if item.Mark == "" {
			item.Mark = l.Mark
		}
		if item.Source == "" {
			item.Source = l.Source
		}
	}
	if l.index(NotYetKnown) < 0 {
		report.Addf("items", "want %q among them", NotYetKnown)
	}
}

func (l *List) index(text string) int {
	return slices.IndexFunc(l.Items, func(item Item) bool { return item.Text == text })
}

// Texts gives the choices in their order.
func (l *List) Texts() []string {
	texts := make([]string, len(l.Items))
	for i, item := range l.Items {
		texts[i] = item.Text
	}
	return texts
}

// Raises reports whether the chosen items raise the flag. Without one that
// does, it is unknown while nothing is chosen or NotYetKnown is. A choice that
// is not in the list is an error.
func (l *List) Raises(flag Flag, chosen []string) (Answer, error) {
	answer := No
	if len(chosen) == 0 || slices.Contains(chosen, NotYetKnown) {
		answer = NotYetKnown
	}
	for _, text := range chosen {
		i := l.index(text)
		if i < 0 {
			return NotYetKnown, fmt.Errorf("read choice: %q is not in the list", text)
		}
		if l.Items[i].Flag == flag {
			answer = Yes
		}
	}
	return answer, nil
}

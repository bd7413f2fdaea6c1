package workbook

import (
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"
)

const listsName = "Lists"

// rangeName is the name under which cells refer to a list. The prefix keeps it
// apart from the addresses of cells.
func rangeName(list string) string { return "list_" + list }

// listsSheet has a column for each list.
func (b *Book) listsSheet() Sheet {
	var t Table
	for i, list := range b.Lists {
		t.Columns = append(t.Columns, Column{Header: list.Name, Width: 36, Field: Field{Wrap: true}})
		for j, v := range list.Values {
			if j == len(t.Rows) {
				t.Rows = append(t.Rows, make([]Cell, len(b.Lists)))
			}
			t.Rows[j][i] = Text(v)
		}
	}
	return Sheet{
		Name:      listsName,
		Notes:     []string{"The values to choose from in the other sheets."},
		Blocks:    []Block{t},
		Protected: true,
	}
}

// checkLists looks at the lists and at the cells that name them.
func (b *Book) checkLists() error {
	known, folded := map[string]bool{"": true}, map[string]bool{}
	for _, list := range b.Lists {
		if !listName.MatchString(list.Name) {
			return fmt.Errorf("list name %q: only letters, digits and _ are allowed", list.Name)
		}
		if len(list.Values) == 0 {
			return fmt.Errorf("list %q is empty", list.Name)
		}
		lower := strings.ToLower(list.Name)
		if folded[lower] {
			return fmt.Errorf("two lists named %q", list.Name)
		}
		known[list.Name], folded[lower] = true, true
	}
	for _, s := range b.Sheets {
		for _, block := range s.Blocks {
			for _, f := range fields(block) {
				if !known[f.List] {
					return fmt.Errorf("sheet %q: no list %q", s.Name, f.List)
				}
			}
		}
	}
	return nil
}

func fields(block Block) (all []Field) {
	switch b := block.(type) {
	case Form:
		for _, row := range b.Rows {
			all = append(all, row.Field)
		}
	case Table:
		for _, column := range b.Columns {
			all = append(all, column.Field)
		}
	}
	return all
}

// nameLists names the lists' ranges on the last page.
func (b *Book) nameLists(file *excelize.File, pages []*page) error {
	p := pages[len(pages)-1]
	for i, list := range b.Lists {
		top := p.places[0].row + 1
		err := file.SetDefinedName(&excelize.DefinedName{
			Name:     rangeName(list.Name),
			RefersTo: p.span(i+1, top, i+1, top+len(list.Values)-1),
		})
		if err != nil {
			return fmt.Errorf("name list %q: %w", list.Name, err)
		}
	}
	return nil
}

package workbook

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// maxRows is how many rows a sheet holds. Tests lower it.
var maxRows = 1_048_576

const (
	maxName      = 31 // UTF-16 units in a sheet's name
	chartRows    = 18
	defaultWidth = 14
)

// formWidths are the widths of a form's label, cell and help.
var formWidths = []float64{32, 48, 56}

// page is a worksheet: a Sheet, or as much of it as fits.
type page struct {
	name      string
	title     string
	notes     []string
	widths    []float64
	protected bool
	places    []place
	last      int // last row taken
}

// place is where a block stands, or a part of a table. Its title stands in the
// row above, if it has one.
type place struct {
	block Block
	title string
	row   int
	rows  [][]Cell // a table's, without the header
}

// layout spreads a sheet over pages.
type layout struct {
	sheet *Sheet
	pages []*page
}

func lay(s *Sheet) ([]*page, error) {
	l := layout{sheet: s}
	l.turn()
	for _, block := range s.Blocks {
		if err := l.add(block); err != nil {
			return nil, fmt.Errorf("lay out sheet %q: %w", s.Name, err)
		}
	}
	return l.pages, nil
}

func (l *layout) page() *page { return l.pages[len(l.pages)-1] }

// turn begins a new page.
func (l *layout) turn() {
	p := &page{
		name:      l.sheet.Name,
		title:     l.sheet.Title,
		notes:     l.sheet.Notes,
		widths:    widths(l.sheet.Blocks),
		protected: l.sheet.Protected,
	}
	if p.title == "" {
		p.title = p.name
	}
	if n := len(l.pages) + 1; n > 1 {
		suffix := fmt.Sprintf(" (%d)", n)
		for units(p.name+suffix) > maxName {
			_, n := utf8.DecodeLastRuneInString(p.name)
			p.name = p.name[:len(p.name)-n]
		}
		p.name, p.title, p.notes = p.name+suffix, p.title+" (continued)", nil
	}
	p.last = 1 + len(p.notes)
	l.pages = append(l.pages, p)
}

func (l *layout) add(block Block) error {
	switch b := block.(type) {
	case Form:
		_, err := l.put(place{block: b, title: b.Title}, len(b.Rows))
		return err
	case Chart:
		_, err := l.put(place{block: b}, chartRows)
		return err
	case Table:
		return l.addTable(b)
	}
	return fmt.Errorf("unknown kind of block %T", block)
}

func (l *layout) addTable(t Table) error {
	if n := len(t.Columns); n == 0 || n > excelize.MaxColumns {
		return fmt.Errorf("a table of %d columns", n)
	}
	title, rest := t.Title, t.Rows
	for {
		p, err := l.put(place{block: t, title: title}, 1+min(1, len(rest)))
		if err != nil {
			return err
		}
		at := &p.places[len(p.places)-1]
		n := min(len(rest), maxRows-at.row)
		at.rows, rest = rest[:n], rest[n:]
		p.last = at.row + n
		if len(rest) == 0 {
			return nil
		}
		if title != "" {
			title = t.Title + " (continued)"
		}
	}
}

var errNoRoom = errors.New("a block is longer than a sheet")

// put places a block of so many rows below the others, after a blank row.
func (l *layout) put(at place, height int) (*page, error) {
	for {
		p := l.page()
		at.row = p.last + 2
		if at.title != "" {
			at.row++
		}
		if at.row+height-1 <= maxRows {
			p.last = at.row + height - 1
			p.places = append(p.places, at)
			return p, nil
		}
		if len(p.places) == 0 {
			return nil, errNoRoom
		}
		l.turn()
	}
}

// widths are those of the widest block in each column.
func widths(blocks []Block) (widths []float64) {
	widen := func(i int, width float64) {
		for len(widths) <= i {
			widths = append(widths, 0)
		}
		widths[i] = max(widths[i], width)
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case Form:
			for i, width := range formWidths {
				widen(i, width)
			}
		case Table:
			for i, column := range b.Columns {
				if column.Width <= 0 {
					column.Width = defaultWidth
				}
				widen(i, column.Width)
			}
		}
	}
	if widths == nil {
		return []float64{formWidths[1]}
	}
	return widths
}

// tables are the page's tables, in order.
func (p *page) tables() (tables []place) {
	for _, at := range p.places {
		if _, ok := at.block.(Table); ok {
			tables = append(tables, at)
		}
	}
	return tables
}

// span is the address of a range, with the sheet's name.
func (p *page) span(fromCol, fromRow, toCol, toRow int) string {
	return fmt.Sprintf("'%s'!$%s$%d:$%s$%d", p.name, column(fromCol), fromRow, column(toCol), toRow)
}

// column is a column's letters.
func column(n int) string {
	letters, err := excelize.ColumnNumberToName(n)
	if err != nil {
		panic(err) // addTable refuses so many columns
	}
	return letters
}

func address(col, row int) string { return fmt.Sprint(column(col), row) }

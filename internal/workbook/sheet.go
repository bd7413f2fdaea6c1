package workbook

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// placeholder stands in the tenant's empty cells.
const placeholder = "▸ fill in"

// sheet writes a page. The library streams: what concerns the sheet as a whole
// must be said before its first row or, at the latest, before the end; later it
// is dropped without an error.
type sheet struct {
	*page
	file   *excelize.File
	styles *styles
	report *Report
	stream *excelize.StreamWriter
	cells  []excelize.Cell // of the row in hand
	values []any           // pointers to the cells
	lines  float64         // that the row in hand takes
}

func (s *sheet) write() error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.head(); err != nil {
		return err
	}
	for _, at := range s.places {
		if at.title != "" {
			if err := s.line(at.row-1, at.title, section, 0); err != nil {
				return err
			}
		}
		var err error
		switch block := at.block.(type) {
		case Form:
			err = s.form(at, block)
		case Table:
			err = s.table(at, block)
		case Chart:
			// A chart that a page's end cuts in two can't be read.
			err = errors.Join(s.file.InsertPageBreak(s.name, address(1, at.row)), s.chart(at, block))
		}
		if err != nil {
			return err
		}
	}
	return s.end()
}

// begin says what the library writes before the rows.
func (s *sheet) begin() (err error) {
	yes, landscape, a4, one, many := true, "landscape", 9, 1, 0
	err = errors.Join(
		s.file.SetSheetProps(s.name, &excelize.SheetPropsOptions{FitToPage: &yes}),
		s.file.SetSheetDimension(s.name, "A1:"+address(len(s.widths), s.last)),
		s.file.SetPageLayout(s.name, &excelize.PageLayoutOptions{Orientation: &landscape, Size: &a4, FitToWidth: &one, FitToHeight: &many}),
		s.file.SetHeaderFooter(s.name, &excelize.HeaderFooterOptions{OddFooter: "&L&A&RPage &P of &N"}),
	)
	if err != nil {
		return err
	}
	if s.stream, err = s.file.NewStreamWriter(s.name); err != nil {
		return err
	}
	// The library puts each width before the earlier ones, and spreadsheets
	// want them in the order of the columns.
	for i, width := range slices.Backward(s.widths) {
		if err := s.stream.SetColWidth(i+1, i+1, width); err != nil {
			return err
		}
	}
	frozen := s.frozen()
	top := address(1, frozen+1)
	return s.stream.SetPanes(&excelize.Panes{
		Freeze:      true,
		YSplit:      frozen,
		TopLeftCell: top,
		ActivePane:  "bottomLeft",
		Selection:   []excelize.Selection{{SQRef: top, ActiveCell: top, Pane: "bottomLeft"}},
	})
}

// frozen is the last row that stays in view.
func (s *sheet) frozen() int {
	if tables := s.tables(); len(tables) > 0 && tables[0].row == s.places[0].row {
		return tables[0].row
	}
	return 1
}

// end says what the library writes after the rows, and ends the sheet.
func (s *sheet) end() error {
	repeated := 1
	tables := s.tables()
	if len(tables) == 1 {
		repeated = tables[0].row
	}
	err := s.file.SetDefinedName(&excelize.DefinedName{
		Name:     "_xlnm.Print_Titles",
		Scope:    s.name,
		RefersTo: fmt.Sprintf("'%s'!$%d:$%d", s.name, repeated, repeated),
	})
	if err != nil {
		return err
	}
	if len(tables) > 0 && len(tables[0].rows) > 0 {
		at := tables[0]
		columns := len(at.block.(Table).Columns)
		span := address(1, at.row) + ":" + address(columns, at.row+len(at.rows))
		if err := s.file.AutoFilter(s.name, span, nil); err != nil {
			return err
		}
	}
	if s.protected {
		err := s.file.ProtectSheet(s.name, &excelize.SheetProtectionOptions{
			SelectLockedCells:   true,
			SelectUnlockedCells: true,
			FormatColumns:       true,
			FormatRows:          true,
			AutoFilter:          true,
		})
		if err != nil {
			return err
		}
	}
	return s.stream.Flush()
}

func (s *sheet) head() error {
	if err := s.line(1, s.title, heading, 21); err != nil {
		return err
	}
	for i, text := range s.notes {
		if err := s.line(2+i, text, note, 15); err != nil {
			return err
		}
	}
	return nil
}

// linesOf gives how many lines a text takes in so many characters of an ordinary
// width, with some room as fonts differ.
func linesOf(text string, width float64) (lines float64) {
	for part := range strings.Lines(text) {
		lines += math.Ceil(1.15 * float64(1+utf8.RuneCountInString(part)) / max(width, 1))
	}
	return max(lines, 1)
}

// line writes text over the sheet's width: merged, where height, that of one
// line, is given.
func (s *sheet) line(row int, text string, part part, height float64) error {
	s.start(1)
	if err := s.text(1, row, text, look{part: part}); err != nil {
		return err
	}
	if height == 0 {
		s.lines = 1
		return s.flush(row)
	}
	if len(s.widths) > 1 {
		if err := s.stream.MergeCell(address(1, row), address(len(s.widths), row)); err != nil {
			return err
		}
	}
	var width float64
	for _, w := range s.widths {
		width += w
	}
	return s.flush(row, excelize.RowOpts{Height: min(linesOf(text, width)*height, excelize.MaxRowHeight)})
}

func (s *sheet) form(at place, f Form) error {
	for i, r := range f.Rows {
		row := at.row + i
		s.start(3)
		err := errors.Join(
			s.text(1, row, r.Label, look{part: label}),
			s.cell(2, row, r.Value, r.Field),
			s.text(3, row, r.Help, look{part: help}),
			s.choose(r.Field, address(2, row)),
		)
		if err != nil {
			return err
		}
		if err := s.flush(row); err != nil {
			return err
		}
	}
	return nil
}

func (s *sheet) table(at place, t Table) error {
	s.start(len(t.Columns))
	for i, c := range t.Columns {
		if err := s.text(i+1, at.row, c.Header, look{part: header}); err != nil {
			return err
		}
		if len(at.rows) == 0 {
			continue
		}
		if err := s.choose(c.Field, address(i+1, at.row+1)+":"+address(i+1, at.row+len(at.rows))); err != nil {
			return err
		}
	}
	if err := s.flush(at.row); err != nil {
		return err
	}
	for i, cells := range at.rows {
		row := at.row + 1 + i
		if len(cells) > len(t.Columns) {
			return fmt.Errorf("row %d: %d cells in %d columns", row, len(cells), len(t.Columns))
		}
		s.start(len(t.Columns))
		for j, c := range t.Columns {
			var cell Cell
			if j < len(cells) {
				cell = cells[j]
			}
			if err := s.cell(j+1, row, cell, c.Field); err != nil {
				return err
			}
		}
		if err := s.flush(row); err != nil {
			return err
		}
	}
	return nil
}

// start begins a row.
func (s *sheet) start(columns int) {
	for len(s.cells) < columns {
		s.cells = append(s.cells, excelize.Cell{})
	}
	s.values, s.lines = s.values[:0], 1
	for i := range columns {
		s.values = append(s.values, &s.cells[i])
	}
}

// lineHeight is that of one line of a row, in points.
const lineHeight = 15

// flush writes the row in hand. Not every program finds the height that wrapped
// text needs.
func (s *sheet) flush(row int, opts ...excelize.RowOpts) error {
	if len(opts) == 0 && s.lines > 1 {
		opts = []excelize.RowOpts{{Height: min(s.lines*lineHeight, excelize.MaxRowHeight)}}
	}
	return s.stream.SetRow(address(1, row), s.values, opts...)
}

func (s *sheet) cell(col, row int, c Cell, f Field) error {
	l := look{part: body, by: f.By, wrap: f.Wrap, format: f.Format}
	v, formula, err := value(c)
	if err != nil {
		return fmt.Errorf("cell %s: %w", address(col, row), err)
	}
	if f.By == Tenant && (v == nil || v == "") {
		v = placeholder
	}
	if text, ok := v.(string); ok {
		return s.text(col, row, text, l)
	}
	if _, whole := v.(int64); whole && l.format == "" {
		l.format = "0" // without a format, 12 digits and more show as a power of ten
	}
	return s.set(col, v, formula, l)
}

// text is the only way by which text gets into a cell.
func (s *sheet) text(col, row int, text string, l look) error {
	text, cut := fit(literal(Visible(text)))
	if cut {
		s.report.Cut = append(s.report.Cut, s.name+"!"+address(col, row))
	}
	if text == "" {
		return s.set(col, nil, "", l)
	}
	l.quoted = startsFormula(text)
	if col <= len(s.widths) && l.part != section {
		s.lines = max(s.lines, linesOf(text, s.widths[col-1]))
	}
	return s.set(col, text, "", l)
}

func (s *sheet) set(col int, v any, formula string, l look) (err error) {
	c := &s.cells[col-1]
	c.Value, c.Formula = v, formula
	c.StyleID, err = s.styles.id(l)
	return err
}

// choose offers the values of the field's list.
func (s *sheet) choose(f Field, cells string) error {
	if f.List == "" {
		return nil
	}
	v := excelize.NewDataValidation(true)
	v.SetSqref(cells)
	v.SetSqrefDropList(rangeName(f.List))
	if f.Decision {
		v.SetError(excelize.DataValidationErrorStyleStop, "Not in the list", "Please choose one of the values in the list.")
	} else {
		v.SetError(excelize.DataValidationErrorStyleWarning, "Not in the list", "This value is not in the list. Keep it?")
	}
	return s.file.AddDataValidation(s.name, v)
}

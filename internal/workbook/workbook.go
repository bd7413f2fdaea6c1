// Package workbook writes the spreadsheets that tenants receive, and checks
// them before they leave. Nothing else in the program touches the spreadsheet
// library.
//
// A [Book] says what a workbook holds, not how: sheets of forms, tables and
// charts, who fills which cell, and which values may be chosen. [Book.Write]
// turns it into an .xlsx file that is ready to print, runs nothing, refers to
// nothing outside itself and is the same, byte for byte, for the same Book.
//
// Text is hostile: much of it was typed by strangers. It is always written as
// text, whatever it begins with, and what would not be seen is made visible.
// [CSVCell] does the same for CSV.
//
// [Inspect] and [Matcher.Search] take finished bytes and trust none of the above.
package workbook

import "time"

// Book is a workbook.
type Book struct {
	Title   string
	Created time.Time // stands in the file as the time of making; must be given
	Sheets  []Sheet
	Lists   []List // values to choose from; shown on a last sheet, Lists
	TempDir string // where large sheets lie while they are written; empty: the system's place
}

// Sheet is a worksheet. Its name may hold letters, digits, spaces and _ - & ( ).
type Sheet struct {
	Name      string
	Title     string   // heading, in the first row
	Notes     []string // lines under the heading
	Blocks    []Block  // one below the other
	Protected bool     // only the tenant's cells can be changed; a guard against slips, not against people
}

// Block is a [Form], a [Table] or a [Chart].
type Block interface{ block() }

// Form is a list of labelled cells.
type Form struct {
	Title string
	Rows  []FormRow
}

// FormRow is one labelled cell of a form.
type FormRow struct {
	Label string
	Value Cell
	Help  string
	Field
}

// Table has a header and rows. The first table of a sheet can be filtered; if
// the sheet begins with it, its header stays in view, and if the sheet has no
// other, the header is repeated on each printed page.
//
// Rows that do not fit go on to a further sheet, which the [Report] names.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell // cells missing at the end of a row are empty
}

// Column is a column of a table.
type Column struct {
	Header string
	Width  float64 // in characters
	Field
}

// Chart draws columns from a table of the same sheet: one column of the table
// labels them, another gives their height.
type Chart struct {
	Title  string
	Table  string // title of the table
	Labels string // header of the labels' column
	Values string // header of the heights' column
}

func (Form) block()  {}
func (Table) block() {}
func (Chart) block() {}

// Field says how the cells of a column, or the cell of a form row, are filled.
type Field struct {
	By       Party
	List     string // name of the list to choose from
	Decision bool   // values that are not in the list are refused, not only warned of
	Format   string // number format, such as 0.00
	Wrap     bool
}

// Party says who fills a cell.
type Party int

// Cells that nobody is named for stay plain. The provider's are grey. The
// tenant's are yellow with a thick left edge and, where empty, ask to be filled
// in: the mark does not depend on colour.
const (
	Nobody Party = iota
	Provider
	Tenant
)

// List is a set of values to choose from. Its name may hold letters, digits
// and _.
type List struct {
	Name   string
	Values []string
}

// Report says what of a Book a file could not hold as given.
type Report struct {
	Cut         []string // cells whose text was too long, as sheet!cell
	SplitSheets []string // sheets made because a table did not fit on its own
}

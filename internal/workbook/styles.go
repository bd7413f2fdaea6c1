package workbook

import "github.com/xuri/excelize/v2"

// part is what a cell is for.
type part int

const (
	heading part = iota
	note
	section // title of a block
	header  // of a column
	label   // of a form's cell
	help
	body
)

// look is all that makes two cells look different.
type look struct {
	part   part
	by     Party
	wrap   bool
	format string
	quoted bool // stays text when somebody edits the cell and leaves it as it is
}

// styles makes each style of a file once.
type styles struct {
	file *excelize.File
	ids  map[look]int
}

func (s *styles) id(l look) (int, error) {
	if id, ok := s.ids[l]; ok {
		return id, nil
	}
	id, err := s.file.NewStyle(style(l))
	if err != nil {
		return 0, err
	}
	if l.quoted {
		// The library has no option for it.
		all := s.file.Styles.CellXfs
		quoted, yes := all.Xf[id], true
		quoted.QuotePrefix = &yes
		id = len(all.Xf)
		all.Xf = append(all.Xf, quoted)
		all.Count = len(all.Xf)
	}
	s.ids[l] = id
	return id, nil
}

const (
	black     = "000000"
	lineGrey  = "BFBFBF"
	paleBlue  = "DDEBF7"
	paleGrey  = "E7E6E6"
	softAmber = "FFF2CC"
)

func style(l look) *excelize.Style {
	s := &excelize.Style{
		Font:      &excelize.Font{Family: "Calibri", Size: 11},
		Alignment: &excelize.Alignment{Vertical: "top", WrapText: l.wrap || l.part != body},
	}
	switch l.part {
	case heading:
		s.Font.Bold, s.Font.Size = true, 14
	case section:
		s.Font.Bold, s.Font.Size = true, 12
		s.Alignment.WrapText = false
	case header:
		s.Font.Bold = true
		s.Border, s.Fill = edges(lineGrey, 1), fill(paleBlue)
	case label:
		s.Font.Bold = true
		s.Border = edges(lineGrey, 1)
	case help:
		s.Font.Italic = true
	case body:
		s.Border = edges(lineGrey, 1)
	}
	switch l.by {
	case Provider:
		s.Fill = fill(paleGrey)
	case Tenant:
		s.Fill = fill(softAmber)
		s.Border[0] = excelize.Border{Type: "left", Color: black, Style: 5}
		s.Protection = &excelize.Protection{Locked: false}
	}
	if l.format != "" {
		s.CustomNumFmt = &l.format
	}
	return s
}

func fill(colour string) excelize.Fill {
	return excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{colour}}
}

// edges begin with the left one.
func edges(colour string, style int) (all []excelize.Border) {
	for _, side := range []string{"left", "right", "top", "bottom"} {
		all = append(all, excelize.Border{Type: side, Color: colour, Style: style})
	}
	return all
}

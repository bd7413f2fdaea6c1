package workbook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xuri/excelize/v2"
)

// chart draws a chart where it is placed. If its table is empty, a line says so
// instead.
func (s *sheet) chart(at place, c Chart) error {
	series, err := s.series(c)
	if err != nil {
		return fmt.Errorf("chart %q: %w", c.Title, err)
	}
	if series == nil {
		return s.line(at.row, c.Title+": no rows to draw", note, 0)
	}
	width, uniform := 0.0, false
	for _, w := range s.widths {
		width += w
	}
	title := excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: Visible(c.Title)}}}
	return s.file.AddChart(s.name, address(1, at.row), &excelize.Chart{
		Type:      excelize.Col,
		Series:    []excelize.ChartSeries{*series},
		Title:     title,
		Legend:    excelize.ChartLegend{Position: "none"},
		YAxis:     excelize.ChartAxis{MajorGridLines: true},
		Dimension: excelize.ChartDimension{Width: uint(min(max(480, width*7), 900)), Height: (chartRows - 1) * 18},
		Format:    excelize.GraphicOptions{AltText: title.Paragraph[0].Text},

		VaryColors: &uniform,
	})
}

// series is what to draw: nil where there are no rows.
func (s *sheet) series(c Chart) (*excelize.ChartSeries, error) {
	for _, at := range s.tables() {
		t := at.block.(Table)
		if t.Title != c.Table {
			continue
		}
		if len(t.Rows) == 0 {
			return nil, nil
		}
		if len(at.rows) < len(t.Rows) {
			return nil, errors.New("its table is longer than a sheet")
		}
		labels, heights := t.column(c.Labels), t.column(c.Values)
		if labels == 0 || heights == 0 {
			return nil, fmt.Errorf("no columns %q and %q in its table", c.Labels, c.Values)
		}
		first, last := at.row+1, at.row+len(at.rows)
		return &excelize.ChartSeries{
			Name:       s.span(heights, at.row, heights, at.row),
			Categories: s.span(labels, first, labels, last),
			Values:     s.span(heights, first, heights, last),
		}, nil
	}
	return nil, fmt.Errorf("no table %q on its sheet", c.Table)
}

// column is the number of the column with the header, 0 if there is none.
func (t Table) column(header string) int {
	return 1 + slices.IndexFunc(t.Columns, func(c Column) bool { return c.Header == header })
}

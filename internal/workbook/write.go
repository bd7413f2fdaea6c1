package workbook

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

// producer is all that a file says of who made it.
const producer = "kvforensics"

var (
	sheetName = regexp.MustCompile(`^[\pL\pN &_()-]+$`)
	listName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
)

// Write writes the workbook as an .xlsx file. It refuses what it cannot write
// faithfully, except for what the report names.
func (b *Book) Write(w io.Writer) (Report, error) {
	report, err := b.write(w)
	if err != nil {
		err = fmt.Errorf("write workbook: %w", err)
	}
	return report, err
}

func (b *Book) write(out io.Writer) (report Report, err error) {
	if b.Created.IsZero() {
		return report, errors.New("no time of making")
	}
	pages, err := b.pages(&report)
	if err != nil {
		return report, err
	}
	file := excelize.NewFile(excelize.Options{TmpDir: b.TempDir})
	defer func() { err = errors.Join(err, file.Close()) }()
	file.SetZipWriter(func(w io.Writer) excelize.ZipWriter { return &archive{w: w} })
	if err := b.properties(file); err != nil {
		return report, err
	}
	// Names refer to sheets by position, so all sheets come first.
	for i, p := range pages {
		if i == 0 {
			err = file.SetSheetName("Sheet1", p.name)
		} else {
			_, err = file.NewSheet(p.name)
		}
		if err != nil {
			return report, fmt.Errorf("make sheet %q: %w", p.name, err)
		}
	}
	if err := b.nameLists(file, pages); err != nil {
		return report, err
	}
	styles := &styles{file: file, ids: map[look]int{}}
	for _, p := range pages {
		s := sheet{page: p, file: file, styles: styles, report: &report}
		if err := s.write(); err != nil {
			return report, fmt.Errorf("sheet %q: %w", p.name, err)
		}
	}
	dropPictureTypes(file)
	return report, file.Write(out)
}

// dropPictureTypes drops the types of pictures, which the library declares,
// in no fixed order, wherever there is a chart.
func dropPictureTypes(file *excelize.File) {
	types := file.ContentTypes
	for i := len(types.Defaults) - 1; i >= 0; i-- {
		if extension := types.Defaults[i].Extension; extension != "rels" && extension != "xml" {
			types.Defaults = slices.Delete(types.Defaults, i, i+1)
		}
	}
}

// pages lays out all sheets, the lists last.
func (b *Book) pages(report *Report) (pages []*page, err error) {
	sheets := b.Sheets
	if len(b.Lists) > 0 {
		sheets = append(sheets[:len(sheets):len(sheets)], b.listsSheet())
	}
	if len(sheets) == 0 {
		return nil, errors.New("no sheets")
	}
	if err := b.checkLists(); err != nil {
		return nil, err
	}
	for i := range sheets {
		of, err := lay(&sheets[i])
		if err != nil {
			return nil, err
		}
		for _, more := range of[1:] {
			report.SplitSheets = append(report.SplitSheets, more.name)
		}
		pages = append(pages, of...)
	}
	if len(b.Lists) > 0 && pages[len(pages)-1].name != listsName {
		return nil, errors.New("the lists are longer than a sheet")
	}
	seen := map[string]bool{}
	for _, p := range pages {
		folded := strings.ToLower(p.name)
		if seen[folded] {
			return nil, fmt.Errorf("two sheets named %q", p.name)
		}
		if !sheetName.MatchString(p.name) {
			return nil, fmt.Errorf("sheet name %q: only letters, digits, spaces and _ - & ( ) are allowed", p.name)
		}
		seen[folded] = true
	}
	return pages, nil
}

func (b *Book) properties(file *excelize.File) error {
	created := b.Created.UTC().Format(time.RFC3339)
	return errors.Join(
		file.SetDocProps(&excelize.DocProperties{
			Title:    Visible(b.Title),
			Creator:  producer,
			Created:  created,
			Modified: created,
		}),
		file.SetAppProps(&excelize.AppProperties{Application: producer}),
	)
}

package assess

import (
	"strconv"
	"testing"

	"github.com/xuri/excelize/v2"
)

// A spreadsheet that calculates the formula must come to the stored value.
func TestFormulaGivesTheStoredValue(t *testing.T) {
	book := newBook(t)
	eachInput(func(in Inputs) {
		score, err := Score(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := book.calculate(points(in)); got != plain(score) {
			t.Errorf("%+v: the formula gives %q, want %q", in, got, plain(score))
		}
	})
}

func TestFormulaIsZeroWithoutAllInputs(t *testing.T) {
	book := newBook(t)
	for i := range len(inputs) {
		for _, wrong := range []any{nil, "", "0.5", "x", 0.3, 7, -1} {
			cells := points(Inputs{1, 4, n, n, n, n})
			cells[i] = wrong
			if got := book.calculate(cells); got != "0" {
				t.Errorf("input %d is %#v: the formula gives %q", i, wrong, got)
			}
		}
	}
}

type book struct {
	t    *testing.T
	file *excelize.File
}

var inputCells = [...]string{"B2", "B3", "B4", "B5", "B6", "B7"}

func newBook(t *testing.T) book {
	file := excelize.NewFile()
	t.Cleanup(func() { file.Close() })
	b := book{t, file}
	b.must(file.SetCellFormula("Sheet1", "B8", ScoreFormula(Cells{"B2", "B3", "B4", "B5", "B6", "B7"})))
	return b
}

func (b book) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b book) calculate(cells [6]any) (score string) {
	b.t.Helper()
	for i, value := range cells {
		b.must(b.file.SetCellValue("Sheet1", inputCells[i], value))
	}
	score, err := b.file.CalcCellValue("Sheet1", "B8")
	b.must(err)
	return score
}

func points(in Inputs) [6]any {
	of := func(c Circumstance) float64 { return map[Circumstance]float64{n: 0, q: 0.25, h: 0.5}[c] }
	return [6]any{in.Context, in.Identification.Points(), of(in.Confidentiality), of(in.Integrity), of(in.Availability), of(in.Malice)}
}

// plain gives the score as a spreadsheet shows a number without a format.
func plain(score Quarters) string { return strconv.FormatFloat(score.Points(), 'f', -1, 64) }

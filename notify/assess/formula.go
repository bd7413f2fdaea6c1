package assess

import (
	"fmt"
	"strconv"
	"strings"
)

// Cells names the cells that hold the inputs of the severity in points, such
// as "B4".
type Cells struct {
	Context, Identification, Confidentiality, Integrity, Availability, Malice string
}

// ScoreFormula gives the spreadsheet formula of Score in points, without the
// leading "=". It shows nothing while an input is blank or not in the method's
// table.
func ScoreFormula(c Cells) string {
	names := [len(inputs)]string{c.Context, c.Identification, c.Confidentiality, c.Integrity, c.Availability, c.Malice}
	// A blank cell equals 0 in a spreadsheet, and 0 is a level.
	conditions := []string{fmt.Sprintf("COUNT(%s)=%d", strings.Join(names[:], ","), len(names))}
	for i, input := range inputs {
		var choices []string
		for _, value := range input.allowed {
			points := strconv.FormatFloat(float64(value)/float64(input.perPoint), 'f', -1, 64)
			choices = append(choices, names[i]+"="+points)
		}
		conditions = append(conditions, "OR("+strings.Join(choices, ",")+")")
	}
	return fmt.Sprintf(`IF(AND(%s),%s*%s,"")`, strings.Join(conditions, ","), names[0], strings.Join(names[1:], "+"))
}

// BandFormula gives the spreadsheet formula of BandOf for the cell that holds
// the score in points, without the leading "=". It shows nothing while there is
// no score.
func BandFormula(score string) string {
	// From the inside out, so that the highest limit is asked first.
	last := len(bands) - 1
	formula := strconv.Quote(bands[last].name)
	for i := last - 1; i >= 0; i-- {
		formula = fmt.Sprintf(`IF(%s>=%g,%q,%s)`, score, bands[i].from.Points(), bands[i].name, formula)
	}
	return fmt.Sprintf(`IF(ISNUMBER(%s),%s,"")`, score, formula)
}

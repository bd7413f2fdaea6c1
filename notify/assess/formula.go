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
// leading "=", in the few functions that a pack may hold. It is 0 while an input
// is blank or not in the method's table: no score is less than 0.25.
func ScoreFormula(c Cells) string {
	names := [len(inputs)]string{c.Context, c.Identification, c.Confidentiality, c.Integrity, c.Availability, c.Malice}
	// A blank cell equals 0 in a spreadsheet, and 0 is a level.
	stated := []string{fmt.Sprintf("(COUNT(%s)=%d)", strings.Join(names[:], ","), len(names))}
	for i, input := range inputs {
		var choices []string
		for _, value := range input.allowed {
			points := strconv.FormatFloat(float64(value)/float64(input.perPoint), 'f', -1, 64)
			choices = append(choices, "("+names[i]+"="+points+")")
		}
		stated = append(stated, "("+strings.Join(choices, "+")+")")
	}
	return fmt.Sprintf("IF(%s>0,%s*%s,0)", strings.Join(stated, "*"), names[0], strings.Join(names[1:], "+"))
}

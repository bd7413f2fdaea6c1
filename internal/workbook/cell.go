package workbook

import (
	"fmt"
	"math"
)

// Cell is a [Text], an [Int], a [Number], a [Bool], a [Formula], or nil for an
// empty cell. A time is a Text, in the form in which it is to be read: the
// serial numbers that spreadsheets use lose its zone and its last digits.
type Cell interface{ cell() }

// Text is never run, whatever it begins with.
type Text string

// Int is a whole number.
type Int int64

// Number must be finite.
type Number float64

// Bool shows as Yes or No.
type Bool bool

// Formula is arithmetic over cells, with the functions SUM, MAX and IF, and
// the value it has now. Expr has no equals sign in front.
type Formula struct {
	Expr  string
	Value float64
}

func (Text) cell()    {}
func (Int) cell()     {}
func (Number) cell()  {}
func (Bool) cell()    {}
func (Formula) cell() {}

// maxExact is the largest whole number that spreadsheets keep to the last
// digit.
const maxExact = 999_999_999_999_999

// value says what to hand to the library: text, a number, or a formula with
// its number.
func value(c Cell) (v any, formula string, err error) {
	switch c := c.(type) {
	case nil:
		return nil, "", nil
	case Text:
		return string(c), "", nil
	case Int:
		if c > maxExact || c < -maxExact {
			return fmt.Sprint(int64(c)), "", nil
		}
		return int64(c), "", nil
	case Number:
		return float64(c), "", finite(float64(c))
	case Bool:
		if c {
			return "Yes", "", nil
		}
		return "No", "", nil
	case Formula:
		if err := checkFormula(c.Expr); err != nil {
			return nil, "", err
		}
		return c.Value, c.Expr, finite(c.Value)
	}
	return nil, "", fmt.Errorf("unknown kind of cell %T", c)
}

func finite(x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%v is not a finite number", x)
	}
	return nil
}

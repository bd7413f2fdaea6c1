package workbook

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A formula is made of these and nothing else. Names of sheets are so plain
// that no path and no other workbook can be meant.
var (
	number    = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?`)
	quotation = regexp.MustCompile(`^"([^"]|"")*"`)
	function  = regexp.MustCompile(`^(SUM|MAX|IF|COUNT)\(`)
	operator  = regexp.MustCompile(`^(<=|>=|<>|[-+*/^=<>])`)
	reference = regexp.MustCompile(`^([\pL_][\pL\pN_]*!|'[\pL\pN &_()-]+'!)?` +
		`(\$?[A-Z]{1,3}\$?[1-9][0-9]*(:\$?[A-Z]{1,3}\$?[1-9][0-9]*)?|\$[1-9][0-9]*:\$[1-9][0-9]*)`)
)

const maxNesting = 64

// checkFormula accepts arithmetic over cells of this workbook. Whatever could
// fetch, send or start something is refused because it is not in the grammar:
//
//	formula = operand {operator operand}
//	operand = {"+" | "-"} (number | quotation | reference | "(" formula ")" | function "(" formula {"," formula} ")") {"%"}
func checkFormula(expr string) error {
	p := parser{rest: expr}
	if err := p.formula(0); err != nil {
		return fmt.Errorf("formula %q: %w", expr, err)
	}
	if p.rest != "" {
		return fmt.Errorf("formula %q: %q is not allowed", expr, p.rest)
	}
	return nil
}

type parser struct{ rest string }

func (p *parser) formula(depth int) error {
	if depth > maxNesting {
		return errors.New("nested too deeply")
	}
	for {
		if err := p.operand(depth); err != nil {
			return err
		}
		if !p.skip(operator) {
			return nil
		}
	}
}

func (p *parser) operand(depth int) error {
	for p.next("+") || p.next("-") {
	}
	switch {
	case p.skip(function):
		if err := p.enclosed(depth, ","); err != nil {
			return err
		}
	case p.next("("):
		if err := p.enclosed(depth, ""); err != nil {
			return err
		}
	case p.skip(reference), p.skip(number), p.skip(quotation):
	default:
		return fmt.Errorf("%q is not allowed", p.rest)
	}
	for p.next("%") {
	}
	return nil
}

// enclosed takes formulas up to the closing parenthesis.
func (p *parser) enclosed(depth int, separator string) error {
	for {
		if err := p.formula(depth + 1); err != nil {
			return err
		}
		if p.next(")") {
			return nil
		}
		if separator == "" || !p.next(separator) {
			return fmt.Errorf("%q is not allowed", p.rest)
		}
	}
}

func (p *parser) skip(re *regexp.Regexp) bool {
	p.space()
	n := len(re.FindString(p.rest))
	p.rest = p.rest[n:]
	return n > 0
}

func (p *parser) next(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " ") }

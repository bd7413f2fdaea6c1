package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a file. Line and Column count from 1, Column in
// characters; a fault of the syntax is known by its line alone and stands at
// column 1.
type Problem struct {
	File    string
	Line    int
	Column  int
	Message string
}

// String gives the problem as file:line:column: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are the faults of a file, in the order of their positions.
type Problems []Problem

// Error gives one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// A file can be hostile: how much is said about it is bounded too.
const (
	maxProblems     = 1000
	maxMessageBytes = 400
)

// collector gathers the problems of one file.
type collector struct {
	file     string
	problems Problems
	dropped  int
}

// full reports whether a further problem would only be counted.
func (c *collector) full() bool { return len(c.problems) >= maxProblems }

func (c *collector) addf(line, column int, format string, args ...any) {
	if c.full() {
		c.dropped++
		return
	}
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessageBytes {
		message = strings.ToValidUTF8(message[:maxMessageBytes], "") + "…"
	}
	c.problems = append(c.problems, Problem{c.file, line, column, message})
}

// err gives what was gathered, or nil.
func (c *collector) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if c.dropped > 0 {
		last := c.problems[len(c.problems)-1]
		last.Message = fmt.Sprintf("%d more problems are not shown", c.dropped)
		c.problems = append(c.problems, last)
	}
	return c.problems
}

package strictyaml

import "fmt"

// Checker is implemented by structs that must satisfy more than the types of
// their fields. Check runs once a struct's fields are read, inner structs
// first, and also when some of them could not be read: those hold their zero
// value.
type Checker interface {
	Check(*Report)
}

// Report takes the problems that a Checker finds. Its paths start at the struct
// being checked and name keys and list items as in "nodes[2].version"; "" is
// the struct itself.
type Report struct {
	c  *collector
	at *place
}

// Addf reports a problem at path.
func (r *Report) Addf(path, format string, args ...any) {
	r.c.addAt(r.at, path, format, args...)
}

// Position gives the place of the key or list item at path. Where the file does
// not have it, that is the place of what would hold it.
func (r *Report) Position(path string) (line, column int) {
	key := r.at.find(path).key
	return key.Line, key.Column
}

// addAt reports a problem at the path that starts at p, and says the full path.
func (c *collector) addAt(p *place, path, format string, args ...any) {
	if c.full() {
		c.dropped++
		return
	}
	key := p.find(path).key
	if full := join(p.path(), path); full != "" {
		format, args = "%s: %s", []any{full, fmt.Sprintf(format, args...)}
	}
	c.addf(key.Line, key.Column, format, args...)
}

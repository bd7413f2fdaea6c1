package strictyaml

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is a value of the document and the way to it.
type place struct {
	up    *place
	name  string     // as in a path: a key, or an index in brackets
	key   *yaml.Node // where problems with the value are reported: its key, or the list item itself
	value *yaml.Node
}

func (p *place) child(name string, key, value *yaml.Node) *place {
	return &place{p, name, key, value}
}

func (p *place) item(i int, value *yaml.Node) *place {
	return &place{p, "[" + strconv.Itoa(i) + "]", value, value}
}

// path gives the way from the root. Names that could be mistaken for more than
// one step, or that a terminal could obey, are quoted.
func (p *place) path() string {
	if p.up == nil {
		return ""
	}
	name, isItem := p.name, p.key == p.value
	if quoted := strconv.Quote(name); !isItem && (quoted != `"`+name+`"` || strings.ContainsAny(name, " .[]")) {
		name = quoted
	}
	return join(p.up.path(), name)
}

func join(path, name string) string {
	if path == "" || name == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}

// find follows path from p as far as the document goes.
func (p *place) find(path string) *place {
	for path != "" {
		name, rest := firstStep(path)
		next := p.step(name)
		if next == nil {
			break
		}
		p, path = next, rest
	}
	return p
}

// firstStep cuts "a[2].b" after "a", "[2].b" after "[2]" and ".b" after "b".
func firstStep(path string) (name, rest string) {
	path = strings.TrimPrefix(path, ".")
	for i := range path {
		if i > 0 && (path[i] == '.' || path[i] == '[') {
			return path[:i], path[i:]
		}
	}
	return path, ""
}

// step gives the key or item of p that name stands for, or nil.
func (p *place) step(name string) *place {
	switch p.value.Kind {
	case yaml.SequenceNode:
		i, err := strconv.Atoi(strings.Trim(name, "[]"))
		if err == nil && 0 <= i && i < len(p.value.Content) {
			return p.item(i, p.value.Content[i])
		}
	case yaml.MappingNode:
		for key, value := range pairs(p.value) {
			if key.Value == name {
				return p.child(name, key, value)
			}
		}
	}
	return nil
}

package strictyaml

import (
	"iter"

	"go.yaml.in/yaml/v3"
)

// vet reports what is wrong with the tree under n whatever it is read into.
func (c *collector) vet(n *yaml.Node, depth int) {
	if depth > maxDepth {
		c.addf(n.Line, n.Column, "nested deeper than %d levels", maxDepth)
		return
	}
	switch {
	case n.Kind == yaml.AliasNode:
		c.addf(n.Line, n.Column, "alias *%s is not allowed, write the value out", n.Value)
	case n.Anchor != "":
		c.addf(n.Line, n.Column, "anchor &%s is not allowed", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		c.addf(n.Line, n.Column, "tag %q is not allowed", n.Tag)
	}
	if n.Kind == yaml.MappingNode {
		c.vetKeys(n)
	}
	for _, child := range n.Content {
		c.vet(child, depth+1)
	}
}

func (c *collector) vetKeys(n *yaml.Node) {
	first := map[string]*yaml.Node{}
	for key := range pairs(n) {
		if key.Kind != yaml.ScalarNode {
			c.addf(key.Line, key.Column, "a key must be plain text, not %s", describe(key))
			continue
		}
		if earlier, ok := first[key.Value]; ok {
			c.addf(key.Line, key.Column, "duplicate key %q, first on line %d", key.Value, earlier.Line)
			continue
		}
		first[key.Value] = key
	}
}

// pairs yields the keys and values of a mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

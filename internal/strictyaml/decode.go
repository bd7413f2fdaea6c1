package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decode sets v from the value at p and reports whether it could. A problem
// with a value stands at its key.
func (c *collector) decode(p *place, v reflect.Value) bool {
	if p.value.Kind == yaml.AliasNode {
		return false // vet has said so
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return c.decodeText(p, u)
	}
	switch v.Kind() {
	case reflect.Struct:
		return c.decodeStruct(p, v)
	case reflect.Map:
		return c.decodeMap(p, v)
	case reflect.Slice:
		return c.decodeSlice(p, v)
	case reflect.Pointer:
		value := reflect.New(v.Type().Elem())
		if !c.decode(p, value.Elem()) {
			return false
		}
		v.Set(value)
		return true
	default:
		return c.decodeScalar(p, v)
	}
}

func (c *collector) decodeStruct(p *place, v reflect.Value) bool {
	if p.value.Kind != yaml.MappingNode {
		return c.wrongType(p, "a mapping")
	}
	fields := fieldsOf(v.Type())
	stated := map[string]bool{}
	for key, value := range pairs(p.value) {
		if key.Kind != yaml.ScalarNode {
			continue // vet has said so
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if i < 0 {
			c.addUnknown(p, key, fields)
			continue
		}
		if isNull(value) {
			continue
		}
		stated[key.Value] = true
		child := p.child(key.Value, key, value)
		if fields[i].required && value.Kind == yaml.ScalarNode && value.Value == "" {
			c.addAt(child, "", "is empty")
			continue
		}
		c.decode(child, v.Field(fields[i].index))
	}
	for _, f := range fields {
		if f.required && !stated[f.key] {
			c.addAt(p, "", "missing key %q", f.key)
		}
	}
	if checker, ok := v.Addr().Interface().(Checker); ok {
		checker.Check(&Report{c, p})
	}
	return true
}

func (c *collector) addUnknown(p *place, key *yaml.Node, fields []field) {
	hint := ""
	if name := closest(key.Value, fields); name != "" {
		hint = fmt.Sprintf(", did you mean %q?", name)
	}
	c.addAt(p.child("", key, key), "", "unknown key %q%s", key.Value, hint)
}

func (c *collector) decodeMap(p *place, v reflect.Value) bool {
	if p.value.Kind != yaml.MappingNode {
		return c.wrongType(p, "a mapping")
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range pairs(p.value) {
		if key.Kind != yaml.ScalarNode {
			continue // vet has said so
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if c.decodeElement(p.child(key.Value, key, value), element) {
			v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), element)
		}
	}
	return true
}

func (c *collector) decodeSlice(p *place, v reflect.Value) bool {
	if p.value.Kind != yaml.SequenceNode {
		return c.wrongType(p, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(p.value.Content), len(p.value.Content)))
	for i, item := range p.value.Content {
		c.decodeElement(p.item(i, item), v.Index(i))
	}
	return true
}

// decodeElement refuses a null, which a struct's field may hold: an element
// cannot be left out and still be counted.
func (c *collector) decodeElement(p *place, v reflect.Value) bool {
	if isNull(p.value) {
		c.addAt(p, "", "is empty")
		return false
	}
	return c.decode(p, v)
}

func (c *collector) decodeText(p *place, u encoding.TextUnmarshaler) bool {
	if p.value.Kind != yaml.ScalarNode {
		return c.wrongType(p, "text")
	}
	if err := u.UnmarshalText([]byte(p.value.Value)); err != nil {
		c.addAt(p, "", "%v", err)
		return false
	}
	return true
}

// decodeScalar is stricter than the library, which reads yes as true, 064 as
// 52 and 1.5 as 1.
func (c *collector) decodeScalar(p *place, v reflect.Value) bool {
	text, tag := p.value.Value, p.value.Tag
	switch v.Kind() {
	case reflect.String:
		if p.value.Kind != yaml.ScalarNode {
			return c.wrongType(p, "text")
		}
		v.SetString(text)
	case reflect.Bool:
		if tag != "!!bool" {
			return c.wrongType(p, "true or false")
		}
		v.SetBool(strings.EqualFold(text, "true"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if errors.Is(err, strconv.ErrRange) {
			c.addAt(p, "", "%s is out of range", text)
			return false
		}
		if tag != "!!int" || err != nil || strconv.FormatInt(n, 10) != text {
			return c.wrongType(p, "a whole number")
		}
		v.SetInt(n)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(text, v.Type().Bits())
		if tag != "!!int" && tag != "!!float" || err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return c.wrongType(p, "a number")
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("strictyaml: decode into %s: type is not supported", v.Type()))
	}
	return true
}

func (c *collector) wrongType(p *place, want string) bool {
	c.addAt(p, "", "want %s, not %s", want, describe(p.value))
	return false
}

// describe names what a node holds, for people.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return strconv.Quote(n.Value)
}

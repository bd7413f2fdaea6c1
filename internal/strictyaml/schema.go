package strictyaml

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Schema gives the JSON Schema (2020-12) of the files that Decode reads into a
// struct of this type. A field's schema tag narrows its text, as
// `schema:"enum=a|b"` or `schema:"pattern=^x$"`; its doc tag describes it.
func Schema(title string, of any) ([]byte, error) {
	s := schemaOf(reflect.TypeOf(of))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = title
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

func schemaOf(t reflect.Type) map[string]any {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return schemaOfStruct(t)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	panic(fmt.Sprintf("strictyaml: schema of %s: type is not supported", t))
}

func schemaOfStruct(t reflect.Type) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, f := range fieldsOf(t) {
		field := t.Field(f.index)
		s := schemaOf(field.Type)
		if list, ok := strings.CutPrefix(field.Tag.Get("schema"), "enum="); ok {
			s["enum"] = strings.Split(list, "|")
		}
		if pattern, ok := strings.CutPrefix(field.Tag.Get("schema"), "pattern="); ok {
			s["pattern"] = pattern
		}
		if doc := field.Tag.Get("doc"); doc != "" {
			s["description"] = doc
		}
		properties[f.key] = s
		if f.required {
			required = append(required, f.key)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

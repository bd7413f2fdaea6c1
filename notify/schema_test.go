package notify

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The published schema names exactly the keys that a pack's twin has.
func TestPackSchemaIsPublished(t *testing.T) {
	text, err := os.ReadFile("../docs/pack.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	compare(t, "pack", reflect.TypeFor[Twin](), schema)
}

type object struct {
	Properties map[string]object `json:"properties"`
	Required   []string          `json:"required"`
	Items      *object           `json:"items"`
}

func compare(t *testing.T, name string, of reflect.Type, schema object) {
	t.Helper()
	var keys []string
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, key)
		property, ok := schema.Properties[key]
		if !ok {
			t.Errorf("%s: the schema lacks %q", name, key)
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			if property.Items == nil {
				t.Errorf("%s: %q has no items", name, key)
				continue
			}
			compare(t, name+"."+key, f.Type.Elem(), *property.Items)
		}
	}
	slices.Sort(keys)
	if got := slices.Sorted(slices.Values(schema.Required)); !slices.Equal(got, keys) || len(schema.Properties) != len(keys) {
		t.Errorf("%s: the schema requires %q, a twin has %q", name, got, keys)
	}
}

package strictyaml

import (
	"reflect"
	"strings"
)

// field is a field of a struct that a key fills.
type field struct {
	key      string
	index    int
	required bool
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("yaml")
		if !ok {
			continue
		}
		key, option, _ := strings.Cut(tag, ",")
		fields = append(fields, field{key, i, option == "required"})
	}
	return fields
}

// closest gives the key that word is most likely a slip of, or "".
func closest(word string, fields []field) string {
	best, bestDistance := "", 3
	for _, f := range fields {
		// Two slips, but not in a key that has little more than two letters.
		limit := min(2, len(f.key)/2)
		if d := len(word) - len(f.key); d > limit || -d > limit {
			continue
		}
		if d := distance(word, f.key); d <= limit && d < bestDistance {
			best, bestDistance = f.key, d
		}
	}
	return best
}

// distance is the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

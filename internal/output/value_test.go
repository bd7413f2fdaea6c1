package output

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"
)

// decimal stands for the driver's, which output does not import.
type decimal string

func (d decimal) String() string { return string(d) }

func TestTypeOf(t *testing.T) {
	for name, want := range map[string]Type{
		"VARCHAR": Text, "ENUM": Text, "INTEGER": Int, "BIGINT": Int, "UINTEGER": Int, "UBIGINT": Uint, "DOUBLE": Float, "BOOLEAN": Bool,
		"TIMESTAMPTZ": Time, "TIMESTAMP WITH TIME ZONE": Time, "TIMESTAMP": WallTime, "TIMESTAMP_NS": WallTime, "VARCHAR[]": TextList,
		"HUGEINT": Other, "DECIMAL(18,3)": Other, "DATE": Other, "JSON": Other, "BLOB": Other, "INTEGER[]": Other, "VARCHAR[][]": Other, "": Other,
	} {
		if got := TypeOf(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

func TestValuesOfTheDriver(t *testing.T) {
	noon := time.Date(2026, 8, 27, 12, 0, 0, 5000, time.UTC)
	for _, c := range []struct {
		name     string
		in, want any
	}{
		{"VARCHAR", nil, nil},
		{"VARCHAR", "x", "x"},
		{"BOOLEAN", true, true},
		{"TINYINT", int8(-5), int64(-5)},
		{"INTEGER", int32(5), int64(5)},
		{"UINTEGER", uint32(math.MaxUint32), int64(math.MaxUint32)},
		{"BIGINT", int64(-5), int64(-5)},
		{"UBIGINT", uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{"FLOAT", float32(0.5), 0.5},
		{"TIMESTAMPTZ", noon, noon},
		{"HUGEINT", new(big.Int).Lsh(big.NewInt(1), 100), "1267650600228229401496703205376"},
		{"DECIMAL(4,2)", decimal("1.25"), "1.25"},
		{"DATE", noon.Truncate(24 * time.Hour), "2026-08-27"},
		{"TIME", time.Date(1, 1, 1, 1, 2, 3, 500_000_000, time.UTC), "01:02:03.5"},
		{"BLOB", []byte("a\xff\\"), `a\xFF\x5C`},
		{"INTEGER[]", []any{int32(1), nil}, "[1,null]"},
		{"VARCHAR[][]", []any{[]any{"<a>"}, []any{}}, `[["<a>"],[]]`},
		{"STRUCT", map[string]any{"y": "z", "x": int32(1), "t": noon, "b": []byte{1}}, `{"b":"\\x01","t":"2026-08-27T12:00:00.000005","x":1,"y":"z"}`},
		{"DOUBLE[]", []any{math.NaN()}, "[NaN]"},
	} {
		if got := Value(TypeOf(c.name), c.in); got != c.want {
			t.Errorf("%s %v: got %v (%T), want %v", c.name, c.in, got, got, c.want)
		}
	}
	if got, ok := Value(TextList, []any{"a", nil, "b"}).([]string); !ok || !slices.Equal(got, []string{"a", "", "b"}) {
		t.Errorf("list %q", got)
	}
}

package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// TypeOf gives the type for a DuckDB type by its name.
func TypeOf(databaseType string) Type {
	switch databaseType {
	case "VARCHAR", "ENUM":
		return Text
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER":
		return Int
	case "UBIGINT":
		return Uint
	case "FLOAT", "DOUBLE":
		return Float
	case "BOOLEAN":
		return Bool
	case "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE":
		return Time
	case "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		return WallTime
	case "VARCHAR[]":
		return TextList
	}
	return Other
}

// Value gives what a database driver returned for a column of type t as the Go
// value that stands for t. A NULL inside a list of texts becomes an empty text.
func Value(t Type, v any) any {
	if v == nil {
		return nil
	}
	switch t {
	case Text, Other:
		return text(v)
	case TextList:
		if list, ok := v.([]any); ok {
			return texts(list)
		}
	}
	return widened(v)
}

// widened gives the widest number of its kind, and other values as they are.
func widened(v any) any {
	switch x := v.(type) {
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case uint8:
		return int64(x)
	case uint16:
		return int64(x)
	case uint32:
		return int64(x)
	case float32:
		return float64(x)
	}
	return v
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		if v != nil {
			out[i] = text(v)
		}
	}
	return out
}

// text writes a driver's value as text: lists and structs as JSON.
func text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case []byte:
		return blob(x)
	case time.Time:
		return dateOrTime(x)
	case fmt.Stringer: // big.Int, and decimals and maps of the driver
		return x.String()
	}
	return jsonText(v)
}

// blob writes bytes as DuckDB does.
func blob(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		if c < ' ' || c > '~' || strings.IndexByte(`\'"`, c) >= 0 {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// dateOrTime tells DATE and TIME, which the driver gives as midnight and as
// an hour of the year 1, from a full time.
func dateOrTime(t time.Time) string {
	t = t.UTC()
	switch {
	case t.Year() == 1:
		return t.Format("15:04:05.999999")
	case t.Equal(t.Truncate(24 * time.Hour)):
		return t.Format(time.DateOnly)
	}
	return t.Format(wallLayout)
}

func jsonText(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(jsonReady(v)); err != nil {
		return fmt.Sprint(v) // NaN and what else JSON has no word for
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonReady replaces what encoding/json would write otherwise than text does.
func jsonReady(v any) any {
	switch x := v.(type) {
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = jsonReady(x[i])
		}
		return list
	case map[string]any:
		members := make(map[string]any, len(x))
		for name := range x {
			members[name] = jsonReady(x[name])
		}
		return members
	case []byte, time.Time, fmt.Stringer:
		return text(x)
	}
	return v
}

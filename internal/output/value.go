package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TypeOf gives the type for a DuckDB type by its name. Types without one of
// their own are written as text.
func TypeOf(name string) Type {
	switch name {
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
	return Text
}

// Value gives what a database driver returned for a column of type t as the Go
// value that stands for t.
func Value(t Type, v any) any {
	if v == nil {
		return nil
	}
	switch t {
	case Int:
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
		if err == nil {
			return n
		}
	case Float:
		switch x := v.(type) {
		case float64:
			return x
		case float32:
			return float64(x)
		}
	case Uint, Bool, Time, WallTime:
		return v
	case TextList:
		if list, ok := v.([]any); ok {
			return texts(list)
		}
	case Text:
		return text(v)
	}
	return v
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return out
}

func text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case []byte:
		return string(x)
	case time.Time:
		return strings.TrimSuffix(x.UTC().Format("2006-01-02T15:04:05.999999"), "T00:00:00")
	}
	return fmt.Sprint(v)
}

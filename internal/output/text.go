package output

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// wallLayout shows a fraction only where there is one.
const wallLayout = "2006-01-02T15:04:05.999999"

// plain writes a value as text for people: NULL as nothing, lists joined.
func plain(t Type, v any) string {
	switch x := v.(type) {
	case string:
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	case float64:
		return string(appendFloat(nil, x))
	case bool:
		return strconv.FormatBool(x)
	case time.Time:
		if t == WallTime {
			return x.Format(wallLayout)
		}
		return x.UTC().Format(wallLayout + "Z")
	case []string:
		return strings.Join(x, "; ")
	}
	return ""
}

// appendFloat uses exponents only where digits would run on.
func appendFloat(b []byte, x float64) []byte {
	format := byte('f')
	if size := math.Abs(x); size != 0 && size < 1e-6 || size >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(b, x, format, -1, 64)
}

// micros counts from 1970; for a wall time, on the wall's own clock.
func micros(t Type, x time.Time) int64 {
	if t == WallTime {
		_, offset := x.Zone()
		x = x.Add(time.Duration(offset) * time.Second)
	}
	return x.UnixMicro()
}

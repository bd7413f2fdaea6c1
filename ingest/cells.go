package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// cellText gives the value of a row as text, exactly, and whether there is
// one: an entry of a dictionary may be null. Text is what all formats have in
// common, so that the same record reads the same from each of them.
type cellText func(i int) (text string, stated bool, err error)

// isTime says whether a field holds an instant.
func (f field) isTime() bool {
	switch f {
	case fieldReceivedAt, fieldFirstTokenAt, fieldFinishedAt, fieldAbortedAt:
		return true
	}
	return false
}

func (f field) isTruth() bool { return f == fieldStream || f == fieldClientDisconnected }

// usable says whether values of type t can state field f. Numbers and times
// may stand as text, as they do in CSV, but text only as text.
func usable(f field, t arrow.DataType) bool {
	if f == fieldNone {
		return true
	}
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return usable(f, t.ValueType)
	case *arrow.NullType, *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType,
		*arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return true
	case *extensions.UUIDType:
		return f.isText()
	case *arrow.TimestampType:
		return f.isTime()
	case *arrow.BooleanType:
		return f.isTruth()
	case *arrow.Float16Type, *arrow.Float32Type: // too coarse for an epoch
		return !f.isText() && !f.isTime()
	case *arrow.Float64Type, arrow.DecimalType:
		return !f.isText()
	}
	return arrow.IsInteger(t.ID()) && !f.isText()
}

// textOf gives the reader of a column whose values are text in every format.
// There is none for a column that is not canonical and whose values JSON can
// hold as they are.
func textOf(values arrow.Array, kind arrow.DataType, f field) cellText {
	if d, ok := values.(*array.Dictionary); ok {
		return dictionaryText(d, kind.(*arrow.DictionaryType).ValueType, f)
	}
	switch a := values.(type) {
	case array.StringLike:
		return func(i int) (string, bool, error) { return plainText(a.Value(i)) }
	case *extensions.UUIDArray:
		return func(i int) (string, bool, error) { return a.ValueStr(i), true, nil }
	case *array.Timestamp:
		return timestampText(a, kind.(*arrow.TimestampType))
	}
	if decimal := decimalText(values, kind); decimal != nil {
		return decimal
	}
	if f == fieldNone {
		return nil
	}
	return numberText(values, f)
}

func dictionaryText(d *array.Dictionary, kind arrow.DataType, f field) cellText {
	entries := d.Dictionary()
	text := textOf(entries, kind, f)
	if text == nil {
		return nil
	}
	return func(i int) (string, bool, error) {
		n := d.GetValueIndex(i)
		if entries.IsNull(n) {
			return "", false, nil
		}
		return text(n)
	}
}

func plainText(s string) (string, bool, error) {
	if !utf8.ValidString(s) {
		return "", false, checkUTF8([]byte(s))
	}
	return s, true, nil
}

// timestampText writes an instant in UTC, as which Arrow keeps every time with
// a zone, and a time without zone as its writer's clock showed it.
func timestampText(a *array.Timestamp, kind *arrow.TimestampType) cellText {
	layout := "2006-01-02T15:04:05.999999999"
	if kind.TimeZone != "" {
		layout += "Z"
	}
	perSecond := int64(time.Second / kind.Unit.Multiplier())
	return func(i int) (string, bool, error) {
		const first, last = -62135596800, 253402300799 // years 1 to 9999
		v := int64(a.Value(i))
		seconds, rest := v/perSecond, v%perSecond
		if seconds < first || seconds > last {
			return "", false, fmt.Errorf("time %d in %s lies outside the years 1 to 9999", v, kind.Unit)
		}
		t := time.Unix(seconds, rest*int64(kind.Unit.Multiplier())).UTC()
		return t.Format(layout), true, nil
	}
}

func decimalText(values arrow.Array, kind arrow.DataType) cellText {
	decimal, ok := kind.(arrow.DecimalType)
	if !ok {
		return nil
	}
	scale := decimal.GetScale()
	exact := func(at func(int) interface{ ToString(int32) string }) cellText {
		return func(i int) (string, bool, error) { return at(i).ToString(scale), true, nil }
	}
	type number = interface{ ToString(int32) string }
	switch a := values.(type) {
	case *array.Decimal32:
		return exact(func(i int) number { return a.Value(i) })
	case *array.Decimal64:
		return exact(func(i int) number { return a.Value(i) })
	case *array.Decimal128:
		return exact(func(i int) number { return a.Value(i) })
	case *array.Decimal256:
		return exact(func(i int) number { return a.Value(i) })
	}
	return nil
}

func numberText(values arrow.Array, f field) cellText {
	switch a := values.(type) {
	case *array.Null:
		return func(int) (string, bool, error) { return "", false, nil }
	case *array.Boolean:
		return func(i int) (string, bool, error) { return strconv.FormatBool(a.Value(i)), true, nil }
	case *array.Binary:
		return func(i int) (string, bool, error) { return plainText(string(a.Value(i))) }
	case *array.LargeBinary:
		return func(i int) (string, bool, error) { return plainText(string(a.Value(i))) }
	case *array.BinaryView:
		return func(i int) (string, bool, error) { return plainText(string(a.Value(i))) }
	case *array.Float16:
		return floatText(func(i int) float64 { return float64(a.Value(i).Float32()) }, f)
	case *array.Float32:
		return floatText(func(i int) float64 { return float64(a.Value(i)) }, f)
	case *array.Float64:
		return floatText(a.Value, f)
	case *array.Int8:
		return signed(a)
	case *array.Int16:
		return signed(a)
	case *array.Int32:
		return signed(a)
	case *array.Int64:
		return signed(a)
	case *array.Uint8:
		return unsigned(a)
	case *array.Uint16:
		return unsigned(a)
	case *array.Uint32:
		return unsigned(a)
	case *array.Uint64:
		return unsigned(a)
	}
	panic(fmt.Sprintf("no reader for %T", values)) // usable() let it pass
}

func signed[T arrow.IntType](a interface{ Value(int) T }) cellText {
	return func(i int) (string, bool, error) { return strconv.FormatInt(int64(a.Value(i)), 10), true, nil }
}

func unsigned[T arrow.UintType](a interface{ Value(int) T }) cellText {
	return func(i int) (string, bool, error) { return strconv.FormatUint(uint64(a.Value(i)), 10), true, nil }
}

// floatText refuses whole numbers beyond 2^53, which a float rounds: a room
// number that went through a float is another room. Times bear it.
func floatText(value func(int) float64, f field) cellText {
	return func(i int) (string, bool, error) {
		v := value(i)
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if math.Abs(v) > 1<<53 && !f.isTime() && !math.IsInf(v, 0) {
			return "", false, fmt.Errorf("%s is a float, too large to be exact", text)
		}
		return text, true, nil
	}
}

// jsonOf gives a value of a column that is not canonical.
func jsonOf(values arrow.Array, i int) ([]byte, error) {
	text, err := json.Marshal(values.GetOneForMarshal(i))
	if err != nil {
		return nil, err
	}
	if replaced(text) {
		return nil, errors.New("invalid UTF-8 in a nested text")
	}
	return text, nil
}

// replaced says whether a JSON text was made of a string with invalid UTF-8:
// only for that do encoders write the escape of U+FFFD.
func replaced(text []byte) bool {
	for {
		n := bytes.IndexByte(text, '\\')
		if n < 0 || n+1 >= len(text) {
			return false
		}
		text = text[n:]
		if bytes.HasPrefix(text, []byte(`\ufffd`)) {
			return true
		}
		text = text[2:]
	}
}

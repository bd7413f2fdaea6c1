package ingest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"kvforensics/internal/evidence"
)

// instant is a time as one field of evidence states it.
type instant struct {
	at        evidence.Micros
	known     bool // false: zone-less text and no zone to place it with
	basis     evidence.TimeBasis
	offsetMin evidence.Opt[int32]
}

// epochUnits are told apart by size: each unit is taken for instants between
// 1973 and 5138, where the four ranges do not overlap.
var epochUnits = []struct {
	from, below float64
	perMicro    float64 // microseconds in one unit
	basis       evidence.TimeBasis
}{
	{1e8, 1e11, 1e6, evidence.TimeEpochS},
	{1e11, 1e14, 1e3, evidence.TimeEpochMs},
	{1e14, 1e17, 1, evidence.TimeEpochUs},
	{1e17, math.MaxInt64, 1e-3, evidence.TimeEpochNs},
}

// parseEpoch reads a JSON number or a text of digits as seconds, milli-,
// micro- or nanoseconds since 1970.
func parseEpoch(text string) (instant, error) {
	value, err := decimal(text)
	if err != nil {
		return instant{}, fmt.Errorf("not a time: %s", clip(text))
	}
	for _, u := range epochUnits {
		if value < u.from || value >= u.below {
			continue
		}
		return instant{at: epochMicros(text, value, u.perMicro), known: true, basis: u.basis}, nil
	}
	return instant{}, fmt.Errorf("number %s is no plausible epoch time (1973 to 5138)", clip(text))
}

// epochMicros keeps whole units exact, where a float would lose the last
// digits of nanoseconds.
func epochMicros(text string, value, perMicro float64) evidence.Micros {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return evidence.Micros(math.Round(value * perMicro))
	}
	if perMicro < 1 {
		return evidence.Micros(n / int64(1/perMicro))
	}
	return evidence.Micros(n * int64(perMicro))
}

// parseTime reads RFC 3339, with a blank for the T and a comma for the point
// allowed, or digits. A text without zone is placed with zone, if there is one.
func parseTime(text string, zone *time.Location) (instant, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return instant{}, fmt.Errorf("empty time")
	}
	if len(text) < 5 || text[4] != '-' {
		return parseEpoch(text)
	}
	wall, rest, err := parseWall(text)
	if err != nil {
		return instant{}, err
	}
	rest = strings.TrimPrefix(rest, " ")
	if rest == "" {
		return placeWall(wall, zone), nil
	}
	offset, err := parseOffset(rest)
	if err != nil {
		return instant{}, fmt.Errorf("time %s: %w", clip(text), err)
	}
	return instant{
		at: wall - evidence.Micros(offset)*60_000_000, known: true,
		basis: evidence.TimeOffset, offsetMin: evidence.Some(offset),
	}, nil
}

func placeWall(wall evidence.Micros, zone *time.Location) instant {
	if zone == nil {
		return instant{basis: evidence.TimeZoneMissing}
	}
	w := wall.Time()
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), zone)
	_, seconds := t.Zone()
	return instant{
		at: evidence.MicrosOf(t), known: true,
		basis: evidence.TimeStatedZone, offsetMin: evidence.Some(int32(seconds / 60)),
	}
}

// parseWall reads YYYY-MM-DD, T or blank, HH:MM:SS and a fraction, and returns
// what follows.
func parseWall(s string) (evidence.Micros, string, error) {
	bad := func() (evidence.Micros, string, error) {
		return 0, "", fmt.Errorf("not a time: %s", clip(s))
	}
	const layout = "2006-01-02T15:04:05"
	if len(s) < len(layout) || s[4] != '-' || s[7] != '-' || s[13] != ':' || s[16] != ':' ||
		(s[10] != 'T' && s[10] != 't' && s[10] != ' ') {
		return bad()
	}
	var field [6]int
	for i, at := range [6][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		for _, c := range []byte(s[at[0]:at[1]]) {
			if c < '0' || c > '9' {
				return bad()
			}
			field[i] = field[i]*10 + int(c-'0')
		}
	}
	year, month, day, hour, minute, second := field[0], field[1], field[2], field[3], field[4], field[5]
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 60 {
		return bad()
	}
	seconds := daysSinceEpoch(year, month, day)*86400 + int64(hour*3600+minute*60+second)
	micros, rest := fraction(s[len(layout):])
	return evidence.Micros(seconds*1_000_000 + micros), rest, nil
}

// fraction reads .123456789 or ,123 as microseconds; finer digits are dropped.
func fraction(s string) (int64, string) {
	if len(s) < 2 || (s[0] != '.' && s[0] != ',') || s[1] < '0' || s[1] > '9' {
		return 0, s
	}
	micros, i := int64(0), 1
	for unit := int64(100_000); i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		micros += int64(s[i]-'0') * unit
		unit /= 10
	}
	return micros, s[i:]
}

// parseOffset reads Z, ±HH:MM, ±HHMM, ±HH or UTC as minutes east.
func parseOffset(s string) (int32, error) {
	if s == "Z" || s == "z" || s == "UTC" {
		return 0, nil
	}
	digits := strings.Replace(s[1:], ":", "", 1)
	if (s[0] != '+' && s[0] != '-') || (len(digits) != 4 && len(digits) != 2) || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("unknown offset %s", clip(s))
	}
	digits = (digits + "00")[:4]
	n, err := strconv.Atoi(digits)
	if err != nil || n%100 > 59 || n > 1800 {
		return 0, fmt.Errorf("unknown offset %s", clip(s))
	}
	minutes := int32(n/100*60 + n%100)
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, nil
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSinceEpoch counts days of the Gregorian calendar from 1970-01-01, with
// years that begin in March so that the leap day comes last.
func daysSinceEpoch(year, month, day int) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	days := 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1
	return int64(days) - 719468
}

// clip quotes a foreign text for an error, cut to a readable length.
func clip(s string) string {
	const limit = 60
	if len(s) > limit {
		return strconv.Quote(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}

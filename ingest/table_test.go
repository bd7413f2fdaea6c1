package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"kvforensics/internal/evidence"
)

// readTable ingests columns as a Parquet and as an Arrow file, which must give
// the same, and returns that.
func readTable(t *testing.T, o Options, columns []testColumn) outcome {
	t.Helper()
	r := record(t, memory.DefaultAllocator, columns)
	defer r.Release()
	got := ingestBytes(t, arrowFileBytes(t, r, 3), o)
	for _, c := range columns {
		if c.kind.ID() == arrow.STRING_VIEW { // which the library does not write to Parquet
			return got
		}
	}
	other := ingestBytes(t, parquetBytes(t, r, 3), o)
	if a, b := fmt.Sprintf("%+v %+v", got.requests, got.rejects), fmt.Sprintf("%+v %+v", other.requests, other.rejects); a != b {
		t.Errorf("Arrow:\n%s\nParquet:\n%s", a, b)
	}
	return got
}

// with replaces or adds one column of the required ones, of one row.
func with(c testColumn) []testColumn {
	columns := required(len(c.values))
	for i := range columns {
		if columns[i].name == c.name {
			columns[i] = c
			return columns
		}
	}
	return append(columns, c)
}

func TestTableTimestamps(t *testing.T) {
	zone := time.FixedZone("", -5*3600)
	for _, c := range []struct {
		unit       arrow.TimeUnit
		zone, text string
		want       string // in UTC
	}{
		{arrow.Second, "UTC", "2026-08-27T10:00:01Z", "2026-08-27T10:00:01Z"},
		{arrow.Millisecond, "Europe/London", "2026-08-27T10:00:01.002Z", "2026-08-27T10:00:01.002Z"},
		{arrow.Microsecond, "+05:30", "2026-08-27T10:00:01.000002Z", "2026-08-27T10:00:01.000002Z"},
		{arrow.Nanosecond, "Etc/GMT+3", "2026-08-27T10:00:01.123456789Z", "2026-08-27T10:00:01.123456Z"},
		{arrow.Nanosecond, "UTC", "1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999Z"},
		{arrow.Second, "UTC", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
		{arrow.Second, "", "2026-08-27T10:00:01", "2026-08-27T15:00:01Z"},
		{arrow.Millisecond, "", "2026-08-27T10:00:01.002", "2026-08-27T15:00:01.002Z"},
		{arrow.Microsecond, "", "1969-12-31T23:59:59.000001", "1970-01-01T04:59:59.000001Z"},
		{arrow.Nanosecond, "", "2026-08-27T10:00:01.000000002", "2026-08-27T15:00:01Z"},
	} {
		kind := &arrow.TimestampType{Unit: c.unit, TimeZone: c.zone}
		want, err := time.Parse(time.RFC3339Nano, c.want)
		if err != nil {
			t.Fatal(err)
		}
		got := readTable(t, Options{Zone: zone}, with(testColumn{"received_at", kind, []string{`"` + c.text + `"`}}))
		if len(got.requests) != 1 {
			t.Errorf("%s: %s", kind, got.reasons())
			continue
		}
		basis, offset := evidence.TimeOffset, int32(0)
		if c.zone == "" {
			basis, offset = evidence.TimeStatedZone, -300
		}
		r := got.requests[0]
		if r.ReceivedAt != evidence.Some(evidence.MicrosOf(want)) || r.TimeBasis != basis || r.OffsetMin != evidence.Some(offset) {
			t.Errorf("%s %s: %s %s %v", kind, c.text, r.ReceivedAt.V.Time(), r.TimeBasis, r.OffsetMin)
		}
	}
}

func TestTableTimesWithoutZoneAreKept(t *testing.T) {
	local := &arrow.TimestampType{Unit: arrow.Nanosecond}
	columns := with(testColumn{"received_at", local, []string{`"2026-08-27T10:00:01.5"`}})
	columns = append(columns, testColumn{"finished_at", local, []string{`"2026-08-27T10:00:02.000000001"`}})
	r := readTable(t, Options{}, columns).requests[0]
	if r.ReceivedAt.Known || r.TimeBasis != evidence.TimeZoneMissing || r.FinishedAt.Known ||
		r.Extra != `{"received_at":"2026-08-27T10:00:01.5","finished_at":"2026-08-27T10:00:02.000000001"}` {
		t.Errorf("%+v", r)
	}
}

func TestTableINT96HasNoZone(t *testing.T) {
	columns := with(testColumn{"received_at", &arrow.TimestampType{Unit: arrow.Nanosecond}, []string{`"2026-08-27T10:00:01.5"`}})
	r := record(t, memory.DefaultAllocator, columns)
	defer r.Release()
	content := parquetBytes(t, r, 3, pqarrow.WithDeprecatedInt96Timestamps(true))
	got := ingestBytes(t, content, Options{}).requests[0]
	if got.TimeBasis != evidence.TimeZoneMissing || got.Extra != `{"received_at":"2026-08-27T10:00:01.5"}` {
		t.Errorf("%+v", got)
	}
}

func TestTableValues(t *testing.T) {
	uuid := extensions.NewUUIDType()
	for _, c := range []struct {
		column testColumn
		want   string // of the field, or in the reason
		get    func(r evidence.Request) any
	}{
		{testColumn{"bootstrap_room", arrow.PrimitiveTypes.Uint64, []string{"18446744073709551615"}}, "{18446744073709551615 true}", func(r evidence.Request) any { return r.BootstrapRoom }},
		{testColumn{"bootstrap_room", arrow.PrimitiveTypes.Float64, []string{"9007199254740992"}}, "{9007199254740992 true}", func(r evidence.Request) any { return r.BootstrapRoom }},
		{testColumn{"bootstrap_room", arrow.PrimitiveTypes.Float64, []string{"9007199254740994"}}, "bootstrap_room: 9007199254740994 is a float, too large to be exact", nil},
		{testColumn{"bootstrap_room", arrow.PrimitiveTypes.Int64, []string{"-1"}}, "bootstrap_room: want a whole number of 64 bits", nil},
		{testColumn{"bootstrap_room", arrow.BinaryTypes.StringView, []string{`"18446744073709551615"`}}, "{18446744073709551615 true}", func(r evidence.Request) any { return r.BootstrapRoom }},
		{testColumn{"prompt_tokens", arrow.PrimitiveTypes.Int16, []string{"-3"}}, `prompt_tokens: want a whole number, got "-3"`, nil},
		{testColumn{"prompt_tokens", arrow.PrimitiveTypes.Float32, []string{"2.5"}}, `prompt_tokens: want a whole number, got "2.5"`, nil},
		{testColumn{"prompt_tokens", arrow.PrimitiveTypes.Float64, []string{"2e3"}}, "{2000 true}", func(r evidence.Request) any { return r.PromptTokens }},
		{testColumn{"prompt_tokens", arrow.Null, []string{"null"}}, "{0 false}", func(r evidence.Request) any { return r.PromptTokens }},
		{testColumn{"ttft_ms", &arrow.Decimal128Type{Precision: 10, Scale: 3}, []string{`"12345.678"`}}, "{12345.678 true}", func(r evidence.Request) any { return r.TTFTms }},
		{testColumn{"ttft_ms", arrow.PrimitiveTypes.Float64, []string{`"NaN"`}}, `ttft_ms: want milliseconds, got "NaN"`, nil},
		{testColumn{"stream", arrow.PrimitiveTypes.Int8, []string{"1"}}, "{true true}", func(r evidence.Request) any { return r.Stream }},
		{testColumn{"stream", arrow.PrimitiveTypes.Int8, []string{"2"}}, `stream: want true or false`, nil},
		{testColumn{"received_at", arrow.PrimitiveTypes.Int64, []string{"1787824800123"}}, "epoch_ms 2026-08-27 10:00:00.123 +0000 UTC", func(r evidence.Request) any { return fmt.Sprint(r.TimeBasis, " ", r.ReceivedAt.V.Time()) }},
		{testColumn{"received_at", arrow.PrimitiveTypes.Float64, []string{"1787824800.25"}}, "epoch_s 2026-08-27 10:00:00.25 +0000 UTC", func(r evidence.Request) any { return fmt.Sprint(r.TimeBasis, " ", r.ReceivedAt.V.Time()) }},
		{testColumn{"received_at", arrow.BinaryTypes.String, []string{`"2026-08-27T10:00:00+02:00"`}}, "offset 2026-08-27 08:00:00 +0000 UTC", func(r evidence.Request) any { return fmt.Sprint(r.TimeBasis, " ", r.ReceivedAt.V.Time()) }},
		{testColumn{"received_at", arrow.BinaryTypes.String, []string{"null"}}, "received_at is missing", nil},
		{testColumn{"request_id", arrow.BinaryTypes.String, []string{`""`}}, "request_id is missing", nil},
		{testColumn{"request_id", arrow.BinaryTypes.Binary, []string{`"cjE="`}}, "r1", func(r evidence.Request) any { return r.RequestID }},
		{testColumn{"request_id", arrow.BinaryTypes.Binary, []string{`"/w=="`}}, "request_id: invalid UTF-8 at byte 0", nil},
		{testColumn{"request_id", uuid, []string{`"00112233-4455-6677-8899-aabbccddeeff"`}}, "00112233-4455-6677-8899-aabbccddeeff", func(r evidence.Request) any { return r.RequestID }},
		{testColumn{"x", arrow.PrimitiveTypes.Uint64, []string{"18446744073709551615"}}, `{"x":18446744073709551615}`, extraOf},
		{testColumn{"x", arrow.PrimitiveTypes.Float64, []string{"0.1"}}, `{"x":0.1}`, extraOf},
		{testColumn{"x", arrow.PrimitiveTypes.Date32, []string{`"2026-08-27"`}}, `{"x":"2026-08-27"}`, extraOf},
		{testColumn{"x", &arrow.Decimal128Type{Precision: 38, Scale: 2}, []string{`"123456789012345678901234567890123456.78"`}}, `{"x":"123456789012345678901234567890123456.78"}`, extraOf},
		{testColumn{"x", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, []string{`"2026-08-27T10:00:00.001Z"`}}, `{"x":"2026-08-27T10:00:00.001Z"}`, extraOf},
		{testColumn{"x", arrow.BinaryTypes.Binary, []string{`"/w=="`}}, `{"x":"/w=="}`, extraOf},
		{testColumn{"x", arrow.ListOf(arrow.PrimitiveTypes.Int64), []string{"[1,null,9223372036854775807]"}}, `{"x":[1,null,9223372036854775807]}`, extraOf},
		{testColumn{"x", arrow.ListOf(arrow.PrimitiveTypes.Int64), []string{"null"}}, "", extraOf},
		{testColumn{"x", arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, arrow.Field{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), []string{`{"a":"é\\ufffd","b":true}`}}, `{"x":{"a":"é\\ufffd","b":true}}`, extraOf},
		{testColumn{"x", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), []string{`[{"key":"k","value":1}]`}}, `{"x":[{"key":"k","value":1}]}`, extraOf},
	} {
		got := readTable(t, Options{}, with(c.column))
		switch {
		case c.get == nil && !strings.Contains(got.reasons(), "1: "+c.want):
			t.Errorf("%s %s %s: rejects %s", c.column.name, c.column.kind, c.column.values, got.reasons())
		case c.get != nil && (len(got.requests) != 1 || fmt.Sprint(c.get(got.requests[0])) != c.want):
			t.Errorf("%s %s %s: %+v\n%s", c.column.name, c.column.kind, c.column.values, got.requests, got.reasons())
		}
	}
}

func extraOf(r evidence.Request) any { return r.Extra }

func TestTableSchemaProblems(t *testing.T) {
	text, number := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	for _, c := range []struct {
		columns []testColumn
		problem string
	}{
		{required(1)[:2], `no column received_at; found "request_id", "tenant_id"; 0 rows were read`},
		{append(required(1), testColumn{"x", text, []string{`"a"`}}, testColumn{"x", text, []string{`"b"`}}), `column "x" twice`},
		{with(testColumn{"tenant_id", number, []string{"1"}}), `column "tenant_id" of type int64 cannot be read as that field`},
		{with(testColumn{"received_at", arrow.PrimitiveTypes.Date32, []string{`"2026-08-27"`}}), `column "received_at" of type date32`},
		{with(testColumn{"received_at", arrow.PrimitiveTypes.Float32, []string{"1"}}), `column "received_at" of type float32`},
		{with(testColumn{"model", arrow.ListOf(text), []string{"[]"}}), `column "model" of type list`},
		{with(testColumn{"http_status", arrow.FixedWidthTypes.Boolean, []string{"true"}}), `column "http_status" of type bool`},
	} {
		got := readTable(t, Options{}, c.columns)
		got.wantState(t, evidence.SourceUnread, c.problem)
		if got.source.Tally.Ignored != 1 {
			t.Errorf("%+v", got.source.Tally)
		}
	}
}

func TestTablePreviewHoldsNoContent(t *testing.T) {
	columns := append(with(testColumn{"prompt_tokens", arrow.PrimitiveTypes.Int64, []string{"-1"}}),
		testColumn{"prompt_text", arrow.BinaryTypes.String, []string{`"secret"`}})
	for _, keep := range []bool{false, true} {
		got := readTable(t, Options{KeepContent: keep}, columns).rejects[0]
		if !strings.HasPrefix(got.Preview, "request_id=r1 tenant_id=t0 received_at=") || strings.Contains(got.Preview, "secret") {
			t.Errorf("preview %q", got.Preview)
		}
		if got.Locator != (evidence.Locator{Line: 1}) {
			t.Errorf("place %+v", got.Locator)
		}
	}
}

// All memory taken from the allocator is given back.
func TestTableReleasesItsMemory(t *testing.T) {
	r := record(t, memory.DefaultAllocator, append(fullColumns(), testColumn{"list", arrow.ListOf(arrow.BinaryTypes.String), []string{`["a"]`, "null", "[]", `["b",null]`}}))
	defer r.Release()
	for name, c := range map[string]struct {
		content []byte
		read    func(c *content, put func(*batch) error, mem memory.Allocator) error
	}{
		"parquet": {parquetBytes(t, r, 3), func(c *content, put func(*batch) error, mem memory.Allocator) error {
			return readParquetWith(context.Background(), c, Options{KeepContent: true}, put, mem)
		}},
		"file": {arrowFileBytes(t, r, 3), func(c *content, put func(*batch) error, mem memory.Allocator) error {
			return readArrowFileWith(c, Options{}, put, mem)
		}},
		"stream": {arrowStreamBytes(t, r, 3), func(c *content, put func(*batch) error, mem memory.Allocator) error {
			return readArrowStreamWith(c, Options{}, put, mem)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			rows := 0
			err := c.read(opened(t, c.content), func(b *batch) error {
				rows += len(b.requests)
				return nil
			}, mem)
			if err != nil || rows != 4 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

func opened(t *testing.T, data []byte) *content {
	t.Helper()
	c, err := openContent(write(t, "table", data), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.close() })
	return c
}

func TestTableAllocatorIsBounded(t *testing.T) {
	mem := newAllocator()
	b := mem.Allocate(100)
	b = mem.Reallocate(1000, b)
	mem.Free(b)
	if held := mem.held.Load(); held != 0 {
		t.Errorf("%d bytes held", held)
	}
	for _, size := range []int{tableMemory + 1, 1 << 60} {
		if err := guarded(func() error { mem.Allocate(size); return nil }); err == nil {
			t.Errorf("%d bytes were given", size)
		}
	}
}

// storing fails, which is no fault of the evidence.
type failingLoad struct{ *memoryLoad }

var errStore = errors.New("disk full")

func (failingLoad) Rows(int, int, []evidence.Request, []evidence.EngineEvent, []evidence.Rejected) error {
	return errStore
}

func TestTableStoreErrorsAreNotTheEvidences(t *testing.T) {
	r := record(t, memory.DefaultAllocator, required(9))
	defer r.Release()
	for name, data := range map[string][]byte{"parquet": parquetBytes(t, r, 3), "arrow": arrowFileBytes(t, r, 3), "stream": arrowStreamBytes(t, r, 3)} {
		files, _, err := Find([]string{write(t, name, data)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), failingLoad{newMemoryLoad()}, emptyHoldings(), files, Options{}); !errors.Is(err, errStore) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

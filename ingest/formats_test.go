package ingest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"kvforensics/internal/evidence"
)

// fullColumns states every canonical field in some rows, in others few.
func fullColumns() []testColumn {
	text := arrow.BinaryTypes.String
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: text}
	utc := func(u arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: u, TimeZone: "UTC"} }
	return append(required(4),
		testColumn{"model", dictionary, []string{`"zai-org/GLM-5.3"`, `null`, `"a,\"b\";c"`, `"zai-org/GLM-5.3"`}},
		testColumn{"prefill_node", arrow.BinaryTypes.LargeString, []string{`"pre-0"`, `null`, `"Ünïcode 中"`, `null`}},
		testColumn{"decode_node", text, []string{`"dec-0"`, `null`, `"dec-1"`, `"dec\n2"`}},
		testColumn{"prefill_rank", arrow.PrimitiveTypes.Int8, []string{`0`, `null`, `3`, `7`}},
		testColumn{"decode_rank", arrow.PrimitiveTypes.Uint16, []string{`1`, `null`, `3`, `7`}},
		testColumn{"bootstrap_room", arrow.PrimitiveTypes.Uint64, []string{`18446744073709551615`, `0`, `9223372036854775808`, `null`}},
		testColumn{"prompt_tokens", arrow.PrimitiveTypes.Int64, []string{`1048576`, `null`, `0`, `12`}},
		testColumn{"cached_tokens", arrow.PrimitiveTypes.Uint32, []string{`64`, `null`, `0`, `null`}},
		testColumn{"completion_tokens", arrow.PrimitiveTypes.Int32, []string{`7`, `null`, `0`, `1`}},
		testColumn{"ttft_ms", arrow.PrimitiveTypes.Float64, []string{`0.1`, `null`, `123456.789`, `1e-7`}},
		testColumn{"e2e_ms", arrow.PrimitiveTypes.Float64, []string{`1234.5`, `null`, `0`, `3`}},
		testColumn{"first_token_at", utc(arrow.Millisecond), []string{`"2026-08-27T10:00:00.123Z"`, `null`, `null`, `"1969-12-31T23:59:59.999Z"`}},
		testColumn{"finished_at", utc(arrow.Nanosecond), []string{`"2026-08-27T10:00:01.123456789Z"`, `null`, `null`, `null`}},
		testColumn{"aborted_at", utc(arrow.Second), []string{`null`, `null`, `"2026-08-27T10:00:09Z"`, `null`}},
		testColumn{"http_status", arrow.PrimitiveTypes.Uint8, []string{`200`, `null`, `199`, `200`}},
		testColumn{"finish_reason", dictionary, []string{`"stop"`, `null`, `"abort"`, `"length"`}},
		testColumn{"api_key_id", text, []string{`"k-1"`, `null`, `" blanks "`, `"#"`}},
		testColumn{"session_id", text, []string{`"s"`, `null`, `null`, `null`}},
		testColumn{"retry_of", text, []string{`null`, `null`, `null`, `"r1"`}},
		testColumn{"stream", arrow.FixedWidthTypes.Boolean, []string{`true`, `null`, `false`, `true`}},
		testColumn{"client_disconnected", arrow.FixedWidthTypes.Boolean, []string{`false`, `null`, `true`, `null`}},
		testColumn{"prompt_text", text, []string{`"two\r\nlines, \"quoted\""`, `null`, `"x"`, `"\u0001 <&>"`}},
		testColumn{"response_text", text, []string{`"answer"`, `null`, `null`, `null`}},
		testColumn{"region", text, []string{`"eu \\ \"west\""`, `null`, `"ü\t"`, `null`}},
	)
}

// csvBytes writes columns as CSV; nulls are empty.
func csvBytes(t *testing.T, columns []testColumn, delimiter rune) []byte {
	t.Helper()
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma = delimiter
	write := func(cell func(c testColumn) string) {
		var row []string
		for _, c := range columns {
			row = append(row, cell(c))
		}
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	write(func(c testColumn) string { return c.name })
	for i := range columns[0].values {
		write(func(c testColumn) string {
			text := ""
			if raw := c.values[i]; raw[0] != '"' && raw != "null" {
				text = raw
			} else if err := json.Unmarshal([]byte(raw), &text); err != nil {
				t.Fatal(err)
			}
			return text
		})
	}
	w.Flush()
	return out.Bytes()
}

func TestSameRecordsFromEveryFormat(t *testing.T) {
	columns := fullColumns()
	r := record(t, memory.DefaultAllocator, columns)
	defer r.Release()
	contents := map[string][]byte{
		evidence.FormatJSONL:       jsonlBytes(columns),
		evidence.FormatCSV:         csvBytes(t, columns, ','),
		evidence.FormatCSV + ";":   csvBytes(t, columns, ';'),
		evidence.FormatCSV + "\t":  csvBytes(t, columns, '\t'),
		evidence.FormatParquet:     parquetBytes(t, r, 3),
		evidence.FormatArrowFile:   arrowFileBytes(t, r, 1, ipc.WithZstd()),
		evidence.FormatArrowStream: arrowStreamBytes(t, r, 3, ipc.WithLZ4()),
	}
	for _, keep := range []bool{false, true} {
		want := ingestBytes(t, contents[evidence.FormatJSONL], Options{KeepContent: keep}).bare()
		if len(want) != 4 || want[0].BootstrapRoom.V != 18446744073709551615 || (want[0].PromptText != "") != keep {
			t.Fatalf("the model reads %+v", want)
		}
		for name, content := range contents {
			got := ingestBytes(t, content, Options{KeepContent: keep})
			got.wantState(t, evidence.SourceRead, "")
			if got.source.Format != strings.TrimRight(name, ";\t") {
				t.Errorf("%s: taken for %s", name, got.source.Format)
			}
			if !reflect.DeepEqual(got.bare(), want) {
				t.Errorf("%s (keep %v): %s", name, keep, firstDifference(got, want))
			}
			if len(got.requests) == 4 && got.requests[3].Line == 0 {
				t.Errorf("%s: no row numbers", name)
			}
		}
	}
}

func firstDifference(got outcome, want []evidence.Request) string {
	for i, r := range got.bare() {
		if i >= len(want) || r != want[i] {
			return fmt.Sprintf("row %d:\n%+v", i, r)
		}
	}
	return fmt.Sprintf("%d rows, want %d; %s", len(got.requests), len(want), got.reasons())
}

package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kvforensics/internal/evidence"
)

const (
	head3 = `{"request_id":"r1","tenant_id":"t1","received_at":"2026-08-27T00:00:00Z"`
	full  = head3 + `,"model":"m","prefill_node":"p","decode_node":"d","prefill_rank":1,"decode_rank":0,"bootstrap_room":18446744073709551615,` +
		`"prompt_tokens":7,"cached_tokens":0,"completion_tokens":2,"ttft_ms":1.5,"e2e_ms":2,"first_token_at":"2026-08-27 01:00:00,5+01:00",` +
		`"finished_at":1787788800,"aborted_at":null,"http_status":200,"finish_reason":"stop","api_key_id":"k","session_id":"s","retry_of":"r0",` +
		`"stream":true,"client_disconnected":false,"prompt_text":"secret","response_text":"more","x":{"y":[1,2]},"é":"\u00e9"}`
)

func one(t *testing.T, o Options, line string) (evidence.Request, string) {
	t.Helper()
	m := read(t, o, write(t, "gateway.jsonl", []byte(head3+"}\n"+line+"\n")))
	if len(m.rejects[1]) == 1 {
		return evidence.Request{}, m.rejects[1][0].Reason
	}
	if len(m.requests[1]) != 2 {
		t.Fatalf("%d requests", len(m.requests[1]))
	}
	return m.requests[1][1], ""
}

func TestEveryFieldIsRead(t *testing.T) {
	r, reason := one(t, Options{}, full)
	if reason != "" {
		t.Fatal(reason)
	}
	start := evidence.MicrosOf(time.Date(2026, 8, 27, 0, 0, 0, 0, time.UTC))
	want := evidence.Request{
		Locator:   evidence.Locator{Line: 2, Offset: int64(len(head3) + 2), Length: int64(len(full) + 1)},
		RequestID: "r1", TenantID: "t1", Model: "m", PrefillNode: "p", DecodeNode: "d",
		ReceivedAt: evidence.Some(start), TimeBasis: evidence.TimeOffset, OffsetMin: evidence.Some(int32(0)),
		PrefillRank: evidence.Some(int64(1)), DecodeRank: evidence.Some(int64(0)), BootstrapRoom: evidence.Some(uint64(1<<64 - 1)),
		PromptTokens: evidence.Some(int64(7)), CachedTokens: evidence.Some(int64(0)), CompletionTokens: evidence.Some(int64(2)),
		TTFTms: evidence.Some(1.5), E2Ems: evidence.Some(2.0), FirstTokenAt: evidence.Some(start + 500_000), FinishedAt: evidence.Some(start),
		HTTPStatus: evidence.Some(int64(200)), FinishReason: "stop", APIKeyID: "k", SessionID: "s", RetryOf: "r0",
		Stream: evidence.Some(true), ClientDisconnected: evidence.Some(false), Extra: `{"x":{"y":[1,2]},"é":"\u00e9"}`,
	}
	if r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	kept, _ := one(t, Options{KeepContent: true}, full)
	if kept.PromptText != "secret" || kept.ResponseText != "more" {
		t.Errorf("content %q %q", kept.PromptText, kept.ResponseText)
	}
}

func TestRejectReasons(t *testing.T) {
	for line, want := range map[string]string{
		`{"request_id":"r"`:                               "text ends inside a value",
		`nonsense`:                                        "not a JSON object",
		head3 + `,"request_id":"x"}`:                      `key "request_id" twice`,
		head3 + `,"x":1,"x":2}`:                           `key "x" twice`,
		head3 + `,"prompt_tokens":-1}`:                    `prompt_tokens: want a whole number, got "-1"`,
		head3 + `,"prompt_tokens":1.5}`:                   `prompt_tokens: want a whole number, got "1.5"`,
		head3 + `,"prompt_tokens":{}}`:                    `prompt_tokens: want a single value, got "{}"`,
		head3 + `,"prompt_tokens":"0x10"}`:                `prompt_tokens: want a whole number, got "0x10"`,
		head3 + `,"prompt_tokens":99999999999999999999}`:  `prompt_tokens: want a whole number, got "99999999999999999999"`,
		head3 + `,"bootstrap_room":18446744073709551616}`: `bootstrap_room: want a whole number of 64 bits, got "18446744073709551616"`,
		head3 + `,"model":[5]}`:                           `model: want text, got "[5]"`,
		head3 + `,"ttft_ms":"NaN"}`:                       `ttft_ms: want milliseconds, got "NaN"`,
		head3 + `,"stream":"maybe"}`:                      `stream: want true or false, got "maybe"`,
		head3 + `,"finished_at":"soon"}`:                  `finished_at: not a time: "soon"`,
		head3 + `,"finished_at":12}`:                      `finished_at: number "12" is no plausible epoch time (1973 to 5138)`,
		`{"request_id":"r","tenant_id":"t"}`:              "received_at is missing",
		`{"tenant_id":"t","received_at":1787788800}`:      "request_id is missing",
		`{"request_id":"r","received_at":1787788800}`:     "tenant_id is missing",
		head3 + "}\x00":                                   "NUL byte at byte 73",
		head3 + ",\"x\":\"\xff\"}":                        "invalid UTF-8 at byte 78",
		head3 + ",\"x\":\"\x01\"}":                        "control character 0x01 in string at byte 78",
		head3 + `} {}`:                                    "text after the record at byte 74",
	} {
		if _, reason := one(t, Options{}, line); reason != want {
			t.Errorf("line %q: reason %q, want %q", line, reason, want)
		}
	}
}

func TestUsageFillsOnlyWhatIsNotStated(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}}`
	r, _ := one(t, Options{}, head3+","+usage+"}")
	if r.PromptTokens.V != 9 || r.CompletionTokens.V != 3 || r.CachedTokens.V != 4 || r.Extra != "" {
		t.Errorf("got %+v", r)
	}
	r, _ = one(t, Options{}, head3+","+usage+`,"prompt_tokens":8}`)
	if r.PromptTokens.V != 8 || r.CompletionTokens.V != 3 || r.Extra != "{"+usage+"}" {
		t.Errorf("a contradiction must keep the usage object: %+v", r)
	}
	r, _ = one(t, Options{}, head3+`,"usage":{"prompt_tokens":9,"odd":1}}`)
	if r.PromptTokens.Known || r.Extra != `{"usage":{"prompt_tokens":9,"odd":1}}` {
		t.Errorf("an unknown member must leave the usage object alone: %+v", r)
	}
}

func TestTimes(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) evidence.Micros {
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return evidence.MicrosOf(when)
	}
	for _, c := range []struct {
		value string
		zone  *time.Location
		want  evidence.Micros
		basis evidence.TimeBasis
	}{
		{`"2026-08-27T01:02:03.123456789+05:30"`, nil, at("2026-08-26T19:32:03.123456Z"), evidence.TimeOffset},
		{`"2026-08-27 01:02:03,5Z"`, nil, at("2026-08-27T01:02:03.5Z"), evidence.TimeOffset},
		{`"2026-08-27 01:02:03 +0100"`, nil, at("2026-08-27T00:02:03Z"), evidence.TimeOffset},
		{`"2026-08-27T01:02:03"`, london, at("2026-08-27T00:02:03Z"), evidence.TimeStatedZone},
		{`"2026-11-27T01:02:03"`, london, at("2026-11-27T01:02:03Z"), evidence.TimeStatedZone},
		{`1787788800`, nil, at("2026-08-27T00:00:00Z"), evidence.TimeEpochS},
		{`1787788800.25`, nil, at("2026-08-27T00:00:00.25Z"), evidence.TimeEpochS},
		{`"1787788800123"`, nil, at("2026-08-27T00:00:00.123Z"), evidence.TimeEpochMs},
		{`1787788800123456`, nil, at("2026-08-27T00:00:00.123456Z"), evidence.TimeEpochUs},
		{`1787788800123456789`, nil, at("2026-08-27T00:00:00.123456Z"), evidence.TimeEpochNs},
	} {
		r, reason := one(t, Options{Zone: c.zone}, `{"request_id":"r","tenant_id":"t","received_at":`+c.value+`}`)
		if reason != "" || r.ReceivedAt != evidence.Some(c.want) || r.TimeBasis != c.basis {
			t.Errorf("%s: got %v %s %q, want %v %s", c.value, r.ReceivedAt.V.Time(), r.TimeBasis, reason, c.want.Time(), c.basis)
		}
	}
	r, _ := one(t, Options{}, `{"request_id":"r","tenant_id":"t","received_at":"2026-08-27T01:02:03"}`)
	if r.ReceivedAt.Known || r.TimeBasis != evidence.TimeZoneMissing || r.Extra != `{"received_at":"2026-08-27T01:02:03"}` {
		t.Errorf("a time without a zone must not be placed: %+v", r)
	}
	for _, bad := range []string{`"2026-02-29T00:00:00Z"`, `"2026-13-01T00:00:00Z"`, `"0000-01-01T00:00:00Z"`, `"2026-08-27T24:00:00Z"`, `"2026-08-27T00:00:00+99:00"`, `""`, `-5`, `true`} {
		if _, reason := one(t, Options{}, `{"request_id":"r","tenant_id":"t","received_at":`+bad+`}`); reason == "" {
			t.Errorf("%s was taken for a time", bad)
		}
	}
}

// Days are counted by our own formula; the library must agree on every one.
func TestDaysAgreeWithTheLibrary(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for day.Year() < 10000 {
		if got := daysSinceEpoch(day.Year(), int(day.Month()), day.Day()); got != day.Unix()/86400 {
			t.Fatalf("%s: %d days", day, got)
		}
		if day.Day() == 28 {
			last := time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
			if got := daysIn(day.Year(), int(day.Month())); got != last {
				t.Fatalf("%s: %d days in the month", day, got)
			}
		}
		day = day.AddDate(0, 0, 1)
	}
}

func TestLinesOfAnyShape(t *testing.T) {
	long := head3 + `,"prompt_text":"` + strings.Repeat("long ", 10<<20) + `"}`
	content := "\xef\xbb\xbf" + head3 + "}\r\n\r\n" + long + "\n" + head3 + `,"x":` + strings.Repeat("[", 5000) + "\n" + head3
	m := read(t, Options{}, write(t, "g.jsonl", []byte(content)))
	s := m.sources[0]
	if s.Tally.Records != 2 || s.Tally.Rejected != 2 || s.Tally.Ignored != 1 {
		t.Errorf("tally %+v", s.Tally)
	}
	if got := m.rejects[1][1]; got.Line != 5 || got.Reason != "text ends inside a value" || got.Preview != head3 {
		t.Errorf("last reject %+v", got)
	}
	if m.requests[1][0].Offset != 3 || m.requests[1][1].Line != 3 {
		t.Errorf("places %+v %+v", m.requests[1][0].Locator, m.requests[1][1].Locator)
	}
}

func TestManyBlocksKeepPlacesAndOrder(t *testing.T) {
	var b strings.Builder
	want := 0
	for want = 0; b.Len() < 3*blockBytes; want++ {
		fmt.Fprintf(&b, `{"request_id":"r%d","tenant_id":"t","received_at":%d}`+"\n", want, 1787788800+want)
	}
	text := b.String()
	m := read(t, Options{}, write(t, "g.jsonl", []byte(text)))
	if len(m.requests[1]) != want || len(m.sources[0].Notes) != 1 {
		t.Fatalf("%d of %d requests, notes %q", len(m.requests[1]), want, m.sources[0].Notes)
	}
	for i, r := range m.requests[1] {
		line := text[r.Offset : r.Offset+r.Length]
		if int(r.Line) != i+1 || !strings.HasPrefix(line, fmt.Sprintf(`{"request_id":"r%d",`, i)) || r.RequestID != fmt.Sprintf("r%d", i) {
			t.Fatalf("row %d: %+v at %q", i, r, line)
		}
	}
}

// Whatever the bytes, each is accounted for and nothing panics.
func FuzzJSONL(f *testing.F) {
	f.Add([]byte(full + "\n"))
	f.Add([]byte(head3 + "}\n\n\r\n" + head3 + `,"usage":{"prompt_tokens":9}}` + "\n{"))
	f.Add([]byte("\xff\xfe{\x00}\x00\n\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		p := jsonlParser{keepContent: true}
		b := &block{data: content, firstLine: 1, encoding: utf8Text}
		var out batch
		if err := p.parse(b, &out); err != nil {
			t.Fatal(err)
		}
		if out.tally.Bytes() != int64(len(content)) || int64(len(out.requests)) != out.tally.Records || int64(len(out.rejects)) != out.tally.Rejected {
			t.Fatalf("%d bytes, tally %+v", len(content), out.tally)
		}
	})
}

package sglang

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kvforensics/internal/evidence"
)

// forgeries are texts that a customer might send to have them read as
// statements of the engine.
var forgeries = []string{
	"[2026-09-01 00:00:00] max_total_num_tokens=1, chunked_prefill_size=1, max_prefill_tokens=1, max_running_requests=1, context_len=5",
	"\n[2026-09-01 00:00:00] max_total_num_tokens=1, chunked_prefill_size=1, max_prefill_tokens=1, max_running_requests=1, context_len=5\n",
	"\r[2026-09-01 00:00:00 TP0] Prefill batch. #new-seq: 1, #new-token: 1, #cached-token: 0\r",
	"\r100%|██| 1/1 [00:00<00:00, 1it/s]\r[2026-09-01 00:00:00] Cache flushed successfully!",
	"5%|█| 1/2 [00:00<00:01, 1it/s][2026-09-01 00:00:00] Cache flushed successfully!",
	"\n" + `{"event":"request.finished","rid":"evil","out":{"meta_info":{"prompt_tokens":1}}}`,
	`', rid='evil', bootstrap_room=666, x='`,
	`", rid="evil", bootstrap_room=666, x="`,
	`\', rid=\'evil\', y=\'`,
	"\nReceive: obj=GenerateReqInput(rid='evil')",
	"\nroot@h:/# python3 -m sglang.launch_server --disaggregation-mode decode --page-size 7\n",
	"x, self.rid='evil'",
	"Context corruption detected: Request evil (bootstrap_room=1) received metadata from bootstrap_room=2.",
	"\x1b[0m[2026-09-01 00:00:00] The server is fired up and ready to roll!",
	"')) max_total_num_tokens=1 ((",
}

// pyRepr writes s as Python's repr does, for the characters that matter here.
func pyRepr(s string) string {
	quote := `'`
	if strings.Contains(s, `'`) && !strings.Contains(s, `"`) {
		quote = `"`
	}
	s = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x1b", `\x1b`).Replace(s)
	if quote == `'` {
		s = strings.ReplaceAll(s, `'`, `\'`)
	}
	return quote + s + quote
}

func onlyRequest(t *testing.T, what string, text []byte, kind evidence.EventKind) {
	t.Helper()
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.events) != 1 || r.events[0].Kind != kind || r.events[0].RID != "good" || r.events[0].Room != evidence.Some(uint64(7)) || len(r.rejected) != 0 {
		t.Errorf("%s\nevents %+v\nrejected %+v", what, r.events, r.rejected)
	}
}

func TestForgeriesInRequestLogs(t *testing.T) {
	for _, f := range forgeries {
		js, _ := json.Marshal(f)
		for _, stamp := range []string{"", "[2026-03-04 05:06:07] ", "sglang  | [2026-03-04 05:06:07] "} {
			repr := pyRepr(f)
			onlyRequest(t, f, lines(stamp+"Receive: obj=GenerateReqInput(text="+repr+", rid='good', bootstrap_room=7, extra_key="+repr+")"), evidence.EventReceived)
			onlyRequest(t, f, lines(stamp+"Receive: obj=GenerateReqInput(text="+repr+" ... "+repr+", rid='good', bootstrap_room=7)"), evidence.EventReceived)
			onlyRequest(t, f, lines(stamp+"Finish: obj=GenerateReqInput(text="+repr+", rid='good', bootstrap_room=7), out={'text': "+repr+", 'meta_info': {'id': 'good', 'prompt_tokens': 4}}"), evidence.EventFinished)
			onlyRequest(t, f, lines(stamp+`{"timestamp": "2026-03-04T05:06:07", "event": "request.received", "rid": "good", "obj": {"text": `+string(js)+`, "bootstrap_room": 7}}`), evidence.EventReceived)
		}
		parameters, _ := json.Marshal(`{"text": ` + string(js) + `, "rid": "good", "bootstrap_room": 7}`)
		onlyRequest(t, f, lines(`{"request_parameters": `+string(parameters)+`, "id": "good", "prompt_tokens": 4}`), evidence.EventFinished)
	}
}

// A docker json-file line of a request is JSON around a repr.
func TestForgeriesThroughDocker(t *testing.T) {
	for _, f := range forgeries {
		inner, _ := json.Marshal("Receive: obj=GenerateReqInput(text=" + pyRepr(f) + ", rid='good', bootstrap_room=7)\n")
		onlyRequest(t, f, lines(`{"log":`+string(inner)+`,"stream":"stdout","time":"2026-03-04T04:06:07.4Z"}`), evidence.EventReceived)
	}
}

// Statements that print a customer's text raw swallow it up to their end.
func TestForgeriesInCarriers(t *testing.T) {
	for _, f := range forgeries {
		text := lines("[2026-03-04 05:06:07 TP0] Failed to compile ebnf grammar: error in "+f+" ..., self.rid='good'", "[2026-03-04 05:06:08 TP0] Cache flushed successfully!")
		r, _ := feed(t, text)
		r.account(t, len(text))
		last := len(r.events) - 1
		if strings.Contains(f, "self.rid") {
			continue // ends the carrier: the rest of that line is not a statement
		}
		if last != 1 || r.events[0].Kind != evidence.EventRejected || r.events[0].RID != "good" || r.events[1].Kind != evidence.EventFlush || r.events[1].LocalAt != micros("2026-03-04 05:06:08") {
			t.Errorf("%q\nevents %+v", f, r.events)
		}
	}
	text := lines("[2026-03-04 05:06:07] Failed to parse JSON part: {\"a\":", "[2026-09-01 00:00:00] Cache flushed successfully!", "}, JSON parse error: x")
	if r, _ := feed(t, text); len(r.events) != 0 {
		t.Errorf("%+v", r.events)
	}
}

// A carrier that never ends is refused with what it swallowed, and a line that
// only begins like one swallows nothing.
func TestEndlessCarrier(t *testing.T) {
	rows := []string{"[2026-03-04 05:06:07] Failed to compile ebnf grammar: patient-4711"}
	for range carrierRows + 5 {
		rows = append(rows, "[2026-03-04 05:06:08] Cache flushed successfully!")
	}
	text := lines(rows...)
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.rejected) != 1 || strings.Contains(r.rejected[0].Preview, "patient") || len(r.events) != 5 {
		t.Errorf("%d events, rejected %+v", len(r.events), r.rejected)
	}
	r, _ = feed(t, lines(rows[:3]...))
	if len(r.rejected) != 1 || len(r.events) != 0 {
		t.Errorf("%d events, rejected %+v", len(r.events), r.rejected)
	}
	r, _ = feed(t, lines("[2026-03-04 05:06:07] Failed to compile kernel", rows[1]))
	if len(r.events) != 1 {
		t.Errorf("%+v", r)
	}
}

// Names that a customer chooses are written without escapes in old versions.
func TestForgedNames(t *testing.T) {
	for _, line := range []string{
		`Receive: obj=GenerateReqInput(rid='good', sampling_params={'x': 1}, rid='evil', bootstrap_room=666, text='': 1}, bootstrap_room=7)`,
		`Receive: obj=GenerateReqInput(rid='good', sampling_params={'x': 1}, bootstrap_room=666, y={'': 1}, bootstrap_room=7)`,
		`ReqTimeStats(rid=x, bootstrap_room=666, input_len=1, output_len=1, type=prefill): a=1, bootstrap_room=7, input_len=50, output_len=3, type=decode): b=2`,
		`ReqTimeStats(rid=x, bootstrap_room=666, bootstrap_room=7, input_len=50, output_len=3, type=decode): b=2`,
		`ReqTimeStats(rid=x, input_len=1, bootstrap_room=7, input_len=50, output_len=3, type=decode): b=2`,
	} {
		r, _ := feed(t, lines(line))
		if len(r.events) != 0 || len(r.rejected) != 1 {
			t.Errorf("%s\nevents %+v", line, r.events)
		}
	}
}

// Text in the middle of lines, and behind prefixes that are none.
func TestForgeriesElsewhere(t *testing.T) {
	const pool = "max_total_num_tokens=1, chunked_prefill_size=1, max_prefill_tokens=1, max_running_requests=1, context_len=5"
	for _, line := range []string{
		"[2026-03-04 05:06:07] user said: [2026-09-01 00:00:00] " + pool,
		"[2026-03-04 05:06:07] user said\r[2026-09-01 00:00:00] " + pool,
		"user said\r[2026-09-01 00:00:00] " + pool,
		"[2026-03-04 05:06:07 TP0] [2026-09-01 00:00:00] " + pool,
		"[2026-03-04 05:06:07] sglang  | " + pool,
		"[2026-03-04 05:06:07] INFO: [2026-09-01 00:00:00] " + pool,
		`'a': 5%|█| 1/2 [00:00<00:01, 1it/s][2026-09-01 00:00:00] ` + pool,
		"x 5%| [a<b, 1it/s] [2026-09-01 00:00:00] " + pool,
		"    [2026-09-01 00:00:00] x " + pool,
		`{"log":"Receive: obj=A(text='\\n[2026-09-01 00:00:00] ` + pool + `')\n","stream":"stdout"}`,
		`[2026-03-04 05:06:07] INFO:     1.2.3.4:5 - "GET /x?" 200 OK HTTP/1.1" 404 Not Found`,
		`INFO: 10.0.0.1:8 - "GET /x"HTTP/1.1" 200 OK`,
		"Input length (5 tokens) exceeds x",
		"echo python3 -m sglang.launch_server --page-size 7",
		"please run: python3 -m sglang.launch_server --page-size 7",
	} {
		r, _ := feed(t, lines(line))
		for _, e := range r.events {
			if e.Kind != evidence.EventAccess || e.Status == opt(200) {
				t.Errorf("%s\nevent %+v", line, e)
			}
		}
	}
}

// A line that a terminal wrapped may begin with a customer's text.
func TestForgeryInWrappedRequest(t *testing.T) {
	const width = 100
	forged := "[2026-09-01 00:00:00] Cache flushed successfully!"
	head := "[2026-03-04 05:06:07] Receive: obj=GenerateReqInput(rid='good', bootstrap_room=7, text='"
	body := head + strings.Repeat("x", width-len(head)) + forged + strings.Repeat("y", width-len(forged)) + forged + "', stream=False)"
	var rows []string
	for len(body) > width {
		rows = append(rows, body[:width])
		body = body[width:]
	}
	text := lines(append(rows, body, "[2026-03-04 05:06:08] Cache flushed successfully!")...)
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.events) != 2 || r.events[0].RID != "good" || r.events[1].LocalAt != micros("2026-03-04 05:06:08") {
		t.Errorf("%+v", r.events)
	}
}

func wrapped(text string, width int) []string {
	var rows []string
	for len(text) > width {
		rows = append(rows, text[:width])
		text = text[width:]
	}
	return append(rows, text)
}

// Whatever the width of the terminal, if it shows the start of the statement, a wrapped statement is read right or
// refused; a part of a figure is never taken for the figure.
func TestWrappedAtEveryWidth(t *testing.T) {
	for _, line := range []string{
		stampText + poolText,
		stampText + "max_total_num_tokens=91234, chunked_prefill_size=-1, max_prefill_tokens=16384, max_running_requests=17, context_len=40000",
		stampText + decodeLines[4].line,
		stampText + prefillLines[8].line,
		"ValueError: token_to_kv_pool_allocator memory leak detected! available_size=13824256, protected_size=0, self.max_total_num_tokens=91234",
		"[2026-03-04 05:06:07] server_args=ServerArgs(model_path='m', context_length=40000, page_size=128, tp_size=16, dp_size=32)",
		"[2026-03-04 05:06:07] KV Cache is allocated. #tokens: 91234, KV size: 5.92 GB",
		"[2026-03-04 05:06:07] len(prefill_state_indices) = 1, len(dst_state_indices) = 4453",
		"[2026-03-04 05:06:07] ReqTimeStats(rid=q-9, bootstrap_room=31415, input_len=123, cached_input_len=0, output_len=19, type=prefill): bootstrap_duration=0.32ms",
		"[2026-03-04 05:06:07] Prefill transfer failed for request rank=0 req.rid='abc' req.bootstrap_room=35832 with exception KVTransferError(bootstrap_room=35832): x",
	} {
		whole, _ := feed(t, lines(line))
		if len(whole.events) != 1 {
			t.Fatalf("%s: %+v", line, whole)
		}
		want := whole.events[0]
		for width := 60; width < len(line); width++ {
			text := lines(append(wrapped(line, width), "[2026-03-04 05:06:09] hello")...)
			r, _ := feed(t, text)
			r.account(t, len(text))
			switch {
			case len(r.events) == 0 && len(r.rejected) > 0:
			case len(r.events) == 1 && sameFigures(r.events[0], want):
			default:
				t.Errorf("width %d: %+v\n%+v\n%s", width, r.events, r.rejected, text)
			}
		}
	}
}

func sameFigures(a, b evidence.EngineEvent) bool {
	return a.Launch.PoolTokens == b.Launch.PoolTokens && a.Launch.ContextLen == b.Launch.ContextLen && a.Launch.PageSize == b.Launch.PageSize &&
		a.Launch.TPSize == b.Launch.TPSize && a.Launch.DPSize == b.Launch.DPSize && a.Batch == b.Batch && a.CachedTokens == b.CachedTokens &&
		a.Room == b.Room && a.PromptTokens == b.PromptTokens && a.LimitTokens == b.LimitTokens && a.CompletionTokens == b.CompletionTokens
}

// Long lines take time in proportion to their length.
func TestLongLines(t *testing.T) {
	const size = 20 << 20
	for name, unit := range map[string]string{
		"backslashes": `\`, "quotes": `'`, "brackets": "(", "escaped quotes": `\'`, "blanks": " ", "commas": ", ", "surrogates": `\ud800`,
		"carriage returns": "\r", "colours": "\x1b[0m", "bars": "1%|a|[<it/s]\r", "double quotes": `"`, "fields": "#token: 1, ", "braces": `{"a":`,
	} {
		body := strings.Repeat(unit, size/len(unit))
		for _, head := range []string{"[2026-03-04 05:06:07] Receive: obj=G(text='", "", `{"log":"`, `{"timestamp": "`, "Decode batch. #running-req: 1, ", "server_args=ServerArgs(a=", "[2026-03-04 05:06:07] "} {
			start := time.Now()
			r := &recorder{}
			p := New(r)
			if err := p.Feed([]byte(head+body), evidence.Locator{Line: 1, Length: size}); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("%s behind %q: %v", name, head, d)
			}
		}
	}
}

// An event never holds the text of a prompt or an answer.
func TestNoTextInOutput(t *testing.T) {
	const secret = "patient-4711"
	for _, line := range []string{
		"Receive: obj=GenerateReqInput(text='" + secret + "', rid='a')",
		"Receive: obj=GenerateReqInput(text='" + secret + "'",
		"Finish: obj=GenerateReqInput(text='" + secret + "', rid='a'), out={'text': '" + secret + "', 'meta_info': {'finish_reason': {'type': 'abort', 'message': '" + secret + "'}}}",
		"Finish: obj=GenerateReqInput(text='" + secret + "', rid='a'), out={'meta_info': {'prompt_tokens': '" + secret + "'}}",
		`{"timestamp": "2026-03-04T05:06:07", "event": "request.finished", "rid": "a", "obj": {"text": "` + secret,
		`{"request_parameters": "{\"text\": \"` + secret + `\"`,
		`{"log":"Receive: obj=A(text='` + secret,
		`[2026-03-04 05:06:07] INFO:     1.2.3.4:5 - "GET /encode?text=` + secret + ` HTTP/1.1" 200 OK`,
		"[2026-03-04 05:06:07] Failed to compile json grammar: " + secret + ", self.rid='a'",
		"[2026-03-04 05:06:07] Failed to compile json grammar: " + secret,
		"[2026-03-04 05:06:07] Invalid request: " + secret + ", self.rid='a'",
		"[2026-03-04 05:06:07] " + strings.ToUpper(secret) + " '" + secret + "', self.rid='a",
	} {
		r, _ := feed(t, lines(line))
		out, _ := json.Marshal(struct {
			E any
			R any
		}{r.events, r.rejected})
		if bytes.Contains(out, []byte(secret)) {
			t.Errorf("%s\n%s", line, out)
		}
	}
}

package sglang

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"kvforensics/internal/evidence"
)

func FuzzParser(f *testing.F) {
	for _, c := range prefixes {
		f.Add([]byte(c.prefix + poolText + "\n"))
	}
	for _, c := range prefillLines {
		f.Add([]byte(stampText + c.line + "\n"))
	}
	for _, c := range forgeries {
		f.Add([]byte("Receive: obj=GenerateReqInput(text=" + pyRepr(c) + ", rid='a')\n" + c))
	}
	f.Add([]byte("{\n    \"tp_size\": 8,\n    \"max_total_num_tokens\": 5,\n    \"internal_states\": [\n        {}\n    ]\n}\n"))
	f.Add([]byte("+ python3 -m sglang.launch_server \\\n --page-size 6\n4\n"))
	f.Add([]byte("[2026-03-04 05:06:07 DP1 TP1] Scheduler hit an exception: Traceback (most recent call last):\n  File \"a.py\", line 1, in event_loop_normal_disagg_decode\nValueError: memory leak detected! max_total_num_tokens=5\n"))
	f.Add([]byte("2026-03-04T04:06:07Z stdout P [2026-03-04 05:06:07] Rec\n2026-03-04T04:06:07Z stderr F x\n2026-03-04T04:06:07Z stdout F eive: obj=A(rid='a')\n"))
	f.Add([]byte("[2026-03-04 05:06:07] Failed to compile a grammar: x\ny\nz, self.rid='a'\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, _ := feed(t, text)
		r.account(t, len(text))
		for _, e := range r.events {
			if e.Kind == "" || len(e.Message) > evidence.MessageBytes || e.Locator.Length <= 0 {
				t.Fatalf("%+v", e)
			}
		}
		for _, x := range r.rejected {
			if x.Reason == "" || len(x.Preview) > evidence.PreviewBytes || !utf8.ValidString(x.Preview) || !utf8.ValidString(x.Reason) {
				t.Fatalf("%+v", x)
			}
		}
		Sniff(text)
	})
}

func FuzzRepr(f *testing.F) {
	f.Add([]byte(`GenerateReqInput(text='a' ... 'b', rid="r", x=[1, (2, 3)], y={'k': None}, z=<a.B object at 0x7f>)`))
	f.Add([]byte(`{"a": "\ud83d\ude00\n", "b": [1, 2], "c": {"d": null}}`))
	f.Add([]byte(`['\x41', '\U0001f600', b'\'']`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := open(text)
		if err != nil {
			return
		}
		before := c.i
		for c.next() {
			if c.i <= before {
				t.Fatal("no progress")
			}
			before = c.i
			got, _ := unquoted(c.value, nil)
			if len(got) > len(c.value) {
				t.Fatalf("%q decodes to the longer %q", c.value, got)
			}
		}
		if c.err == nil && (c.i > len(text) || text[c.i-1] != c.close) {
			t.Fatalf("ends at %d of %q", c.i, text)
		}
	})
}

// A repr that Python would write is read back as it was.
func TestReprRoundTrip(t *testing.T) {
	alphabet := []rune("ab,=:(){}[]'\"\\\n\r\t \x1bé界😀")
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		text := b.String()
		f, err := open([]byte("A(t=" + pyRepr(text) + ", rid='r')"))
		if err != nil || !f.next() {
			t.Fatal(err, f.err)
		}
		if got, _ := unquoted(f.value, nil); string(got) != text {
			t.Fatalf("%q read as %q", text, got)
		}
		if !f.next() || string(f.value) != "'r'" || f.next() || f.err != nil {
			t.Fatalf("%q: %q %v", text, f.value, f.err)
		}
	}
}

func benchLog() []byte {
	var b bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&b, "[2026-01-04 03:%02d:%02d DP2 TP2 EP2] Decode batch, #running-req: %d, #token: %d, token usage: 0.93, accept len: 2.63, accept rate: 0.88, pre-allocated usage: 0.00, #prealloc-req: 0, #transfer-req: 0, #retracted-req: 0, cpu graph: True, gen throughput (token/s): 589.96, #queue-req: 0, \n", i/60%60, i%60, i%40, i*7)
		fmt.Fprintf(&b, "[2026-01-04 03:%02d:%02d] INFO:     192.168.0.77:34892 - \"POST /generate HTTP/1.1\" 200 OK\n", i/60%60, i%60)
		fmt.Fprintf(&b, "[2026-01-04 03:%02d:%02d DP1 TP8 EP8] Prefill batch, #new-seq: 4, #new-token: %d, #cached-token: 0, token usage: 0.32, #running-req: 0, #queue-req: 0, #prealloc-req: 34, #inflight-req: 4, input throughput (token/s): 11171.86\n", i/60%60, i%60, i)
	}
	return b.Bytes()
}

type discard struct{}

func (discard) Event(*evidence.EngineEvent) error { return nil }
func (discard) Parsed(evidence.Locator) error     { return nil }
func (discard) Ignored(evidence.Locator) error    { return nil }
func (discard) Reject(evidence.Rejected) error    { return nil }

func benchmark(b *testing.B, text []byte) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p := New(discard{})
		at := evidence.Locator{Line: 1}
		for rest := text; len(rest) > 0; at.Line++ {
			n := bytes.IndexByte(rest, '\n') + 1
			at.Length = int64(n)
			if err := p.Feed(rest[:n-1], at); err != nil {
				b.Fatal(err)
			}
			rest = rest[n:]
			at.Offset += at.Length
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBatchesAndAccess(b *testing.B) { benchmark(b, benchLog()) }

func BenchmarkDockerJSON(b *testing.B) {
	var out bytes.Buffer
	for line := range bytes.Lines(benchLog()) {
		fmt.Fprintf(&out, "{\"log\":%q,\"stream\":\"stdout\",\"time\":\"2026-01-04T03:00:00.754821593Z\"}\n", line)
	}
	benchmark(b, out.Bytes())
}

func BenchmarkRequestLog(b *testing.B) {
	var out bytes.Buffer
	prompt := pyRepr(strings.Repeat("It's a prompt, with (brackets) and \"quotes\".\n", 40))
	for i := range 5000 {
		fmt.Fprintf(&out, "[2026-01-04 03:00:00] Finish: obj=GenerateReqInput(rid='r%d', text=%s, bootstrap_room=%d), out={'text': %s, 'meta_info': {'id': 'r%d', 'finish_reason': {'type': 'stop'}, 'prompt_tokens': 40, 'completion_tokens': 7, 'cached_tokens': 0, 'e2e_latency': 0.25}}\n", i, prompt, i, prompt, i)
	}
	benchmark(b, out.Bytes())
}

func BenchmarkNoise(b *testing.B) {
	var out bytes.Buffer
	for range 20000 {
		out.WriteString("E0529 23:22:59.553362 67580 rdma_context.cpp:203] Failed to register memory 0x7c1cda000000: Bad address [14]\n[2026-01-04 03:00:00 TP0] Mooncake Transfer Engine Return Error.\n")
	}
	benchmark(b, out.Bytes())
}

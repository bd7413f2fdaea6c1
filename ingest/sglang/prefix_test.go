package sglang

import (
	"testing"
	"time"

	"kvforensics/internal/evidence"
)

func micros(s string) evidence.Opt[evidence.Micros] {
	if s == "" {
		return evidence.Opt[evidence.Micros]{}
	}
	t, err := time.Parse("2006-01-02 15:04:05.999999", s)
	if err != nil {
		panic(err)
	}
	return evidence.Some(evidence.MicrosOf(t))
}

func opt(n int64) evidence.Opt[int64] {
	if n < 0 {
		return evidence.Opt[int64]{}
	}
	return evidence.Some(n)
}

const poolText = "max_total_num_tokens=91234, chunked_prefill_size=-1, max_prefill_tokens=16384, max_running_requests=17, context_len=40000, available_gpu_mem=3.10 GB"

// Each prefix stands before one pool statement, which must be read with the
// times and ranks that the prefix gives.
var prefixes = []struct {
	name, prefix string
	local, at    string
	dp, tp, pp   int64
}{
	{"none", "", "", "", -1, -1, -1},
	{"plain", "[2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"ranks", "[2026-03-04 05:06:07 DP3 TP11 EP11] ", "2026-03-04 05:06:07", "", 3, 11, -1},
	{"all ranks", "[2026-03-04 05:06:07 DP2 PP1 ATTN_CP5 MOE_DP7 TP4 EP6] ", "2026-03-04 05:06:07", "", 2, 4, 1},
	{"milliseconds", "[2026-03-04 05:06:07.615 DP3 TP3] ", "2026-03-04 05:06:07.615", "", 3, 3, -1},
	{"level and file", "[2026-03-04 05:06:07] WARNING server_args.py:2326: ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"uvicorn level", "[2026-03-04 05:06:07] INFO:     ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"custom words", "[2026-03-04 05:06:07 INFO scheduler] ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"double stamp", "[2026-03-04 20:06:07] [2026-03-04 05:06:07 TP0] ", "2026-03-04 05:06:07", "", -1, 0, -1},
	{"time only", "[05:06:07 TP2] ", "", "", -1, 2, -1},
	{"time only, dated outside", "2026-03-04T05:06:08.5+01:00 [05:06:07 TP2] ", "2026-03-04 05:06:07", "2026-03-04 04:06:08.5", -1, 2, -1},
	{"time only, midnight between", "[2026-03-05 00:00:01] [23:59:59 TP2] ", "2026-03-04 23:59:59", "", -1, 2, -1},
	{"time only, other clock outside", "2026-03-04T12:06:08Z [05:06:07 TP2] ", "", "2026-03-04 12:06:08", -1, 2, -1},
	{"docker -t", "2026-03-04T04:06:07.123456789Z [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "2026-03-04 04:06:07.123456", -1, -1, -1},
	{"offset", "2026-03-04T05:06:07+05:30 [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "2026-03-03 23:36:07", -1, -1, -1},
	{"compose", "sglang-decode-1  | [2026-03-04 05:06:07 TP0] ", "2026-03-04 05:06:07", "", -1, 0, -1},
	{"compose with colour", "\x1b[36msglang_1  |\x1b[0m [2026-03-04 05:06:07 TP0] ", "2026-03-04 05:06:07", "", -1, 0, -1},
	{"compose and docker -t", "sglang-1  | 2026-03-04T04:06:07Z [2026-03-04 05:06:07 TP0] ", "2026-03-04 05:06:07", "2026-03-04 04:06:07", -1, 0, -1},
	{"CRI", "2026-03-04T04:06:07.5Z stdout F [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "2026-03-04 04:06:07.5", -1, -1, -1},
	{"kubectl --prefix", "[pod/dec-0-abc/sglang] [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"syslog", "Mar  4 05:06:07 gpu-17 sglang[4242]: [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"syslog alone", "Mar  4 05:06:07 gpu-17 sglang[4242]: ", "", "", -1, -1, -1},
	{"syslog, RFC 3339", "2026-03-04T05:06:07.25+00:00 gpu-17 sglang[4242]: [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "2026-03-04 05:06:07.25", -1, -1, -1},
	{"Dynamo", "2026-03-04T05:06:07.199229Z  INFO scheduler.__init__: ", "", "2026-03-04 05:06:07.199229", -1, -1, -1},
	{"Python logging", "2026-03-04 05:06:07,291 - sglang - INFO - ", "2026-03-04 05:06:07.291", "", -1, -1, -1},
	{"collector columns", "1772600767565\t2026-03-04T05:06:07.565Z\t", "", "2026-03-04 05:06:07.565", -1, -1, -1},
	{"srun label", "12: [2026-03-04 05:06:07 TP12] ", "2026-03-04 05:06:07", "", -1, 12, -1},
	{"ray", "(SGLangWorker pid=858, ip=10.0.0.7) [2026-03-04 05:06:07 TP1] ", "2026-03-04 05:06:07", "", -1, 1, -1},
	{"ray without ESC", "[36m(SGLangWorker pid=858)[0m [2026-03-04 05:06:07 TP1] ", "2026-03-04 05:06:07", "", -1, 1, -1},
	{"octal colours", "Mar  4 05:06:07 gpu-17 sglang[4242]: #033[1;36m(Worker pid=1)#033[0m [2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "", -1, -1, -1},
	{"tqdm glued", "Capturing batches (avail_mem=9.91 GB):   4%|▍         | 1/23 [00:00<00:09,  2.37it/s][2026-03-04 05:06:07 DP0 TP2] ", "2026-03-04 05:06:07", "", 0, 2, -1},
	{"bars before a carriage return", "\r  0%|          | 0/8 [00:00<?, ?it/s]\rLoading:  12%|█▎ | 1/8 [00:00<00:02,  2.37it/s]\r[2026-03-04 05:06:07] ", "2026-03-04 05:06:07", "", -1, -1, -1},
}

func TestPrefixes(t *testing.T) {
	for _, c := range prefixes {
		t.Run(c.name, func(t *testing.T) {
			text := lines(c.prefix + poolText + "  \t ")
			r, _ := feed(t, text)
			r.account(t, len(text))
			if len(r.events) != 1 || len(r.rejected) != 0 {
				t.Fatalf("events %v, rejected %v", r.events, r.rejected)
			}
			e := r.events[0]
			if e.Kind != evidence.EventPool || e.Launch.PoolTokens != opt(91234) || e.Launch.ContextLen != opt(40000) {
				t.Errorf("%+v", e)
			}
			if e.LocalAt != micros(c.local) || e.At != micros(c.at) {
				t.Errorf("local %v, at %v; want %v, %v", e.LocalAt, e.At, micros(c.local), micros(c.at))
			}
			if e.DP != opt(c.dp) || e.TP != opt(c.tp) || e.PP != opt(c.pp) {
				t.Errorf("dp %v tp %v pp %v", e.DP, e.TP, e.PP)
			}
		})
	}
}

func TestDockerJSON(t *testing.T) {
	text := lines(
		`{"log":"[2026-03-04 05:06:07 TP0] Decode batch. #running-req: 3, #token: 77, token usage: 0.10, #queue-req: 1\n","stream":"stdout","time":"2026-03-04T04:06:07.40688383Z"}`,
		`{"log":"[2026-03-04 05:06:08] Receive: obj=GenerateReqInput(rid='aa', text='","stream":"stdout","time":"2026-03-04T04:06:08Z"}`,
		`{"log":"[2026-03-04 05:06:09 TP0] Cache flushed successfully!\n","stream":"stderr","time":"2026-03-04T04:06:09Z"}`,
		`{"log":"[2026-03-04 05:06:09] max_total_num_tokens=1, context_len=9","stream":"stdout","time":"2026-03-04T04:06:08Z"}`,
		`{"log":"', bootstrap_room=5)\n","stream":"stdout","time":"2026-03-04T04:06:08Z"}`,
		`{"log":"cut short`,
	)
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.events) != 3 || r.events[0].Kind != evidence.EventDecodeBatch || r.events[1].Kind != evidence.EventFlush || r.events[2].Kind != evidence.EventReceived {
		t.Fatalf("%+v", r.events)
	}
	if e := r.events[0]; e.At != micros("2026-03-04 04:06:07.406883") || e.Batch.Tokens != opt(77) {
		t.Errorf("%+v", e)
	}
	if e := r.events[2]; e.RID != "aa" || e.Room != evidence.Some(uint64(5)) {
		t.Errorf("%+v", e)
	}
	if len(r.rejected) != 1 || r.rejected[0].Preview != "" {
		t.Errorf("%+v", r.rejected)
	}
}

func TestCRIPieces(t *testing.T) {
	text := lines(
		"2026-03-04T04:06:07Z stdout P [2026-03-04 05:06:07] Receive: obj=GenerateReqInput(rid='aa', text='",
		"2026-03-04T04:06:07Z stdout P [2026-03-04 05:06:09] max_total_num_tokens=1, chunked_prefill_size=1, context_len=9",
		"2026-03-04T04:06:07Z stdout F ')",
		"2026-03-04T04:06:08Z stdout F [2026-03-04 05:06:08] The server is fired up and ready to roll!",
		"2026-03-04T04:06:09Z stdout P [2026-03-04 05:06:09] The server is fired up and",
	)
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.events) != 2 || r.events[0].Kind != evidence.EventReceived || r.events[1].Kind != evidence.EventReady {
		t.Fatalf("%+v", r.events)
	}
	if len(r.rejected) != 1 {
		t.Errorf("%+v", r.rejected)
	}
}

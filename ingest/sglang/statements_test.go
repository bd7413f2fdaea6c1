package sglang

import (
	"strings"
	"testing"

	"kvforensics/internal/evidence"
)

const stampText = "[2026-03-04 05:06:07 TP0] "

func one(t *testing.T, line string) evidence.EngineEvent {
	t.Helper()
	text := lines(line)
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.events) != 1 || len(r.rejected) != 0 {
		t.Fatalf("%s\nevents %+v\nrejected %+v", line, r.events, r.rejected)
	}
	return r.events[0]
}

func optF(f float64) evidence.Opt[float64] { return evidence.Some(f) }

// Prefill lines in the shape of each version.
var prefillLines = []struct {
	version, line string
	role          evidence.Role
	prealloc      int64
	transfer      int64
}{
	{"0.4.1", "Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 11, cache hit rate: 2.76%, token usage: 0.07, #running-req: 2, #queue-req: 9", "", -1, -1},
	{"0.4.6", "Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #unbootstrapped-req: 4, #queue-req: 9, #transferring-req: 5 ", "prefill", 4, 5},
	{"0.4.7", "Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #unbootstrapped-req: 4, #queue-req: 9, #transferring-req: 5, time: 0.31 ", "prefill", 4, 5},
	{"0.4.8", "Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #unbootstrapped-req: 4, #queue-req: 9, #transferring-req: 5, input throughput (token/s): 1326.00 ", "prefill", 4, 5},
	{"0.4.10", "Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #unbootstrapped-req: 4, #queue-req: 9, #transferring-req: 5, input throughput (token/s): 1326.00, ", "prefill", 4, 5},
	{"0.5.3", "Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #queue-req: 9, #prealloc-req: 4, #inflight-req: 5, ", "", 4, 5},
	{"0.5.4", "Prefill batch [17], #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #queue-req: 9, #prealloc-req: 4, #inflight-req: 5, input throughput (token/s): 0.10, ", "", 4, 5},
	{"0.5.10", "Prefill batch, #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #queue-req: 9, #prealloc-req: 4, #inflight-req: 5, cuda graph: False, input throughput (token/s): 0.10", "", 4, 5},
	{"0.5.11", "Prefill batch, #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #queue-req: 9, #pending-token: 88, #prealloc-req: 4, #inflight-req: 5, cuda graph: False, input throughput (token/s): 0.10", "", 4, 5},
	{"0.5.12", "Prefill batch, #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #queue-req: 9, #pending-token: 88, #bootstrap-req: 4, #inflight-req: 5, npu graph: False, input throughput (token/s): 2.94", "prefill", 4, 5},
	{"0.5.16", "Prefill batch [1], #new-seq: 3, #new-token: 4096, #cached-token: 11, token usage: 0.07, #running-req: 2, #queue-req: 9, #pending-token: 0, #bootstrap-req: 4, #inflight-req: 5, #optimistic-req: 0, cuda graph: False, input throughput (token/s): 7.29, est. prefill TFLOPS/s (per GPU): 1.20, fwd occupancy: 12.50%", "prefill", 4, 5},
	{"sliding window", "Prefill batch, #new-seq: 3, #new-token: 4096, #cached-token: 11, full token usage: 0.07, swa token usage: 0.55, #running-req: 2, #queue-req: 9, #pending-token: 46401, cuda graph: False, input throughput (token/s): 8072.80", "", -1, -1},
	{"hybrid", "Prefill batch, #new-seq: 3, #new-token: 4096, #cached-token: 11, full token usage: 0.07, mamba usage: 0.55, #running-req: 2, #queue-req: 9", "", -1, -1},
}

func TestPrefillBatch(t *testing.T) {
	for _, c := range prefillLines {
		t.Run(c.version, func(t *testing.T) {
			e := one(t, stampText+c.line)
			b := e.Batch
			if b.NewSeqs != opt(3) || b.NewTokens != opt(4096) || e.CachedTokens != opt(11) || b.QueueReqs != opt(9) || b.Usage != optF(0.07) {
				t.Errorf("%+v %+v", b, e.CachedTokens)
			}
			if e.Role != c.role || b.PreallocReqs != opt(c.prealloc) || b.TransferReqs != opt(c.transfer) {
				t.Errorf("role %q, %+v", e.Role, b)
			}
		})
	}
}

var decodeLines = []struct {
	version, line string
	role          evidence.Role
	prealloc      float64
	transfer      int64
}{
	{"0.3", "Decode batch. #running-req: 6, #token: 7040, token usage: 0.25, gen throughput (token/s): 81.25, #queue-req: 17", "", -1, -1},
	{"0.4.6", "Decode batch. #running-req: 6, #token: 7040, token usage: 0.25, pre-allocated usage: 0.18, gen throughput (token/s): 15.02, #queue-req: 17", "decode", 0.18, -1},
	{"0.4.8", "Decode batch. #running-req: 6, #token: 7040, token usage: 0.25, pre-allocated usage: 0.18, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 15.02, #queue-req: 17", "decode", 0.18, -1},
	{"0.5.3", "Decode batch. #running-req: 6, #token: 7040, token usage: 0.25, pre-allocated usage: 0.18, #prealloc-req: 1, #transfer-req: 22, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 6.73, #queue-req: 17, ", "decode", 0.18, 22},
	{"0.5.4", "Decode batch [40], #running-req: 6, #token: 7040, token usage: 0.25, accept len: 2.54, accept rate: 0.63, pre-allocated usage: 0.18, #prealloc-req: 1, #transfer-req: 22, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 27.99, #queue-req: 17, ", "decode", 0.18, 22},
	{"0.5.16", "Decode batch, #running-req: 6, #token: 7040, token usage: 0.25, accept len: 2.54, cap len: 3.10, block accept len: 2.00, accept rate: 0.63, pre-allocated usage: 0.18, #prealloc-req: 1, #transfer-req: 22, #retracted-req: 0, cpu graph: True, gen throughput (token/s): 27.99, #queue-req: 17", "decode", 0.18, 22},
	{"sliding window", "Decode batch, #running-req: 6, #full token: 7040, full token usage: 0.25, #swa token: 181, swa token usage: 0.99, accept len: 2.75, accept rate: 0.12, cuda graph: True, gen throughput (token/s): 0.10, #queue-req: 17", "", -1, -1},
}

func TestDecodeBatch(t *testing.T) {
	for _, c := range decodeLines {
		t.Run(c.version, func(t *testing.T) {
			e := one(t, stampText+c.line)
			b := e.Batch
			if b.RunningReqs != opt(6) || b.Tokens != opt(7040) || b.Usage != optF(0.25) || b.QueueReqs != opt(17) || b.TransferReqs != opt(c.transfer) {
				t.Errorf("%+v", b)
			}
			if e.Role != c.role || b.PreallocUsage.Known != (c.prealloc > 0) || c.prealloc > 0 && b.PreallocUsage.V != c.prealloc {
				t.Errorf("role %q, %+v", e.Role, b)
			}
		})
	}
}

func TestPoolLines(t *testing.T) {
	for _, line := range []string{
		"max_total_num_tokens=70123, max_prefill_tokens=16384, max_running_requests=2049, context_len=32000",
		"max_total_num_tokens=70123, chunked_prefill_size=None, max_prefill_tokens=16384, max_running_requests=2049, context_len=32000",
		"max_total_num_tokens=70123, chunked_prefill_size=-1, max_prefill_tokens=16384, max_running_requests=2049, context_len=32000, available_gpu_mem=12.73 GB",
		"max_total_num_tokens=70123, chunked_prefill_size=-1, max_prefill_tokens=16384, max_running_requests=2049, context_len=32000, available_cpu_mem=12.73 GB",
	} {
		e := one(t, stampText+line)
		if e.Kind != evidence.EventPool || e.Launch.PoolTokens != opt(70123) || e.Launch.ContextLen != opt(32000) {
			t.Errorf("%+v", e)
		}
	}
	for _, line := range []string{
		"KV Cache is allocated. #tokens: 70123, K size: 8.23 GB, V size: 8.23 GB",
		"KV Cache is allocated. #tokens: 70123, KV size: 0.05 GB          ",
		"KV Cache is allocated. dtype: torch.bfloat16, #tokens: 70123, K size: 5.92 GB, V size: 5.92 GB",
		"MLA KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 70123, KV size: 5.92 GB",
		"Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 70123, KV size: 5.92 GB",
	} {
		e := one(t, stampText+line)
		if e.Kind != evidence.EventKVAlloc || e.Launch.PoolTokens != opt(70123) || !strings.Contains(e.Message, "size") {
			t.Errorf("%+v", e)
		}
	}
	e := one(t, "ValueError: pool memory leak detected! self.max_total_num_tokens=70123, available_size=99999, protected_size=0")
	if e.Kind != evidence.EventPool || e.Launch.PoolTokens != opt(70123) || e.Launch.ContextLen.Known {
		t.Errorf("%+v", e)
	}
}

func TestServerArgs(t *testing.T) {
	e := one(t, `[2026-03-04 05:06:07] server_args=ServerArgs(model_path='m', chat_template="it's {% for x in y %} page_size=7, ", context_length=None, page_size=64, tp_size=8, pp_size=1, cfg=Cfg(tp_size=1, dp_size=2, page_size=3), dp_size=4, cuda_graph_bs=[1, 2, 4], disaggregation_mode='decode', disaggregation_transfer_backend='nixl', disable_radix_cache=True, api_key='secret', max_total_tokens=2048)`)
	l := e.Launch
	if e.Kind != evidence.EventLaunch || e.Role != evidence.RoleDecode || l.Engine != "sglang" || l.ContextLen.Known ||
		l.PageSize != opt(64) || l.TPSize != opt(8) || l.DPSize != opt(4) || l.PPSize != opt(1) || l.TransferBackend != "nixl" || l.PoolTokens.Known {
		t.Errorf("%+v", e)
	}
	if l.Flags != `{"disable_radix_cache":true,"max_total_tokens":2048,"model_path":"m"}` {
		t.Errorf("flags %s", l.Flags)
	}
	if e := one(t, "server_args=ServerArgs(model_path='m', disaggregation_mode='null', page_size=None)"); e.Role != evidence.RoleUnified || e.Launch.PageSize.Known {
		t.Errorf("%+v", e)
	}
}

func TestCommands(t *testing.T) {
	e := one(t, "root@gpu-3:/srv# docker run --gpus all lmsysorg/sglang:v0.5.17 python3 -m sglang.launch_server --model-path /m --tp-size=4 --dp 2 --page-size 32 --disaggregation-mode prefill --disaggregation-transfer-backend mori --trust-remote-code")
	if l := e.Launch; e.Role != evidence.RolePrefill || l.Version != "0.5.17" || l.TPSize != opt(4) || l.DPSize != opt(2) || l.PageSize != opt(32) || l.TransferBackend != "mori" || l.ContextLen.Known {
		t.Errorf("%+v", e)
	}
	text := lines("+ python3 -m sglang.launch_server \\", "    --model-path /m --context-length 4096 \\", "    --port 30000", "[2026-03-04 05:06:07] hello")
	r, _ := feed(t, text)
	r.account(t, len(text))
	if len(r.events) != 1 || r.events[0].Launch.ContextLen != opt(4096) || r.events[0].Role != evidence.RoleUnknown || len(r.parsed) != 1 {
		t.Errorf("%+v %+v", r.events, r.parsed)
	}
	e = one(t, "python -m sglang_router.launch_router --pd-disaggregation --prefill http://10.0.0.1:30000 8998 --decode http://10.0.0.2:30001 --port 8000")
	if e.Role != evidence.RoleRouter || e.Launch.Flags != `{"decode":["http://10.0.0.2:30001"],"port":8000,"prefill":["http://10.0.0.1:30000 8998"]}` {
		t.Errorf("%+v", e)
	}
}

func TestRequestLogs(t *testing.T) {
	receive := one(t, `Receive: obj=GenerateReqInput(text='it\'s', rid="r-1", received_time=1766581510.102859, bootstrap_host='10.0.0.1', bootstrap_room=9223372036854775807, modalities=['image'], sampling_params={'stop': None})`)
	if receive.Kind != evidence.EventReceived || receive.RID != "r-1" || receive.Room != evidence.Some(uint64(9223372036854775807)) || receive.At != micros("2025-12-24 13:05:10.102859") {
		t.Errorf("%+v", receive)
	}
	const meta = `{'id': 'r-1', 'finish_reason': {'type': 'length', 'length': 0}, 'prompt_tokens': 1, 'completion_tokens': 1, 'cached_tokens': 0, 'dp_rank': 3, 'e2e_latency': 1.25, 'request_finished_ts': 1779264164.565102}`
	finish := one(t, `[2026-03-04 05:06:07] Finish: obj=GenerateReqInput(text='abc' ... 'xyz', input_ids=[1, 2] ... [8, 9], rid='r-1', bootstrap_room=77, received_time=26519772.45), out={'text': "a 'quoted' [answer", 'meta_info': `+meta+`}`)
	if finish.Kind != evidence.EventFinished || finish.RID != "r-1" || finish.Room != evidence.Some(uint64(77)) || finish.PromptTokens != opt(1) || finish.CompletionTokens != opt(1) ||
		finish.CachedTokens != opt(0) || finish.DP != opt(3) || finish.E2Ems != optF(1250) || finish.FinishReason != "length" || finish.LocalAt != micros("2026-03-04 05:06:07") || finish.At != micros("2026-05-20 08:02:44.565102") {
		t.Errorf("%+v", finish)
	}
	abort := one(t, `Finish: obj=GenerateReqInput(rid='r-2'), out={'meta_info': {'id': 'r-2', 'finish_reason': {'type': 'abort', 'message': 'Request running timeout reached.', 'status_code': <HTTPStatus.SERVICE_UNAVAILABLE: 503>, 'err_type': None}, 'e2e_latency': 0.5, 'completion_tokens': 0}}`)
	if abort.FinishReason != "abort" || abort.Status != opt(503) || abort.PromptTokens.Known || abort.Message != "" {
		t.Errorf("%+v", abort)
	}
	batch, _ := feed(t, lines(`[2026-03-04 05:06:07] Receive: obj=GenerateReqInput(rid=['a', 'b'], bootstrap_room=[4, 5], text=['x', 'y'])`))
	if len(batch.events) != 2 || batch.events[1].RID != "b" || batch.events[1].Room != evidence.Some(uint64(5)) {
		t.Errorf("%+v", batch)
	}
	for _, prefix := range []string{"", "[2026-03-04 05:06:07] "} {
		e := one(t, prefix+`{"timestamp": "2026-03-04T05:06:07.25", "event": "request.finished", "rid": "j-1", "obj": {"text": "\"event\": \"x\"", "rid": "j-1", "bootstrap_room": 12}, "out": {"text": "}", "meta_info": {"id": "j-1", "finish_reason": {"type": "stop", "matched": 151645}, "prompt_tokens": 9000, "completion_tokens": 12, "cached_tokens": 64, "e2e_latency": 2.5}}}`)
		if e.Kind != evidence.EventFinished || e.RID != "j-1" || e.Room != evidence.Some(uint64(12)) || e.PromptTokens != opt(9000) || e.FinishReason != "stop" || !e.LocalAt.Known {
			t.Errorf("%+v", e)
		}
	}
	e := one(t, `{"request_parameters": "{\"rid\": \"x-1\", \"text\": \"say \\\"hi\\\"\", \"bootstrap_room\": 31}", "id": "x-1", "finish_reason": {"type": "stop"}, "prompt_tokens": 44, "completion_tokens": 5, "cached_tokens": 0, "e2e_latency": 0.5}`)
	if e.Kind != evidence.EventFinished || e.RID != "x-1" || e.Room != evidence.Some(uint64(31)) || e.PromptTokens != opt(44) {
		t.Errorf("%+v", e)
	}
}

func TestTimeStats(t *testing.T) {
	for _, c := range []struct {
		line string
		role evidence.Role
		room uint64
	}{
		{"ReqTimeStats(rid=q-9, bootstrap_room=31, input_len=1, cached_input_len=0, output_len=1, attempts=0, type=prefill): bootstrap_duration=0.32ms, transfer_total=0.07 MB", evidence.RolePrefill, 31},
		{"Req Time Stats(rid=q-9, bootstrap_room=31, input len=1, output len=1, type=decode): queue_duration=0.00ms", evidence.RoleDecode, 31},
		{"#Req Time Stats(rid=q-9, input len=1, output len=1, type=unified): queue_duration=0.00ms, start_time=0.0", evidence.RoleUnified, 0},
		{"ReqTimeStats(rid=q-9, input_len=1, cached_input_len=0, output_len=1, type=Decode): bootstrap_duration=1.00ms", evidence.RoleDecode, 0},
	} {
		e := one(t, stampText+c.line)
		if e.Kind != evidence.EventTimeStats || e.RID != "q-9" || e.PromptTokens != opt(1) || e.CompletionTokens != opt(1) || e.Role != c.role || e.Room.V != c.room || e.Room.Known != (c.room > 0) {
			t.Errorf("%+v", e)
		}
	}
}

func TestTroubles(t *testing.T) {
	for _, c := range []struct {
		line  string
		kind  evidence.EventKind
		rid   string
		room  uint64
		n, m  int64
		words string
	}{
		{"Input length (5001 tokens) exceeds the maximum allowed length (5000 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='k-1'", evidence.EventRejected, "k-1", 0, 5001, 5000, "Input length (5001 tokens) exceeds"},
		{"Input length (5001 tokens) exceeds the maximum allowed length (5000 tokens). Use a shorter input or enable --allow-auto-truncate.", evidence.EventRejected, "", 0, 5001, 5000, "Input length"},
		{"Request k-1 exceeds the maximum number of tokens: 5001 > 5000", evidence.EventRejected, "k-1", 0, 5001, 5000, "exceeds the maximum number of tokens"},
		{"Request k-1 requires too many SWA KV tokens for decode preallocation: 5001 > 5000", evidence.EventRejected, "k-1", 0, 5001, 5000, "requires too many SWA"},
		{"The input (5001 tokens) is longer than the model's context length (5000 tokens).", evidence.EventRejected, "", 0, 5001, 5000, "The input"},
		{"Requested token count exceeds the model's maximum context length of 5000 tokens. You requested a total of 6000 tokens: 5001 tokens from the input messages and 999 tokens for the completion.", evidence.EventRejected, "", 0, 5001, 5000, "Requested"},
		{"Multimodal prompt is too long after expanding multimodal tokens. After expanding len(req.origin_input_ids_unpadded)=12 => 5001 >= 5000., self.rid='k-1'", evidence.EventRejected, "k-1", 0, 5001, 5000, "Multimodal prompt is too long"},
		{"Grammar preprocessing timed out: req.grammar_key=('json', '{\"secret\": 1}'), self.rid='k-1'", evidence.EventRejected, "k-1", 0, -1, -1, "Grammar preprocessing timed out"},
		{"Request length is longer than the KV cache pool size or the max context length. Truncated. len(req.origin_input_ids)=5001, max_req_input_len=5000.", evidence.EventTruncated, "", 0, 5001, 5000, "Truncated"},
		{"Prefill bootstrap failed for request rank=2 req.rid='k-1' req.bootstrap_room=41 with exception KVTransferError(bootstrap_room=41): Request 41 timed out after 300.0s in KVPoll.Bootstrapping", evidence.EventTransferFailed, "k-1", 41, -1, -1, "timed out"},
		{"Decode handshake failed for request rank=0 decode_req.req.rid='k-1' decode_req.req.bootstrap_room=41 with exception KVTransferError(bootstrap_room=41): Could not fetch", evidence.EventTransferFailed, "k-1", 41, -1, -1, "Could not fetch"},
		{"Losing connection with prefill instance (bootstrap_addr: g2:8998), affected 581 requests", evidence.EventTransferFailed, "", 0, -1, -1, "581"},
		{"Request is disconnected from the client side (type 3). Abort request obj.rid='k-1'", evidence.EventAbort, "k-1", 0, -1, -1, "disconnected"},
		{"ValueError: Request is disconnected from the client side (type 1). Abort request obj.rid='k-1'", evidence.EventAbort, "k-1", 0, -1, -1, "disconnected"},
		{"Abort queued request. req.rid='k-1'", evidence.EventAbort, "k-1", 0, -1, -1, "Abort queued request."},
		{"len(prefill_state_indices) = 1, len(dst_state_indices) = 4453", evidence.EventStateIndex, "", 0, 1, 4453, "= 1,"},
		{"RuntimeError: State index length mismatch: prefill=1, dst=4453", evidence.EventStateIndex, "", 0, 1, 4453, "prefill=1"},
		{"State index length mismatch for swa: src=1 dst=4453; truncating to common prefix=1", evidence.EventStateIndex, "", 0, 1, 4453, "src=1"},
		{"Context corruption detected: Request k-1 (bootstrap_room=41) received metadata from bootstrap_room=42. Metadata buffer index: 7. This indicates metadata buffer index collision.", evidence.EventCorruption, "k-1", 41, -1, -1, "42"},
		{"kv_canary violation: launch_tag=SWEEP_K_FULL fail_reason=verify_chain_hash slot_idx=1 position=0", evidence.EventCanary, "", 0, -1, -1, "slot_idx=1"},
		{"[canary] step=9 violations=2", evidence.EventCanary, "", 0, -1, -1, "violations=2"},
		{"Deferred KV release for room 41 timed out after 30.0s without a full drain ack from prefill; releasing anyway.", evidence.EventDeferredRelease, "", 41, -1, -1, "timed out"},
		{"Deferred KV release failed for room 41", evidence.EventDeferredRelease, "", 41, -1, -1, "failed"},
		{"Cache flushed successfully!", evidence.EventFlush, "", 0, -1, -1, ""},
		{"KV cache is forced as chunk cache for decode server", evidence.EventRoleHint, "", 0, -1, -1, "chunk cache"},
	} {
		e := one(t, stampText+c.line)
		if e.Kind != c.kind || e.RID != c.rid || e.Room.V != c.room || e.PromptTokens != opt(c.n) || e.LimitTokens != opt(c.m) || !strings.Contains(e.Message, c.words) {
			t.Errorf("%s\n%+v", c.line, e)
		}
		if strings.Contains(e.Message, "secret") {
			t.Errorf("text of a request in %q", e.Message)
		}
	}
	e := one(t, stampText+"Decode out of memory happened. #retracted_reqs: 4, #new_token_ratio: 0.1474 -> 0.1845")
	if e.Kind != evidence.EventRetraction || e.Batch.RetractedReqs != opt(4) {
		t.Errorf("%+v", e)
	}
}

func TestAccess(t *testing.T) {
	e := one(t, `[2026-03-04 05:06:07] INFO:     [fd00::7]:5123 - "POST /v1/completions?q=private HTTP/1.1" 400 Bad Request`)
	if e.Status != opt(400) || e.Message != "POST /v1/completions" {
		t.Errorf("%+v", e)
	}
	e = one(t, `[2026-05-28 06:32:54] 10.0.0.7 [28/May/2026:05:32:54 +0000] "GET /route?engine_rank=0&target_dp_group=0 HTTP/1.1" 200 207 "-" "python-requests/2.32.3"`)
	if e.Status != opt(200) || e.Role != evidence.RolePrefill || e.At != micros("2026-05-28 05:32:54") || e.LocalAt != micros("2026-05-28 06:32:54") {
		t.Errorf("%+v", e)
	}
	e = one(t, `2026-04-13 16:12:39  INFO http_request{method=POST uri=/generate version=HTTP/1.1 module="smg" request_id="gnt-1HF" status_code=200 latency=2207784}: smg::response: src/middleware.rs:359: finished processing request`)
	if e.Kind != evidence.EventAccess || e.Message != "POST /generate" || e.RID != "gnt-1HF" || e.Status != opt(200) || e.E2Ems != optF(2207.784) || e.Role != evidence.RoleRouter || e.LocalAt != micros("2026-04-13 16:12:39") {
		t.Errorf("%+v", e)
	}
}

func TestRouter(t *testing.T) {
	e := one(t, `2026-09-17 08:22:52  INFO sglang_router_rs::server: src/server.rs:261: Starting router on 0.0.0.0:30000 | mode: PrefillDecode { prefill_urls: [("http://10.0.0.1:8000", Some(8998))] }`)
	if e.Kind != evidence.EventRouter || e.Role != evidence.RoleRouter || !strings.Contains(e.Message, "Some(8998)") || e.LocalAt != micros("2026-09-17 08:22:52") {
		t.Errorf("%+v", e)
	}
	e = one(t, `2026-04-13 16:12:39 ERROR http_request{method=POST uri=/generate version=HTTP/1.1 module="smg" request_id="gnt-Tq"}: smg::routers::http::pd_router: src/pd_router.rs:590: Decode server returned error status decode_url=http://10.0.0.2:30000 status=500 Internal Server Error body=private`)
	if e.Kind != evidence.EventRouter || e.RID != "gnt-Tq" || e.Message != "Decode server returned error status decode_url=http://10.0.0.2:30000 status=500 Internal Server Error" {
		t.Errorf("%+v", e)
	}
}

func TestRejects(t *testing.T) {
	for _, line := range []string{
		"Prefill batch. #new-seq: 1, #new-token: 99999999999999999999, #cached-token: 0",
		"Prefill batch. #new-seq: 1, #new-token: 12x, #cached-token: 0",
		"Prefill batch. #new-seq: 1, #cached-token: 0",
		"Prefill batch. #new-seq: 1, #new-token: 1, #new-token: 2",
		"Decode batch. #running-req: -1, #token: 5",
		"Decode batch. #running-req: 1, #token: 5, token usage: nan",
		"Decode batch. #running-req: 1, #token: 5, token us",
		"max_total_num_tokens=871371, chunked_prefill_size=16384, max_prefill_tokens=16384, max_runn",
		"max_total_num_tokens=None, context_len=5",
		"max_total_num_tokens=1x, context_len=5",
		"max_total_num_tokens=1, max_total_num_tokens=2, context_len=5",
		"KV Cache is allocated. #tokens: 8713",
		"server_args=ServerArgs(model_path='m', page_size=6",
		"server_args=ServerArgs(model_path='m', page_size='x')",
		"server_args=ServerArgs(page_size=1, page_size=64)",
		"Input length (99999999999999999999 tokens) exceeds the maximum allowed length (5 tokens).",
		"Prefill transfer failed for request rank=0 req.rid='a' req.bootstrap_room=35832",
		"ReqTimeStats(rid=a, bootstrap_room=1, input_len=",
		`{"timestamp": "2026-03-04T05:06:07", "event": "request.finished", "rid": "a", "obj": {}, "out": {"meta`,
		"Finish: obj=GenerateReqInput(rid='a'), out={'meta_info': {'id': 'a', 'prompt_tokens': 'many'}}",
		"Receive: obj=GenerateReqInput(text='abc",
	} {
		text := lines(stampText + line)
		r, _ := feed(t, text)
		r.account(t, len(text))
		if len(r.events) != 0 || len(r.rejected) != 1 {
			t.Errorf("%s\nevents %+v\nrejected %+v", line, r.events, r.rejected)
		}
	}
	for _, line := range []string{
		"Prefill batch size is limited.", "Cache not flushed because there are pending requests. #queue-req: 1, #running-req: 2",
		"[canary] step=9 violations=0", "available_size=13824256", "Abort all requests", "Request finished",
		"server_args is deprecated", `INFO:     Started server process [67238]`,
		"End of prefill disaggregation mode warmup with status 200, resp: [{'text': 'x', 'meta_info': {'id': 'a'}}]",
	} {
		r, _ := feed(t, lines(stampText+line))
		if len(r.events) != 0 || len(r.rejected) != 0 {
			t.Errorf("%s\nevents %+v\nrejected %+v", line, r.events, r.rejected)
		}
	}
}

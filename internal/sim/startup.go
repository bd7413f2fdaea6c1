package sim

import (
	"fmt"
	"strings"

	"kvforensics/internal/evidence"
)

// kvBytesPerToken is the KV size of a token: a compressed latent and an index
// key, over some 80 layers, in eight bits.
const kvBytesPerToken = 51_200

// startup writes what a node prints between its launch at t and its being
// ready, and returns the latter.
func (l *nodeLog) startup(t micros) (ready micros) {
	ready = t + 3*minute + l.c.rng.Int64N(minute)
	for rank := range l.n.cfg.Ranks {
		if l.n.decode != nil {
			l.n.decode[rank].logAt = ready
		}
		if l.n.prefill != nil {
			l.n.prefill[rank].batchAt = ready
		}
	}
	if l.c.cfg.Damage.NoStartupLines {
		return ready
	}
	if l.n.cfg.Role == evidence.RoleDecode {
		l.line(t, http, "KV cache is forced as chunk cache for decode server")
	}
	l.line(t+second, http, l.serverArgs())
	l.pools(ready - 40*second)
	pid := 1000 + l.n.boots
	l.line(ready-8*second, http, fmt.Sprintf("INFO:     Started server process [%d]", pid))
	l.line(ready-8*second, http, "INFO:     Waiting for application startup.")
	l.line(ready-8*second, http, "INFO:     Application startup complete.")
	l.line(ready-8*second, http, "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)")
	if !l.n.unified() {
		l.line(ready, http, "End of prefill disaggregation mode warmup with status 200, resp: "+
			"[{'text': ' ', 'meta_info': {'finish_reason': {'type': 'length', 'length': 0}, 'prompt_tokens': 4, 'completion_tokens': 1, 'cached_tokens': 0}}]")
	}
	l.line(ready, http, "The server is fired up and ready to roll!")
	return ready
}

// pools writes how large the KV pools came out: the allocation on every rank,
// the measured figure on the first of each data-parallel rank.
func (l *nodeLog) pools(t micros) {
	e := &l.c.cfg.Engine
	dtype := "dtype: torch.float8_e4m3fn, "
	if l.old {
		dtype = ""
	}
	size := float64(l.n.pool) * kvBytesPerToken / (1 << 30)
	for rank := range l.n.cfg.Ranks {
		for tp := range max(1, e.TPSize/l.n.cfg.Ranks) {
			tag := l.ranks[rank]
			l.ranks[rank] = []byte(rankTag(l.n.cfg, e.TPSize, rank, tp))
			l.line(t, rank, fmt.Sprintf("KV Cache is allocated. %s#tokens: %d, KV size: %.2f GB", dtype, l.n.pool, size))
			l.line(t, rank, "Memory pool end. avail mem=14.31 GB")
			l.ranks[rank] = tag
		}
	}
	for rank := range l.n.cfg.Ranks {
		l.line(t+20*second, rank, fmt.Sprintf(
			"max_total_num_tokens=%d, chunked_prefill_size=%d, max_prefill_tokens=16384, max_running_requests=%d, context_len=%d, available_gpu_mem=12.87 GB",
			l.n.pool, e.ChunkedPrefill, 256/l.n.cfg.Ranks, e.ContextLen))
		if !l.old {
			impl := "RadixCache"
			if l.n.decode != nil {
				impl = "ChunkCache"
			}
			l.line(t+20*second, rank, "Tree cache initialized: source=default impl="+impl+
				" hybrid_swa=False hybrid_ssm=False hierarchical=False streaming_wrapped=False")
		}
	}
}

func (l *nodeLog) serverArgs() string {
	e, n := &l.c.cfg.Engine, l.n.cfg
	mode, backend := "'"+string(n.Role)+"'", e.TransferBackend
	if l.n.unified() {
		mode = "'null'"
	}
	fields := []string{
		pyString("model_path", l.c.cfg.Model), pyString("tokenizer_path", l.c.cfg.Model), "tokenizer_mode='auto'",
		"load_format='auto'", "trust_remote_code=False", fmt.Sprintf("context_length=%d", e.ContextLen),
		pyString("host", "0.0.0.0"), "port=30000", "kv_cache_dtype='fp8_e4m3'", "mem_fraction_static=0.83",
		"max_running_requests=256", "max_total_tokens=None", fmt.Sprintf("chunked_prefill_size=%d", e.ChunkedPrefill),
		"max_prefill_tokens=16384", "schedule_policy='fcfs'", fmt.Sprintf("page_size=%d", e.PageSize), "device='cuda'",
		fmt.Sprintf("tp_size=%d", e.TPSize), "pp_size=1", fmt.Sprintf("dp_size=%d", n.Ranks), fmt.Sprintf("ep_size=%d", e.TPSize),
		"enable_dp_attention=" + pyBool(n.Ranks > 1), "load_balance_method='follow_bootstrap_room'", "log_level='info'",
		"log_requests=" + pyBool(e.LogRequests), "log_requests_level=1", "enable_metrics=False",
		fmt.Sprintf("decode_log_interval=%d", e.DecodeLogInterval),
		"enable_request_time_stats_logging=" + pyBool(e.LogTimeStats), "attention_backend='nsa'", "speculative_algorithm=None",
		"enable_hierarchical_cache=False", "disable_radix_cache=" + pyBool(l.n.decode != nil), "allow_auto_truncate=False",
		"disaggregation_mode=" + mode, pyString("disaggregation_transfer_backend", backend), "disaggregation_bootstrap_port=8998",
		"disaggregation_decode_enable_offload_kvcache=" + pyBool(n.Offload), "disaggregation_decode_enable_radix_cache=False",
		fmt.Sprintf("num_reserved_decode_tokens=%d", reservedDecodeTokens),
	}
	return "server_args=ServerArgs(" + strings.Join(fields, ", ") + ")"
}

func pyString(name, value string) string { return name + "='" + value + "'" }

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

package sglang

import (
	"bytes"
	"encoding/json"

	"kvforensics/internal/evidence"
)

const (
	engineSGLang = "sglang"
	engineRouter = "sglang-router"
)

// flagNames are the further arguments that bear on exposure.
var flagNames = []string{
	"model_path", "served_model_name", "load_format", "kv_cache_dtype", "quantization", "mem_fraction_static",
	"max_total_tokens", "max_running_requests", "chunked_prefill_size", "ep_size", "nnodes", "node_rank", "host", "port",
	"enable_dp_attention", "load_balance_method", "speculative_algorithm", "disable_radix_cache",
	"enable_hierarchical_cache", "enable_lmcache", "allow_auto_truncate", "log_requests", "log_requests_level",
	"log_requests_format", "enable_metrics", "enable_request_time_stats_logging", "enable_cache_report",
	"decode_log_interval", "disaggregation_bootstrap_port", "disaggregation_decode_enable_offload_kvcache",
	"disaggregation_decode_enable_radix_cache", "disaggregation_decode_enable_fake_auto",
	"disaggregation_enable_kv_checksum", "kv_canary", "kv_canary_real_data", "kv_canary_sweep_interval",
	"num_reserved_decode_tokens",
}

var isFlag = setOf(flagNames...)

// launchArgs gathers the arguments of a start-up.
type launchArgs struct {
	launch evidence.Launch
	role   evidence.Role
	flags  map[string]any
	seen   map[string]bool
}

// set takes one argument by its Python name. value is a figure, a word, or a
// string literal.
func (a *launchArgs) set(name string, value []byte) error {
	l := &a.launch
	text := value
	if body, ok := literalBody(value); ok {
		text = body
	}
	var err error
	switch name {
	case "page_size":
		err = setCount(&l.PageSize, name, text)
	case "context_length":
		err = setCount(&l.ContextLen, name, text)
	case "max_total_num_tokens":
		err = setCount(&l.PoolTokens, name, text)
	case "max_req_input_len":
		err = setCount(&l.MaxInputLen, name, text)
	case "tp_size":
		err = setCount(&l.TPSize, name, text)
	case "dp_size":
		err = setCount(&l.DPSize, name, text)
	case "pp_size":
		err = setCount(&l.PPSize, name, text)
	case "version":
		l.Version = known(text)
	case "disaggregation_transfer_backend":
		l.TransferBackend = known(text)
	case "disaggregation_mode":
		a.role = modeRole(string(text))
	default:
		if isFlag[name] && !isNone(value) {
			a.flags[name] = flagValue(value, text)
		}
		return nil
	}
	if a.seen[name] {
		return unreadablef("%s is given twice", name)
	}
	a.seen[name] = true
	return err
}

func newLaunchArgs(engine string) *launchArgs {
	return &launchArgs{launch: evidence.Launch{Engine: engine}, flags: map[string]any{}, seen: map[string]bool{}}
}

func known(b []byte) string {
	if isNone(b) {
		return ""
	}
	return string(b)
}

// modeRole reads disaggregation_mode; 'null' is configured as one instance.
func modeRole(mode string) evidence.Role {
	switch mode {
	case "prefill":
		return evidence.RolePrefill
	case "decode":
		return evidence.RoleDecode
	case "null":
		return evidence.RoleUnified
	}
	return evidence.RoleUnknown
}

// flagValue gives a value as JSON has it.
func flagValue(value, text []byte) any {
	switch string(value) {
	case "True", "true":
		return true
	case "False", "false":
		return false
	}
	if len(text) == len(value) && json.Valid(value) {
		return json.RawMessage(bytes.Clone(value))
	}
	text, _ = unquoted(value, nil)
	if text == nil {
		text = value
	}
	return clip(text, 200)
}

// emitLaunch reports a start-up.
func (p *Parser) emitLaunch(a *launchArgs, how string) {
	e := &p.event
	e.Kind = evidence.EventLaunch
	e.Launch, e.Role, e.Message = a.launch, a.role, how
	if len(a.flags) > 0 {
		if b, err := json.Marshal(a.flags); err == nil {
			e.Launch.Flags = string(b)
		}
	}
	p.emit()
}

// readServerArgs reads server_args=ServerArgs(model_path='…', …).
func (p *Parser) readServerArgs(msg []byte) error {
	f, err := open(msg[len("server_args="):])
	if err != nil {
		return err
	}
	a := newLaunchArgs(engineSGLang)
	for f.next() {
		// Only the arguments of the outermost call count: nested configurations
		// have names of their own, tp_size among them.
		if err := a.set(string(f.name), f.value); err != nil {
			return err
		}
	}
	if f.err != nil {
		return unreadable("server_args: " + f.err.Error())
	}
	p.emitLaunch(a, "server_args")
	return nil
}

// readServerInfo reads the answer of /server_info. Only its outermost fields
// count, as internal_states repeats their names for each rank.
func (p *Parser) readServerInfo(msg []byte) error {
	f, err := open(msg)
	if err != nil {
		return err
	}
	a := newLaunchArgs(engineSGLang)
	for f.next() {
		if err := a.set(string(f.name), f.value); err != nil {
			return err
		}
	}
	if f.err != nil {
		return unreadable("server info: " + f.err.Error())
	}
	p.emitLaunch(a, "server info")
	return nil
}

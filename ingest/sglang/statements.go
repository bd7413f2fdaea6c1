package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// statement is one thing that an engine says.
type statement struct {
	start string // of the message; "" where another test finds it
	read  func(p *Parser, msg []byte) error

	// more tells whether a line goes on the record; nil: it is one line.
	more   func(h *held, r *row) joint
	opens  func(h *held, r *row) bool // whether more is asked at all; nil: always
	fields fieldSet                   // for fieldsGoOn
	end    string                     // for carrierGoesOn

	private bool // the record holds texts of a customer
}

// byStart lists the statements by the first byte of their start.
var byStart [256][]*statement

func init() {
	for i := range statements {
		s := &statements[i]
		byStart[s.start[0]] = append(byStart[s.start[0]], s)
	}
}

var statements = []statement{
	{start: "Prefill batch", read: (*Parser).readPrefillBatch, more: fieldsGoOn, fields: batchFields},
	{start: "Decode batch", read: (*Parser).readDecodeBatch, more: fieldsGoOn, fields: batchFields},
	{start: "max_total_num_tokens=", read: (*Parser).readPool, more: fieldsGoOn, fields: poolFields},
	{start: "ValueError: ", read: (*Parser).readValueError, more: fieldsGoOn, fields: leakFields},
	{start: "KV Cache is allocated. ", read: (*Parser).readKVAlloc},
	{start: "Post-capture KV sizing: KV cache allocated. ", read: (*Parser).readKVAlloc},
	{start: "The server is fired up and ready to roll!", read: (*Parser).readReady},

	{start: "server_args=ServerArgs(", read: (*Parser).readServerArgs, more: openGoesOn, opens: opensBracket},
	{start: "command=", read: (*Parser).readCommand, more: openGoesOn, opens: opensBracket},
	{start: "Starting router with command: ", read: (*Parser).readCommand, more: openGoesOn, opens: opensBracket},
	{start: "runCommand ", read: (*Parser).readCommand, more: openGoesOn, opens: opensBracket},
	{start: "[Router (Rust)] ", read: (*Parser).readRustRouter},
	{start: "[MiniLB]", read: roleHint("router", "[MiniLB]")},
	{start: "Starting router on ", read: (*Parser).readRouterStart},
	{start: "http_request{", read: (*Parser).readRouterRequest},

	{start: "Receive: ", read: (*Parser).readReceive, more: wrapGoesOn, opens: opensBracket, private: true},
	{start: "Receive OpenAI: ", read: readNothing, more: wrapGoesOn, opens: opensBracket, private: true},
	{start: "Finish: ", read: (*Parser).readFinish, more: wrapGoesOn, opens: opensBracket, private: true},
	{start: "{", read: (*Parser).readJSON, more: blockGoesOn, opens: opensBlock, private: true},
	{start: "ReqTimeStats(", read: (*Parser).readTimeStats},
	{start: "Req Time Stats(", read: (*Parser).readTimeStats},
	{start: "#Req Time Stats(", read: (*Parser).readTimeStats},

	{start: "Input length (", read: (*Parser).readInputLength},
	{start: "Request length is longer than the KV cache pool size or the max context length. Truncated.", read: (*Parser).readTruncated},
	{start: "The input (", read: (*Parser).readLongerThanContext},
	{start: "Requested token count exceeds the model's maximum context length", read: (*Parser).readOverContext},
	{start: "Request is disconnected from the client side", read: (*Parser).readAbort},
	{start: "Request ", read: (*Parser).readOverPool},
	{start: "Abort ", read: (*Parser).readAbort},
	{start: "Failed to compile ", read: (*Parser).readAdmissionAbort, more: carrierGoesOn, opens: opensGrammar, end: ", self.rid='", private: true},
	{start: "Failed to parse JSON part: ", read: readNothing, more: carrierGoesOn, end: ", JSON parse error: ", private: true},

	{start: "Prefill transfer failed for request ", read: transferFailed("prefill")},
	{start: "Prefill bootstrap failed for request ", read: transferFailed("prefill")},
	{start: "Decode transfer failed for request ", read: transferFailed("decode")},
	{start: "Decode handshake failed for request ", read: transferFailed("decode")},
	{start: "Losing connection with prefill instance", read: (*Parser).readLostPrefill},
	{start: "Page size mismatch: prefill server has page_size=", read: roleHint("decode", "Page size mismatch between prefill and decode server")},

	{start: "len(prefill_state_indices) = ", read: (*Parser).readStateIndex, more: fieldsGoOn},
	{start: "State index length mismatch", read: (*Parser).readStateMismatch, more: fieldsGoOn},
	{start: "RuntimeError: State index length mismatch", read: (*Parser).readStateMismatch, more: fieldsGoOn},
	{start: "Context corruption detected: ", read: (*Parser).readCorruption},
	{start: "kv_canary violation: ", read: (*Parser).readCanary},
	{start: "[canary] ", read: (*Parser).readCanarySummary},
	{start: "KV checksum mismatch", read: (*Parser).readChecksum},
	{start: "KV cache checksum mismatch", read: (*Parser).readChecksum},
	{start: "PD KV checksum mismatch", read: (*Parser).readChecksum},
	{start: "Decode out of memory happened. ", read: (*Parser).readRetraction},
	{start: "KV cache pool is full. Retract requests. ", read: (*Parser).readRetraction},
	{start: "Cache flushed successfully!", read: (*Parser).readFlush},
	{start: "Deferred KV release ", read: (*Parser).readDeferred},

	{start: "KV cache is forced as chunk cache for decode server", read: roleHint("decode", "KV cache is forced as chunk cache for decode server")},
	{start: "EXPERIMENTAL: Radix cache is enabled for decode server", read: roleHint("decode", "Radix cache is enabled for decode server")},
	{start: "Cuda graph is disabled for prefill server", read: roleHint("prefill", "Cuda graph is disabled for prefill server")},
	{start: "FakeKVSender ", read: roleHint("prefill", "FakeKVSender")},
	{start: "FakeKVReceiver ", read: roleHint("decode", "FakeKVReceiver")},
}

// Statements that their start alone does not tell.
var (
	accessLine     = statement{read: (*Parser).readAccess}
	bootstrapRoute = statement{read: (*Parser).readBootstrapAccess}
	admissionAbort = statement{read: (*Parser).readAdmissionAbort, private: true}
	namedKVAlloc   = statement{read: (*Parser).readKVAlloc}
	shellCommand   = statement{read: (*Parser).readCommand, more: commandGoesOn, opens: opensCommand}
	tracebackLine  = statement{read: (*Parser).readTraceback}
)

// find gives the statement that a line makes, nil when it makes none.
func find(r *row) *statement {
	msg := r.msg
	if len(msg) == 0 {
		return nil
	}
	for _, s := range byStart[msg[0]] {
		if len(msg) >= len(s.start) && string(msg[:len(s.start)]) == s.start {
			return s
		}
	}
	switch {
	case r.levelled && isAccess(msg):
		return &accessLine
	case isBlank(msg[0]):
		if bytes.Contains(msg, []byte("event_loop_")) {
			return &tracebackLine
		}
		return nil
	case !r.stamped:
	case isBootstrapAccess(msg):
		return &bootstrapRoute
	case bytes.LastIndex(msg, []byte(selfRID)) > 0:
		return &admissionAbort
	case bytes.Contains(msg[:min(len(msg), 80)], []byte(" is allocated. ")):
		return &namedKVAlloc
	}
	if isCommand(msg) {
		return &shellCommand
	}
	return nil
}

// readNothing reads what is told apart only so that nothing else is read into
// its text.
func readNothing(*Parser, []byte) error { return errOther }

func (p *Parser) readReady([]byte) error {
	p.event.Kind = evidence.EventReady
	p.emit()
	return nil
}

func (p *Parser) readFlush([]byte) error {
	p.event.Kind = evidence.EventFlush
	p.emit()
	return nil
}

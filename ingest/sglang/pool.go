package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

var poolFields = fieldSet{sep: "=", names: setOf("max_total_num_tokens", "chunked_prefill_size", "max_prefill_tokens",
	"max_running_requests", "context_len", "available_gpu_mem", "available_cpu_mem")}

var leakFields = fieldSet{sep: "=", names: setOf("available_size", "protected_size", "evictable_size",
	"self.max_total_num_tokens", "max_total_num_tokens")}

// readPool reads the summary that each data-parallel rank prints at start-up.
// The line consists of nothing else, so one with other text in it is refused.
func (p *Parser) readPool(msg []byte) error {
	e := &p.event
	for part := range bytes.SplitSeq(bytes.TrimSuffix(msg, []byte{','}), []byte{','}) {
		name, value, ok := bytes.Cut(trimBlanks(part), []byte{'='})
		if !ok || span(name, isWord) != len(name) || len(name) == 0 {
			return unreadable("max_total_num_tokens line: a part is no name=value: the line is cut or wrapped")
		}
		if !isFigure(value) {
			return unreadable("max_total_num_tokens line: a value is no figure")
		}
		var err error
		switch string(name) {
		case "max_total_num_tokens":
			err = setCount(&e.Launch.PoolTokens, "max_total_num_tokens", value)
		case "context_len":
			err = setCount(&e.Launch.ContextLen, "context_len", value)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case !e.Launch.PoolTokens.Known:
		return unreadable("max_total_num_tokens is None")
	case !e.Launch.ContextLen.Known:
		// Every version prints it, and before the end of the line.
		return unreadable("max_total_num_tokens line without context_len: the line is cut")
	}
	e.Launch.Engine = engineSGLang
	e.Kind = evidence.EventPool
	p.emit()
	return nil
}

// readValueError reads the figure that the leak check ends with:
// "… memory leak detected! available_size=…, self.max_total_num_tokens=…".
// What is available is never the pool.
func (p *Parser) readValueError(msg []byte) error {
	const abort = "Request is disconnected from the client side"
	msg = msg[len("ValueError: "):]
	if bytes.HasPrefix(msg, []byte(abort)) {
		return p.readAbort(msg)
	}
	head, rest, ok := bytes.Cut(msg, []byte("memory leak detected!"))
	if !ok || span(head, func(c byte) bool { return isWord(c) || c == ' ' }) != len(head) {
		return errOther
	}
	e := &p.event
	for part := range bytes.SplitSeq(rest, []byte{','}) {
		name, value, ok := bytes.Cut(trimBlanks(part), []byte{'='})
		switch string(name) {
		case "self.max_total_num_tokens", "max_total_num_tokens":
			if !ok {
				return unreadable("memory leak: max_total_num_tokens without a value")
			}
			if err := setCount(&e.Launch.PoolTokens, "max_total_num_tokens", value); err != nil {
				return err
			}
		}
	}
	if !e.Launch.PoolTokens.Known {
		return unreadable("memory leak: no max_total_num_tokens: the line is cut or wrapped")
	}
	e.Kind = evidence.EventPool
	e.Message = "memory leak detected"
	p.emit()
	return nil
}

// readKVAlloc reads "KV Cache is allocated. dtype: …, #tokens: N, K size: …".
// A draft model and a sliding-window pool print further such lines; they are
// told apart by the sizes in the message.
func (p *Parser) readKVAlloc(msg []byte) error {
	_, rest, ok := bytes.Cut(msg, []byte("allocated. "))
	if !ok {
		return errOther
	}
	sized := false
	e := &p.event
	for part := range bytes.SplitSeq(rest, []byte{','}) {
		name, value, _ := bytes.Cut(trimBlanks(part), []byte(": "))
		switch string(name) {
		case "#tokens":
			if err := setCount(&e.Launch.PoolTokens, "#tokens", value); err != nil {
				return err
			}
		case "K size", "KV size":
			sized = true
		case "dtype", "V size":
		default:
			if e.Launch.PoolTokens.Known {
				return unreadable("KV Cache is allocated: a part is no size: the line is cut or wrapped")
			}
			return errOther
		}
	}
	switch {
	case !e.Launch.PoolTokens.Known:
		return unreadable("KV Cache is allocated: no #tokens")
	case !sized:
		return unreadable("KV Cache is allocated: the line is cut after #tokens")
	}
	e.Kind = evidence.EventKVAlloc
	e.Message = message(msg)
	p.emit()
	return nil
}

// message gives a statement that holds no text of a customer, cut to the
// bound of a message.
func message(b []byte) string {
	if len(b) <= evidence.MessageBytes {
		return alias(b)
	}
	return clip(b, evidence.MessageBytes)
}

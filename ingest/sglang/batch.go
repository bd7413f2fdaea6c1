package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

var batchFields = fieldSet{sep: ": ", names: setOf(
	"#new-seq", "#new-token", "#cached-token", "cache hit rate", "token usage", "full token usage", "swa token usage",
	"mamba usage", "#running-req", "#queue-req", "#pending-token", "#unbootstrapped-req", "#transferring-req",
	"#prealloc-req", "#bootstrap-req", "#inflight-req", "#optimistic-req", "#transfer-req", "#retracted-req",
	"#waiting-image-req", "#token", "#full token", "#swa token", "#gpu token", "mamba num", "accept len", "accept rate",
	"cap len", "block accept len", "pre-allocated usage", "cuda graph", "npu graph", "cpu graph", "time",
	"input throughput (token/s)", "gen throughput (token/s)", "est. prefill TFLOPS/s (per GPU)", "fwd occupancy",
)}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

func (p *Parser) readPrefillBatch(msg []byte) error {
	rest, err := batchBody(msg[len("Prefill batch"):])
	if err != nil {
		return err
	}
	e := &p.event
	e.Kind = evidence.EventPrefillBatch
	if err := p.batchFields(rest); err != nil {
		return err
	}
	if !e.Batch.NewSeqs.Known || !e.Batch.NewTokens.Known {
		return unreadable("a prefill batch without #new-seq or #new-token")
	}
	p.emit()
	return nil
}

func (p *Parser) readDecodeBatch(msg []byte) error {
	rest, err := batchBody(msg[len("Decode batch"):])
	if err != nil {
		return err
	}
	e := &p.event
	e.Kind = evidence.EventDecodeBatch
	if err := p.batchFields(rest); err != nil {
		return err
	}
	if !e.Batch.RunningReqs.Known {
		return unreadable("a decode batch without #running-req")
	}
	p.emit()
	return nil
}

// batchBody gives the fields behind "Prefill batch", which is followed by an
// optional [iteration] and a point or comma.
func batchBody(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte(" [")) {
		n := 2 + span(b[2:], isDigit)
		if n == 2 || n == len(b) || b[n] != ']' {
			return nil, errOther
		}
		b = b[n+1:]
	}
	if len(b) < 3 || b[0] != '.' && b[0] != ',' || b[1] != ' ' || b[2] != '#' {
		return nil, errOther
	}
	return b[2:], nil
}

// batchFields reads fields by their names; their order and number differ by
// version.
func (p *Parser) batchFields(b []byte) error {
	e := &p.event
	full := evidence.Opt[float64]{}
	for len(b) > 0 {
		part := b
		if n := bytes.IndexByte(b, ','); n >= 0 {
			part, b = b[:n], b[n+1:]
		} else {
			b = nil
		}
		part = trimBlanks(part)
		n := bytes.IndexByte(part, ':')
		if n < 0 {
			if len(part) == 0 {
				continue
			}
			return unreadable("a field without a value in a batch line: the line is cut or wrapped")
		}
		name, value := alias(part[:n]), trimBlanks(part[n+1:])
		var err error
		switch name {
		case "#new-seq":
			err = setCount(&e.Batch.NewSeqs, name, value)
		case "#new-token":
			err = setCount(&e.Batch.NewTokens, name, value)
		case "#cached-token":
			err = setCount(&e.CachedTokens, name, value)
		case "#running-req":
			err = setCount(&e.Batch.RunningReqs, name, value)
		case "#queue-req":
			err = setCount(&e.Batch.QueueReqs, name, value)
		case "#token", "#full token":
			err = setCount(&e.Batch.Tokens, name, value)
		case "token usage":
			err = setShare(&e.Batch.Usage, name, value)
		case "full token usage":
			err = setShare(&full, name, value)
		case "pre-allocated usage":
			err = setShare(&e.Batch.PreallocUsage, name, value)
			e.Role = evidence.RoleDecode
		case "#retracted-req":
			err = setCount(&e.Batch.RetractedReqs, name, value)
		case "#prealloc-req":
			err = setCount(&e.Batch.PreallocReqs, name, value)
			if e.Kind == evidence.EventDecodeBatch {
				e.Role = evidence.RoleDecode
			}
		case "#unbootstrapped-req", "#bootstrap-req":
			err = setCount(&e.Batch.PreallocReqs, name, value)
			e.Role = evidence.RolePrefill
		case "#transferring-req":
			err = setCount(&e.Batch.TransferReqs, name, value)
			e.Role = evidence.RolePrefill
		case "#inflight-req": // in prefill batches; the corpus takes it for no statement of role
			err = setCount(&e.Batch.TransferReqs, name, value)
		case "#transfer-req":
			err = setCount(&e.Batch.TransferReqs, name, value)
			e.Role = evidence.RoleDecode
		}
		if err != nil {
			return err
		}
	}
	if !e.Batch.Usage.Known {
		e.Batch.Usage = full
	}
	return nil
}

// readRetraction reads "#retracted_reqs: 1, #new_token_ratio: 0.1474 -> 0.1845".
func (p *Parser) readRetraction(msg []byte) error {
	_, rest, ok := bytes.Cut(msg, []byte("#retracted_reqs: "))
	if !ok {
		return unreadable("a retraction without #retracted_reqs")
	}
	if err := setCount(&p.event.Batch.RetractedReqs, "#retracted_reqs", rest[:span(rest, isDigit)]); err != nil {
		return err
	}
	p.event.Kind = evidence.EventRetraction
	p.emit()
	return nil
}

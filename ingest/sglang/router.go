package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// readRustRouter reads a line of the first Rust router. Its lines say nothing
// of a request; one hint tells what wrote them.
func (p *Parser) readRustRouter([]byte) error {
	if p.facts.Role() == evidence.RoleRouter {
		return errOther
	}
	p.event.Launch.Engine = engineRouter
	return roleHint(evidence.RoleRouter, "[Router (Rust)]")(p, nil)
}

// readRouterStart reads "Starting router on 0.0.0.0:30000 | mode:
// PrefillDecode { prefill_urls: […], … }".
func (p *Parser) readRouterStart(msg []byte) error {
	p.event.Kind = evidence.EventRouter
	p.event.Role = evidence.RoleRouter
	p.event.Launch.Engine = engineRouter
	p.event.Message = message(msg)
	p.emit()
	return nil
}

// readRouterRequest reads `http_request{method=POST uri=/generate …
// request_id="gnt-…" status_code=200 latency=2207784}: …: finished processing
// request`, where latency counts microseconds.
func (p *Parser) readRouterRequest(msg []byte) error {
	inner, rest, ok := bytes.Cut(msg[len("http_request{"):], []byte("}: "))
	if !ok {
		return errOther
	}
	e := &p.event
	e.Kind = evidence.EventRouter
	complaint := routerComplaint(rest)
	if complaint == "" {
		if !bytes.HasSuffix(rest, []byte(": finished processing request")) && !bytes.Contains(rest, []byte(": request failed with ")) {
			return errOther
		}
		e.Kind = evidence.EventAccess
	}
	var method, uri []byte
	for word := range bytes.FieldsSeq(inner) {
		name, value, _ := bytes.Cut(word, []byte{'='})
		var err error
		switch string(name) {
		case "method":
			method = value
		case "uri":
			uri, _, _ = bytes.Cut(value, []byte{'?'})
		case "request_id":
			e.RID = alias(bytes.Trim(value, `"`))
		case "status_code":
			err = setCount(&e.Status, "status_code", value)
		case "latency":
			err = setShare(&e.E2Ems, "latency", value)
		}
		if err != nil {
			return err
		}
	}
	if e.E2Ems.Known {
		e.E2Ems.V /= 1000
	}
	e.Role = evidence.RoleRouter
	if e.Message = complaint; complaint == "" {
		e.Message = clip(append(append(bytes.Clone(method), ' '), uri...), evidence.MessageBytes)
	}
	p.emit()
	return nil
}

// routerComplaint gives what a router says of a worker, without the body of
// the worker's answer.
func routerComplaint(b []byte) string {
	for _, start := range []string{
		"Prefill server failed (CRITICAL) ", "Prefill server returned error status ",
		"Decode server returned error status ", "Failed to select PD pair ",
	} {
		n := bytes.Index(b, []byte(": "+start))
		if n < 0 {
			continue
		}
		text := b[n+2:]
		for _, end := range []string{" body=", " error="} {
			text, _, _ = bytes.Cut(text, []byte(end))
		}
		return message(text)
	}
	return ""
}

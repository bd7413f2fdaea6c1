package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// isAccess tells whether msg begins like uvicorn's access lines:
// `127.0.0.1:55706 - "GET /health HTTP/1.1" 200 OK`.
func isAccess(msg []byte) bool {
	n := span(msg, isAddress)
	return n > 0 && bytes.HasPrefix(msg[n:], []byte(` - "`))
}

func isAddress(c byte) bool { return isName(c) || c == ':' || c == '[' || c == ']' }

func (p *Parser) readAccess(msg []byte) error {
	n := span(msg, isAddress)
	return p.readRequestLine(msg[n+len(` - "`):])
}

// readRequestLine reads `GET /health HTTP/1.1" 200 …`. The target of a request
// holds no blanks, whatever a client sends, so the line is cut at them. A
// query may hold a text of the client and is left out.
func (p *Parser) readRequestLine(b []byte) error {
	method, rest, ok1 := bytes.Cut(b, []byte{' '})
	target, rest, ok2 := bytes.Cut(rest, []byte{' '})
	version, rest, ok3 := bytes.Cut(rest, []byte{' '})
	if !ok1 || !ok2 || span(method, isUpper) != len(method) || !bytes.HasPrefix(version, []byte("HTTP/")) {
		return errOther
	}
	if !ok3 || !bytes.HasSuffix(version, []byte{'"'}) {
		return unreadable("access line: the line is cut before the status")
	}
	status := rest[:span(rest, isDigit)]
	e := &p.event
	if err := setCount(&e.Status, "status", status); err != nil {
		return err
	}
	if len(status) != 3 {
		return unreadable("access line: the status has not three digits")
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	e.Kind = evidence.EventAccess
	e.Message = message(b[:len(method)+1+len(path)])
	p.emit()
	return nil
}

// isBootstrapAccess tells whether msg is an access line of aiohttp:
// `127.0.0.1 [28/May/2025:06:32:54 +0000] "GET /route?… HTTP/1.1" 200 207 …`.
func isBootstrapAccess(msg []byte) bool {
	n := span(msg, isAddress)
	return n > 0 && n+30 < len(msg) && msg[n] == ' ' && msg[n+1] == '[' && msg[n+4] == '/' &&
		bytes.HasPrefix(msg[n+28:], []byte(`] "`))
}

// readBootstrapAccess reads an access line of the bootstrap server, which runs
// on the prefill node. Its stamp has an offset and fixes the instant.
func (p *Parser) readBootstrapAccess(msg []byte) error {
	n := span(msg, isAddress)
	if at, ok := commonLogTime(msg[n+2 : n+28]); ok && !p.event.At.Known {
		p.event.At = evidence.Some(at)
	}
	b := msg[n+31:]
	if bytes.HasPrefix(b, []byte("GET /route?")) || bytes.HasPrefix(b, []byte("PUT /route ")) {
		p.event.Role = evidence.RolePrefill
	}
	return p.readRequestLine(b)
}

package sglang

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"kvforensics/internal/evidence"
)

// Sniff tells whether sample, the start of a text, is a log of SGLang, and
// why. It takes the first line that only SGLang or its router prints.
func Sniff(sample []byte) (ok bool, reason string) {
	s := &sniffer{}
	p := New(s)
	at := evidence.Locator{Line: 1}
	for line := range bytes.SplitSeq(sample, []byte{'\n'}) {
		at.Length = int64(len(line)) + 1
		if p.Feed(line, at) != nil {
			return true, s.reason
		}
		if r := ownPrefix(line); r != "" {
			return true, fmt.Sprintf("line %d: %s", at.Line, r)
		}
		at.Line++
		at.Offset += at.Length
	}
	if p.Close() != nil {
		return true, s.reason
	}
	return false, ""
}

// sniffer stops the parser at the first event that names the engine.
type sniffer struct{ reason string }

var errFound = errors.New("found")

func (s *sniffer) Event(e *evidence.EngineEvent) error {
	if e.Kind == evidence.EventAccess && e.Role == evidence.RoleUnknown {
		return nil // uvicorn serves other engines as well
	}
	s.reason = fmt.Sprintf("line %d: %s", e.Line, kindWords(e))
	return errFound
}

func (s *sniffer) Parsed(evidence.Locator) error  { return nil }
func (s *sniffer) Ignored(evidence.Locator) error { return nil }
func (s *sniffer) Reject(evidence.Rejected) error { return nil }

// kindWords gives the words by which a kind of event is known.
func kindWords(e *evidence.EngineEvent) string {
	switch e.Kind {
	case evidence.EventRoleHint:
		return strconv.Quote(e.Message)
	case evidence.EventAccess:
		return "access line of a bootstrap server or router"
	case evidence.EventPool:
		return `"max_total_num_tokens="`
	case evidence.EventLaunch:
		return "start of an SGLang server or router"
	case evidence.EventPrefillBatch:
		return `"Prefill batch"`
	case evidence.EventDecodeBatch:
		return `"Decode batch"`
	case evidence.EventKVAlloc:
		return `"KV Cache is allocated"`
	case evidence.EventReady:
		return `"The server is fired up and ready to roll!"`
	}
	return "statement of kind " + string(e.Kind)
}

// ownPrefix tells the prefixes that only SGLang writes: rank tags behind the
// stamp, and its name as the logger's.
func ownPrefix(line []byte) string {
	var c clock
	r := row{}
	r.strip(line, &c)
	switch {
	case r.tp.Known || r.dp.Known || r.pp.Known:
		return "stamp with rank tags"
	case r.stamped && bytes.Contains(line[:len(line)-len(r.msg)], []byte(" - sglang - ")):
		return `logger "sglang"`
	}
	return ""
}

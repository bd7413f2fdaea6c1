package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// readStateIndex reads "len(prefill_state_indices) = 1,
// len(dst_state_indices) = K", which the sending node prints.
func (p *Parser) readStateIndex(msg []byte) error {
	e := &p.event
	rest, err := wants(msg, "len(prefill_state_indices) = #, len(dst_state_indices) = #", &e.PromptTokens, &e.LimitTokens)
	if err == errOther || err == nil && len(rest) > 0 && rest[0] != '.' && rest[0] != ',' {
		return unreadable("state indices: their numbers are not readable")
	}
	if err != nil {
		return err
	}
	return p.emitStateIndex(msg)
}

// readStateMismatch reads the wordings of NIXL ("prefill=1, dst=N") and MORI
// ("src=1 dst=N").
func (p *Parser) readStateMismatch(msg []byte) error {
	_, rest, ok := bytes.Cut(msg, []byte("dst="))
	n := span(rest, isDigit)
	if !ok || n == 0 {
		return unreadable("state index mismatch: no dst")
	}
	e := &p.event
	if err := setCount(&e.LimitTokens, "dst", rest[:n]); err != nil {
		return err
	}
	for _, sent := range []string{"prefill=", "src="} {
		if _, rest, ok := bytes.Cut(msg, []byte(sent)); ok {
			if err := setCount(&e.PromptTokens, "entries sent", rest[:span(rest, isDigit)]); err != nil {
				return err
			}
		}
	}
	return p.emitStateIndex(msg)
}

func (p *Parser) emitStateIndex(msg []byte) error {
	p.event.Kind = evidence.EventStateIndex
	p.event.Role = evidence.RolePrefill
	p.event.Message = message(msg)
	p.emit()
	return nil
}

// readCorruption reads "Context corruption detected: Request RID
// (bootstrap_room=A) received metadata from bootstrap_room=B. …". The rid is
// not quoted, so the words behind it are looked for from the end.
func (p *Parser) readCorruption(msg []byte) error {
	const start, from = "Context corruption detected: Request ", ") received metadata from bootstrap_room="
	const room = " (bootstrap_room="
	end := bytes.LastIndex(msg, []byte(from))
	if end < 0 || !bytes.HasPrefix(msg, []byte(start)) {
		return unreadable("context corruption: the rooms are not readable")
	}
	open := bytes.LastIndex(msg[:end], []byte(room))
	if open < len(start) {
		return unreadable("context corruption: no bootstrap_room")
	}
	e := &p.event
	if err := setRoom(&e.Room, msg[open+len(room):end]); err != nil {
		return err
	}
	e.RID = alias(msg[len(start):open])
	e.Role = evidence.RoleDecode
	e.Kind = evidence.EventCorruption
	e.Message = message(msg[open+1:])
	p.emit()
	return nil
}

func (p *Parser) readCanary(msg []byte) error {
	p.event.Kind = evidence.EventCanary
	p.event.Message = message(msg)
	p.emit()
	return nil
}

// readCanarySummary reads "[canary] step=… violations=…"; without violations
// it is no complaint.
func (p *Parser) readCanarySummary(msg []byte) error {
	_, rest, ok := bytes.Cut(msg, []byte("violations="))
	if !ok {
		return errOther
	}
	n, ok := count(rest[:span(rest, isDigit)])
	switch {
	case !ok:
		return unreadable("canary summary: the number of violations is not readable")
	case n == 0:
		return errOther
	}
	return p.readCanary(msg)
}

func (p *Parser) readChecksum(msg []byte) error {
	p.event.Kind = evidence.EventChecksum
	p.event.Message = message(msg)
	p.emit()
	return nil
}

// readDeferred reads "Deferred KV release for room N timed out after …" and
// "Deferred KV release failed for room N".
func (p *Parser) readDeferred(msg []byte) error {
	_, rest, ok := bytes.Cut(msg, []byte("for room "))
	if !ok {
		return errOther
	}
	if err := setRoom(&p.event.Room, rest[:span(rest, isDigit)]); err != nil {
		return err
	}
	p.event.Kind = evidence.EventDeferredRelease
	p.event.Role = evidence.RoleDecode
	p.event.Message = message(msg)
	p.emit()
	return nil
}

// roleHint reads lines that only one role prints and that say no more.
func roleHint(role evidence.Role, text string) func(*Parser, []byte) error {
	return func(p *Parser, _ []byte) error {
		p.event.Kind = evidence.EventRoleHint
		p.event.Role = role
		p.event.Message = text
		p.emit()
		return nil
	}
}

// readTraceback reads the event loop that a line of a traceback names:
// "    scheduler.event_loop_overlap_disagg_prefill()" and
// `  File "…/scheduler.py", line 9, in event_loop_normal_disagg_decode`.
func (p *Parser) readTraceback(msg []byte) error {
	msg = trimBlanks(msg)
	name, ok := bytes.CutPrefix(msg, []byte("scheduler."))
	if ok {
		name, ok = bytes.CutSuffix(name, []byte("()"))
	} else if bytes.HasPrefix(msg, []byte(`File "`)) {
		_, name, ok = bytes.Cut(msg, []byte(", in "))
	}
	if !ok || span(name, isWord) != len(name) || !bytes.HasPrefix(name, []byte("event_loop_")) {
		return errOther
	}
	switch {
	case bytes.HasSuffix(name, []byte("_disagg_prefill")):
		p.event.Role = evidence.RolePrefill
	case bytes.HasSuffix(name, []byte("_disagg_decode")):
		p.event.Role = evidence.RoleDecode
	default:
		return errOther
	}
	p.event.Kind = evidence.EventRoleHint
	p.event.Message = alias(name)
	p.emit()
	return nil
}

package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// selfRID ends every statement of set_finish_with_abort since 0.4.7.
const selfRID = ", self.rid="

// wants reads b by a pattern of fixed words, in which # stands for a count.
func wants(b []byte, pattern string, to ...*evidence.Opt[int64]) (rest []byte, err error) {
	for len(pattern) > 0 {
		if pattern[0] != '#' {
			if len(b) == 0 || b[0] != pattern[0] {
				return nil, errOther
			}
			b, pattern = b[1:], pattern[1:]
			continue
		}
		n := span(b, isDigit)
		if err := setCount(to[0], "a count", b[:n]); err != nil {
			return nil, err
		}
		b, pattern, to = b[n:], pattern[1:], to[1:]
	}
	return b, nil
}

// quotedRID reads the string literal at the start of b.
func (p *Parser) quotedRID(b []byte) (rest []byte, err error) {
	f := keywords(b)
	if len(b) == 0 || b[0] != '\'' && b[0] != '"' {
		return nil, unreadable("the rid is not quoted")
	}
	if f.skipString(); f.err != nil {
		return nil, unreadable("the rid does not close: the line is cut")
	}
	text, _ := unquoted(b[:f.i], nil)
	p.event.RID = alias(text)
	return b[f.i:], nil
}

func (p *Parser) emitRejected(message string) error {
	p.event.Kind = evidence.EventRejected
	p.event.Message = message
	p.emit()
	return nil
}

// readInputLength reads "Input length (N tokens) exceeds the maximum allowed
// length (M tokens). …, self.rid='…'"; before 0.4.7 there was no rid.
func (p *Parser) readInputLength(msg []byte) error {
	e := &p.event
	rest, err := wants(msg, "Input length (# tokens) exceeds the maximum allowed length (# tokens).", &e.PromptTokens, &e.LimitTokens)
	if err != nil {
		return err
	}
	text := msg[:len(msg)-len(rest)]
	if n := bytes.LastIndex(rest, []byte(selfRID)); n >= 0 {
		if rest, err = p.quotedRID(rest[n+len(selfRID):]); err != nil {
			return err
		}
		if len(rest) > 0 {
			return unreadable("text behind the rid of a rejection")
		}
	}
	return p.emitRejected(message(text))
}

// readAdmissionAbort reads the other statements of set_finish_with_abort. What
// they say may quote the request; only their first words are kept.
func (p *Parser) readAdmissionAbort(msg []byte) error {
	n := bytes.LastIndex(msg, []byte(selfRID))
	if n < 0 {
		return errOther
	}
	rest, err := p.quotedRID(msg[n+len(selfRID):])
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return errOther
	}
	text := msg[:n]
	if bytes.HasPrefix(text, []byte("Multimodal prompt is too long")) {
		if _, figures, ok := bytes.Cut(text, []byte("=")); ok {
			e := &p.event
			from := evidence.Opt[int64]{}
			if _, err := wants(figures, "# => # >= #", &from, &e.PromptTokens, &e.LimitTokens); err != nil {
				return unreadable("multimodal prompt too long: its figures are not readable")
			}
		}
	}
	return p.emitRejected(firstWords(text))
}

// firstWords gives what a statement says before it quotes anything.
func firstWords(b []byte) string {
	b = b[:min(len(b), 120)]
	if n := bytes.IndexAny(b, ":=\"'`{[(<\n"); n >= 0 {
		b = b[:n]
	}
	n := span(b, func(c byte) bool { return isWord(c) || c == ' ' || c == ',' || c == '.' || c == '-' })
	return alias(trimBlanks(b[:n]))
}

// readOverPool reads "Request RID exceeds the maximum number of tokens: N > M"
// and its kin of sliding-window pools. The rid is not quoted: the figures are
// read from the end.
func (p *Parser) readOverPool(msg []byte) error {
	for _, words := range []string{
		" exceeds the maximum number of tokens: ",
		" requires too many SWA KV tokens for decode preallocation: ",
	} {
		n := bytes.LastIndex(msg, []byte(words))
		if n < len("Request ") {
			continue
		}
		e := &p.event
		rest, err := wants(msg[n+len(words):], "# > #", &e.PromptTokens, &e.LimitTokens)
		if err != nil {
			return unreadable("request over the pool: its figures are not readable")
		}
		if len(rest) > 1 || len(rest) == 1 && rest[0] != '.' {
			return errOther
		}
		e.RID = alias(msg[len("Request "):n])
		return p.emitRejected("Request" + words[:len(words)-2])
	}
	return errOther
}

// readTruncated reads the warning of --allow-auto-truncate.
func (p *Parser) readTruncated(msg []byte) error {
	_, rest, ok := bytes.Cut(msg, []byte("len(req.origin_input_ids)="))
	if !ok {
		return unreadable("truncated request: no length")
	}
	e := &p.event
	if _, err := wants(rest, "#, max_req_input_len=#.", &e.PromptTokens, &e.LimitTokens); err != nil {
		return unreadable("truncated request: its figures are not readable")
	}
	e.Kind = evidence.EventTruncated
	e.Message = "Request length is longer than the KV cache pool size or the max context length. Truncated."
	p.emit()
	return nil
}

func (p *Parser) readLongerThanContext(msg []byte) error {
	e := &p.event
	rest, err := wants(msg, "The input (# tokens) is longer than the model's context length (# tokens)", &e.PromptTokens, &e.LimitTokens)
	if err != nil {
		return err
	}
	return p.emitRejected(message(msg[:len(msg)-len(rest)]))
}

func (p *Parser) readOverContext(msg []byte) error {
	e := &p.event
	total := evidence.Opt[int64]{}
	rest, err := wants(msg, "Requested token count exceeds the model's maximum context length of # tokens. You requested a total of # tokens: # tokens from the input messages",
		&e.LimitTokens, &total, &e.PromptTokens)
	if err != nil {
		return err
	}
	return p.emitRejected(message(msg[:len(msg)-len(rest)]))
}

// transferFailed reads "… failed for request rank=0 req.rid='…'
// req.bootstrap_room=N with exception KVTransferError(bootstrap_room=N): …".
func transferFailed(role evidence.Role) func(*Parser, []byte) error {
	return func(p *Parser, msg []byte) error {
		e := &p.event
		_, rest, ok := bytes.Cut(msg, []byte("rid="))
		if !ok {
			return unreadable("failed transfer: no rid")
		}
		rest, err := p.quotedRID(rest)
		if err != nil {
			return err
		}
		rest = bytes.TrimPrefix(rest, []byte(" "))
		rest = bytes.TrimPrefix(rest, []byte("decode_"))
		rest = bytes.TrimPrefix(rest, []byte("req."))
		rest = bytes.TrimPrefix(rest, []byte("req."))
		room, found := bytes.CutPrefix(rest, []byte("bootstrap_room="))
		if !found {
			return unreadable("failed transfer: no bootstrap_room behind the rid")
		}
		value, reason, whole := bytes.Cut(room, []byte{' '})
		if !whole {
			return unreadable("failed transfer: the line is cut at the bootstrap_room")
		}
		if err := setRoom(&e.Room, value); err != nil {
			return err
		}
		e.Role = role
		e.Kind = evidence.EventTransferFailed
		head := bytes.TrimSuffix(msg[:bytes.Index(msg, []byte(" for request "))], []byte(" "))
		e.Message = clip(append(append(bytes.Clone(head), ' '), reason...), evidence.MessageBytes)
		p.emit()
		if bytes.Contains(bytes.ToLower(reason), []byte("checksum mismatch")) {
			e.Kind = evidence.EventChecksum
			p.emit()
		}
		return nil
	}
}

func (p *Parser) readLostPrefill(msg []byte) error {
	p.event.Role = evidence.RoleDecode
	p.event.Kind = evidence.EventTransferFailed
	p.event.Message = message(msg)
	p.emit()
	return nil
}

// readAbort reads statements that end in the rid of an aborted request:
// "… (type 1). Abort request obj.rid='…'", "Abort queued request. req.rid='…'".
func (p *Parser) readAbort(msg []byte) error {
	head, rest, ok := bytes.Cut(msg, []byte("rid="))
	if !ok || len(rest) == 0 || rest[0] != '\'' && rest[0] != '"' {
		return errOther
	}
	if _, err := p.quotedRID(rest); err != nil {
		return err
	}
	p.event.Kind = evidence.EventAbort
	p.event.Message = abortWords(head)
	p.emit()
	return nil
}

func abortWords(head []byte) string {
	if n := bytes.LastIndexByte(head, ' '); n > 0 {
		head = head[:n]
	}
	return message(trimBlanks(head))
}

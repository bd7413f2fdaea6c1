package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// asked is what a request log says of a request. Parts of a batch request
// come as lists.
type asked struct {
	rid, room, received []byte
}

// answered is what it says of the answer.
type answered struct {
	id, prompt, cached, completion, latency, finish, dp, finished []byte
}

// take keeps a part, once: a name that comes twice at one level was put there
// by someone who writes the names of a dictionary, and none of both is sure.
func take(to *[]byte, name string, value []byte) error {
	if *to != nil {
		return unreadablef("request log: %s is given twice", name)
	}
	*to = value
	return nil
}

// readReceive reads "Receive: obj=GenerateReqInput(rid='…', …)". A line that a
// collector cut behind the rid still tells that the request came.
func (p *Parser) readReceive(msg []byte) error {
	var a asked
	err := eachKeyword(msg[len("Receive: "):], func(name string, value []byte) error {
		if name == "obj" {
			return a.read(value)
		}
		return nil
	})
	if err != nil && !(err == errOpen && a.rid != nil) {
		return requestError(err)
	}
	return p.emitReceived(&a)
}

// readFinish reads "Finish: obj=GenerateReqInput(…), out={…}".
func (p *Parser) readFinish(msg []byte) error {
	var a asked
	var out []byte
	err := eachKeyword(msg[len("Finish: "):], func(name string, value []byte) error {
		switch name {
		case "obj":
			return a.read(value)
		case "out":
			return take(&out, name, value)
		}
		return nil
	})
	switch {
	case err != nil:
		return requestError(err)
	case out == nil:
		return unreadable("request log: Finish without out")
	}
	return p.emitFinished(&a, out)
}

func requestError(err error) error {
	if err == errOpen || err == errName {
		return unreadable("request log: " + err.Error())
	}
	return err
}

func eachKeyword(b []byte, each func(name string, value []byte) error) error {
	f := keywords(b)
	return f.each(each)
}

// each calls back for each part of the container.
func (f *fields) each(each func(name string, value []byte) error) error {
	for f.next() {
		if err := each(alias(f.name), f.value); err != nil {
			return err
		}
	}
	return f.err
}

func eachField(b []byte, each func(name string, value []byte) error) error {
	f, err := open(b)
	if err != nil {
		return err
	}
	return f.each(each)
}

// read reads a GenerateReqInput, as a Python repr or as a JSON object.
func (a *asked) read(obj []byte) error {
	return eachField(obj, func(name string, value []byte) error {
		switch name {
		case "rid":
			return take(&a.rid, name, value)
		case "bootstrap_room":
			return take(&a.room, name, value)
		case "received_time":
			return take(&a.received, name, value)
		}
		return nil
	})
}

// readMeta reads meta_info.
func (a *answered) readMeta(meta []byte) error {
	return eachField(meta, a.field)
}

func (a *answered) field(name string, value []byte) error {
	switch name {
	case "id":
		return take(&a.id, name, value)
	case "prompt_tokens":
		return take(&a.prompt, name, value)
	case "cached_tokens":
		return take(&a.cached, name, value)
	case "completion_tokens":
		return take(&a.completion, name, value)
	case "e2e_latency":
		return take(&a.latency, name, value)
	case "finish_reason":
		return take(&a.finish, name, value)
	case "dp_rank":
		return take(&a.dp, name, value)
	case "request_finished_ts":
		return take(&a.finished, name, value)
	}
	return nil
}

// members gives the members of a list, or b itself where it is none.
func members(b []byte) ([][]byte, error) {
	if len(b) == 0 || b[0] != '[' {
		return [][]byte{b}, nil
	}
	f, err := open(b)
	var list [][]byte
	for err == nil && f.next() {
		list = append(list, f.value)
	}
	if err == nil {
		err = f.err
	}
	return list, err
}

// member gives part i of a batch request, or the one value that all share.
func member(list [][]byte, i, of int) []byte {
	switch len(list) {
	case of:
		return list[i]
	case 1:
		return list[0]
	}
	return nil
}

func (p *Parser) emitReceived(a *asked) error {
	rids, err := members(a.rid)
	rooms, err2 := members(a.room)
	if err != nil || err2 != nil {
		return unreadable("request log: the list of rids or rooms does not close")
	}
	e := &p.event
	e.Kind = evidence.EventReceived
	if at, ok := epoch(a.received); ok && !e.At.Known {
		e.At = evidence.Some(at)
	}
	base := *e
	for i, rid := range rids {
		*e = base
		if err := p.setRequest(rid, member(rooms, i, len(rids))); err != nil {
			return err
		}
		p.emit()
	}
	return nil
}

func (p *Parser) setRequest(rid, room []byte) error {
	e := &p.event
	if len(rid) == 0 || isNone(rid) {
		return unreadable("request log: no rid")
	}
	text, _ := unquoted(rid, nil)
	if len(text) == 0 {
		return unreadable("request log: the rid is no string")
	}
	e.RID = alias(text)
	if len(room) == 0 {
		return nil
	}
	return setRoom(&e.Room, room)
}

// emitFinished reports the answers of out: one, or a list for a batch request.
func (p *Parser) emitFinished(a *asked, out []byte) error {
	outs, err := members(out)
	if err != nil {
		return requestError(err)
	}
	rids, err := members(a.rid)
	rooms, err2 := members(a.room)
	if err != nil || err2 != nil {
		return unreadable("request log: the list of rids or rooms does not close")
	}
	p.event.Kind = evidence.EventFinished
	base := p.event
	events := make([]evidence.EngineEvent, 0, 1)
	for i, o := range outs {
		p.event = base
		var meta []byte
		err := eachField(o, func(name string, value []byte) error {
			if name == "meta_info" {
				return take(&meta, name, value)
			}
			return nil
		})
		var m answered
		if err == nil {
			err = m.readMeta(meta)
		}
		if err != nil {
			return unreadable("request log: out has no readable meta_info")
		}
		rid := member(rids, i, len(outs))
		if len(rid) == 0 || isNone(rid) {
			rid = m.id
		}
		if err := p.setAnswer(rid, member(rooms, i, len(outs)), &m); err != nil {
			return err
		}
		events = append(events, p.event)
	}
	for i := range events {
		p.event = events[i]
		p.emit()
	}
	return nil
}

// setAnswer fills the event of an answer.
func (p *Parser) setAnswer(rid, room []byte, m *answered) error {
	if err := p.setRequest(rid, room); err != nil {
		return err
	}
	e := &p.event
	for _, f := range []struct {
		to    *evidence.Opt[int64]
		name  string
		value []byte
	}{
		{&e.PromptTokens, "prompt_tokens", m.prompt},
		{&e.CachedTokens, "cached_tokens", m.cached},
		{&e.CompletionTokens, "completion_tokens", m.completion},
	} {
		if f.value == nil {
			continue
		}
		if err := setCount(f.to, f.name, f.value); err != nil {
			return err
		}
	}
	if !e.DP.Known && m.dp != nil {
		if err := setCount(&e.DP, "dp_rank", m.dp); err != nil {
			return err
		}
	}
	if m.latency != nil {
		if err := setShare(&e.E2Ems, "e2e_latency", m.latency); err != nil {
			return err
		}
		e.E2Ems.V *= 1000
	}
	if at, ok := epoch(m.finished); ok && !e.At.Known {
		e.At = evidence.Some(at)
	}
	return p.setFinish(m.finish)
}

// setFinish reads finish_reason, a dictionary or a word. The message of an
// abort may quote the request and is left out.
func (p *Parser) setFinish(b []byte) error {
	e := &p.event
	if len(b) == 0 || isNone(b) {
		return nil
	}
	if b[0] != '{' {
		text, _ := unquoted(b, nil)
		e.FinishReason = reasonWord(text)
		return nil
	}
	err := eachField(b, func(name string, value []byte) error {
		switch name {
		case "type":
			text, _ := unquoted(value, nil)
			e.FinishReason = reasonWord(text)
		case "status_code":
			text := bytes.TrimPrefix(value, []byte("<HTTPStatus.")) // repr of Python's HTTPStatus: <HTTPStatus.BAD_REQUEST: 400>
			if len(text) != len(value) {
				text = bytes.TrimSuffix(text[bytes.LastIndexByte(text, ' ')+1:], []byte{'>'})
			}
			return setCount(&e.Status, name, text)
		}
		return nil
	})
	return requestError(err)
}

// reasonWord gives a finish reason, which is one word; anything else is a text.
func reasonWord(b []byte) string {
	if len(b) > 40 || span(b, isWord) != len(b) {
		return ""
	}
	return alias(b)
}

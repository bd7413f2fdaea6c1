package sglang

import (
	"bytes"

	"kvforensics/internal/evidence"
)

// readJSON reads a line that is a JSON object: the request log in its JSON
// form, a record of the metrics exporter, or an answer of /server_info.
func (p *Parser) readJSON(msg []byte) error {
	var o logObject
	err := eachField(msg, o.field)
	switch {
	case o.event != nil:
		if err != nil {
			return requestError(err)
		}
		return p.readRequestJSON(&o)
	case o.parameters != nil:
		if err != nil {
			return requestError(err)
		}
		return p.readExported(&o)
	case o.pool && o.serverArgs:
		return p.readServerInfo(msg)
	case err == errOpen && bytes.HasPrefix(msg, []byte(`{"timestamp": `)):
		return unreadable("request log: " + errOpen.Error())
	}
	return errOther
}

// logObject is what tells the kinds of objects apart, and their parts.
type logObject struct {
	event, timestamp, rid, obj, out []byte
	parameters                      []byte // request_parameters of the exporter
	meta                            answered
	pool, serverArgs                bool
}

func (o *logObject) field(name string, value []byte) error {
	switch name {
	case "event":
		return take(&o.event, name, value)
	case "timestamp":
		return take(&o.timestamp, name, value)
	case "rid":
		return take(&o.rid, name, value)
	case "obj":
		return take(&o.obj, name, value)
	case "out":
		return take(&o.out, name, value)
	case "request_parameters":
		return take(&o.parameters, name, value)
	case "max_total_num_tokens":
		o.pool = true
	case "tp_size":
		o.serverArgs = true
	default:
		return o.meta.field(name, value)
	}
	return nil
}

// readRequestJSON reads {"timestamp":…,"event":"request.finished","rid":…,…}.
func (p *Parser) readRequestJSON(o *logObject) error {
	if s, ok := p.clock.stampAt(bytes.Trim(o.timestamp, `"`)); ok && s.dated {
		e := &p.event
		switch {
		case s.zoned && !e.At.Known:
			e.At = evidence.Some(s.instant())
		case !s.zoned && !e.LocalAt.Known:
			e.LocalAt = evidence.Some(s.wall)
		}
	}
	a := asked{}
	if o.obj != nil {
		if err := a.read(o.obj); err != nil {
			return requestError(err)
		}
	}
	if o.rid != nil {
		a.rid = o.rid
	}
	switch string(bytes.Trim(o.event, `"`)) {
	case "request.received":
		return p.emitReceived(&a)
	case "request.finished":
		if o.out == nil {
			return unreadable("request log: request.finished without out")
		}
		return p.emitFinished(&a, o.out)
	}
	return errOther
}

// readExported reads a record of --export-metrics-to-file: the fields of
// meta_info, and request_parameters, which is JSON inside a string. It has no
// time of its own.
func (p *Parser) readExported(o *logObject) error {
	parameters, _ := unquoted(o.parameters, nil)
	var a asked
	if err := a.read(parameters); err != nil {
		return unreadable("exported metrics: request_parameters is not readable")
	}
	rid := a.rid
	if len(rid) == 0 || isNone(rid) {
		rid = o.meta.id
	}
	p.event.Kind = evidence.EventFinished
	if err := p.setAnswer(rid, a.room, &o.meta); err != nil {
		return err
	}
	p.emit()
	return nil
}

// readTimeStats reads both spellings of the statistics of a request:
// "Req Time Stats(rid=…, input len=…, type=…): …" and
// "ReqTimeStats(rid=…, bootstrap_room=…, input_len=…, type=prefill): …".
// The rid is the caller's and is not quoted, so a name that comes twice and
// brackets inside make the record unreadable.
func (p *Parser) readTimeStats(msg []byte) error {
	_, rest, _ := bytes.Cut(msg, []byte{'('})
	end := bytes.LastIndex(rest, []byte("):"))
	if end < 0 {
		return unreadable("time stats: the line is cut")
	}
	inner, tail := rest[:end], rest[end+2:]
	if bytes.ContainsAny(inner, "()") {
		return unreadable("time stats: brackets inside the brackets")
	}
	var rid, room, role []byte
	e := &p.event
	for part := range bytes.SplitSeq(inner, []byte(", ")) {
		name, value, ok := bytes.Cut(part, []byte{'='})
		if !ok {
			return unreadable("time stats: a part is no name=value")
		}
		var err error
		switch string(name) {
		case "rid":
			err = take(&rid, "rid", value)
		case "bootstrap_room":
			err = take(&room, "bootstrap_room", value)
		case "type":
			err = take(&role, "type", value)
		case "input len", "input_len":
			err = setCount(&e.PromptTokens, "input_len", value)
		case "cached_input_len":
			err = setCount(&e.CachedTokens, "cached_input_len", value)
		case "output len", "output_len":
			err = setCount(&e.CompletionTokens, "output_len", value)
		}
		if err != nil {
			return err
		}
	}
	if len(rid) == 0 || !e.PromptTokens.Known {
		return unreadable("time stats: no rid or input length")
	}
	if room != nil {
		if err := setRoom(&e.Room, room); err != nil {
			return err
		}
	}
	e.RID = alias(rid)
	e.Role = statsRole(role)
	e.Kind = evidence.EventTimeStats
	e.Message = message(trimBlanks(tail))
	p.emit()
	return nil
}

func statsRole(b []byte) evidence.Role {
	switch string(bytes.ToLower(b)) {
	case "prefill":
		return evidence.RolePrefill
	case "decode":
		return evidence.RoleDecode
	case "unified":
		return evidence.RoleUnified
	}
	return evidence.RoleUnknown
}

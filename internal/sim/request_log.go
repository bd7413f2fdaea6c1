package sim

import (
	"strconv"

	"kvforensics/internal/evidence"
)

// Lines about single requests: uvicorn's access lines, and those that are off
// by default.

var statusText = map[int]string{200: "200 OK", 400: "400 Bad Request", 500: "500 Internal Server Error"}

// access writes uvicorn's line for a call of the gateway's.
func (l *nodeLog) access(now micros, call uint64, what string, status int) {
	l.begin(now, http)
	l.text("INFO:     10.42.0.9:")
	l.number(32768 + int(mix(l.c.cfg.Seed, call, saltPort)%28000))
	l.text(` - "`)
	l.text(what)
	l.text(` HTTP/1.1" `)
	l.text(statusText[status])
	l.end(now)
}

const chat = "POST /v1/chat/completions"

func (l *nodeLog) probed(now micros) { l.access(now, 1, "GET /health", 200) }

// answered is what the node that writes the answer says at the request's end.
func (l *nodeLog) answered(now micros, r *request) {
	if r.status == 499 {
		l.begin(now, http)
		l.text("Request is disconnected from the client side (type 3). Abort request obj.rid='")
		l.buf = l.c.appendRID(l.buf, r, saltDecodeRID)
		l.text("'")
		l.end(now)
		return
	}
	if r.status == 400 && !l.n.unified() && r.prompt >= r.p.node.limit {
		r.p.node.log.access(now, r.number, chat, 400)
	}
	l.access(now, r.number, chat, r.status)
	if r.status != 200 {
		return
	}
	if l.c.cfg.Engine.LogTimeStats {
		l.decodeStats(now, r)
	}
	if l.c.cfg.Engine.LogRequests {
		l.finished(now, r, saltDecodeRID, r.prompt, r.produced, r.reason, r.d.index)
	}
}

// prefilled is what the prefill node says when its part has gone well.
func (l *nodeLog) prefilled(now micros, r *request) {
	l.access(now, r.number, chat, 200)
	if l.c.cfg.Engine.LogTimeStats {
		l.prefillStats(now, r)
	}
	if l.c.cfg.Engine.LogRequests {
		l.finished(now, r, saltPrefillRID, r.promptOn(), 1, "length", r.p.index)
	}
}

// statsHead begins a line of time stats.
func (l *nodeLog) statsHead(now micros, rank int, r *request, salt uint64, input, output int) {
	l.begin(now, rank)
	in, out, cached := ", input_len=", ", output_len=", true
	if l.old {
		l.text("Req Time Stats(rid=")
		in, out, cached = ", input len=", ", output len=", false
	} else {
		l.text("ReqTimeStats(rid=")
	}
	l.buf = l.c.appendRID(l.buf, r, salt)
	if r.room > 0 {
		l.text(", bootstrap_room=")
		l.buf = strconv.AppendUint(l.buf, r.room, 10)
	}
	l.field(in, input)
	if cached {
		l.field(", cached_input_len=", r.cached)
	}
	l.field(out, output)
	if !l.old {
		l.text(", attempts=0")
	}
}

func (l *nodeLog) duration(name string, length micros) {
	l.text(name)
	l.share(float64(length) / float64(millisecond))
	l.text("ms")
}

func (l *nodeLog) prefillStats(now micros, r *request) {
	l.statsHead(now, r.p.index, r, saltPrefillRID, r.promptOn(), 1)
	l.duration(", type=prefill): bootstrap_duration=", r.reservedAt-r.at)
	l.duration(", queue_duration=", r.startedAt-r.reservedAt)
	l.duration(", forward_duration=", r.flightFrom-r.startedAt)
	l.text(", entry_time=")
	l.buf = strconv.AppendFloat(l.buf, float64(r.at)/float64(second), 'f', 3, 64)
	megabytes := float64(l.n.ceilPage(r.promptOn())) * kvBytesPerToken / (1 << 20)
	l.text(", transfer_speed=")
	l.share(megabytes / 1024 / (float64(r.flightTo-r.flightFrom) / float64(second)))
	l.text(" GB/s, transfer_total=")
	l.share(megabytes)
	l.text(" MB")
	l.end(now)
}

func (l *nodeLog) decodeStats(now micros, r *request) {
	l.statsHead(now, r.d.index, r, saltDecodeRID, r.prompt, r.produced)
	if l.n.unified() {
		l.duration(", type=unified): queue_duration=", r.startedAt-r.at)
		l.duration(", forward_duration=", r.doneAt-r.startedAt)
	} else {
		l.duration(", type=decode): bootstrap_duration=", millisecond)
		l.duration(", alloc_wait_duration=", r.reservedAt-r.at)
		l.duration(", transfer_duration=", r.firstAt-r.reservedAt)
		l.duration(", queue_duration=", 0)
		l.duration(", forward_duration=", r.doneAt-r.firstAt)
	}
	l.text(", entry_time=")
	l.buf = strconv.AppendFloat(l.buf, float64(r.at)/float64(second), 'f', 3, 64)
	l.end(now)
}

// finished is the request log's line. Version 0.5.9 prints it without a stamp.
func (l *nodeLog) finished(now micros, r *request, salt uint64, prompt, answer int, reason string, rank int) {
	l.begin(now, http)
	if l.old {
		l.buf = l.buf[:0]
	}
	l.text("Finish: obj=GenerateReqInput(rid='")
	l.buf = l.c.appendRID(l.buf, r, salt)
	l.text("', stream=True, bootstrap_host=")
	if l.n.cfg.Role == evidence.RoleUnified {
		l.text("None, bootstrap_port=None, bootstrap_room=None")
	} else {
		l.text("'" + address(r.p.node.index) + "', bootstrap_port=8998, bootstrap_room=")
		l.buf = strconv.AppendUint(l.buf, r.room, 10)
	}
	l.text("), out={'meta_info': {'id': '")
	l.buf = l.c.appendRID(l.buf, r, salt)
	length := 0
	if salt == saltDecodeRID {
		length = answer
	}
	if reason == "length" {
		l.field("', 'finish_reason': {'type': 'length', 'length': ", length)
	} else {
		l.text("', 'finish_reason': {'type': 'stop', 'matched': 151336")
	}
	l.field("}, 'prompt_tokens': ", prompt)
	l.field(", 'weight_version': 'default', 'completion_tokens': ", answer)
	l.field(", 'cached_tokens': ", r.cached)
	l.field(", 'dp_rank': ", rank)
	l.text(", 'e2e_latency': ")
	l.buf = strconv.AppendFloat(l.buf, float64(now-r.at)/float64(second), 'f', 6, 64)
	l.text("}}")
	l.end(now)
}

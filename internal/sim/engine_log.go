package sim

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"kvforensics/internal/evidence"
)

// logFiles are the engine logs, one per node.
type logFiles struct {
	dir   string
	cfg   *Config
	open  []*lineFile
	paths []string
	err   error
}

func (l *logFiles) create(name string) *lineFile {
	if l.cfg.Damage.GatewayOnly {
		return nil
	}
	f, err := createLineFile(l.cfg, filepath.Join(l.dir, name+".log"))
	if err != nil {
		l.err = errors.Join(l.err, err)
		return nil
	}
	l.open = append(l.open, f)
	l.paths = append(l.paths, f.path)
	return f
}

func (l *logFiles) close() error {
	err := l.err
	for _, f := range l.open {
		err = errors.Join(err, f.close())
	}
	return err
}

// nodeLog writes the log of one node in the line shapes of its engine version.
type nodeLog struct {
	c        *cluster
	n        *node
	file     *lineFile // nil: no log
	zone     *time.Location
	skew     micros // of the node's clock
	buf      []byte
	stampFor int64 // the second that stamp holds
	stamp    []byte
	ranks    [][]byte // the rank part of a scheduler line's prefix
	old      bool     // the version is 0.5.9
}

func newNodeLog(c *cluster, n *node, files *logFiles) *nodeLog {
	l := &nodeLog{c: c, n: n, file: files.create(n.cfg.Name), zone: time.UTC, old: c.cfg.Engine.Version == "0.5.9"}
	if zone, err := time.LoadLocation(n.cfg.Timezone); err != nil {
		files.err = errors.Join(files.err, fmt.Errorf("simulate: node %s: %w", n.cfg.Name, err))
	} else {
		l.zone = zone
	}
	for rank := range n.cfg.Ranks {
		l.ranks = append(l.ranks, []byte(rankTag(n.cfg, c.cfg.Engine.TPSize, rank, 0)))
	}
	rng := newRand(c.cfg.Seed, streamDamage, uint64(1000+n.index))
	l.skew = micros((2*rng.Float64() - 1) * float64(c.cfg.Damage.ClockSkew.Microseconds()))
	return l
}

// rankTag is what the prefix says of a scheduler: tp counts within the
// data-parallel rank. Sizes of 1 are not printed.
func rankTag(n *Node, tpSize, rank, tp int) string {
	tag := ""
	if n.Ranks > 1 {
		tag = fmt.Sprintf(" DP%d", rank)
	}
	if tpSize > 1 {
		tp += rank * max(1, tpSize/n.Ranks)
		tag += fmt.Sprintf(" TP%d EP%d", tp, tp)
	}
	return tag
}

// http is the rank of lines that the HTTP process prints.
const http = -1

// begin starts a line.
func (l *nodeLog) begin(now micros, rank int) {
	now += l.skew
	if s := now / second; s != l.stampFor || l.stamp == nil {
		l.stampFor = s
		l.stamp = time.Unix(s, 0).In(l.zone).AppendFormat(append(l.stamp[:0], '['), time.DateTime)
	}
	l.buf = append(l.buf[:0], l.stamp...)
	if rank != http {
		l.buf = append(l.buf, l.ranks[rank]...)
	}
	l.buf = append(l.buf, "] "...)
}

func (l *nodeLog) text(s string)   { l.buf = append(l.buf, s...) }
func (l *nodeLog) number(n int)    { l.buf = strconv.AppendInt(l.buf, int64(n), 10) }
func (l *nodeLog) share(x float64) { l.buf = strconv.AppendFloat(l.buf, x, 'f', 2, 64) }
func (l *nodeLog) field(name string, n int) {
	l.text(name)
	l.number(n)
}

// end writes the line, unless its hour is lost.
func (l *nodeLog) end(now micros) {
	if l.file == nil {
		return
	}
	if lost := l.c.cfg.Damage.HoursLost; lost > 0 {
		at := mix(l.c.cfg.Seed, uint64(l.n.index)<<40|uint64(now/hour), saltLostHour)
		if float64(at>>11)/(1<<53) < lost {
			return
		}
	}
	l.buf = append(l.buf, '\n')
	l.file.line(l.buf)
}

func (l *nodeLog) line(now micros, rank int, text string) {
	l.begin(now, rank)
	l.text(text)
	l.end(now)
}

func (l *nodeLog) prefillBatch(now micros, p *prefillRank, batch []chunk, cachedTokens int) {
	tokens, rounded := 0, 0
	for _, k := range batch {
		tokens += k.to - k.from
		rounded += l.n.ceilPage(k.to - k.from)
	}
	throughput := float64(p.batchTokens) / (float64(now-p.batchAt) / float64(second))
	p.batchTokens, p.batchAt = tokens, now
	if l.old && l.n.cfg.Role == evidence.RolePrefill {
		return
	}
	pending := 0
	for _, r := range p.queue {
		pending += r.promptOn() - r.computed
	}
	l.begin(now, p.index)
	l.field("Prefill batch, #new-seq: ", len(batch))
	l.field(", #new-token: ", rounded)
	l.field(", #cached-token: ", cachedTokens)
	l.text(", token usage: ")
	l.share(p.usage())
	running := 0
	if l.n.unified() {
		running = len(l.n.decode[p.index].running)
	}
	l.field(", #running-req: ", running)
	l.field(", #queue-req: ", len(p.queue))
	if !l.old {
		l.field(", #pending-token: ", pending)
	}
	if !l.n.unified() {
		l.field(", #bootstrap-req: ", p.bootstrapping)
		l.field(", #inflight-req: ", p.inFlight)
		l.text(", #optimistic-req: 0")
	}
	l.text(", cuda graph: False, input throughput (token/s): ")
	l.share(throughput)
	l.end(now)
}

// usage is the share of the pool that is neither free nor evictable.
func (p *prefillRank) usage() float64 {
	if p.alloc == nil {
		d := p.node.decode[p.index]
		return float64(d.used()) / float64(d.tokens)
	}
	return float64(p.used()-p.cache.evictable*p.ps) / float64(p.tokens)
}

func (l *nodeLog) decodeBatch(now micros, d *decodeRank) {
	l.begin(now, d.index)
	l.field("Decode batch, #running-req: ", len(d.running))
	l.field(", #token: ", d.used())
	l.text(", token usage: ")
	l.share(float64(d.used()) / float64(d.tokens))
	if !l.n.unified() {
		l.text(", pre-allocated usage: ")
		l.share(float64(d.inFlight) / float64(d.tokens))
		l.field(", #prealloc-req: ", len(d.waiting)-d.retracted)
		l.field(", #transfer-req: ", len(d.transfers))
		l.field(", #retracted-req: ", d.retracted)
	}
	l.text(", cuda graph: True, gen throughput (token/s): ")
	l.share(float64(d.generated) / (float64(now-d.logAt) / float64(second)))
	queued := 0
	if l.n.unified() {
		queued = len(d.waiting)
	}
	l.field(", #queue-req: ", queued)
	l.end(now)
}

func (l *nodeLog) rejected(now micros, rank int, r *request) {
	salt := saltDecodeRID
	if l.n.cfg.Role == evidence.RolePrefill {
		salt = saltPrefillRID
	}
	l.begin(now, rank)
	l.field("Input length (", r.prompt)
	l.field(" tokens) exceeds the maximum allowed length (", l.n.limit)
	l.text(" tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='")
	l.buf = l.c.appendRID(l.buf, r, salt)
	l.text("'")
	l.end(now)
}

// stateIndex is the warning that fewer state indices were sent than reserved.
func (l *nodeLog) stateIndex(now micros, rank, pages int) {
	l.begin(now, rank)
	l.field("len(prefill_state_indices) = 1, len(dst_state_indices) = ", pages)
	l.end(now)
}

// transferFailed is what either side says of a copy that came to nothing.
func (l *nodeLog) transferFailed(now micros, rank int, r *request, cause string) {
	switch l.n.cfg.Role {
	case evidence.RoleDecode:
		l.failure(now, rank, "Decode transfer failed", "decode_req.", r, saltDecodeRID, cause)
	case evidence.RolePrefill:
		l.failure(now, rank, "Prefill transfer failed", "", r, saltPrefillRID, cause)
	}
}

func (l *nodeLog) bootstrapTimedOut(now micros, rank int, r *request) {
	cause := "Request " + strconv.FormatUint(r.room, 10) + " timed out after 300.0s in KVPoll.Bootstrapping"
	l.failure(now, rank, "Prefill bootstrap failed", "", r, saltPrefillRID, cause)
}

func (l *nodeLog) failure(now micros, rank int, what, object string, r *request, salt uint64, cause string) {
	l.begin(now, rank)
	l.text(what)
	l.text(" for request rank=0 ")
	l.text(object)
	l.text("req.rid='")
	l.buf = l.c.appendRID(l.buf, r, salt)
	l.text("' ")
	l.text(object)
	l.text("req.bootstrap_room=")
	l.buf = strconv.AppendUint(l.buf, r.room, 10)
	l.text(" with exception KVTransferError(bootstrap_room=")
	l.buf = strconv.AppendUint(l.buf, r.room, 10)
	l.text("): ")
	l.text(cause)
	l.end(now)
}

func (l *nodeLog) retracted(now micros, d *decodeRank) {
	ratio := 0.1 + 0.6/float64(1+len(d.running))
	l.begin(now, d.index)
	l.text("Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: ")
	l.buf = strconv.AppendFloat(l.buf, ratio, 'f', 4, 64)
	l.text(" -> ")
	l.buf = strconv.AppendFloat(l.buf, ratio+0.05, 'f', 4, 64)
	l.end(now)
}

func (l *nodeLog) flushed(now micros) {
	for rank := range l.n.cfg.Ranks {
		l.line(now, rank, "Cache flushed successfully!")
	}
	l.access(now, 0, "POST /flush_cache", 200)
}

func (l *nodeLog) notFlushed(now micros) {
	for rank := range l.n.cfg.Ranks {
		queued, running := 0, 0
		if l.n.decode != nil {
			queued, running = len(l.n.decode[rank].waiting), len(l.n.decode[rank].running)
		} else {
			queued = len(l.n.prefill[rank].queue)
		}
		l.line(now, rank, fmt.Sprintf("Cache not flushed because there are pending requests. #queue-req: %d, #running-req: %d", queued, running))
	}
	l.access(now, 0, "POST /flush_cache", 400)
}

package sim

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"time"
)

// gateway writes one record per request, in the order in which they end, to a
// file per day.
type gateway struct {
	c     *cluster
	dir   string
	names []tenant
	day   micros // of the open file
	file  *lineFile
	buf   []byte
	rng   *rand.Rand // of the damage
	rows  int
	files []string
	err   error
}

func newGateway(c *cluster, dir string, names []tenant) *gateway {
	return &gateway{c: c, dir: filepath.Join(dir, "gateway"), names: names, day: -1, rng: newRand(c.cfg.Seed, streamDamage, 1)}
}

// record writes fields as JSON or CSV. All fields are given for every row, in
// the same order; an absent one is left out or empty.
type record struct {
	buf []byte
	csv bool
	n   int
}

func (r *record) key(name string) {
	if r.n > 0 {
		r.buf = append(r.buf, ',')
	}
	r.n++
	if !r.csv {
		r.buf = append(append(append(r.buf, '"'), name...), '"', ':')
	}
}

func (r *record) absent() {
	if r.csv {
		r.key("")
	}
}

// text writes a value that needs no escapes: identifiers and names are ours.
func (r *record) text(name, value string) {
	if value == "" {
		r.absent()
		return
	}
	r.key(name)
	if r.csv {
		r.buf = append(r.buf, value...)
		return
	}
	r.buf = append(append(append(r.buf, '"'), value...), '"')
}

func (r *record) number(name string, value int, known bool) {
	if !known {
		r.absent()
		return
	}
	r.key(name)
	r.buf = strconv.AppendInt(r.buf, int64(value), 10)
}

func (r *record) millis(name string, value micros, known bool) {
	if !known {
		r.absent()
		return
	}
	r.key(name)
	r.buf = strconv.AppendFloat(r.buf, float64(value)/float64(millisecond), 'f', 1, 64)
}

func (r *record) flag(name string, value bool) {
	r.key(name)
	r.buf = strconv.AppendBool(r.buf, value)
}

const gatewayTime = "2006-01-02T15:04:05.000Z07:00"

func (r *record) instant(name string, at micros, known bool) {
	if !known {
		r.absent()
		return
	}
	r.key(name)
	if !r.csv {
		r.buf = append(r.buf, '"')
	}
	r.buf = time.UnixMicro(at).UTC().AppendFormat(r.buf, gatewayTime)
	if !r.csv {
		r.buf = append(r.buf, '"')
	}
}

var csvHeader = "request_id,tenant_id,received_at,model,prefill_node,decode_node,prefill_rank,decode_rank,bootstrap_room," +
	"prompt_tokens,cached_tokens,completion_tokens,ttft_ms,e2e_ms,aborted_at,http_status,finish_reason,api_key_id,session_id," +
	"stream,client_disconnected\n"

// row writes the record of a request that has ended for its client.
func (g *gateway) row(r *request) {
	blank := g.damaged()
	if blank.row || g.err != nil {
		return
	}
	if today := g.c.now / day; today != g.day {
		g.open(today)
		if g.err != nil {
			return
		}
	}
	w := record{buf: g.buf[:0], csv: g.c.cfg.Output.Format == "csv"}
	if !w.csv {
		w.buf = append(w.buf, '{')
	}
	g.fields(&w, r, blank)
	if !w.csv {
		w.buf = append(w.buf, '}')
	}
	w.buf = append(w.buf, '\n')
	g.buf = w.buf
	g.file.line(w.buf)
	g.rows++
}

func (g *gateway) fields(w *record, r *request, blank blanks) {
	served := r.status == 200
	started := r.firstAt > 0 && (served || r.status == 499)
	name := &g.names[r.tenant]
	w.text("request_id", g.c.requestID(r.number))
	w.text("tenant_id", name.ID)
	w.instant("received_at", r.at, true)
	w.text("model", g.c.cfg.Model)
	var prefill, decode string
	if r.d != nil {
		prefill, decode = r.p.node.cfg.Name, r.d.node.cfg.Name
	}
	if blank.prefillNode {
		prefill = ""
	}
	if blank.decodeNode {
		decode = ""
	}
	ranks := r.d != nil && !blank.ranks
	w.text("prefill_node", prefill)
	w.text("decode_node", decode)
	w.number("prefill_rank", indexOf(r.p), ranks)
	w.number("decode_rank", indexOfDecode(r.d), ranks)
	w.number("bootstrap_room", int(r.room), r.room > 0)
	w.number("prompt_tokens", r.prompt, true)
	w.number("cached_tokens", r.cached, served)
	w.number("completion_tokens", r.produced, served || r.status == 499)
	w.millis("ttft_ms", r.firstAt-r.at, started)
	w.millis("e2e_ms", r.doneAt-r.at, true)
	w.instant("aborted_at", r.doneAt, r.status == 499)
	w.number("http_status", r.status, true)
	w.text("finish_reason", r.reason)
	w.text("api_key_id", name.keys[r.apiKey])
	w.text("session_id", sessionName(r.session))
	w.flag("stream", r.streamed)
	w.flag("client_disconnected", r.left)
}

func sessionName(session uint64) string {
	if session == 0 {
		return ""
	}
	return "s-" + strconv.FormatUint(session, 36)
}

func indexOf(p *prefillRank) int {
	if p == nil {
		return 0
	}
	return p.index
}

func indexOfDecode(d *decodeRank) int {
	if d == nil {
		return 0
	}
	return d.index
}

func (g *gateway) open(today micros) {
	g.closeFile()
	g.day = today
	date := time.UnixMicro(today * day).UTC().Format(time.DateOnly)
	file, err := createLineFile(g.c.cfg, filepath.Join(g.dir, "gateway-"+date+"."+g.c.cfg.Output.Format))
	if err != nil {
		g.err = err
		return
	}
	g.file = file
	g.files = append(g.files, file.path)
	if g.c.cfg.Output.Format == "csv" {
		file.put([]byte(csvHeader))
	}
}

func (g *gateway) closeFile() {
	if g.file == nil {
		return
	}
	if err := g.file.close(); g.err == nil {
		g.err = err
	}
	g.file = nil
}

func (g *gateway) close() error {
	g.closeFile()
	return g.err
}

// blanks says what of a row is lost.
type blanks struct{ row, prefillNode, decodeNode, ranks bool }

func (g *gateway) damaged() blanks {
	d := &g.c.cfg.Damage
	return blanks{
		row:         g.rng.Float64() < d.RowsLost,
		prefillNode: g.rng.Float64() < d.NoPrefillNode,
		decodeNode:  g.rng.Float64() < d.NoDecodeNode,
		ranks:       g.rng.Float64() < d.NoRanks,
	}
}

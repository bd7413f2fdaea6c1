package ingest

import (
	"bytes"

	"kvforensics/ingest/sglang"
	"kvforensics/internal/evidence"
)

// sglangParser feeds lines to the grammar of SGLang logs. Records may span
// lines, so it sees the blocks in order.
type sglangParser struct {
	grammar *sglang.Parser
	out     *batch
	line    []byte // the one being fed
	at      evidence.Locator
}

func newSGLangParser(Options) parser {
	p := &sglangParser{}
	p.grammar = sglang.New(p)
	return p
}

func (p *sglangParser) parallel() bool { return false }

func (p *sglangParser) parse(b *block, out *batch) error {
	p.out = out
	var first error
	b.lines(func(line []byte, at evidence.Locator) {
		if first == nil {
			p.line, p.at = line, at
			first = p.grammar.Feed(line, at)
		}
	})
	return first
}

func (p *sglangParser) close(out *batch) error {
	p.out = out
	return p.grammar.Close()
}

// Event takes an event into the batch. A record may have begun in an earlier
// block, whose bytes are gone when the batch is stored, so texts are copied.
func (p *sglangParser) Event(e *evidence.EngineEvent) error {
	p.out.events = append(p.out.events, *e)
	kept := &p.out.events[len(p.out.events)-1]
	for _, s := range []*string{&kept.RID, &kept.FinishReason, &kept.Message, &kept.Launch.Engine,
		&kept.Launch.Version, &kept.Launch.TransferBackend, &kept.Launch.Flags} {
		if *s != "" {
			*s = p.out.keepText([]byte(*s))
		}
	}
	if e.LocalAt.Known {
		p.out.seen.at(e.LocalAt.V, e.Line)
	}
	return nil
}

func (p *sglangParser) Parsed(at evidence.Locator) error {
	p.out.tally.Records++
	p.out.tally.RecordBytes += at.Length
	return nil
}

// vital are the marks of statements on which suspects rest. A line that bears
// one and was not understood, through damage or an unknown prefix, is rejected
// where other log text is stepped over.
var vital = [][]byte{[]byte("max_total_num_tokens="), []byte("server_args=ServerArgs("), []byte("Input length (")}

func (p *sglangParser) Ignored(at evidence.Locator) error {
	if at == p.at {
		for _, mark := range vital {
			if bytes.Contains(p.line, mark) {
				p.out.reject(at, "holds "+string(mark)+" but is no statement of an engine as it stands", p.line[:min(len(p.line), strayBytes)])
				return nil
			}
		}
	}
	p.out.ignore(at)
	return nil
}

func (p *sglangParser) Reject(r evidence.Rejected) error {
	p.out.reject(r.Locator, r.Reason, bytes.Clone([]byte(r.Preview)))
	return nil
}

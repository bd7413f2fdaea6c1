// Package ingest reads evidence: it finds files, tells their format from
// their content, reads every record with its place, and accounts for every
// byte. What it makes of them goes to a Load, which keeps them.
//
// Evidence is opened read-only. Nothing is guessed silently: what can't be
// read becomes a row that says so.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"kvforensics/internal/evidence"
)

// Load takes what was read. Rows given to it may be reused after each call.
type Load interface {
	Lanes() int // how many goroutines may store rows at once, each over its lane
	Rows(lane, sourceID int, requests []evidence.Request, events []evidence.EngineEvent, rejects []evidence.Rejected) error
	Source(s evidence.Source) error
	Path(path string, sourceID int) error
	Forget(sourceID int) error // drops a source and its rows
	Commit() error
	Rollback() error
}

// Options of a run.
type Options struct {
	Zone        *time.Location // for times without a zone; nil: none stated
	KeepContent bool           // keep prompt and answer texts
	OnProgress  func(Progress)
	OnFile      func(File)
}

// Progress of a run, in bytes on disk.
type Progress struct {
	Done, Total int64
	Records     int64
}

// Outcome of a run.
type Outcome struct {
	Files    int // found
	Taken    int // new contents
	Known    int // contents that the case had already
	Skipped  []string
	Rejected int64
	Unread   int // files not read, or not wholly
}

// Files are committed together until one of these is reached: small files
// would otherwise cost a disk flush each, and a kill loses no more than this.
const (
	commitBytes = 64 << 20
	commitFiles = 512
)

type run struct {
	load     Load
	holdings evidence.Holdings
	options  Options
	mu       sync.Mutex // guards progress
	progress Progress
	outcome  Outcome
	bytes    int64 // since the last commit
	files    int
}

// Run reads the files, in their order, into load. On cancellation it keeps the
// files read so far and forgets the one it was in.
func Run(ctx context.Context, load Load, holdings evidence.Holdings, files []File, o Options) (Outcome, error) {
	r := &run{load: load, holdings: holdings, options: o}
	for _, f := range files {
		r.progress.Total += f.Size
	}
	r.outcome.Files = len(files)
	for _, f := range files {
		if ctx.Err() != nil {
			return r.outcome, errors.Join(context.Cause(ctx), load.Commit())
		}
		if err := r.file(ctx, f); err != nil {
			return r.outcome, errors.Join(err, load.Rollback())
		}
		if r.bytes >= commitBytes || r.files >= commitFiles {
			if err := r.commit(); err != nil {
				return r.outcome, err
			}
		}
	}
	return r.outcome, r.commit()
}

func (r *run) commit() error {
	r.bytes, r.files = 0, 0
	return r.load.Commit()
}

// advance and count are called by the goroutines that read and account.
func (r *run) advance(n int) { r.show(Progress{Done: int64(n)}) }

func (r *run) count(records int64) { r.show(Progress{Records: records}) }

func (r *run) show(more Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Done += more.Done
	r.progress.Records += more.Records
	if r.options.OnProgress != nil {
		r.options.OnProgress(r.progress)
	}
}

func (r *run) file(ctx context.Context, f File) error {
	r.files++
	if r.options.OnFile != nil {
		r.options.OnFile(f)
	}
	if f.Problem != "" {
		return r.unread(f, f.Problem)
	}
	if r.holdings.Sizes[f.Size] {
		digest, err := digestOf(f.Path, f.Size)
		if err != nil {
			return r.unread(f, err.Error())
		}
		if id, known := r.holdings.ByDigest[digest]; known {
			r.advance(int(f.Size))
			r.outcome.Known++
			return r.name(f.Path, id)
		}
	}
	if err := r.supersede(f); err != nil {
		return err
	}
	c, err := openContent(f.Path, r.advance)
	if err != nil {
		return r.unread(f, err.Error())
	}
	s, err := r.read(ctx, f, c)
	if err := errors.Join(err, c.close()); err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	r.outcome.Taken++
	return r.keep(s)
}

// supersede forgets what the case holds of a file that has only grown since:
// all of it stands in the file still. Other content at the same path is kept
// as a source of its own.
func (r *run) supersede(f File) error {
	id, known := r.holdings.Paths[f.Path]
	held, read := r.holdings.ByID[id]
	if !known || !read || f.Size <= held.Bytes {
		return nil
	}
	start, err := digestOf(f.Path, held.Bytes)
	if err != nil || start != held.Digest {
		return nil // what is wrong with the file shows when it is read
	}
	delete(r.holdings.ByDigest, held.Digest)
	delete(r.holdings.ByID, id)
	return r.load.Forget(id)
}

// name records a further path of a content.
func (r *run) name(path string, id int) error {
	if held, known := r.holdings.Paths[path]; known && held == id {
		return nil
	}
	r.holdings.Paths[path] = id
	return r.load.Path(path, id)
}

func (r *run) unread(f File, problem string) error {
	return r.keep(evidence.Source{
		ID: r.holdings.NextID, Path: f.Path, Bytes: f.Size,
		Compression: "none", Encoding: string(binaryBytes), Format: evidence.FormatUnknown, FormatReason: "not opened",
		State: evidence.SourceUnread, Problem: problem,
	})
}

func (r *run) keep(s evidence.Source) error {
	r.outcome.Rejected += s.Tally.Rejected
	if s.State != evidence.SourceRead {
		r.outcome.Unread++
	}
	r.holdings.NextID++
	r.holdings.Paths[s.Path] = s.ID
	r.holdings.Sizes[s.Bytes] = true
	if s.Digest.Known {
		if id, known := r.holdings.ByDigest[s.Digest.V]; known {
			return fmt.Errorf("read %s: content became that of source %d while it was read; run again", s.Path, id)
		}
		r.holdings.ByDigest[s.Digest.V] = s.ID
		r.holdings.ByID[s.ID] = evidence.Held{Digest: s.Digest.V, Bytes: s.Bytes}
	}
	return r.load.Source(s)
}

// read takes one content whole and gives its account.
func (r *run) read(ctx context.Context, f File, c *content) (evidence.Source, error) {
	s := evidence.Source{
		ID: r.holdings.NextID, Path: f.Path, Bytes: c.size,
		Compression: c.compression, Encoding: string(c.encoding), State: evidence.SourceRead,
	}
	head, err := c.head()
	if err != nil {
		return s, err
	}
	found := detect(filepath.Base(f.Path), head, c)
	s.Format, s.FormatReason = found.format, found.reason
	if found.binary {
		s.Encoding = string(binaryBytes)
	}
	account, err := r.take(ctx, s.ID, found, c)
	if err != nil {
		return s, err
	}
	digest, err := c.finish()
	if err != nil {
		return s, err
	}
	s.Digest = evidence.Some(digest)
	s.ContentBytes = c.inflated
	s.Tally, s.Notes = account.tally, account.notes()
	r.bytes += c.inflated
	s.State, s.Problem = stateOf(found, c, account)
	return s, nil
}

func stateOf(found detected, c *content, a account) (evidence.SourceState, string) {
	switch {
	case found.problem != "":
		return evidence.SourceUnread, found.problem
	case c.problem != "":
		return evidence.SourcePartly, c.problem
	case a.problem != "" && a.tally.Records+a.tally.Rejected == 0:
		return evidence.SourceUnread, a.problem
	case a.problem != "":
		return evidence.SourcePartly, a.problem
	case a.tally.Bytes() != c.inflated:
		return evidence.SourcePartly, fmt.Sprintf("account does not add up: %d bytes in, %d accounted for", c.inflated, a.tally.Bytes())
	}
	return evidence.SourceRead, ""
}

// account is what reading one content gave.
type account struct {
	tally   evidence.Tally
	seen    sightings
	problem string
}

func (a *account) notes() []string { return a.seen.notes() }

// take reads the records of a content in its format.
func (r *run) take(ctx context.Context, id int, found detected, c *content) (account, error) {
	var a account
	switch {
	case found.reader != nil:
		return r.takeTable(ctx, id, found, c)
	case found.parser == nil:
		n, err := io.Copy(io.Discard, c.reader)
		a.tally = evidence.Tally{Ignored: 1, IgnoredBytes: n + c.bom}
		if found.format == evidence.FormatIncident {
			a.tally = evidence.Tally{Records: 1, RecordBytes: n + c.bom}
		}
		return a, err
	}
	a.tally.IgnoredBytes = c.bom
	p := found.parser(r.options)
	reader := &blockReader{content: c.reader, broken: c.broken, encoding: c.encoding, offset: c.bom}
	err := pump(ctx, reader, p, r.load.Lanes(), func(lane int, out *batch) error {
		return r.store(lane, id, out)
	}, func(b *block, out *batch) {
		a.add(b.firstLine, out)
		r.count(out.tally.Records)
	})
	return a, err
}

func (r *run) store(lane, id int, out *batch) error {
	return r.load.Rows(lane, id, out.requests, out.events, out.rejects)
}

// add takes the account of the next batch in the order of the content.
func (a *account) add(line int64, out *batch) {
	a.tally.Add(out.tally)
	a.seen.add(out.seen, line)
}

package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kvforensics/internal/workbook"
	"kvforensics/notify/assess"
)

// Options of a build.
type Options struct {
	Out      string // folder of the packs
	Incident Incident
	Secret   []byte // from which references and pseudonyms are drawn
	Canaries []string
	Only     []string // tenants; none: all that are affected
	Threads  int
	Edition
	OnPack func(done, total int)
}

// Outcome of a build.
type Outcome struct {
	Packs, Kept, RuledOut int // written, already there and unchanged, tenants without one
	Tenants               []Status
	Unsearched            []string // identifiers too short to be searched for
}

// Build writes a folder for each affected tenant, and one for the provider. A
// pack is put in place only after its finished bytes were searched for every
// other tenant's identifiers; a hit fails the build.
func Build(ctx context.Context, c Case, o Options) (Outcome, error) {
	b, err := load(ctx, c, o.Incident, o.Secret)
	if err != nil {
		return Outcome{}, fmt.Errorf("build packs: %w", err)
	}
	guard := newGuard(b, o.Canaries)
	var todo []*Pack
	out := Outcome{Unsearched: guard.short}
	for _, p := range b.packs {
		switch {
		case len(o.Only) > 0 && !slices.Contains(o.Only, p.Tenant.ID):
		case !p.affected():
			out.RuledOut++
		default:
			todo = append(todo, p)
		}
	}
	if err := os.MkdirAll(o.Out, 0o700); err != nil {
		return out, fmt.Errorf("build packs: %w", err)
	}
	var mutex sync.Mutex
	done := 0
	err = inParallel(ctx, o.Threads, len(todo), func(i int) error {
		kept, err := todo[i].write(o, guard)
		mutex.Lock()
		defer mutex.Unlock()
		if done++; o.OnPack != nil {
			o.OnPack(done, len(todo))
		}
		if kept {
			out.Kept++
		} else if err == nil {
			out.Packs++
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("build packs: %w", err)
	}
	out.Tenants = b.statuses(o.Edition.Built)
	return out, b.writeProvider(o, out)
}

// file is a finished file of a pack.
type file struct {
	name string
	body []byte
}

// files makes everything that a pack holds but the manifest.
func (p *Pack) files(e Edition) ([]file, error) {
	book, err := p.book(e)
	if err != nil {
		return nil, err
	}
	var sheet bytes.Buffer
	report, err := book.Write(&sheet)
	if err != nil {
		return nil, err
	}
	notice, err := p.notice(e)
	if err != nil {
		return nil, err
	}
	letter, err := p.letter(e)
	if err != nil {
		return nil, err
	}
	noticePage, err := toHTML("Notice "+p.Ref, notice)
	if err != nil {
		return nil, err
	}
	letterPage, err := toHTML("Draft letter "+p.Ref, letter)
	if err != nil {
		return nil, err
	}
	register, err := p.registerCSV(e)
	if err != nil {
		return nil, err
	}
	twin, err := p.twin(e, report)
	if err != nil {
		return nil, err
	}
	return []file{
		{p.bookName(e), sheet.Bytes()}, {"letter.html", letterPage}, {"letter.md", letter}, {"notice.html", noticePage}, {"notice.md", notice},
		{"pack.json", twin}, {"register.csv", register},
	}, nil
}

// bookName tells nothing of who the customer is.
func (p *Pack) bookName(e Edition) string {
	return fmt.Sprintf("BAP_%s_%s_v%02d_%s_DRAFT.xlsx", p.Ref, p.Incident.Ref, e.Number, e.Built.UTC().Format("2006-01-02T1504Z"))
}

const manifestName = "manifest.json"

// Manifest lists a pack's files with their digests.
type Manifest struct {
	Pack     string            `json:"pack"`
	Incident string            `json:"incident"`
	Version  int               `json:"version"`
	Built    string            `json:"built"`
	Facts    string            `json:"facts"` // SHA-256 of what the pack was made of
	Files    map[string]string `json:"files"` // SHA-256 by name
}

// write puts the pack in place, unless it is there as it would be written.
func (p *Pack) write(o Options, guard *guard) (kept bool, err error) {
	dir := filepath.Join(o.Out, p.Ref)
	facts, err := p.digest(o.Edition)
	if err != nil {
		return false, err
	}
	if m, err := Verify(dir); err == nil && m.Facts == facts {
		return true, nil
	}
	files, err := p.files(o.Edition)
	if err != nil {
		return false, fmt.Errorf("pack %s: %w", p.Ref, err)
	}
	if err := guard.check(p, files); err != nil {
		return false, fmt.Errorf("pack %s: %w", p.Ref, err)
	}
	m := Manifest{Pack: p.Ref, Incident: p.Incident.Ref, Version: o.Edition.Number, Built: assess.UTC(o.Edition.Built), Facts: facts, Files: map[string]string{}}
	for _, f := range files {
		m.Files[f.name] = digestOf(f.body)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return false, err
	}
	return false, place(dir, append(files, file{manifestName, append(text, '\n')}))
}

// place writes files into a folder beside dir and puts it in dir's place, so
// that a pack is whole or absent.
func place(dir string, files []file) error {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(part, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(part, f.name), f.body, 0o600); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

// digest names what a pack is made of.
func (p *Pack) digest(e Edition) (string, error) {
	text, err := json.Marshal(struct {
		Pack    *Pack
		Edition Edition
	}{p, e})
	if err != nil {
		return "", err
	}
	return digestOf(text), nil
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Verify holds a pack against its manifest: every file there, none more, and
// each with its digest; the workbook without anything that runs or hides.
func Verify(dir string) (Manifest, error) {
	var m Manifest
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return m, fmt.Errorf("verify pack: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("verify pack: %s: %w", manifestName, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return m, fmt.Errorf("verify pack: %w", err)
	}
	var problems []error
	seen := 0
	for _, e := range entries {
		if e.Name() == manifestName {
			continue
		}
		want, listed := m.Files[e.Name()]
		if !listed || !e.Type().IsRegular() {
			problems = append(problems, fmt.Errorf("%q is not in the manifest", e.Name()))
			continue
		}
		seen++
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if digestOf(body) != want {
			problems = append(problems, fmt.Errorf("%q was changed: its digest is not that of the manifest", e.Name()))
		} else if strings.HasSuffix(e.Name(), ".xlsx") {
			problems = append(problems, workbook.Inspect(bytes.NewReader(body), int64(len(body))))
		}
	}
	if seen < len(m.Files) {
		problems = append(problems, fmt.Errorf("%d files of the manifest are missing", len(m.Files)-seen))
	}
	if err := errors.Join(problems...); err != nil {
		return m, fmt.Errorf("verify pack: %w", err)
	}
	return m, nil
}

// inParallel calls each for 0..n-1 and joins what went wrong.
func inParallel(ctx context.Context, threads, n int, each func(i int) error) error {
	next := make(chan int)
	var workers sync.WaitGroup
	errs := make([]error, n)
	for range min(max(threads, 1), n) {
		workers.Go(func() {
			for i := range next {
				errs[i] = each(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(append(errs, context.Cause(ctx))...)
}

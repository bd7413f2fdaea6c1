package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"kvforensics/internal/evidence"
)

const (
	tableRows   = 2048    // rows of a batch
	tableMemory = 2 << 30 // bytes that the Arrow library may hold for one source
)

// takeTable reads a source that is a table. Its rows have no byte range, so
// all its bytes count as those of its records.
func (r *run) takeTable(ctx context.Context, id int, found detected, c *content) (account, error) {
	var a account
	var stop error // what is no fault of the evidence
	err := found.reader(ctx, c, r.options, func(out *batch) error {
		if stop = context.Cause(ctx); stop == nil {
			stop = r.store(0, id, out)
		}
		a.add(firstRow(out), out)
		r.count(out.tally.Records)
		return stop
	})
	if stop = cmp.Or(stop, context.Cause(ctx)); stop != nil {
		return a, stop
	}
	rows := a.tally.Records + a.tally.Rejected
	if err != nil {
		a.problem = fmt.Sprintf("%v; %d rows were read", err, rows)
	}
	if _, err := io.Copy(io.Discard, c.reader); err != nil {
		return a, err
	}
	if err != nil && rows == 0 {
		a.tally = evidence.Tally{Ignored: 1, IgnoredBytes: c.inflated}
	} else {
		a.tally.RecordBytes = c.inflated
	}
	return a, nil
}

func firstRow(out *batch) int64 {
	if len(out.requests) == 0 {
		return 0
	}
	return out.requests[0].Line
}

// section gives random access to the file as it was when opened, without
// moving the offset from which the digest reads.
func (c *content) section() *io.SectionReader { return io.NewSectionReader(c.file, 0, c.size) }

// guarded is the one door to the Arrow library's readers, which may panic on
// corrupt input.
func guarded(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("corrupt: %v", p)
		}
	}()
	return read()
}

// boundedAllocator refuses what a corrupt length, or a table written in one
// piece, would otherwise take.
type boundedAllocator struct {
	memory.Allocator
	held atomic.Int64 // buffers may be freed by finalizers
}

func newAllocator() *boundedAllocator {
	return &boundedAllocator{Allocator: memory.NewGoAllocator()}
}

func (a *boundedAllocator) Allocate(size int) []byte {
	a.take(size)
	return a.Allocator.Allocate(size)
}

func (a *boundedAllocator) Reallocate(size int, b []byte) []byte {
	a.take(size - cap(b))
	return a.Allocator.Reallocate(size, b)
}

func (a *boundedAllocator) Free(b []byte) {
	a.held.Add(-int64(cap(b)))
	a.Allocator.Free(b)
}

func (a *boundedAllocator) take(size int) {
	if held := a.held.Load() + int64(size); size > tableMemory || held > tableMemory {
		panic(fmt.Sprintf("needs more than %d bytes of memory at once", tableMemory))
	}
	a.held.Add(int64(size))
}

// table makes requests of the rows of record batches that share a schema.
type table struct {
	columns     []tableColumn
	zone        *time.Location
	keepContent bool
	rows        int64 // so far
	put         func(*batch) error
	stopped     bool // put failed, which is no fault of the evidence
	out         batch
}

type tableColumn struct {
	name   string
	field  field
	kind   arrow.DataType // as the evidence states it, which for INT96 differs from the array's
	values arrow.Array    // of the present record batch
	text   cellText
}

// newTable refuses a schema under which no row could be read.
func newTable(schema *arrow.Schema, o Options, put func(*batch) error) (*table, error) {
	t := &table{zone: o.Zone, keepContent: o.KeepContent, put: put}
	var names []string
	for _, f := range schema.Fields() {
		c := tableColumn{name: f.Name, field: fieldOf(f.Name), kind: f.Type}
		if !usable(c.field, c.kind) {
			return nil, fmt.Errorf("column %s of type %s cannot be read as that field", clip(c.name), c.kind)
		}
		t.columns = append(t.columns, c)
		names = append(names, f.Name)
	}
	if problem := columnsProblem(names); problem != "" {
		return nil, errors.New(problem)
	}
	return t, nil
}

// columnsProblem says why columns of these names can't be read.
func columnsProblem(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Sprintf("column %s twice", clip(name))
		}
	}
	for _, name := range []string{"request_id", "tenant_id", "received_at"} {
		if !slices.Contains(names, name) {
			return fmt.Sprintf("no column %s; found %s", name, quotedList(names))
		}
	}
	return ""
}

func quotedList(names []string) string {
	const limit = 60
	list := make([]string, 0, limit+1)
	for _, name := range names[:min(len(names), limit)] {
		list = append(list, clip(name))
	}
	if more := len(names) - limit; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// read takes the rows of one record batch.
func (t *table) read(record arrow.RecordBatch) error {
	if err := guarded(func() error { return t.bind(record) }); err != nil {
		return err
	}
	for from, rows := 0, int(record.NumRows()); from < rows; from += tableRows {
		t.out.reset()
		err := guarded(func() error {
			for i := from; i < min(from+tableRows, rows); i++ {
				t.row(i)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := t.put(&t.out); err != nil {
			t.stopped = true
			return err
		}
	}
	return nil
}

// bind points the columns at the arrays of a record batch. Of what may be
// corrupt there it checks what would go unnoticed; bad offsets make the Arrow
// library panic.
func (t *table) bind(record arrow.RecordBatch) error {
	for i := range t.columns {
		c := &t.columns[i]
		c.values = record.Column(i)
		if int64(c.values.Len()) != record.NumRows() {
			return fmt.Errorf("column %s has %d values in %d rows", clip(c.name), c.values.Len(), record.NumRows())
		}
		if c.kind.ID() != arrow.NULL && c.values.NullN() > 0 && len(c.values.NullBitmapBytes()) == 0 {
			return fmt.Errorf("column %s has %d nulls, and does not say which", clip(c.name), c.values.NullN())
		}
		c.text = textOf(c.values, c.kind, c.field)
	}
	return nil
}

// row reads one row. A row's place is its number; it has no byte range.
func (t *table) row(i int) {
	t.rows++
	at := evidence.Locator{Line: t.rows}
	r := t.out.newRequest()
	if err := t.request(i, r); err != nil {
		t.out.dropRequest()
		t.out.reject(at, err.Error(), t.preview(i))
		return
	}
	r.Locator = at
	t.out.keepRequest(r)
}

func (t *table) request(i int, r *evidence.Request) error {
	extra := newExtra(&t.out)
	for j := range t.columns {
		c := &t.columns[j]
		if c.field.isContent() && !t.keepContent {
			continue
		}
		if err := t.set(r, c, i, &extra); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	r.Extra = extra.keep(&t.out)
	if name := missing(r); name != "" {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

// set takes one value. A null states nothing.
func (t *table) set(r *evidence.Request, c *tableColumn, i int, extra *extraObject) error {
	if c.values.IsNull(i) {
		return nil
	}
	if c.text == nil {
		json, err := jsonOf(c.values, i)
		if err == nil && string(json) != "null" {
			extra.value(c.name, json)
		}
		return err
	}
	text, stated, err := c.text(i)
	if err != nil || !stated {
		return err
	}
	if c.field == fieldNone {
		extra.text(c.name, text)
		return nil
	}
	if err := c.field.set(r, text, t.zone); err != nil {
		return err
	}
	if c.field.unplaced(r) {
		extra.text(c.name, text)
	}
	return nil
}

// preview shows the start of a row as name=value, without what people wrote.
func (t *table) preview(i int) []byte {
	var b []byte
	for _, c := range t.columns {
		if c.field.isContent() || c.values.IsNull(i) || len(b) > evidence.PreviewBytes {
			continue
		}
		b = fmt.Appendf(b, "%s=%s ", c.name, c.values.ValueStr(i))
	}
	return b
}

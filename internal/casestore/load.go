package casestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"kvforensics/internal/evidence"
)

// Load takes rows into the case over several lanes, each a connection with a
// transaction of its own, so that rows are stored as fast as they are parsed.
// A source counts as taken when its row in sources is there, and that row
// commits last: whatever a kill leaves of other sources is swept away by the
// next BeginLoad.
//
// One goroutine at a time may use a lane; the other methods belong to one
// goroutine, while no lane is in use.
type Load struct {
	lanes   []*lane
	sources *appender[evidence.Source]
	paths   *appender[sourcePath]
}

// lane is one connection with its transaction.
type lane struct {
	db       mapping.Database
	conn     mapping.Connection
	requests *appender[evidence.Request]
	events   *appender[evidence.EngineEvent]
	rejects  *appender[evidence.Rejected]
	open     bool
}

type sourcePath struct {
	path     string
	sourceID int
}

// BeginLoad starts a Load of so many lanes. Close it in any case.
func (c *Case) BeginLoad(ctx context.Context, lanes int) (*Load, error) {
	if err := c.sweep(ctx); err != nil {
		return nil, err
	}
	l := &Load{}
	for range lanes {
		n, err := c.newLane()
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.lanes = append(l.lanes, n)
	}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// sweep removes rows of sources that a killed run did not finish.
func (c *Case) sweep(ctx context.Context) error {
	return c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		for _, table := range []string{"gateway_records", "engine_records", "rejects"} {
			if err := exec("DELETE FROM " + table + " WHERE source_id NOT IN (SELECT source_id FROM sources)"); err != nil {
				return fmt.Errorf("sweep %s: %w", table, err)
			}
		}
		return nil
	})
}

func (c *Case) newLane() (*lane, error) {
	n := &lane{}
	config, err := newConfig()
	if err != nil {
		return nil, err
	}
	defer mapping.DestroyConfig(&config)
	var message string
	if mapping.GetOrCreateFromCache(duckdb.GetInstanceCache(), c.file(), &n.db, config, &message) == mapping.StateError {
		return nil, fmt.Errorf("open load connection: %s", message)
	}
	if mapping.Connect(n.db, &n.conn) == mapping.StateError {
		mapping.Close(&n.db)
		return nil, errors.New("open load connection: refused")
	}
	return n, nil
}

// newConfig gives the options under which the driver opens a file, so that
// both share one database instance.
func newConfig() (mapping.Config, error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return config, errors.New("create database options")
	}
	if mapping.SetConfig(config, "duckdb_api", "go") == mapping.StateError {
		mapping.DestroyConfig(&config)
		return config, errors.New("set database options")
	}
	return config, nil
}

func (l *Load) begin() error {
	for _, n := range l.lanes {
		if err := n.begin(); err != nil {
			return err
		}
	}
	var err error
	if l.sources, err = newAppender(l.lanes[0], "sources", sourceColumns); err != nil {
		return err
	}
	l.paths, err = newAppender(l.lanes[0], "source_paths", pathColumns)
	return err
}

func (n *lane) begin() error {
	if err := n.exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	n.open = true
	var err error
	if n.requests, err = newAppender(n, "gateway_records", requestColumns); err != nil {
		return err
	}
	if n.events, err = newAppender(n, "engine_records", eventColumns); err != nil {
		return err
	}
	n.rejects, err = newAppender(n, "rejects", rejectColumns)
	return err
}

// Lanes gives how many goroutines may store rows at once.
func (l *Load) Lanes() int { return len(l.lanes) }

// Rows takes rows of a source over a lane. The rows may be reused after the
// call.
func (l *Load) Rows(lane, sourceID int, requests []evidence.Request, events []evidence.EngineEvent, rejects []evidence.Rejected) error {
	n := l.lanes[lane]
	if err := n.requests.append(sourceID, requests); err != nil {
		return err
	}
	if err := n.events.append(sourceID, events); err != nil {
		return err
	}
	return n.rejects.append(sourceID, rejects)
}

// Source takes the finished account of a source, with its path.
func (l *Load) Source(s evidence.Source) error {
	if err := l.sources.append(s.ID, []evidence.Source{s}); err != nil {
		return err
	}
	return l.Path(s.Path, s.ID)
}

// evidenceTables hold rows of sources, the paths last.
var evidenceTables = []string{"gateway_records", "engine_records", "rejects", "sources", "source_paths"}

// Forget drops a source with all its rows, together with the next Commit.
func (l *Load) Forget(sourceID int) error {
	for _, table := range evidenceTables {
		if err := l.lanes[0].exec(fmt.Sprintf("DELETE FROM %s WHERE source_id = %d", table, sourceID)); err != nil {
			return err
		}
	}
	return nil
}

// Path records one more name of a source.
func (l *Load) Path(path string, sourceID int) error {
	return l.paths.append(sourceID, []sourcePath{{path, sourceID}})
}

// Commit makes the rows part of the case and starts the next transactions. The
// lane that holds the sources commits last.
func (l *Load) Commit() error {
	err := errors.Join(l.sources.close(), l.paths.close())
	for _, n := range l.lanes {
		err = errors.Join(err, n.requests.close(), n.events.close(), n.rejects.close())
	}
	if err != nil {
		return errors.Join(err, l.rollback())
	}
	for i := len(l.lanes) - 1; i >= 0; i-- {
		l.lanes[i].open = false
		if err := l.lanes[i].exec("COMMIT"); err != nil {
			return errors.Join(err, l.rollback())
		}
	}
	return l.begin()
}

// Rollback forgets all rows since the last Commit and starts anew.
func (l *Load) Rollback() error {
	if err := l.rollback(); err != nil {
		return err
	}
	return l.begin()
}

// Close forgets what was not committed.
func (l *Load) Close() error {
	err := l.rollback()
	for _, n := range l.lanes {
		mapping.Disconnect(&n.conn)
		mapping.Close(&n.db)
	}
	return err
}

func (l *Load) rollback() error {
	l.sources.discard()
	l.paths.discard()
	var err error
	for _, n := range l.lanes {
		n.requests.discard()
		n.events.discard()
		n.rejects.discard()
		if n.open {
			n.open = false
			err = errors.Join(err, n.exec("ROLLBACK"))
		}
	}
	return err
}

func (n *lane) exec(statement string) error {
	var result mapping.Result
	defer mapping.DestroyResult(&result)
	if mapping.Query(n.conn, statement, &result) == mapping.StateError {
		return fmt.Errorf("%s: %s", statement, mapping.ResultError(&result))
	}
	return nil
}

// appender fills data chunks of one table. DuckDB reports what is wrong with
// appended rows at close only, and a COMMIT after a failed close would succeed
// without them: a failed close must lead to a rollback.
type appender[T any] struct {
	table   string
	columns []column[T]
	handle  mapping.Appender
	types   []mapping.LogicalType
	chunk   mapping.DataChunk
	vectors []vector
	rows    int
}

func newAppender[T any](n *lane, table string, columns []column[T]) (*appender[T], error) {
	a := &appender[T]{table: table, columns: columns}
	if mapping.AppenderCreate(n.conn, "main", table, &a.handle) == mapping.StateError {
		return nil, fmt.Errorf("open appender for %s: %s", table, mapping.AppenderError(a.handle))
	}
	count := int(mapping.AppenderColumnCount(a.handle))
	if count != len(columns)+1 {
		return nil, fmt.Errorf("table %s has %d columns, the writer %d", table, count, len(columns)+1)
	}
	for i := range count {
		a.types = append(a.types, mapping.AppenderColumnType(a.handle, mapping.IdxT(i)))
	}
	a.chunk = mapping.CreateDataChunk(a.types)
	a.vectors = make([]vector, count)
	a.bind()
	return a, nil
}

// bind looks up the vectors' memory, which a reset may move.
func (a *appender[T]) bind() {
	for i := range a.vectors {
		h := mapping.DataChunkGetVector(a.chunk, mapping.IdxT(i))
		mapping.VectorEnsureValidityWritable(h)
		a.vectors[i] = vector{handle: h, data: mapping.VectorGetData(h), validity: mapping.VectorGetValidity(h)}
	}
}

func (a *appender[T]) append(sourceID int, rows []T) error {
	capacity := int(mapping.VectorSize())
	for len(rows) > 0 {
		n := min(len(rows), capacity-a.rows)
		ids := &a.vectors[0]
		for i := range n {
			ids.int32(a.rows+i, sourceID)
		}
		for c := range a.columns {
			v, put := &a.vectors[c+1], a.columns[c].put
			for i := range n {
				put(v, a.rows+i, &rows[i])
			}
		}
		a.rows += n
		rows = rows[n:]
		if a.rows == capacity {
			if err := a.flushChunk(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *appender[T]) flushChunk() error {
	if a.rows == 0 {
		return nil
	}
	mapping.DataChunkSetSize(a.chunk, mapping.IdxT(a.rows))
	if mapping.AppendDataChunk(a.handle, a.chunk) == mapping.StateError {
		return fmt.Errorf("append to %s: %s", a.table, mapping.AppenderError(a.handle))
	}
	mapping.DataChunkReset(a.chunk)
	a.rows = 0
	a.bind()
	return nil
}

func (a *appender[T]) close() error {
	err := a.flushChunk()
	if err == nil && mapping.AppenderClose(a.handle) == mapping.StateError {
		err = fmt.Errorf("append to %s: %s", a.table, mapping.AppenderError(a.handle))
	}
	a.discard()
	return err
}

// discard frees the appender without storing what it holds; it may be called
// on one that was never made or is closed.
func (a *appender[T]) discard() {
	if a == nil || a.chunk.Ptr == nil {
		return
	}
	mapping.DestroyDataChunk(&a.chunk)
	for i := range a.types {
		mapping.DestroyLogicalType(&a.types[i])
	}
	mapping.AppenderClear(a.handle)
	mapping.AppenderDestroy(&a.handle)
}

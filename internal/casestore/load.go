package casestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"kvforensics/internal/evidence"
)

// Load is one transaction that takes rows into the case. It holds a connection
// of its own: nothing of it can be seen, or survives a kill, before Commit.
//
// A Load must be used by one goroutine.
type Load struct {
	db       mapping.Database
	conn     mapping.Connection
	requests *appender[evidence.Request]
	events   *appender[evidence.EngineEvent]
	rejects  *appender[evidence.Rejected]
	sources  *appender[evidence.Source]
	paths    *appender[sourcePath]
	open     bool
}

type sourcePath struct {
	path     string
	sourceID int
}

// BeginLoad starts a Load. Close it in any case.
func (c *Case) BeginLoad(context.Context) (*Load, error) {
	l := &Load{}
	config, err := newConfig()
	if err != nil {
		return nil, err
	}
	defer mapping.DestroyConfig(&config)
	var message string
	if mapping.GetOrCreateFromCache(duckdb.GetInstanceCache(), c.file(), &l.db, config, &message) == mapping.StateError {
		return nil, fmt.Errorf("open load connection: %s", message)
	}
	if mapping.Connect(l.db, &l.conn) == mapping.StateError {
		mapping.Close(&l.db)
		return nil, errors.New("open load connection: refused")
	}
	if err := l.begin(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
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
	if err := l.exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	l.open = true
	var err error
	if l.requests, err = newAppender(l, "gateway_records", requestColumns); err != nil {
		return err
	}
	if l.events, err = newAppender(l, "engine_records", eventColumns); err != nil {
		return err
	}
	if l.rejects, err = newAppender(l, "rejects", rejectColumns); err != nil {
		return err
	}
	if l.sources, err = newAppender(l, "sources", sourceColumns); err != nil {
		return err
	}
	l.paths, err = newAppender(l, "source_paths", pathColumns)
	return err
}

// Requests takes gateway records of a source. The rows may be reused after
// the call.
func (l *Load) Requests(sourceID int, rows []evidence.Request) error {
	return l.requests.append(sourceID, rows)
}

// Events takes engine events of a source. The rows may be reused after the
// call.
func (l *Load) Events(sourceID int, rows []evidence.EngineEvent) error {
	return l.events.append(sourceID, rows)
}

// Rejects takes rejected records of a source.
func (l *Load) Rejects(sourceID int, rows []evidence.Rejected) error {
	return l.rejects.append(sourceID, rows)
}

// Source takes the finished account of a source, with its path.
func (l *Load) Source(s evidence.Source) error {
	if err := l.sources.append(s.ID, []evidence.Source{s}); err != nil {
		return err
	}
	return l.Path(s.Path, s.ID)
}

// Path records one more name of a source.
func (l *Load) Path(path string, sourceID int) error {
	return l.paths.append(sourceID, []sourcePath{{path, sourceID}})
}

// Commit makes the rows part of the case and starts the next transaction.
func (l *Load) Commit() error {
	if err := l.closeAppenders(); err != nil {
		return errors.Join(err, l.rollback())
	}
	l.open = false
	if err := l.exec("COMMIT"); err != nil {
		return err
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
	mapping.Disconnect(&l.conn)
	mapping.Close(&l.db)
	return err
}

func (l *Load) rollback() error {
	if !l.open {
		return nil
	}
	l.open = false
	for _, a := range l.appenders() {
		a.discard()
	}
	return l.exec("ROLLBACK")
}

type closer interface {
	close() error
	discard()
}

func (l *Load) appenders() []closer {
	var open []closer
	add := func(c closer, ok bool) {
		if ok {
			open = append(open, c)
		}
	}
	add(l.requests, l.requests != nil)
	add(l.events, l.events != nil)
	add(l.rejects, l.rejects != nil)
	add(l.sources, l.sources != nil)
	add(l.paths, l.paths != nil)
	return open
}

func (l *Load) closeAppenders() error {
	var all error
	for _, a := range l.appenders() {
		all = errors.Join(all, a.close())
	}
	return all
}

func (l *Load) exec(statement string) error {
	var result mapping.Result
	defer mapping.DestroyResult(&result)
	if mapping.Query(l.conn, statement, &result) == mapping.StateError {
		return fmt.Errorf("%s: %s", statement, mapping.ResultError(&result))
	}
	return nil
}

// appender fills data chunks of one table. DuckDB reports what is wrong with
// appended rows at close only, and a COMMIT after a failed close would succeed
// without them: a failed close must lead to a rollback.
type appender[T any] struct {
	table    string
	columns  []column[T]
	handle   mapping.Appender
	types    []mapping.LogicalType
	chunk    mapping.DataChunk
	vectors  []vector
	rows     int
	sourceID int
}

func newAppender[T any](l *Load, table string, columns []column[T]) (*appender[T], error) {
	a := &appender[T]{table: table, columns: columns}
	if mapping.AppenderCreate(l.conn, "main", table, &a.handle) == mapping.StateError {
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

func (a *appender[T]) discard() {
	if a.chunk.Ptr == nil {
		return
	}
	mapping.DestroyDataChunk(&a.chunk)
	for i := range a.types {
		mapping.DestroyLogicalType(&a.types[i])
	}
	mapping.AppenderClear(a.handle)
	mapping.AppenderDestroy(&a.handle)
}

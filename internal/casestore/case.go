// Package casestore keeps the case: a folder with case.duckdb and, beside it,
// the normalised requests as Parquet. It is the only door to DuckDB.
package casestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"kvforensics/queries"
)

// Errors that callers act on.
var (
	ErrNoCase  = errors.New("no such case")
	ErrInUse   = errors.New("case in use")
	ErrNewer   = errors.New("case was written by a newer version")
	ErrNotCase = errors.New("folder is not empty and holds no case")
)

const (
	fileName   = "case.duckdb"
	holderName = "holder.json"
	tempName   = "tmp"
)

// Case is one investigation on disk. Its methods may be called by several
// goroutines; one process at a time may hold it for writing.
type Case struct {
	dir      string
	db       *sql.DB
	connect  *duckdb.Connector
	writable bool
}

// Options for Create and Open.
type Options struct {
	Threads     int    // DuckDB threads; 0: its default
	MemoryLimit string // as DuckDB writes it ("1GB"); "": 1GB
	Command     string // what holds the case, told to others
	Now         time.Time
}

// Create opens the case in dir for writing and makes it first where there is
// none. Dir must be absent, empty, or a case.
func Create(ctx context.Context, dir string, o Options) (*Case, error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(dir); err != nil {
			return nil, err
		}
	}
	return open(ctx, dir, o)
}

// Open opens the case in dir for writing.
func Open(ctx context.Context, dir string, o Options) (*Case, error) {
	if err := mustExist(dir); err != nil {
		return nil, err
	}
	return open(ctx, dir, o)
}

// OpenReadOnly opens the case in dir for statements of an analyst: nothing can
// be written, no file, network, extension or setting can be reached.
func OpenReadOnly(ctx context.Context, dir string, o Options) (*Case, error) {
	if err := mustExist(dir); err != nil {
		return nil, err
	}
	c := &Case{dir: dir}
	err := c.openDatabase(ctx, "?access_mode=read_only", func(exec func(string) error) error {
		if err := settings(exec, dir, o); err != nil {
			return err
		}
		if err := exec("SET enable_external_access = false"); err != nil {
			return err
		}
		return exec("SET lock_configuration = true")
	})
	if err != nil {
		return nil, c.explainLock(err)
	}
	if err := c.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func mustExist(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return fmt.Errorf("open case %q: %w", dir, ErrNoCase)
	}
	return nil
}

func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create case: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("create case: %w", err)
	}
	for _, e := range entries {
		// A kill between the first two steps of an earlier run leaves these.
		if e.Name() != holderName && e.Name() != tempName {
			return fmt.Errorf("create case in %q: %w", dir, ErrNotCase)
		}
	}
	return nil
}

func open(ctx context.Context, dir string, o Options) (*Case, error) {
	c := &Case{dir: dir, writable: true}
	err := c.openDatabase(ctx, "", func(exec func(string) error) error { return settings(exec, dir, o) })
	if err != nil {
		return nil, c.explainLock(err)
	}
	if err := c.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openDatabase opens the file. Options of the two modes differ, and DuckDB
// takes several of them only through SET, so both modes use SET alone.
func (c *Case) openDatabase(ctx context.Context, query string, setUp func(exec func(string) error) error) error {
	if strings.ContainsAny(c.dir, "?%#") {
		return fmt.Errorf("open case %q: a case's path must not hold ?, %% or #", c.dir)
	}
	connector, err := duckdb.NewConnector(c.file()+query, nil)
	if err != nil {
		return err
	}
	c.connect, c.db = connector, sql.OpenDB(connector)
	err = setUp(func(statement string) error {
		_, err := c.db.ExecContext(ctx, statement)
		return err
	})
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

func settings(exec func(string) error, dir string, o Options) error {
	limit := o.MemoryLimit
	if limit == "" {
		limit = "1GB"
	}
	statements := []string{
		"SET GLOBAL TimeZone = 'UTC'",
		"SET memory_limit = " + quote(limit),
		"SET temp_directory = " + quote(filepath.Join(dir, tempName)),
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
		"SET allow_community_extensions = false",
	}
	if o.Threads > 0 {
		statements = append(statements, fmt.Sprintf("SET threads = %d", o.Threads))
	}
	for _, s := range statements {
		if err := exec(s); err != nil {
			return fmt.Errorf("configure case: %w", err)
		}
	}
	return nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (c *Case) prepare(ctx context.Context, o Options) error {
	if err := os.Chmod(c.file(), 0o600); err != nil {
		return fmt.Errorf("open case: %w", err)
	}
	if err := c.writeHolder(o); err != nil {
		return err
	}
	return c.migrate(ctx)
}

// migrate brings the schema to the newest version, one transaction a step.
func (c *Case) migrate(ctx context.Context) error {
	if _, err := c.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS schema_versions (number INTEGER PRIMARY KEY, name VARCHAR NOT NULL)"); err != nil {
		return fmt.Errorf("migrate case: %w", err)
	}
	if err := c.checkVersion(ctx); err != nil {
		return err
	}
	at, err := c.version(ctx)
	if err != nil {
		return err
	}
	for _, m := range queries.Migrations()[at:] {
		statement := fmt.Sprintf("BEGIN; %s; INSERT INTO schema_versions VALUES (%d, %s); COMMIT", m.SQL, m.Number, quote(m.Name))
		if _, err := c.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("migrate case to %s: %w", m.Name, err)
		}
	}
	return nil
}

func (c *Case) version(ctx context.Context) (int, error) {
	var n int
	err := c.db.QueryRowContext(ctx, "SELECT count(*) FROM schema_versions").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read case version: %w", err)
	}
	return n, nil
}

func (c *Case) checkVersion(ctx context.Context) error {
	n, err := c.version(ctx)
	if err != nil {
		return err
	}
	if n > len(queries.Migrations()) {
		return fmt.Errorf("open case %q: %w (schema %d, this program knows %d)", c.dir, ErrNewer, n, len(queries.Migrations()))
	}
	return nil
}

// Dir gives the case's folder.
func (c *Case) Dir() string { return c.dir }

func (c *Case) file() string { return filepath.Join(c.dir, fileName) }

// Close ends the use of the case.
func (c *Case) Close() error {
	if c.db == nil {
		return nil
	}
	err := errors.Join(c.db.Close(), c.connect.Close())
	if c.writable {
		err = errors.Join(err, remove(filepath.Join(c.dir, holderName)), os.RemoveAll(filepath.Join(c.dir, tempName)))
	}
	c.db = nil
	return err
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// holder is told to those who find the case in use. The lock itself is
// DuckDB's: it ends with the process, whatever becomes of this file.
type holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (c *Case) writeHolder(o Options) error {
	text, err := json.Marshal(holder{PID: os.Getpid(), Command: o.Command, Since: o.Now.UTC()})
	if err != nil {
		return fmt.Errorf("name case holder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, holderName), text, 0o600); err != nil {
		return fmt.Errorf("name case holder: %w", err)
	}
	return nil
}

// explainLock turns DuckDB's complaint about a held lock into ErrInUse with
// the holder's name.
func (c *Case) explainLock(err error) error {
	c.writable = false
	if !strings.Contains(err.Error(), "Could not set lock") {
		return fmt.Errorf("open case %q: %w", c.dir, err)
	}
	text, readErr := os.ReadFile(filepath.Join(c.dir, holderName))
	var h holder
	if readErr != nil || json.Unmarshal(text, &h) != nil {
		return fmt.Errorf("open case %q: %w by another process", c.dir, ErrInUse)
	}
	return fmt.Errorf("open case %q: %w by process %d (%s) since %s", c.dir, ErrInUse, h.PID, h.Command, h.Since.UTC().Format(time.RFC3339))
}

package casestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/duckdb/duckdb-go/v2"

	"kvforensics/internal/evidence"
	"kvforensics/queries"
)

// Step runs a derivation step of queries/steps in one transaction.
func (c *Case) Step(ctx context.Context, name string) error {
	text, err := queries.Step(name)
	if err != nil {
		return err
	}
	err = c.InTransaction(ctx, func(exec func(string, ...any) error) error { return exec(text) })
	if err != nil {
		return fmt.Errorf("step %s: %w", name, err)
	}
	return nil
}

// Select runs a query and calls each for every row.
func (c *Case) Select(ctx context.Context, query string, each func(scan func(into ...any) error) error, args ...any) error {
	rows, err := c.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// SelectStep runs the query of a step that is a single SELECT.
func (c *Case) SelectStep(ctx context.Context, name string, each func(scan func(into ...any) error) error) error {
	text, err := queries.Step(name)
	if err != nil {
		return err
	}
	if err := c.Select(ctx, text, each); err != nil {
		return fmt.Errorf("step %s: %w", name, err)
	}
	return nil
}

// One runs a query of one row.
func (c *Case) One(ctx context.Context, query string, into ...any) error {
	return c.db.QueryRowContext(ctx, query).Scan(into...)
}

// InTransaction runs do with an exec whose statements take effect together.
func (c *Case) InTransaction(ctx context.Context, do func(exec func(statement string, args ...any) error) error) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = do(func(statement string, args ...any) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Replace puts rows in the place of all rows of a table that the analysis
// owns.
func (c *Case) Replace(ctx context.Context, table string, rows [][]any) error {
	if err := c.replace(ctx, table, rows); err != nil {
		return fmt.Errorf("replace %s: %w", table, err)
	}
	return nil
}

func (c *Case) replace(ctx context.Context, table string, rows [][]any) (err error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	err = conn.Raw(func(raw any) error { return appendRows(raw.(*duckdb.Conn), table, rows) })
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func appendRows(conn *duckdb.Conn, table string, rows [][]any) error {
	a, err := duckdb.NewAppenderFromConn(conn, "", table)
	if err != nil {
		return err
	}
	values := make([]driver.Value, 0, 32)
	for _, row := range rows {
		values = values[:0]
		for _, v := range row {
			values = append(values, v)
		}
		if err := a.AppendRow(values...); err != nil {
			return errors.Join(err, a.Close())
		}
	}
	return a.Close()
}

// Null gives the value of o for an argument, nil where it is unknown.
func Null[T any](o evidence.Opt[T]) any {
	if !o.Known {
		return nil
	}
	if at, ok := any(o.V).(evidence.Micros); ok {
		return at.Time()
	}
	return o.V
}

// NullText gives s for an argument, nil where it is empty.
func NullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Texts gives a list for an argument; a nil list is an empty one.
func Texts(list []string) any {
	if list == nil {
		return []string{}
	}
	return list
}

// Fact gives a fact of the case, or "".
func (c *Case) Fact(ctx context.Context, name string) (string, error) {
	var value string
	err := c.db.QueryRowContext(ctx, "SELECT value FROM case_facts WHERE name = ?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// SetFact records a fact of the case.
func (c *Case) SetFact(ctx context.Context, name, value string) error {
	_, err := c.db.ExecContext(ctx, "INSERT OR REPLACE INTO case_facts VALUES (?, ?)", name, value)
	return err
}

// ForgetUnread drops the account of files that could not be opened, which the
// next run tries again.
func (c *Case) ForgetUnread(ctx context.Context) error {
	return c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		if err := exec("DELETE FROM source_paths WHERE source_id IN (SELECT source_id FROM sources WHERE sha256 IS NULL)"); err != nil {
			return err
		}
		return exec("DELETE FROM sources WHERE sha256 IS NULL")
	})
}

// ForgetPaths drops the sources that lie at paths, with all their rows.
func (c *Case) ForgetPaths(ctx context.Context, paths []string) error {
	return c.InTransaction(ctx, func(exec func(string, ...any) error) error {
		const ids = " WHERE source_id IN (SELECT source_id FROM source_paths WHERE path IN (SELECT unnest(?::VARCHAR[])))"
		for _, table := range evidenceTables {
			if err := exec("DELETE FROM "+table+ids, Texts(paths)); err != nil {
				return fmt.Errorf("forget sources: %w", err)
			}
		}
		return nil
	})
}

// Holdings says what the case holds already.
func (c *Case) Holdings(ctx context.Context) (evidence.Holdings, error) {
	h := evidence.Holdings{ByDigest: map[evidence.Digest]int{}, ByID: map[int]evidence.Held{}, Sizes: map[int64]bool{}, Paths: map[string]int{}, NextID: 1}
	err := c.Select(ctx, "SELECT source_id, sha256, bytes FROM sources", func(scan func(...any) error) error {
		var id int
		var digest sql.NullString
		var size int64
		if err := scan(&id, &digest, &size); err != nil {
			return err
		}
		h.NextID = max(h.NextID, id+1)
		if raw, err := hex.DecodeString(digest.String); err == nil && digest.Valid {
			h.ByDigest[evidence.Digest(raw)], h.Sizes[size] = id, true
			h.ByID[id] = evidence.Held{Digest: evidence.Digest(raw), Bytes: size}
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("read sources: %w", err)
	}
	err = c.Select(ctx, "SELECT path, max(source_id) FROM source_paths GROUP BY path", func(scan func(...any) error) error {
		var path string
		var id int
		if err := scan(&path, &id); err != nil {
			return err
		}
		h.Paths[path] = id
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("read sources: %w", err)
	}
	return h, nil
}

package casestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
)

// Table is the result of a query as it comes.
type Table struct {
	Columns []ResultColumn
	rows    *sql.Rows
	values  []any
	scan    []any
}

// ResultColumn is a column with the name of its DuckDB type.
type ResultColumn struct{ Name, Type string }

// Table runs one statement. The caller closes the table.
func (c *Case) Table(ctx context.Context, statement string) (*Table, error) {
	rows, err := c.db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	t := &Table{rows: rows, values: make([]any, len(types)), scan: make([]any, len(types))}
	for i, ct := range types {
		t.Columns = append(t.Columns, ResultColumn{ct.Name(), ct.DatabaseTypeName()})
		t.scan[i] = &t.values[i]
	}
	return t, nil
}

// Next gives the next row, or io.EOF. The row is overwritten by the next call.
func (t *Table) Next() ([]any, error) {
	if !t.rows.Next() {
		if err := t.rows.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	if err := t.rows.Scan(t.scan...); err != nil {
		return nil, fmt.Errorf("read row: %w", err)
	}
	return t.values, nil
}

// Close ends the query.
func (t *Table) Close() error { return t.rows.Close() }

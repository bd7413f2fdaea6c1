package casestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// CopyTo makes a copy of the case in an empty folder and opens it. What is done
// to the copy leaves the case as it is.
func (c *Case) CopyTo(ctx context.Context, dir string, o Options) (*Case, error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("copy case: %w", err)
	}
	copied := func() (err error) {
		defer func() { err = errors.Join(err, conn.Close()) }()
		var name string
		if err := conn.QueryRowContext(ctx, "SELECT current_database()").Scan(&name); err != nil {
			return err
		}
		for _, s := range []string{
			"ATTACH " + quote(filepath.Join(dir, fileName)) + " AS copied_case",
			`COPY FROM DATABASE "` + name + `" TO copied_case`,
			"DETACH copied_case",
		} {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}()
	if copied != nil {
		return nil, fmt.Errorf("copy case: %w", copied)
	}
	return Open(ctx, dir, o)
}

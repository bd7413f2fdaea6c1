package casestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// ParquetDir is where a case keeps the normalised requests for other tools:
// requests/day=YYYY-MM-DD/requests.parquet, rows sorted by decode node and
// time. Requests without a place in time lie under day=unknown.
const ParquetDir = "requests"

// WriteParquet writes the normalised requests anew. The old files stay until
// the new ones are whole.
func (c *Case) WriteParquet(ctx context.Context) error {
	next, final := filepath.Join(c.dir, tempName, ParquetDir), filepath.Join(c.dir, ParquetDir)
	if err := os.RemoveAll(next); err != nil {
		return fmt.Errorf("write requests: %w", err)
	}
	var days []string
	err := c.Select(ctx, "SELECT DISTINCT coalesce(strftime(received_at, '%Y-%m-%d'), 'unknown') FROM gateway_records UNION SELECT DISTINCT coalesce(strftime(first_seen_at, '%Y-%m-%d'), 'unknown') FROM engine_requests ORDER BY 1",
		func(scan func(...any) error) error {
			var day string
			err := scan(&day)
			days = append(days, day)
			return err
		})
	if err != nil {
		return fmt.Errorf("write requests: %w", err)
	}
	if err := c.writeDays(ctx, next, days); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return fmt.Errorf("write requests: %w", err)
	}
	if len(days) == 0 {
		return nil
	}
	if err := os.Rename(next, final); err != nil {
		return fmt.Errorf("write requests: %w", err)
	}
	return nil
}

// writeDays writes several days at once, each on one thread: a day is often a
// single row group, which more threads only wait for.
func (c *Case) writeDays(ctx context.Context, dir string, days []string) error {
	var threads int
	if err := c.One(ctx, "SELECT current_setting('threads')", &threads); err != nil {
		return err
	}
	if len(days) > 1 {
		if err := c.setThreads(ctx, 1); err != nil {
			return err
		}
	}
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	for _, day := range days {
		group.Go(func() error {
			if err := c.writeDay(inGroup, dir, day); err != nil {
				return fmt.Errorf("write requests of %s: %w", day, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), c.setThreads(context.WithoutCancel(ctx), threads))
}

func (c *Case) setThreads(ctx context.Context, n int) error {
	_, err := c.db.ExecContext(ctx, fmt.Sprintf("SET threads = %d", n))
	return err
}

func (c *Case) writeDay(ctx context.Context, dir, day string) error {
	dir = filepath.Join(dir, "day="+day)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	where := "received_at IS NULL"
	if day != "unknown" {
		where = fmt.Sprintf("received_at >= TIMESTAMPTZ '%s 00:00:00+00' AND received_at < TIMESTAMPTZ '%s 00:00:00+00' + INTERVAL 1 DAY", day, day)
	}
	_, err := c.db.ExecContext(ctx, fmt.Sprintf(
		"COPY (SELECT * FROM requests WHERE %s ORDER BY decode_node, received_at, source_id, line) TO %s (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, PARQUET_VERSION v2)",
		where, quote(filepath.Join(dir, "requests.parquet"))))
	return err
}

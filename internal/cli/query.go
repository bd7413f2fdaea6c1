package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/queries"
)

type queryFlags struct {
	dir, statement, format, file string
	list                         bool
}

func (a *app) newQuery() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query NAME | --sql STATEMENT | --list",
		Short: "Print a named query, or your own read-only SQL, over the case",
		Long: "Query prints a named query or the analyst's own statement. The statement can read the\n" +
			"case and nothing else: no files, no network, no extensions, no settings. Ctrl-C stops it." + "\n" + exitHelp,
		Args: wantArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runQuery(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "case", "", "folder of the case")
	flags.StringVar(&f.statement, "sql", "", "run this statement instead of a named query")
	flags.BoolVar(&f.list, "list", false, "name the queries")
	flags.StringVar(&f.format, "format", "table", "table, csv, jsonl, parquet or arrow")
	flags.StringVarP(&f.file, "output", "o", "", "file to write (default: standard output)")
	return cmd
}

func (a *app) runQuery(ctx context.Context, args []string, f queryFlags) (err error) {
	format, err := output.ParseFormat(f.format)
	if err != nil {
		return usageError{err}
	}
	if f.list {
		return a.write(f.file, format, listColumns, &namedQueries{queries: queries.All()})
	}
	statement, err := f.chosen(args)
	if err != nil {
		return err
	}
	if f.dir == "" {
		return usagef("query: --case DIR is missing")
	}
	c, err := casestore.OpenReadOnly(ctx, f.dir, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(c, &err)
	if len(args) > 0 {
		if err := worked(ctx, c, args[0], f.dir); err != nil {
			return err
		}
	}
	t, err := c.Table(ctx, statement)
	if err != nil {
		return cancelled(ctx, fmt.Errorf("query: %w", err))
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return cancelled(ctx, a.write(f.file, format, columnsOf(t), typedRows{t}))
}

// worked refuses to print an empty result where the step behind it has not run
// since the rules did: no rows would read as nobody.
func worked(ctx context.Context, c *casestore.Case, name, dir string) error {
	steps := map[string]struct{ command, missing string }{
		"pairs":    {"pair", "SELECT count(*) > 0 AND (SELECT count(*) FROM pairings) = 0 FROM suspects"},
		"tenants":  {"exposure", "SELECT count(*) = 0 FROM tenant_exposure"},
		"exposure": {"exposure", "SELECT count(*) = 0 FROM defect_exposure"},
		"controls": {"controls", "SELECT count(*) = 0 FROM controls"},
		"suspects": {"flag", "SELECT count(*) = 0 FROM rule_runs"},
		"rules":    {"flag", "SELECT count(*) = 0 FROM rule_runs"},
		"findings": {"flag", "SELECT count(*) = 0 FROM rule_runs"},
	}
	step, ok := steps[name]
	if !ok {
		return nil
	}
	var missing bool
	if err := c.One(ctx, step.missing, &missing); err != nil || !missing {
		return err
	}
	return hintError{fmt.Errorf("query %s: it is not worked out, or the rules have run since", name), fmt.Sprintf("kvforensics %s --case %s", step.command, dir)}
}

func (f queryFlags) chosen(args []string) (string, error) {
	switch {
	case f.statement != "" && len(args) > 0:
		return "", usagef("query: give a name or --sql, not both")
	case f.statement != "":
		return f.statement, nil
	case len(args) == 0:
		return "", usagef("query: give a name, --sql or --list")
	}
	q, ok := queries.Find(args[0])
	if !ok {
		return "", usagef("query: no query %q; kvforensics query --list names them", args[0])
	}
	return q.SQL, nil
}

// cancelled puts the interruption in the place of the error that it caused.
func cancelled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

var listColumns = []output.Column{{Name: "query", Type: output.Text}, {Name: "shows", Type: output.Text}}

// namedQueries gives the list of queries as rows.
type namedQueries struct{ queries []queries.Named }

func (n *namedQueries) Next() ([]any, error) {
	if len(n.queries) == 0 {
		return nil, io.EOF
	}
	q := n.queries[0]
	n.queries = n.queries[1:]
	return []any{q.Name, q.Title}, nil
}

func columnsOf(t *casestore.Table) []output.Column {
	var columns []output.Column
	for _, c := range t.Columns {
		columns = append(columns, output.Column{Name: c.Name, Type: output.TypeOf(c.Type)})
	}
	return columns
}

// typedRows gives the driver's values as output wants them.
type typedRows struct{ table *casestore.Table }

func (r typedRows) Next() ([]any, error) {
	row, err := r.table.Next()
	if err != nil {
		return nil, err
	}
	for i := range row {
		row[i] = output.Value(output.TypeOf(r.table.Columns[i].Type), row[i])
	}
	return row, nil
}

// write writes rows to a file, which appears only when it is whole, or to
// standard output.
func (a *app) write(file string, format output.Format, columns []output.Column, rows output.Rows) error {
	if file == "" {
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		if err := output.Write(w, format, columns, rows); err != nil {
			return err
		}
		return w.Flush()
	}
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = output.Write(w, format, columns, rows)
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, file)
}

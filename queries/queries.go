// Package queries holds the program's SQL: migrations of the case, the steps
// that derive tables, and the named queries that analysts run. SQL lives in
// files, one source of truth, never in Go strings built from evidence.
package queries

import (
	"embed"
	"fmt"
	"io/fs"
	"sort"
	"strings"
)

//go:embed migrations/*.sql steps/*.sql named/*.sql
var files embed.FS

// Migration is one numbered change of the case's schema.
type Migration struct {
	Number int // position, from 1
	Name   string
	SQL    string
}

// Migrations gives all migrations in order.
func Migrations() []Migration {
	var list []Migration
	for i, name := range names("migrations") {
		list = append(list, Migration{Number: i + 1, Name: name, SQL: read("migrations", name)})
	}
	return list
}

// Step gives the SQL of a derivation step.
func Step(name string) (string, error) {
	text, err := files.ReadFile("steps/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("no step %q", name)
	}
	return string(text), nil
}

// Named is a query that an analyst can call by name.
type Named struct {
	Name  string
	Title string // first comment line of its file
	SQL   string
}

// All gives the named queries in order of name.
func All() []Named {
	var list []Named
	for _, name := range names("named") {
		text := read("named", name)
		title, _, _ := strings.Cut(text, "\n")
		list = append(list, Named{Name: name, Title: strings.TrimPrefix(title, "-- "), SQL: text})
	}
	return list
}

// Find gives the named query called name.
func Find(name string) (Named, bool) {
	for _, q := range All() {
		if q.Name == name {
			return q, true
		}
	}
	return Named{}, false
}

// MustFind gives the named query called name, which the program itself asks for.
func MustFind(name string) Named {
	q, ok := Find(name)
	if !ok {
		panic("no query " + name)
	}
	return q
}

func names(dir string) []string {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(err) // the embedded tree is fixed at build time
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".sql"))
	}
	sort.Strings(list)
	return list
}

func read(dir, name string) string {
	text, err := files.ReadFile(dir + "/" + name + ".sql")
	if err != nil {
		panic(err) // the embedded tree is fixed at build time
	}
	return string(text)
}

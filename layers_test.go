package kvforensics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport says which of our packages each package may import. Data flows one
// way: stages know the shared nouns and the case's rows, not each other. A
// package that is not listed fails the test, so that a new one is placed on
// purpose.
var mayImport = map[string][]string{
	"":                    {},
	"cmd/kvforensics":     {"internal/cli"},
	"ingest":              {"internal/evidence", "ingest/sglang"},
	"ingest/sglang":       {"internal/evidence"},
	"rules":               {"internal/evidence", "internal/strictyaml"},
	"pairing":             {"internal/evidence"},
	"queries":             {},
	"internal/estimate":   {},
	"internal/evidence":   {},
	"internal/strictyaml": {},
	"internal/exposure":   {"internal/estimate", "internal/evidence"},
	"internal/incident":   {"internal/evidence", "internal/strictyaml"},
	"internal/measure":    {"internal/evidence", "internal/incident"},
	"internal/casestore":  {"internal/evidence", "queries"},
	"internal/output":     {},
	"internal/workbook":   {},
	"notify":              {"internal/evidence", "internal/workbook", "notify/assess"},
	"notify/assess":       {"internal/evidence", "internal/strictyaml"},
	"internal/sim":        {"internal/evidence"},
	"internal/score":      {},
	"internal/pipeline":   {"ingest", "rules", "pairing", "notify", "notify/assess", "queries", "internal/estimate", "internal/exposure", "internal/casestore", "internal/evidence", "internal/incident", "internal/measure", "internal/score"},
	"internal/cli":        {"ingest", "rules", "pairing", "notify", "notify/assess", "queries", "internal/exposure", "internal/casestore", "internal/evidence", "internal/output", "internal/pipeline", "internal/score", "internal/sim", "internal/strictyaml"},
}

// doors names the packages through which a heavy library may be reached.
var doors = map[string][]string{
	"github.com/duckdb/":          {"internal/casestore"},
	"github.com/apache/arrow-go/": {"ingest", "internal/output"},
	"github.com/spf13/":           {"internal/cli"},
	"go.yaml.in/":                 {"internal/strictyaml"},
	"gonum.org/":                  {"internal/estimate"},
	"github.com/xuri/":            {"internal/workbook"},
	"github.com/yuin/":            {"notify"},
	"net/http":                    {},
	"net":                         {},
}

// doorsInTests adds to doors for files that end in _test.go: a benchmark may
// hold us against the library itself.
var doorsInTests = map[string][]string{
	"github.com/duckdb/": {"internal/pipeline"},
	"github.com/xuri/":   {"notify/assess"},
}

func TestImportsRunOneWay(t *testing.T) {
	const module = "kvforensics"
	eachFile(t, func(dir, file string, imports []string) {
		allowed, placed := mayImport[dir]
		if !placed {
			t.Errorf("%s: package is not placed in layers_test.go", dir)
		}
		isTest := strings.HasSuffix(file, "_test.go")
		for _, path := range imports {
			if own, ok := strings.CutPrefix(path, module+"/"); ok {
				if !slices.Contains(allowed, own) && !isTest {
					t.Errorf("%s imports %s: that arrow is not allowed", file, own)
				}
				continue
			}
			for library, packages := range doors {
				reaches := path == library || strings.HasSuffix(library, "/") && strings.HasPrefix(path, library)
				if reaches && !slices.Contains(packages, dir) && !(isTest && slices.Contains(doorsInTests[library], dir)) {
					t.Errorf("%s imports %s: only %v may", file, path, packages)
				}
			}
		}
	})
}

// Every package must say what it is for.
func TestEveryPackageHasAComment(t *testing.T) {
	documented := map[string]bool{}
	walkGo(t, func(dir string, file string, parsed *ast.File) {
		documented[dir] = documented[dir] || parsed.Doc != nil
	})
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %q has no comment", dir)
		}
	}
}

func eachFile(t *testing.T, each func(dir, file string, imports []string)) {
	walkGo(t, func(dir, file string, parsed *ast.File) {
		var imports []string
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imports = append(imports, path)
		}
		each(dir, file, imports)
	})
}

func walkGo(t *testing.T, each func(dir, file string, parsed *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = ""
		}
		each(dir, path, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

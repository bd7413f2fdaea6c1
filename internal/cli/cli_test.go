package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kvforensics/internal/casestore"
	"kvforensics/internal/sim"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kvforensics": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// Each script is a session that a user could type. "exits CODE COMMAND" wants
// that exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				err = ts.Exec(args[1], args[2:]...)
				got := 0
				if exit, ok := err.(*exec.ExitError); ok {
					got = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if got != want {
					ts.Fatalf("exit code %d, want %d", got, want)
				}
			},
		},
		Setup: func(e *testscript.Env) error {
			samples, err := filepath.Abs("../../samples")
			e.Setenv("SAMPLES", samples)
			return err
		},
	})
}

// killRounds is how often the kill test starts anew; KVF_KILL_ROUNDS sets more.
func killRounds(t *testing.T) int {
	if text := os.Getenv("KVF_KILL_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return 2
	}
	return 6
}

// A process killed at any moment and run again leaves the case that an
// unbroken run gives.
func TestKilledIngestResumes(t *testing.T) {
	evidence := filepath.Join(t.TempDir(), "evidence")
	cfg := sim.GLM53(3)
	cfg.Requests, cfg.Output.Gzip = 6000, false
	cfg.Damage.GarbageLines = 0.001
	if _, err := sim.Write(context.Background(), evidence, cfg); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	start := time.Now()
	if code, text := runProgram(t, -1, "triage", evidence, "--case", whole, "-q"); code != exitPartly {
		t.Fatalf("exit code %d: %s", code, text)
	}
	span := time.Since(start)
	want := caseDigest(t, whole)
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for round := range killRounds(t) {
		dir := filepath.Join(t.TempDir(), "case")
		for try := 0; ; try++ {
			after := time.Duration(random.Float64() * float64(span) * 1.1)
			if try == 12 {
				after = -1
			}
			code, text := runProgram(t, after, "triage", evidence, "--case", dir, "-q")
			if code == exitPartly {
				break
			}
			if code != -1 {
				t.Fatalf("round %d: exit code %d: %s", round, code, text)
			}
			kills++
		}
		if got := caseDigest(t, dir); got != want {
			t.Fatalf("round %d: the case differs from that of an unbroken run:\n%s\nwant\n%s", round, got, want)
		}
	}
	t.Logf("%d kills", kills)
}

// runProgram runs the program and kills it after a while, if that is not
// negative. A killed process has exit code -1.
func runProgram(t *testing.T, killAfter time.Duration, args ...string) (int, string) {
	t.Helper()
	ctx := context.Background()
	if killAfter >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, killAfter)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "kvforensics", args...) // found on PATH, where testscript.Main put it
	out, err := cmd.CombinedOutput()
	if err == nil {
		return 0, string(out)
	}
	exit, ok := err.(*exec.ExitError)
	if !ok {
		if ctx.Err() != nil {
			return -1, ""
		}
		t.Fatal(err)
	}
	return exit.ExitCode(), string(out)
}

// caseDigest gives one line per table and Parquet file.
func caseDigest(t *testing.T, dir string) string {
	t.Helper()
	ctx := context.Background()
	c, err := casestore.OpenReadOnly(ctx, dir, casestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var b strings.Builder
	var tables []string
	err = c.Select(ctx, "SELECT table_name FROM duckdb_tables() WHERE table_name <> 'rule_times' ORDER BY 1", func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		tables = append(tables, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		var rows int
		var digest string
		err := c.One(ctx, "SELECT count(*), coalesce(md5(string_agg(t::VARCHAR, chr(10) ORDER BY t::VARCHAR)), '') FROM "+name+" t", &rows, &digest)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %s\n", name, rows, digest)
	}
	err = filepath.WalkDir(filepath.Join(dir, casestore.ParquetDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", strings.TrimPrefix(path, dir), sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A second process is told who holds the case.
func TestCaseInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	c, err := casestore.Create(context.Background(), dir, casestore.Options{Command: "kvforensics tests", Now: time.Date(2026, 9, 9, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, args := range [][]string{{"flag", "--case", dir}, {"query", "suspects", "--case", dir}} {
		code, text := runProgram(t, -1, args...)
		want := fmt.Sprintf("case in use by process %d (kvforensics tests) since 2026-09-09T00:00:00Z", os.Getpid())
		if code != exitInUse || !strings.Contains(text, want) {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
	}
}

// An interrupt stops a statement that would run for ever.
func TestInterruptStopsAQuery(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	c, err := casestore.Create(context.Background(), dir, casestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("kvforensics", "query", "--case", dir, "--sql", "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range % 7 = b.range % 5")
	out := &strings.Builder{}
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The process may not have installed its handler yet; then the signal ends
	// it without an exit code, and the test tries no further.
	time.Sleep(2 * time.Second)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- cmd.Wait() }()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		t.Fatal("the query went on after an interrupt")
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Package cli is the command line: flags, wiring, what people read, and exit
// codes. It is the only door to cobra.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
)

// Exit codes (contract.md).
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitPartly      = 3
	exitSuspects    = 4
	exitNoCase      = 10
	exitInUse       = 11
	exitIntegrity   = 12
	exitInterrupted = 130
)

const exitHelp = `
Exit codes: 0 done, 1 error, 2 usage, 3 done but part of the input was rejected
or unread, 4 suspects at or above --fail-on, 10 no such case, 11 case in use,
12 integrity check failed, 130 interrupted.`

// Outcomes that are no errors but have exit codes of their own.
var (
	errPartly   = errors.New("part of the input was rejected or unread")
	errSuspects = errors.New("suspects at or above --fail-on")
	errSignal   = errors.New("interrupted")
)

// usageError marks errors that the way of calling caused.
type usageError struct{ error }

// integrityError marks what was found changed, missing or added.
type integrityError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hintError carries advice beside the cause.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

// app is what all commands share.
type app struct {
	stdout, stderr io.Writer
	now            func() time.Time
	quiet          bool
	verbose        bool
	noColor        bool
	zoneName       string
	threads        int
	memoryLimit    string
	command        string
}

// Main runs the program and gives its exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(stderr)
	defer stop()
	a := &app{stdout: stdout, stderr: stderr, now: time.Now, command: "kvforensics " + strings.Join(args, " ")}
	root := a.newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSignal) {
		err = errSignal // whatever the interruption made of it
	}
	return a.exitCode(err)
}

// interruptible gives a context that the first signal cancels; the second ends
// the process, as it would without us.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; ok {
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			fmt.Fprintln(stderr, "kvforensics: stopping; once more to stop at once")
			cancel(errSignal)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kvforensics",
		Short:         "Which requests may have read another customer's KV cache, from the platform's logs",
		Long:          "Kvforensics reads logs of an LLM inference platform into a case, measures KV pools,\nand finds requests whose answer may rest on another request's KV pages." + "\n" + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       pipeline.Version(),
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no summary and no progress")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "name every file as it is read")
	flags.BoolVar(&a.noColor, "no-color", false, "no colour (as does NO_COLOR)")
	flags.StringVar(&a.zoneName, "tz", "", "zone of times that carry none, such as Europe/London or UTC")
	flags.IntVar(&a.threads, "threads", 0, "threads to use; 0: one per core")
	flags.StringVar(&a.memoryLimit, "memory-limit", "", "memory for the database (default 1GB)")
	root.AddCommand(a.newTriage(), a.newIngest(), a.newFlag(), a.newPair(), a.newExposure(), a.newControls(), a.newRules(), a.newQuery(), a.newDiff(), a.newNotify(), a.newEvaluate(), a.newSample())
	return root
}

// exitCode reports err, if any, and gives the process's exit code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	switch {
	case errors.Is(err, errPartly):
		return exitPartly
	case errors.Is(err, errSuspects):
		return exitSuspects
	case errors.Is(err, syscall.EPIPE):
		return exitError
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(a.stderr, "kvforensics: error: %s\n", output.Inert(strings.TrimRight(line, "\n")))
	}
	var hinted hintError
	if errors.As(err, &hinted) {
		fmt.Fprintf(a.stderr, "kvforensics: hint: %s\n", hinted.hint)
	}
	var usage usageError
	var integrity integrityError
	switch {
	case errors.As(err, &integrity):
		return exitIntegrity
	case errors.Is(err, errSignal):
		return exitInterrupted
	case errors.Is(err, casestore.ErrNoCase):
		return exitNoCase
	case errors.Is(err, casestore.ErrInUse):
		return exitInUse
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "required flag"):
		fmt.Fprintln(a.stderr, "kvforensics: hint: see kvforensics --help")
		return exitUsage
	}
	return exitError
}

// zone gives the zone of --tz.
func (a *app) zone() (*time.Location, error) {
	if a.zoneName == "" {
		return nil, nil
	}
	if a.zoneName == "Local" {
		return nil, usagef("--tz Local: name the zone, for this machine's own is no evidence")
	}
	zone, err := time.LoadLocation(a.zoneName)
	if err != nil {
		return nil, usagef("--tz %q: no such zone", a.zoneName)
	}
	return zone, nil
}

func (a *app) caseOptions() casestore.Options {
	return casestore.Options{Threads: a.threads, MemoryLimit: a.memoryLimit, Command: a.command, Now: a.now()}
}

// wantArgs makes cobra's complaint about arguments a usage error.
func wantArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// closing joins the error of closing a case to *err.
func closing(c *casestore.Case, err *error) { *err = errors.Join(*err, c.Close()) }

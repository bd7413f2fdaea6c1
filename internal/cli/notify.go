package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/notify"
	"kvforensics/notify/assess"
)

func (a *app) newNotify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Build each tenant's assessment pack, and keep track of who was told",
		Args:  wantArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.newNotifyBuild(), a.newNotifyPreview(), a.newNotifyStatus(), a.newNotifyRecord(), a.newNotifyVerify())
	return cmd
}

// editionFlags say which edition of the packs is made.
type editionFlags struct {
	dir, at string
	number  int
}

func (f *editionFlags) add(cmd *cobra.Command) {
	addCaseFlag(cmd, &f.dir)
	cmd.Flags().StringVar(&f.at, "at", "", "time that stands in the packs (RFC 3339; default: now)")
	cmd.Flags().IntVar(&f.number, "edition", 1, "number of this edition")
}

// time gives --at, or now.
func (a *app) timeOf(text string) (time.Time, error) {
	if text == "" {
		return a.now().UTC().Truncate(time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usagef("--at %q: want a time such as 2026-09-10T09:00:00Z", text)
	}
	return at.UTC(), nil
}

func (a *app) edition(f editionFlags) (notify.Edition, error) {
	at, err := a.timeOf(f.at)
	if err != nil {
		return notify.Edition{}, err
	}
	config, err := assess.Shipped()
	return notify.Edition{Number: f.number, Built: at, Program: pipeline.Version(), Config: config}, err
}

func (a *app) newNotifyBuild() *cobra.Command {
	var f editionFlags
	var out string
	var only, canaries []string
	cmd := &cobra.Command{
		Use:   "build --case DIR --out PACKS",
		Short: "Write a folder for each affected tenant, and one for the provider alone",
		Long: "Build writes, per affected tenant: the workbook, the processor's notice, a draft letter,\nthe register row, a twin in JSON and a manifest. Every finished file is searched for\n" +
			"identifiers of all other tenants; a hit fails the build. Packs that stand as they\nwould be written are kept, so a build that was stopped goes on." + "\n" + exitHelp,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.buildPacks(cmd.Context(), f, notify.Options{Out: out, Only: only, Canaries: canaries})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "folder of the packs (required)")
	cmd.Flags().StringSliceVar(&only, "tenant", nil, "build for these tenants alone (ids)")
	cmd.Flags().StringArrayVar(&canaries, "canary", nil, "text that no pack may hold")
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag was added above
	}
	return cmd
}

func (a *app) buildPacks(ctx context.Context, f editionFlags, o notify.Options) (err error) {
	if o.Edition, err = a.edition(f); err != nil {
		return err
	}
	c, err := casestore.Open(ctx, f.dir, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(c, &err)
	if o.Threads = a.threads; o.Threads == 0 {
		o.Threads = runtime.NumCPU()
	}
	meter := a.newMeter()
	o.OnPack = meter.packs
	made, err := pipeline.Notify(ctx, c, o)
	meter.clear()
	if err != nil {
		return cancelled(ctx, err)
	}
	if a.quiet {
		return nil
	}
	p := page{a.stdout}
	p.line("packs", "%d written, %d kept as they were, %d tenants ruled out on evidence and without one", made.Packs, made.Kept, made.RuledOut)
	p.line("searched", "every finished file for the identifiers of all other tenants: none is there")
	if len(made.Unsearched) > 0 {
		p.line("", "too short to be searched for: %s", strings.Join(made.Unsearched, ", "))
	}
	p.line("where", "%s, the provider's own part in %s/provider", o.Out, o.Out)
	p.line("next", "kvforensics notify status --case %s", f.dir)
	return nil
}

func (a *app) newNotifyPreview() *cobra.Command {
	var f editionFlags
	cmd := &cobra.Command{
		Use:   "preview TENANT --case DIR",
		Short: "Print the notice that a tenant would receive",
		Args:  wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			e, err := a.edition(f)
			if err != nil {
				return err
			}
			c, err := casestore.Open(cmd.Context(), f.dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			text, err := pipeline.PreviewNotice(cmd.Context(), c, args[0], e)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				fmt.Fprintln(a.stdout, output.Inert(strings.TrimSuffix(line, "\n")))
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) newNotifyStatus() *cobra.Command {
	var dir, at, format string
	cmd := &cobra.Command{
		Use:   "status --case DIR",
		Short: "Say who has been told, which clocks run, and what is overdue",
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			f, err := output.ParseFormat(format)
			if err != nil {
				return usageError{err}
			}
			now, err := a.timeOf(at)
			if err != nil {
				return err
			}
			c, err := casestore.Open(cmd.Context(), dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			list, err := pipeline.NoticeStatus(cmd.Context(), c, now)
			if err != nil {
				return err
			}
			var columns []output.Column
			for _, name := range []string{"tenant_id", "pack", "as_source", "as_recipient", "notice_due", "notice_sent", "notice", "received", "tenant_aware", "regulator_by", "regulator"} {
				columns = append(columns, output.Column{Name: name, Type: output.Text})
			}
			var rows listed
			for _, s := range list {
				rows = append(rows, []any{s.TenantID, s.Pack, s.AsSource, s.AsRecipient, assess.UTC(s.NoticeDue), assess.UTC(s.Sent), string(s.Notice),
					assess.UTC(s.Received), assess.UTC(s.Aware), assess.UTC(s.RegulatorBy), string(s.Regulator)})
			}
			return a.write("", f, columns, &rows)
		},
	}
	addCaseFlag(cmd, &dir)
	cmd.Flags().StringVar(&at, "at", "", "as of this time (RFC 3339; default: now)")
	cmd.Flags().StringVar(&format, "format", "table", "table, csv, jsonl, parquet or arrow")
	return cmd
}

func (a *app) newNotifyRecord() *cobra.Command {
	var dir, at string
	var n notify.Notice
	cmd := &cobra.Command{
		Use:   "record TENANT KIND --case DIR --who NAME",
		Short: "Record a step: " + strings.Join(notify.Kinds, ", "),
		Long:  "Record adds a step to a tenant's notices. Steps are never changed; a correction is a\nfurther step. One that is late needs a note that says why." + "\n" + exitHelp,
		Args:  wantArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			n.Kind = args[1]
			if n.At, err = a.timeOf(at); err != nil {
				return err
			}
			c, err := casestore.Open(cmd.Context(), dir, a.caseOptions())
			if err != nil {
				return err
			}
			defer closing(c, &err)
			return pipeline.RecordNotice(cmd.Context(), c, args[0], n, a.now().UTC())
		},
	}
	addCaseFlag(cmd, &dir)
	flags := cmd.Flags()
	flags.StringVar(&at, "at", "", "when it happened (RFC 3339; default: now)")
	flags.StringVar(&n.Who, "who", "", "who did it (required)")
	flags.StringVar(&n.Channel, "channel", "", "mail, portal, telephone")
	flags.StringVar(&n.Reference, "reference", "", "message id or case number")
	flags.StringVar(&n.Note, "note", "", "why it is late; what was decided")
	return cmd
}

func (a *app) newNotifyVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify PACK...",
		Short: "Hold packs against their manifests, and look for what must not be in a workbook",
		Args:  wantArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, dirs []string) error {
			var problems []error
			for _, dir := range dirs {
				m, err := notify.Verify(dir)
				if err != nil {
					problems = append(problems, integrityError{fmt.Errorf("%s: %w", dir, err)})
					continue
				}
				fmt.Fprintf(a.stdout, "%s: %d files as in the manifest, v%02d, built %s\n", output.Inert(dir), len(m.Files), m.Version, output.Inert(m.Built))
			}
			return errors.Join(problems...)
		},
	}
}

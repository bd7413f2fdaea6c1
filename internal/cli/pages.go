package cli

import (
	"context"
	"fmt"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/pairing"
)

// explainPages shows whose pages a suspect took.
func (a *app) explainPages(ctx context.Context, c *casestore.Case, requestID string, f pairFlags) error {
	o, err := a.pairOptions(f)
	if err != nil {
		return err
	}
	list, err := pipeline.ExplainPages(ctx, c, requestID, o)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("explain %q: the case has no suspect with this id", requestID)
	}
	for _, s := range list {
		fmt.Fprintf(a.stdout, "%s\n", output.Inert(requestID))
		switch {
		case len(s.Crossed) > 0:
			a.printCrossed(s)
		case len(s.Maps) == 0:
			fmt.Fprintln(a.stdout, "  cannot be replayed: no measured pool of a rank that may have served it, or no place in time; whose data it read is unknown")
		}
		for i, m := range s.Maps {
			if len(s.Maps) > 1 {
				fmt.Fprintf(a.stdout, "  its row names no single rank: it was on this one with a probability of %.2f\n", s.Chances[i])
			}
			a.printMap(m, s.Owners)
		}
	}
	return nil
}

// printCrossed lists whose KV may have come into a suspect's own pages.
func (a *app) printCrossed(s pipeline.SuspectPages) {
	for _, x := range s.Crossed {
		fmt.Fprintf(a.stdout, "  %s\n", output.Inert(x.Defect+": "+x.Reason))
		for _, at := range x.Sources {
			o := s.Owners[at]
			fmt.Fprintf(a.stdout, "    %.2f  %s\n", o.Probability, output.Inert(fmt.Sprintf("%s of %s, prompt of %d tokens (%s, line %d)", o.RequestID, o.Tenant, o.Prompt, o.Path, at[1])))
		}
	}
}

func (a *app) printMap(m pairing.PageMap, owners map[[2]int64]pipeline.Owner) {
	say := func(format string, args ...any) {
		fmt.Fprintln(a.stdout, "  "+output.Inert(fmt.Sprintf(format, args...)))
	}
	clock := func(at time.Time) string { return at.Format("2006-01-02T15:04:05.000Z") }
	say("%s rank %d, %s: %d pages of %d tokens; took its pages at %s", m.Node, m.Rank, m.Policy, m.PoolPages, m.PageSize, clock(m.Took.Time()))
	say("why these: %s", m.Why())
	from := "an unknown state of the pool"
	if m.FromBoot {
		from = "a pool of zeros"
	}
	say("replayed from %s, from %s: %d requests, and %d that no row tells of", clock(m.Since.Time()), from, m.Requests, m.Lost)
	if m.Reading != "" {
		say("held to the engine's own figures at %d instants (#token counts %s; its clock is %d ms ahead of the gateway's)", m.Anchors, m.Reading, int64(m.ClockOffset)/1000)
	} else {
		say("the engine's figures do not fit the rows or are missing: only the rows hold this ordering")
	}
	for _, n := range m.Notes {
		say("not modelled: %s", n)
	}
	say("one ordering of those that fit the logs; probabilities are over all of them")
	say("")
	say("%-15s %8s  %-9s %s", "pages", "tokens", "prob.", "owner")
	for _, r := range m.Runs {
		say("%-15s %8d  %s", pages(r), r.Slots, ownerOf(r, owners, clock))
	}
	say("")
}

func pages(r pairing.PageRun) string {
	if r.FirstPage == r.LastPage {
		return fmt.Sprint(r.FirstPage)
	}
	return fmt.Sprintf("%d–%d", r.FirstPage, r.LastPage)
}

func ownerOf(r pairing.PageRun, owners map[[2]int64]pipeline.Owner, clock func(time.Time) string) string {
	switch r.Kind {
	case "none":
		return fmt.Sprintf("%-9s nobody: never written", "")
	case "unknown":
		return fmt.Sprintf("%-9s unknown: no log names the owner", "")
	}
	w := owners[[2]int64{r.Source, r.Line}]
	return fmt.Sprintf("%-9.3f %s of %s, %s, held %s to %s (%s line %d)",
		w.Probability, w.RequestID, w.Tenant, part(r, w.Prompt), clock(r.Written.Time()), clock(r.Freed.Time()), w.Path, r.Line)
}

// part names the stretch of the owner's own sequence.
func part(r pairing.PageRun, prompt int64) string {
	switch {
	case int64(r.ToToken) <= prompt:
		return fmt.Sprintf("prompt tokens %d to %d", r.FromToken, r.ToToken-1)
	case int64(r.FromToken) >= prompt:
		return fmt.Sprintf("answer tokens %d to %d", int64(r.FromToken)-prompt, int64(r.ToToken)-prompt-1)
	}
	return fmt.Sprintf("prompt token %d to answer token %d", r.FromToken, int64(r.ToToken)-prompt-1)
}

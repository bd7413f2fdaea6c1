package cli

import (
	"context"
	"fmt"

	"kvforensics/internal/casestore"
	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
)

// runExplain shows the rows behind one request.
func (a *app) runExplain(ctx context.Context, dir, requestID string) (err error) {
	c, err := casestore.OpenReadOnly(ctx, dir, a.caseOptions())
	if err != nil {
		return err
	}
	defer closing(c, &err)
	list, err := pipeline.Explain(ctx, c, requestID)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("explain %q: the case has no request with this id", requestID)
	}
	for _, e := range list {
		a.printExplanation(requestID, e)
	}
	return nil
}

func (a *app) printExplanation(requestID string, e pipeline.Explanation) {
	fmt.Fprintf(a.stdout, "%s\n", output.Inert(requestID))
	for _, v := range e.Verdicts {
		fmt.Fprintf(a.stdout, "  %s\n", v)
	}
	if len(e.Verdicts) == 0 {
		fmt.Fprintln(a.stdout, "  no rule made it a suspect; that is no proof that it was not affected")
	}
	for _, s := range e.Sections {
		fmt.Fprintf(a.stdout, "\n%s\n", s.Title)
		if len(s.Rows) == 0 {
			fmt.Fprintln(a.stdout, "  none")
		}
		for _, r := range s.Rows {
			fmt.Fprintf(a.stdout, "  %s\n", output.Inert(r.Text))
			if r.Path != "" {
				fmt.Fprintf(a.stdout, "    %s, line %d, byte %d\n", output.Inert(r.Path), r.Line, r.Offset)
			}
		}
	}
}

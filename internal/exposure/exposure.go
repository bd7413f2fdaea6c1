// Package exposure counts: how many requests of each tenant were read by
// others' suspects or were suspects themselves, as floor, best estimate and
// ceiling; which state follows; and how many suspects nobody saw (shared
// method, steps 3 and 4).
package exposure

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"kvforensics/internal/evidence"
)

// Case is what counting needs of a case.
type Case interface {
	SelectStep(ctx context.Context, name string, each func(scan func(into ...any) error) error) error
	Replace(ctx context.Context, table string, rows [][]any) error
	Fact(ctx context.Context, name string) (string, error)
}

// Options of a count.
type Options struct {
	Threshold float64 // probability at or over which a tenant counts as exposed
}

// The defect classes, in the order in which they are shown.
var defects = []string{"oversize-placeholder", "abort-late-write", "abort-early-release", "offload-slot-reuse"}

// The directions of an exposure.
const (
	source    = "source"
	recipient = "recipient"
)

// The states of a tenant.
const (
	exposed     = "exposed"
	notRuledOut = "not ruled out"
	ruledOut    = "ruled out"
)

// tenant is what is known of one tenant and defect.
type tenant struct {
	id       string
	requests int64 // in the rows
	touched  int64 // of them, those that the defect could have touched
	blind    int64 // of them, those that lack what the size rule needs
	reads    []reading
	suspects []suspect
}

// reading is one of a tenant's requests that other tenants' suspects may have read.
type reading struct {
	cross, firm float64 // probability, by any suspect and by certain and strong ones
	tokens      float64
	at          evidence.Opt[evidence.Micros]
}

// suspect is one of a tenant's requests that may have read others'.
type suspect struct {
	level       string
	probability float64 // that it is one
	cross       float64 // that it attended to another tenant's named request
	unknown     bool    // it attended to rows whose owner is not known
	tokens      float64 // of others
	at          evidence.Opt[evidence.Micros]
}

// gaps is what the evidence as a whole lacks.
type gaps struct {
	unread, rejected, unplaced, engineOnly int64
	lost, held                             float64 // requests in the replayed histories
	unmatched, silent                      int64   // prompts that a prefill node rejected, and hours in which engines worked, of which no gateway row tells
}

// lossRate gives the share of requests that the rows lack.
func (g gaps) lossRate() float64 {
	if g.lost+g.held == 0 {
		return 0
	}
	return g.lost / (g.lost + g.held)
}

// unknownOwner is what suspects attended to without a named owner.
type unknownOwner struct {
	requests float64 // how many requests that is
	unpaired int64   // suspects that could not be replayed: any request may be a source
	suspects float64 // suspects that the rows lack, by the engines' figures
}

// interval bounds when a defect was at work: it began after clean evidence and
// by the first bad one, and ended after the last bad and by clean evidence.
type interval struct{ beganAfter, beganBy, endedAfter, endedBy sql.NullInt64 }

// count is everything that one defect's figures come from.
type count struct {
	defect  string
	tenants []*tenant
	unknown unknownOwner
	gaps    gaps
	at      interval
	ran     bool // a rule looked for it
	paired  bool // its suspects were replayed
	options Options
}

// unlogged gives how many suspects the rows lack: as many in proportion as other
// requests, and at least those that the engines' figures show.
func (n *count) unlogged(suspects int64) float64 {
	loss := n.gaps.lossRate()
	known := n.unknown.suspects
	if n.defect == "oversize-placeholder" {
		known = max(known, float64(n.gaps.unmatched))
	}
	return max(float64(suspects)*loss/(1-loss), known)
}

// Run counts and leaves tenant_exposure and defect_exposure.
func Run(ctx context.Context, c Case, o Options) error {
	counts, err := load(ctx, c, o)
	if err != nil {
		return fmt.Errorf("count exposure: %w", err)
	}
	detected, err := loadDetections(ctx, c)
	if err != nil {
		return fmt.Errorf("count exposure: %w", err)
	}
	var tenants, classes [][]any
	for _, n := range counts {
		ranges := n.ranges()
		for _, r := range ranges {
			tenants = append(tenants, r.row(n.defect))
		}
		classes = append(classes, n.class(ranges, detected[n.defect]))
	}
	if err := c.Replace(ctx, "tenant_exposure", tenants); err != nil {
		return err
	}
	return c.Replace(ctx, "defect_exposure", classes)
}

func load(ctx context.Context, c Case, o Options) ([]*count, error) {
	byDefect := map[string]*count{}
	byTenant := map[[2]string]*tenant{}
	var counts []*count
	for _, d := range defects {
		byDefect[d] = &count{defect: d, options: o}
		counts = append(counts, byDefect[d])
	}
	steps := []struct {
		name string
		each func(scan func(...any) error) error
	}{
		{"exposure_tenants", func(scan func(...any) error) error {
			var defect string
			t := &tenant{}
			var touched sql.NullInt64
			if err := scan(&defect, &t.id, &t.requests, &touched, &t.blind); err != nil {
				return err
			}
			t.touched = touched.Int64
			byTenant[[2]string{defect, t.id}] = t
			byDefect[defect].tenants = append(byDefect[defect].tenants, t)
			return nil
		}},
		{"exposure_reads", func(scan func(...any) error) error {
			var defect, id string
			var r reading
			var at sql.NullInt64
			if err := scan(&defect, &id, &r.cross, &r.firm, &r.tokens, &at); err != nil {
				return err
			}
			r.at = instant(at)
			t := byTenant[[2]string{defect, id}]
			t.reads = append(t.reads, r)
			return nil
		}},
		{"exposure_suspects", func(scan func(...any) error) error {
			var defect, id string
			var s suspect
			var at sql.NullInt64
			if err := scan(&defect, &id, &s.level, &s.probability, &s.cross, &s.unknown, &s.tokens, &at); err != nil {
				return err
			}
			s.at = instant(at)
			if t := byTenant[[2]string{defect, id}]; t != nil {
				t.suspects = append(t.suspects, s)
			}
			return nil
		}},
		{"exposure_unknown", func(scan func(...any) error) error {
			var defect string
			var u unknownOwner
			if err := scan(&defect, &u.requests, &u.unpaired, &u.suspects); err != nil {
				return err
			}
			byDefect[defect].unknown, byDefect[defect].paired = u, true
			return nil
		}},
		{"exposure_interval", func(scan func(...any) error) error {
			var defect string
			var i interval
			err := scan(&defect, &i.beganAfter, &i.beganBy, &i.endedAfter, &i.endedBy)
			if n := byDefect[defect]; n != nil {
				n.at = i
			}
			return err
		}},
		{"exposure_gaps", func(scan func(...any) error) error {
			var g gaps
			if err := scan(&g.unread, &g.rejected, &g.unplaced, &g.engineOnly, &g.lost, &g.held); err != nil {
				return err
			}
			for _, n := range counts {
				g.unmatched, g.silent = n.gaps.unmatched, n.gaps.silent
				n.gaps = g
			}
			return nil
		}},
		{"unmatched", func(scan func(...any) error) error {
			var g gaps
			if err := scan(&g.unmatched, &g.silent); err != nil {
				return err
			}
			for _, n := range counts {
				n.gaps.unmatched, n.gaps.silent = g.unmatched, g.silent
			}
			return nil
		}},
		{"exposure_families", func(scan func(...any) error) error {
			var defect, family string
			err := scan(&defect, &family)
			if n := byDefect[defect]; n != nil {
				n.ran = true
			}
			return err
		}},
	}
	for _, s := range steps {
		if err := c.SelectStep(ctx, s.name, s.each); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func instant(at sql.NullInt64) evidence.Opt[evidence.Micros] {
	if !at.Valid {
		return evidence.Opt[evidence.Micros]{}
	}
	return evidence.Some(evidence.Micros(at.Int64))
}

// moment gives an instant for a row, nil where it is not known.
func moment(at sql.NullInt64) any {
	if !at.Valid {
		return nil
	}
	return evidence.Micros(at.Int64).Time()
}

// span gives the first and the last of instants for a row, nil where none is
// known.
func span(list []evidence.Opt[evidence.Micros]) (first, last any) {
	var known []evidence.Micros
	for _, at := range list {
		if at.Known {
			known = append(known, at.V)
		}
	}
	if len(known) == 0 {
		return nil, nil
	}
	return slices.Min(known).Time().Truncate(time.Microsecond), slices.Max(known).Time().Truncate(time.Microsecond)
}

package exposure

import (
	"context"
	"errors"
	"fmt"

	"kvforensics/internal/estimate"
)

// detections tells which kinds of evidence caught which suspects of a defect.
type detections struct {
	families []string
	caught   [][]bool // by suspect, by family
}

func loadDetections(ctx context.Context, c Case) (map[string]*detections, error) {
	all := map[string]*detections{}
	index := map[string]map[string]int{}
	err := c.SelectStep(ctx, "exposure_families", func(scan func(...any) error) error {
		var defect, family string
		if err := scan(&defect, &family); err != nil {
			return err
		}
		if all[defect] == nil {
			all[defect], index[defect] = &detections{}, map[string]int{}
		}
		index[defect][family] = len(all[defect].families)
		all[defect].families = append(all[defect].families, family)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.SelectStep(ctx, "exposure_detectors", func(scan func(...any) error) error {
		var defect string
		var at, line int64
		var families []any
		if err := scan(&defect, &at, &line, composite{&families}); err != nil {
			return err
		}
		d := all[defect]
		if d == nil {
			return nil
		}
		caught := make([]bool, len(d.families))
		for _, f := range families {
			if i, ok := index[defect][fmt.Sprint(f)]; ok {
				caught[i] = true
			}
		}
		d.caught = append(d.caught, caught)
		return nil
	})
	return all, err
}

// composite scans a list column.
type composite struct{ into *[]any }

// Scan implements sql.Scanner.
func (c composite) Scan(value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("read list: got %T", value)
	}
	*c.into = list
	return nil
}

// class gives the row of a defect for the whole incident.
func (n *count) class(ranges []range_, d *detections) []any {
	var sure, crossed, named []float64
	var best, suspectsBest, crossedBest float64
	var reads, suspects, blind, touched int64
	for _, t := range n.tenants {
		touched += t.touched
		blind += t.blind
		for _, x := range t.reads {
			reads++
			best += x.cross
			named = append(named, min(x.cross, 1-modelError))
		}
		for _, s := range t.suspects {
			suspects++
			p := min(s.probability, s.cross)
			crossedBest += p
			switch s.level {
			case "possible":
				suspectsBest += p // one that met nobody may be none
			case "certain":
				sure = append(sure, s.probability)
				crossed = append(crossed, min(p, 1-modelError))
				suspectsBest += s.probability
			default:
				suspectsBest += s.probability
			}
		}
	}
	var exposedTenants, open int64
	for _, r := range ranges {
		if r.direction != source {
			continue
		}
		if r.state == exposed {
			exposedTenants++
		}
		if r.state != ruledOut {
			open++
		}
	}
	lost := int64(estimate.PoissonQuantile(n.unlogged(suspects), 1-tail))
	unknown := int64(estimate.PoissonQuantile(n.unknown.requests, 1-tail))
	unseen, err := d.unseen()
	row := []any{n.defect,
		int64(estimate.NewPoissonBinomial(sure).Quantile(tail)), nullable(suspectsBest, n.ran), suspects + blind + lost,
		int64(estimate.NewPoissonBinomial(crossed).Quantile(tail)), nullable(crossedBest, n.ran), suspects + blind + lost,
		int64(estimate.NewPoissonBinomial(named).Quantile(tail)), nullable(best, n.paired), reads + unknown,
		exposedTenants, open}
	if n.unknown.unpaired > 0 {
		row[9] = touched
	}
	assumptions := []string{
		"floor and ceiling hold with 99 % each if probabilities are right; the replay is taken to be wrong in at least 1.5 % of the pairs that it is sure of",
		"requests without a named owner are spread over tenants as the traffic is",
	}
	if !n.ran {
		assumptions = append(assumptions, "no rule looks for this defect: its counts are not an estimate of nothing, they are none")
	}
	when := []any{moment(n.at.beganAfter), moment(n.at.beganBy), moment(n.at.endedAfter), moment(n.at.endedBy)}
	if err != nil {
		row = append(row, nil, nil, nil, err.Error())
	} else {
		row = append(row, unseen.Best, unseen.Low, unseen.High, unseen.Method)
		assumptions = append(assumptions, unseen.Assumptions...)
	}
	return append(append(row, when...), assumptions)
}

func nullable(x float64, known bool) any {
	if !known {
		return nil
	}
	return x
}

// unseen estimates how many suspects no kind of evidence caught.
func (d *detections) unseen() (estimate.Unseen, error) {
	if d == nil {
		return estimate.Unseen{}, errors.New("not estimable: no rule ran")
	}
	if len(d.families) < 2 {
		return estimate.Unseen{}, errors.New("not estimable: only one kind of evidence was looked at")
	}
	if len(d.caught) == 0 {
		return estimate.Unseen{}, errors.New("not estimable: there are no suspects")
	}
	const confidence = 0.95
	if len(d.families) == 2 {
		var only1, only2, both int
		for _, c := range d.caught {
			switch {
			case c[0] && c[1]:
				both++
			case c[0]:
				only1++
			case c[1]:
				only2++
			}
		}
		return estimate.Chapman(only1, only2, both, confidence)
	}
	return estimate.Chao(d.caught, confidence)
}

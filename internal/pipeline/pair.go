package pipeline

import (
	"context"
	"fmt"

	"kvforensics/internal/casestore"
	"kvforensics/internal/exposure"
	"kvforensics/pairing"
)

// Pair replays page allocators and names the likely sources of every suspect.
func Pair(ctx context.Context, c *casestore.Case, o pairing.Options) error {
	if err := pairing.Run(ctx, c, o); err != nil {
		return err
	}
	return c.Step(ctx, "early_release")
}

// Expose counts what the pairs mean for each tenant and for the incident.
func Expose(ctx context.Context, c *casestore.Case, o exposure.Options) error {
	return exposure.Run(ctx, c, o)
}

// SuspectPages are the page maps of one suspect record.
type SuspectPages struct {
	Maps    []pairing.PageMap
	Crossed []Crossed
	Owners  map[[2]int64]Owner // by source and line
	Chances []float64          // by map: that the suspect was on that rank
}

// Crossed is a defect by which KV came into pages that the suspect held.
type Crossed struct {
	Defect, Reason string
	Sources        [][2]int64 // by source and line, the likeliest first
}

func (s *SuspectPages) readCrossed(ctx context.Context, c *casestore.Case, at [2]int64) error {
	err := c.Select(ctx, `SELECT defect, array_to_string(reasons, '; ') FROM suspects
		WHERE source_id = ? AND line = ? AND defect <> 'oversize-placeholder' ORDER BY defect`, func(scan func(...any) error) error {
		var x Crossed
		err := scan(&x.Defect, &x.Reason)
		s.Crossed = append(s.Crossed, x)
		return err
	}, at[0], at[1])
	if err != nil {
		return err
	}
	for i := range s.Crossed {
		x := &s.Crossed[i]
		err := c.Select(ctx, `SELECT source_source_id, source_line FROM source_pairs
			WHERE suspect_source_id = ? AND suspect_line = ? AND defect = ? AND source_kind = 'request'
			ORDER BY probability DESC, source_source_id, source_line`, func(scan func(...any) error) error {
			var p [2]int64
			err := scan(&p[0], &p[1])
			x.Sources = append(x.Sources, p)
			return err
		}, at[0], at[1], x.Defect)
		if err != nil {
			return err
		}
	}
	return nil
}

// Owner is a request that owned pages, as people know it.
type Owner struct {
	RequestID, Tenant string
	Path              string
	Prompt            int64   // tokens
	Probability       float64 // that the suspect read it, over all orderings
}

// ExplainPages maps the pages of every suspect record with the given request id.
func ExplainPages(ctx context.Context, c *casestore.Case, requestID string, o pairing.Options) (list []SuspectPages, err error) {
	var places [][2]int64
	err = c.Select(ctx, `SELECT r.source_id, r.line FROM requests r JOIN suspects s USING (source_id, line)
		WHERE r.request_id = ? GROUP BY ALL ORDER BY ALL`, func(scan func(...any) error) error {
		var p [2]int64
		err := scan(&p[0], &p[1])
		places = append(places, p)
		return err
	}, requestID)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		s := SuspectPages{Owners: map[[2]int64]Owner{}}
		if s.Maps, err = pairing.Explain(ctx, c, p[0], p[1], o); err != nil {
			return nil, err
		}
		for _, m := range s.Maps {
			chance := 1.0
			err := c.Select(ctx, `SELECT node_probability FROM pairings WHERE suspect_source_id = ? AND suspect_line = ? AND decode_node = ? AND decode_rank = ?
				AND defect = 'oversize-placeholder'`, func(scan func(...any) error) error { return scan(&chance) }, p[0], p[1], m.Node, m.Rank)
			if err != nil {
				return nil, fmt.Errorf("explain pairs: %w", err)
			}
			s.Chances = append(s.Chances, chance)
		}
		if err := s.readCrossed(ctx, c, p); err != nil {
			return nil, fmt.Errorf("explain pairs: %w", err)
		}
		err := c.Select(ctx, `SELECT x.source_source_id, x.source_line, coalesce(r.request_id, ''), coalesce(r.tenant_id, ''), coalesce(r.prompt_tokens, 0),
				x.probability, coalesce(f.path, '')
			FROM source_pairs x JOIN requests r ON r.source_id = x.source_source_id AND r.line = x.source_line
			LEFT JOIN (SELECT source_id, min(path) AS path FROM source_paths GROUP BY source_id) f ON f.source_id = r.source_id
			WHERE x.suspect_source_id = ? AND x.suspect_line = ?`, func(scan func(...any) error) error {
			var at [2]int64
			var w Owner
			err := scan(&at[0], &at[1], &w.RequestID, &w.Tenant, &w.Prompt, &w.Probability, &w.Path)
			s.Owners[at] = w
			return err
		}, p[0], p[1])
		if err != nil {
			return nil, fmt.Errorf("explain pairs: %w", err)
		}
		list = append(list, s)
	}
	return list, nil
}

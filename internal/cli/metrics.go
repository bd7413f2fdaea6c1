package cli

import (
	"fmt"
	"io"

	"kvforensics/internal/output"
	"kvforensics/internal/pipeline"
	"kvforensics/internal/score"
)

// metricColumns of evaluate's JSON lines. Method is null where it does not
// apply, value where it is not defined, as a share of nothing; ids are the
// tenants that a metric counts.
var metricColumns = []output.Column{
	{Name: "metric", Type: output.Text}, {Name: "defect", Type: output.Text}, {Name: "method", Type: output.Text},
	{Name: "value", Type: output.Float}, {Name: "ids", Type: output.TextList},
}

// metrics gives evaluate's numbers as rows.
type metrics struct{ rows [][]any }

func (m *metrics) Next() ([]any, error) {
	if len(m.rows) == 0 {
		return nil, io.EOF
	}
	row := m.rows[0]
	m.rows = m.rows[1:]
	return row, nil
}

// metric is one number with its name.
type metric struct {
	name  string
	value float64
}

func metricsOf(e pipeline.Evaluation) *metrics {
	m := &metrics{}
	for _, d := range e.Defects {
		for _, s := range d.Suspects {
			m.add(d.Defect, nil, "suspects.at_least_"+s.Level+".", suspectMetrics(s))
		}
		for _, p := range d.Pairs {
			m.add(d.Defect, p.Method, "pairs.", pairMetrics(p))
			for i, bin := range p.Bins {
				m.add(d.Defect, p.Method, fmt.Sprintf("pairs.bin%d.", i), binMetrics(bin))
			}
		}
		if e.TenantsCounted {
			for _, t := range d.Tenants {
				m.addTenants(d.Defect, t)
			}
		}
	}
	return m
}

func (m *metrics) add(defect string, method any, prefix string, list []metric) {
	for _, x := range list {
		m.rows = append(m.rows, []any{prefix + x.name, defect, method, x.value, nil})
	}
}

func (m *metrics) addTenants(defect string, t score.TenantScore) {
	prefix := "tenants." + t.Direction + "."
	m.add(defect, nil, prefix, tenantMetrics(t))
	m.rows = append(m.rows,
		[]any{prefix + "ruled_out_but_exposed", defect, nil, float64(len(t.RuledOut)), t.RuledOut},
		[]any{prefix + "exposed_without_row", defect, nil, float64(len(t.Missing)), t.Missing})
}

func suspectMetrics(s score.SuspectScore) []metric {
	return []metric{
		{"true", float64(s.True)}, {"lost", float64(s.Lost)}, {"predicted", float64(s.Predicted)}, {"hits", float64(s.Hits)},
		{"precision", s.Precision}, {"recall", s.Recall}, {"recall_with_lost", s.RecallWithLost},
	}
}

func pairMetrics(p score.PairScore) []metric {
	return []metric{
		{"true", float64(p.True)}, {"lost", float64(p.Lost)}, {"predicted", float64(p.Predicted)}, {"named", float64(p.Named)}, {"hits", float64(p.Hits)},
		{"precision", p.Precision}, {"recall", p.Recall}, {"recall_with_lost", p.RecallWithLost},
		{"scored", float64(p.Scored)}, {"brier", p.Brier}, {"log_score", p.LogScore},
		{"brier_per_true", p.BrierPerTrue}, {"log_score_per_true", p.LogPerTrue},
		{"true_tokens", float64(p.TrueTokens)}, {"lost_tokens", float64(p.LostTokens)}, {"predicted_tokens", p.PredictedTokens},
		{"token_recall", p.TokenRecall}, {"token_precision", p.TokenPrecision}, {"range_overlap", p.RangeOverlap},
	}
}

func binMetrics(b score.Bin) []metric {
	return []metric{{"count", float64(b.Count)}, {"mean_predicted", b.Mean}, {"share_true", b.True}}
}

func tenantMetrics(t score.TenantScore) []metric {
	return []metric{{"tenants", float64(t.Tenants)}, {"within", float64(t.Within)}, {"share_within", t.Share}, {"mean_error", t.MeanError}}
}

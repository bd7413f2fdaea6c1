package score

import "slices"

// Suspect is a predicted suspect. Level is certain, strong or possible; other
// levels, such as context, are no prediction.
type Suspect struct{ RequestID, Defect, Level string }

// levels from the surest down.
var levels = []string{"certain", "strong", "possible"}

// SuspectScore counts requests. Shares are NaN where nothing was predicted or
// nothing was true.
type SuspectScore struct {
	Level          string // the lowest level that counts as predicted
	True           int    // true suspects that the evidence holds
	Lost           int    // true suspects that it lost, which nobody can name
	Predicted      int
	Hits           int     // predicted and true
	Precision      float64 // hits of predicted
	Recall         float64 // hits of true, lost ones left out
	RecallWithLost float64 // the same with lost ones as misses
}

func scoreSuspects(t Truth, p Prediction, defect string) []SuspectScore {
	truth := map[string]bool{}
	held, lost := 0, 0
	for _, s := range t.Suspects {
		if s.Defect != defect || truth[s.RequestID] {
			continue
		}
		truth[s.RequestID] = true
		if p.Known[s.RequestID] {
			held++
		} else {
			lost++
		}
	}
	surest := map[string]int{} // position in levels of a request's surest level
	for _, s := range p.Suspects {
		at := slices.Index(levels, s.Level)
		if s.Defect != defect || at < 0 {
			continue
		}
		if earlier, ok := surest[s.RequestID]; !ok || at < earlier {
			surest[s.RequestID] = at
		}
	}
	var scores []SuspectScore
	for at, level := range levels {
		s := SuspectScore{Level: level, True: held, Lost: lost}
		for id, best := range surest {
			if best > at {
				continue
			}
			s.Predicted++
			if truth[id] {
				s.Hits++
			}
		}
		s.Precision, s.Recall, s.RecallWithLost = ratio(s.Hits, s.Predicted), ratio(s.Hits, held), ratio(s.Hits, held+lost)
		scores = append(scores, s)
	}
	return scores
}

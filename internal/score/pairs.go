package score

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Pair is a predicted pair: the suspect may have read the source's KV.
type Pair struct {
	SuspectID, Defect, SourceID string
	Probability                 float64 // 0 to 1
	Tokens                      float64 // of the source, expected to be exposed
	From, To                    int64   // range in the source's sequence, To excluded; empty: not stated
}

// half is the probability from which on a pair counts as named.
const half = 0.5

// leastOdds keeps the log score finite: no event is held less likely.
const leastOdds = 0.001

// PairScore counts pairs of suspect and source. Shares and means are NaN where
// there is nothing to take them of.
//
// Lost pairs have a suspect or a source that the evidence does not hold. Nobody
// can name them, so they count in RecallWithLost and LostTokens alone.
type PairScore struct {
	Method         string
	True           int // without lost pairs
	Lost           int
	Predicted      int     // at any probability
	Named          int     // predicted at 0.5 and above
	Hits           int     // named and true
	Precision      float64 // hits of named
	Recall         float64 // hits of true
	RecallWithLost float64 // hits of true and lost

	Scored   int     // predicted pairs and true pairs together
	Brier    float64 // mean (p - y)² over them; a pair that was not predicted has p = 0
	LogScore float64 // mean -ln of the probability given to what happened, kept within 0.001 and 0.999
	Bins     [10]Bin // of predicted pairs, by probability

	// The same sums for each true pair. The means above fall with every
	// unlikely pair that a method lists; these let methods be compared.
	BrierPerTrue, LogPerTrue float64

	TrueTokens      int64 // of true pairs
	LostTokens      int64 // of lost pairs
	PredictedTokens float64
	TokenRecall     float64 // tokens that prediction and truth share, of true tokens
	TokenPrecision  float64 // the same of predicted tokens
	RangeOverlap    float64 // over true pairs with a stated range: tokens in both ranges, of tokens in either
}

// Bin holds the predicted pairs of a tenth of the scale of probability: the
// lower end included, the upper one only at 1.
type Bin struct {
	Count int
	Mean  float64 // predicted
	True  float64 // share
}

type pairKey struct{ suspect, source string }

func (k pairKey) compare(o pairKey) int {
	return cmp.Or(cmp.Compare(k.suspect, o.suspect), cmp.Compare(k.source, o.source))
}

// truePair sums up what a suspect read of a source.
type truePair struct{ tokens, from, to int64 }

func truePairs(t Truth, defect string) map[pairKey]truePair {
	pairs := map[pairKey]truePair{}
	for _, s := range t.Suspects {
		if s.Defect != defect {
			continue
		}
		for _, source := range s.Sources {
			key := pairKey{s.RequestID, source.RequestID}
			p, more := pairs[key], truePair{source.Slots, source.FromToken, source.ToToken}
			more.from, more.to = hull(p.from, p.to, more.from, more.to)
			more.tokens += p.tokens
			pairs[key] = more
		}
	}
	return pairs
}

// predictedPairs gives the pairs of a defect. Several records with one request
// id are one request: its surest pair counts, with the tokens of all.
func predictedPairs(list []Pair, defect string) map[pairKey]Pair {
	byKey := map[pairKey][]Pair{}
	for _, p := range list {
		if p.Defect == defect {
			key := pairKey{p.SuspectID, p.SourceID}
			byKey[key] = append(byKey[key], p)
		}
	}
	pairs := map[pairKey]Pair{}
	for key, same := range byKey {
		slices.SortFunc(same, func(a, b Pair) int { return cmp.Compare(a.Tokens, b.Tokens) })
		one := same[0]
		for _, p := range same[1:] {
			one.Probability = max(one.Probability, p.Probability)
			one.Tokens += p.Tokens
			one.From, one.To = hull(one.From, one.To, p.From, p.To)
		}
		pairs[key] = one
	}
	return pairs
}

// hull spans two ranges; an empty one adds nothing.
func hull(from, to, from2, to2 int64) (int64, int64) {
	switch {
	case to <= from:
		return from2, to2
	case to2 <= from2:
		return from, to
	}
	return min(from, from2), max(to, to2)
}

func scorePairs(truth map[pairKey]truePair, known map[string]bool, predicted map[pairKey]Pair) PairScore {
	s := PairScore{Predicted: len(predicted)}
	keys := map[pairKey]bool{}
	for key := range predicted {
		keys[key] = true
	}
	for key, p := range truth {
		if !known[key.suspect] || !known[key.source] {
			s.Lost++
			s.LostTokens += p.tokens
			continue
		}
		s.True++
		s.TrueTokens += p.tokens
		keys[key] = true
	}
	// Sums of floats depend on their order, so it is fixed.
	ordered := slices.SortedFunc(maps.Keys(keys), pairKey.compare)
	s.Scored = len(ordered)
	var brier, logs, shared float64
	var both, either int64
	for _, key := range ordered {
		p, isPredicted := predicted[key]
		t, isTrue := truth[key]
		happened, y := 1-p.Probability, 0.0
		if isTrue {
			happened, y = p.Probability, 1
		}
		brier += (p.Probability - y) * (p.Probability - y)
		logs -= math.Log(min(max(happened, leastOdds), 1-leastOdds))
		if isPredicted {
			s.PredictedTokens += p.Tokens
			s.bin(p.Probability, y)
		}
		if isPredicted && p.Probability >= half {
			s.Named++
			s.Hits += int(y)
		}
		if isTrue && isPredicted {
			shared += min(p.Tokens, float64(t.tokens))
			if p.To > p.From && t.to > t.from {
				common := max(0, min(p.To, t.to)-max(p.From, t.from))
				both += common
				either += p.To - p.From + t.to - t.from - common
			}
		}
	}
	s.Precision, s.Recall, s.RecallWithLost = ratio(s.Hits, s.Named), ratio(s.Hits, s.True), ratio(s.Hits, s.True+s.Lost)
	s.Brier, s.LogScore = ratio(brier, float64(s.Scored)), ratio(logs, float64(s.Scored))
	s.BrierPerTrue, s.LogPerTrue = ratio(brier, float64(s.True)), ratio(logs, float64(s.True))
	s.TokenRecall, s.TokenPrecision = ratio(shared, float64(s.TrueTokens)), ratio(shared, s.PredictedTokens)
	s.RangeOverlap = ratio(both, either)
	for i := range s.Bins {
		b := &s.Bins[i]
		b.Mean, b.True = ratio(b.Mean, float64(b.Count)), ratio(b.True, float64(b.Count))
	}
	return s
}

// bin sums a predicted pair into its bin; means are taken at the end.
func (s *PairScore) bin(p, y float64) {
	b := &s.Bins[min(int(p*float64(len(s.Bins))), len(s.Bins)-1)]
	b.Count++
	b.Mean += p
	b.True += y
}

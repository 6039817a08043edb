package decide

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A PairAgreement says how well two people agree about the nodes that both have decided on.
type PairAgreement struct {
	A, B string // names, A before B

	// Verdicts is about the label that a node had before all decisions: right, wrong or unsure. Nodes that had no label do not count.
	Verdicts SaidSame

	// Labels is about the labels that the two name. Nodes that one of them is unsure about do not count.
	Labels SaidSame
}

// SaidSame counts the nodes of which two people say the same.
type SaidSame struct {
	Nodes int64 // that both have judged
	Same  int64 // of them, judged equally
}

func (s *SaidSame) count(a, b string) {
	s.Nodes++
	if a == b {
		s.Same++
	}
}

// Agreement computes the agreement of each pair of people that have decided on the same nodes, in the order of their names. What
// counts is the last decision of each person about a node that was not taken back. It reads the decisions about nodes with several
// entries.
func Agreement(ctx context.Context, tx *kv.Tx) ([]PairAgreement, error) {
	pairs := map[[2]string]*PairAgreement{}
	node, seqs := kv.NoNode, []int64(nil)
	read := func() error {
		if len(seqs) < 2 {
			return nil // of one person
		}
		var entries []Decision
		for _, seq := range seqs {
			d, err := readDecision(tx, seq)
			if err != nil {
				return err
			}
			entries = append(entries, d.Decision)
		}
		countPairs(pairs, entries)
		return nil
	}
	for e, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		v, seq, ok := parseNodeKey(e.Key)
		if !ok {
			return nil, fmt.Errorf("history: %w: a node's entry under %x", kv.ErrCorrupt, e.Key)
		}
		if v != node {
			if err := read(); err != nil {
				return nil, err
			}
			node, seqs = v, seqs[:0]
		}
		seqs = append(seqs, seq)
	}
	if err := read(); err != nil {
		return nil, err
	}
	agreements := make([]PairAgreement, 0, len(pairs))
	for _, pair := range pairs {
		agreements = append(agreements, *pair)
	}
	slices.SortFunc(agreements, func(x, y PairAgreement) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return agreements, nil
}

// countPairs counts a node, given the entries about it, the oldest first.
func countPairs(pairs map[[2]string]*PairAgreement, entries []Decision) {
	var s standing
	for _, d := range entries {
		s.add(d)
	}
	last := map[string]Decision{}
	for _, d := range s.decisions {
		last[d.Who] = d
	}
	original := entries[0].From
	verdict := func(d Decision) string {
		switch {
		case d.Kind == Unsure:
			return "unsure"
		case d.To == original:
			return "right"
		}
		return "wrong"
	}
	names := slices.Sorted(maps.Keys(last))
	for i, a := range names {
		for _, b := range names[i+1:] {
			pair := pairs[[2]string{a, b}]
			if pair == nil {
				pair = &PairAgreement{A: a, B: b}
				pairs[[2]string{a, b}] = pair
			}
			if original != "" {
				pair.Verdicts.count(verdict(last[a]), verdict(last[b]))
			}
			if last[a].Kind != Unsure && last[b].Kind != Unsure {
				pair.Labels.count(last[a].To, last[b].To)
			}
		}
	}
}

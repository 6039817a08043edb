package decide

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A PairAgreement says how well two people agree about the nodes that both have decided on.
type PairAgreement struct {
	A, B string // names, A before B

	// Verdicts is about the label that a node had before all decisions: right, wrong or unsure. Nodes that had no label do not count.
	Verdicts Kappa

	// Labels is about the labels that the two name. Nodes that one of them is unsure about do not count.
	Labels Kappa
}

// A Kappa is Cohen's kappa of two people: (o − e) / (1 − e), where o is the share of the nodes about which they say the same, and e
// the share that would be expected if each of them said the same things as often, but at random. 1 is full agreement, 0 is chance.
type Kappa struct {
	Nodes int64   // that both have judged
	Same  int64   // of them, judged equally
	Value float64 // NaN without nodes, or if both say one and the same of all nodes

	// Low and High are the ends of a 90% interval, by the large-sample variance of Fleiss, Cohen and Everitt (1969). They are NaN if Value
	// is, and if there are fewer than 30 nodes.
	Low, High float64
}

// MinInterval is how many nodes an interval of a Kappa needs.
const MinInterval = 30

// Agreement computes the agreement of each pair of people that have decided on the same nodes, in the order of their names. What
// counts is the last decision of each person about a node that was not taken back. It reads the decisions about nodes with several
// entries, and memory holds a table for each pair.
func Agreement(ctx context.Context, tx *kv.Tx) ([]PairAgreement, error) {
	pairs := map[[2]string]*pairTables{}
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
	for names, t := range pairs {
		agreements = append(agreements, PairAgreement{A: names[0], B: names[1], Verdicts: kappaOf(t.verdicts), Labels: kappaOf(t.labels)})
	}
	slices.SortFunc(agreements, func(x, y PairAgreement) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return agreements, nil
}

// pairTables count what two people say of the same nodes.
type pairTables struct{ verdicts, labels pairTable }

// A pairTable counts nodes by what the first and the second person say.
type pairTable map[[2]string]int64

// countPairs counts a node, given the entries about it, the oldest first.
func countPairs(pairs map[[2]string]*pairTables, entries []Decision) {
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
			t := pairs[[2]string{a, b}]
			if t == nil {
				t = &pairTables{verdicts: pairTable{}, labels: pairTable{}}
				pairs[[2]string{a, b}] = t
			}
			if original != "" {
				t.verdicts[[2]string{verdict(last[a]), verdict(last[b])}]++
			}
			if last[a].Kind != Unsure && last[b].Kind != Unsure {
				t.labels[[2]string{last[a].To, last[b].To}]++
			}
		}
	}
}

// z90 is the number of standard errors on each side of a 90% interval.
const z90 = 1.6448536269514722

// kappaOf is the kappa of a table, whose sums are added in the order of what is said.
func kappaOf(table pairTable) Kappa {
	k := Kappa{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}
	ofA, ofB := map[string]float64{}, map[string]float64{} // shares
	cells := slices.SortedFunc(maps.Keys(table), func(x, y [2]string) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	for _, said := range cells {
		k.Nodes += table[said]
		if said[0] == said[1] {
			k.Same += table[said]
		}
	}
	n := float64(k.Nodes)
	for _, said := range cells {
		ofA[said[0]] += float64(table[said]) / n
		ofB[said[1]] += float64(table[said]) / n
	}
	var byChance float64
	for _, said := range slices.Sorted(maps.Keys(ofA)) {
		byChance += float64(ofA[said] * ofB[said])
	}
	if k.Nodes == 0 || len(ofA) == 1 && len(ofB) == 1 && k.Same == k.Nodes {
		return k
	}
	k.Value = (float64(k.Same)/n - byChance) / (1 - byChance)
	if k.Nodes < MinInterval {
		return k
	}
	var sum float64
	for _, said := range cells {
		share := float64(table[said]) / n
		if said[0] == said[1] {
			sum += float64(share * square(1-float64((ofA[said[0]]+ofB[said[0]])*(1-k.Value))))
		} else {
			sum += float64(share * square((1-k.Value)*(ofB[said[0]]+ofA[said[1]])))
		}
	}
	sum -= square(k.Value - float64(byChance*(1-k.Value)))
	width := float64(z90 * math.Sqrt(max(0, sum)/n) / (1 - byChance))
	k.Low, k.High = max(-1, k.Value-width), min(1, k.Value+width)
	return k
}

func square(x float64) float64 { return float64(x * x) }

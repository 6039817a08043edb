package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// The diffusion of influenceContradiction.
const (
	influenceRestart = 0.15 // ε
	influenceHops    = 30   // longer walks, less than 0.7% of the influence, are left out
)

// influenceContradiction is the detector of ICGNN (Ju and others: "Identifying and Correcting Label Noise for Robust GNNs
// via Influence Contradiction", arXiv:2601.17469) by the structure of the graph. With Â = (D+I)^(-1/2) (A+I) (D+I)^(-1/2),
// C_j the nodes given class j, and personalized PageRank T = ε Σ_k (1−ε)^k Â^k,
//
//	ICS[v] = Σ over j ≠ ỹ_v of 1/|C_j| Σ over u in C_j of T[v][u]
//
// is how much the nodes of other classes influence v. It is taken for a mixture of two Gaussians; see byMixture. A node
// without neighbours has an ICS of 0. Of a directed graph T goes along the arcs that are walked, of a weighted one by
// the weights.
//
// Left out is the second ICS, of nearest neighbours in what a network that is trained with the rest of ICGNN makes of the
// features. Its code (github.com/wayc04/ICGNN) diffuses the inner sum once more, and fits a mixture to each class.
func influenceContradiction(ctx context.Context, t trial, opt Options) (*judgement, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	values, err := t.contradictions(ctx, opt)
	if err != nil {
		return nil, err
	}
	return t.byMixture(ctx, values)
}

// contradictions are the ICS [n].
func (t trial) contradictions(ctx context.Context, opt Options) (values []float64, err error) {
	n := len(t.labels)
	influence, err := rowstore.New(t.place.temporary(), n, t.classes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, influence.Close()) }()
	operators := opt.ops(problemBytes * int64(n))
	operators.Scratch = t.place.temporary()
	op := ops.Operator{Hops: influenceHops, SelfLoops: true}
	err = ops.Propagate(ctx, t.graph, ops.OneHot(t.labels, t.classes), op, operators, func(tile ops.Tile) error {
		weight := influenceRestart * elementary.Pow(1-influenceRestart, tile.Hop)
		return influence.Add(tile.Rows, tile.Lo, tile.Hi-tile.Lo, float32(weight), tile.Values)
	})
	if err != nil {
		return nil, err
	}
	counts := countLabels(t.labels, t.classes)
	values = make([]float64, n)
	return values, rowstore.Each(ctx, influence, n, opt.Workers, func(rows kv.Range, all []float32) error {
		for v := rows.First; v < rows.End; v++ {
			for j, x := range all[int(v-rows.First)*t.classes:][:t.classes] {
				if kv.Class(j) != t.labels[v] && counts[j] > 0 {
					values[v] += float64(float64(x) / counts[j])
				}
			}
		}
		return nil
	})
}

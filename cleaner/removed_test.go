package cleaner

import (
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// without is the graph without the nodes at some places.
func (p plantedPartition) without(removed []int) plantedPartition {
	var rest plantedPartition
	places := make([]int, len(p.nodes)) // in rest
	for i, node := range p.nodes {
		if places[i] = -1; slices.Contains(removed, i) {
			continue
		}
		places[i] = len(rest.nodes)
		rest.nodes, rest.truth, rest.scores = append(rest.nodes, node), append(rest.truth, p.truth[i]), append(rest.scores,
			p.scores[i])
	}
	for _, e := range p.edges {
		if u, v := places[e[0]], places[e[1]]; u >= 0 && v >= 0 {
			rest.edges = append(rest.edges, [2]int{u, v})
		}
	}
	return rest
}

// TestCleanWithoutRemovedNodes cleans a store of which nodes were removed, and one that never had them: scores,
// suggestions and runs are the same, except the order in which sums run, and nothing is written about removed nodes.
func TestCleanWithoutRemovedNodes(t *testing.T) {
	t.Parallel()
	planted := newPlanted(5, 600)
	removed := []int{0, 1, 17, 300, 301, 599}
	for _, by := range []method.Method{nil, paper.Published} {
		for _, bare := range []bool{false, true} { // then predictions are trained
			if bare && by != nil && !longtest.Asked() {
				continue
			}
			s, want := planted.load(t, bare), planted.without(removed).load(t, bare)
			must.Do(t, s.Update(func(tx *kv.Tx) error {
				for _, i := range removed {
					v, err := tx.Node(planted.nodes[i].ID)
					if err == nil {
						err = tx.RemoveNode(v)
					}
					must.Do(t, err)
				}
				return nil
			}))
			opt := Options{Method: by, Seed: 3}
			if !bare && !longtest.Asked() {
				opt.Imported = AsGiven
			}
			run, wantRun := mustClean(t, s, opt), mustClean(t, want, opt)
			if run.Nodes != wantRun.Nodes || run.Scored != wantRun.Scored || run.FittingNodes != wantRun.FittingNodes {
				t.Errorf("%T, bare %v: got a run of %d nodes, %d scored, fitted on %d, want %d, %d and %d", by, bare,
					run.Nodes, run.Scored, run.FittingNodes, wantRun.Nodes, wantRun.Scored, wantRun.FittingNodes)
			}
			got, expected := scoresByID(t, s), scoresByID(t, want)
			differ := 0
			for id, score := range expected {
				if math.Abs(score-got[id]) > 0.02 {
					differ++
				}
			}
			if len(got) != len(expected) || differ > 0 {
				t.Errorf("%T, bare %v: got %d scores, %d of them others, want %d", by, bare, len(got), differ, len(expected))
			}
		}
	}
}

// scoresByID returns the scores of a store, and fails the test if anything is written about a removed node.
func scoresByID(t *testing.T, s *kv.Store) map[string]float64 {
	t.Helper()
	scores := map[string]float64{}
	view(t, s, func(tx *kv.Tx) error {
		removed := must.Get(tx.Removed())(t)
		for _, column := range tx.Columns() {
			r := must.Get(tx.Reader(column.Name))(t)
			for v := range kv.NodeID(tx.NumNodes()) {
				value := must.Get(r.At(v))(t)
				if removed.Has(v) && !value.IsNull() {
					t.Errorf("column %s of removed node number %d is %v", column.Name, v, value)
				}
				if column.Name != ScoreColumn || value.IsNull() {
					continue
				}
				id := must.Get(tx.ID(v))(t)
				scores[id] = value.Float()
			}
		}
		return nil
	})
	return scores
}

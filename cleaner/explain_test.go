package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

func mustExplain(t *testing.T, tx *kv.Tx, v kv.NodeID, opt ops.Options) *Explanation {
	t.Helper()
	e, err := Explain(context.Background(), tx, v, opt)
	if err != nil {
		t.Fatalf("explain node number %d: %v", v, err)
	}
	return e
}

func TestExplainAgreesWithTheRun(t *testing.T) {
	s := newPlanted(8, 300).load(t, false)
	run := mustClean(t, s, Options{Method: paper.Published, Seed: 2, Imported: AsGiven})
	view(t, s, func(tx *kv.Tx) error {
		n, classes, width := tx.NumNodes(), tx.Classes(), featureWidth(run.Hops)
		labels := must.Get(readLabels(tx))(t)
		predictions := must.Get(Predictions(tx))(t)
		all := mustFeatures(t, tx, labels, predictions, everyClass(n, len(classes)), run.Hops, ops.Options{})
		for v := range n {
			e := mustExplain(t, tx, kv.NodeID(v), ops.Options{})
			if e.Incomplete != "" || e.Run != run.ID || e.Counterfactual != nil {
				t.Fatalf("node %s: got incomplete %q, run %d, want a whole explanation of run %d, but no other scores", e.ID,
					e.Incomplete, e.Run, run.ID)
			}
			given := labels[v]
			if (given == kv.NoClass) != (e.Label == "") || (given == kv.NoClass) != (e.Features == nil) ||
				(given == kv.NoClass) != math.IsNaN(e.Score) {
				t.Fatalf("node %s of class number %d: got given %q, %d features, score %v", e.ID, given, e.Label,
					len(e.Features), e.Score)
			}
			for f, feature := range e.Features {
				at := 0
				if f > 0 { // Lf
					at = run.Hops + f
				}
				if want := all[given][v*width+at]; !golden.Near(feature.Value, float64(want), 1e-5) {
					t.Fatalf("node %s, feature %s: got %v, want %v", e.ID, feature.Name, feature.Value, want)
				}
			}
			checkVoices(t, tx, e)
			if !slices.IsSortedFunc(e.TopClasses, func(a, b ClassShare) int { return int(math.Copysign(1, b.Share-a.Share)) }) {
				t.Fatalf("node %s: got predictions %v, want them descending", e.ID, e.TopClasses)
			}
			if e.TopClasses[0].Class != e.Suggestion || !golden.Near(e.TopClasses[0].Share, e.Confidence, 1e-9) {
				t.Fatalf("node %s: suggested is %s with %v, the predictions begin with %v", e.ID, e.Suggestion, e.Confidence,
					e.TopClasses[0])
			}
			votes := make(map[string]int64)
			for u, err := range tx.Neighbors(kv.NodeID(v)) {
				must.Do(t, err)
				if labels[u] != kv.NoClass {
					votes[classes[labels[u]]]++
				}
			}
			for _, vote := range e.Votes {
				if votes[vote.Class] != vote.Count {
					t.Fatalf("node %s, votes for %s: got %d, want %d", e.ID, vote.Class, vote.Count, votes[vote.Class])
				}
			}
			if len(e.Votes) != len(votes) {
				t.Fatalf("node %s: got votes %v, want %v", e.ID, e.Votes, votes)
			}
		}
		return nil
	})
}

func TestExplainBeyondItsBudget(t *testing.T) {
	s := newPlanted(9, 300).load(t, false)
	mustClean(t, s, Options{Method: paper.Published, Imported: AsGiven})
	view(t, s, func(tx *kv.Tx) error {
		e := mustExplain(t, tx, 0, ops.Options{MemoryBudget: 4 * ballNodeBytes}) // of the node with the most neighbours
		if e.Incomplete == "" || e.Counterfactual != nil || e.Features != nil {
			t.Errorf("budget of 4 nodes: got incomplete %q and %d counterfactual scores, want it to say so and none",
				e.Incomplete, len(e.Counterfactual))
		}
		return nil
	})
}

// TestExplainOfADamagedRun wants all but the scores of other labels.
func TestExplainOfADamagedRun(t *testing.T) {
	s := newPlanted(9, 300).load(t, false)
	mustClean(t, s, Options{Seed: 2})
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		last := must.Get(LastRun(tx))(t)
		last.kept.Counts = last.kept.Counts[1:]
		return last.put(tx)
	}))
	view(t, s, func(tx *kv.Tx) error {
		e := mustExplain(t, tx, labelledNode(t, s, 0), ops.Options{})
		if !strings.Contains(e.Incomplete, "run 1: what it keeps is not of") || e.Features == nil || e.Counterfactual != nil {
			t.Errorf("got incomplete %q, features %v, %d counterfactual scores", e.Incomplete, e.Features,
				len(e.Counterfactual))
		}
		return nil
	})
}

// TestVotesOfAHub counts many neighbours, keeps no labels of them, and stops while it does.
func TestVotesOfAHub(t *testing.T) {
	labels, edges := make([]string, 8*lookEvery), [][2]int(nil)
	want := []int64{0, 0, 0}
	for v := range labels {
		labels[v] = string(rune('a' + v%3))
		if v > 0 {
			edges = append(edges, [2]int{0, v})
			want[v%3]++
		}
	}
	view(t, kvtest.Load(t, kvtest.NumberedGraph(labels, edges...)), func(tx *kv.Tx) error {
		of := nodeLabels{tx: tx, classes: len(tx.Classes())}
		if _, nodes, err := of.votes(t.Context(), 0); err != nil || !slices.Equal(nodes, want) {
			t.Errorf("got %d, %v, want %d", nodes, err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := of.votes(ctx, 0); !errors.Is(err, context.Canceled) || of.all != nil {
			t.Errorf("got %v, want context.Canceled and no label to be kept", err)
		}
		return nil
	})
}

func TestExplainBeforeTheFirstRun(t *testing.T) {
	p := newPlanted(10, 80)
	for _, bare := range []bool{true, false} {
		s := p.load(t, bare)
		view(t, s, func(tx *kv.Tx) error {
			e := mustExplain(t, tx, 3, ops.Options{})
			if !math.IsNaN(e.Score) || e.Run != 0 || e.Counterfactual != nil || e.Suggestion != "" {
				t.Errorf("never cleaned: got %+v, want no score, run, suggestion or counterfactual", e)
			}
			if (e.TopClasses == nil) != bare {
				t.Errorf("store without predictions = %v: got predictions %v", bare, e.TopClasses)
			}
			if _, err := Explain(context.Background(), tx, kv.NodeID(tx.NumNodes()), ops.Options{}); !errors.Is(err,
				kv.ErrNotFound) {
				t.Errorf("node beyond the last: got %v, want kv.ErrNotFound", err)
			}
			return nil
		})
	}
}

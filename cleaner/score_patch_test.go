package cleaner

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestScorePatch wants the labels of a patch to have the scores that they have once it is committed, and the store to be as it was.
func TestScorePatch(t *testing.T) {
	for name := range scoreForms() {
		if !longtest.Asked() && name != "joined predictions" && name != "built-in predictions" {
			continue
		}
		for _, many := range []bool{false, true} { // rows: so many that the graph is written again
			t.Run(fmt.Sprint(name, many), func(t *testing.T) {
				s := cleanedForm(t, name)
				var before, after uint64
				var labels []string
				view(t, s, func(tx *kv.Tx) (err error) {
					labels = tx.Classes()
					before, err = tx.LastCommit()
					return err
				})
				var got []NodeScore
				use := func(_ *kv.Tx, score NodeScore) error {
					got = append(got, score)
					return nil
				}
				must.Do(t, ScorePatch(t.Context(), labelledPatch(t, s, labels, many), ops.Options{}, use))
				view(t, s, func(tx *kv.Tx) (err error) {
					if _, err := tx.Node("in-0"); !errors.Is(err, kv.ErrNotFound) {
						t.Errorf("a tried node: got %v, want ErrNotFound", err)
					}
					after, err = tx.LastCommit()
					return err
				})
				if !many && after != before {
					t.Errorf("got commit %d after the trial, want %d", after, before)
				}
				stats, err := labelledPatch(t, s, labels, many).Commit(t.Context())
				if err != nil || stats.Rewritten != many {
					t.Fatalf("got %+v, %v, want the graph to be written again: %v", stats, err, many)
				}
				view(t, s, func(tx *kv.Tx) error {
					if len(got) != 12 {
						t.Fatalf("got %d scores, want those of 12 added nodes", len(got))
					}
					for _, g := range got {
						want := must.Get(Score(t.Context(), tx, []kv.NodeID{g.Node}, ops.Options{}))(t)
						if w := want[0]; g.ID != w.ID || g.Label != w.Label || g.Suggestion != w.Suggestion || g.Lack != w.Lack || !near(g.Score, w.Score, 1e-9) {
							t.Errorf("got %+v, want %+v", g, w)
						}
					}
					return nil
				})
			})
		}
	}
}

// labelledPatch adds 12 nodes with labels, and edges.
func labelledPatch(t *testing.T, s *kv.Store, labels []string, many bool) *kv.Patch {
	t.Helper()
	var ids []string
	view(t, s, func(tx *kv.Tx) error {
		for id, err := range tx.IDs() {
			must.Do(t, err)
			ids = append(ids, id)
		}
		return nil
	})
	p, err := s.NewPatch(kv.PatchOptions{Labels: true})
	must.Do(t, err)
	times := 1
	if many {
		times = 100
	}
	for i := range 12 {
		id := fmt.Sprint("in-", i)
		err = errors.Join(err, p.AddNode(kv.Node{ID: id, Label: labels[i%len(labels)]}))
		for j := range 3 * times { // rows that repeat an edge count too
			err = errors.Join(err, p.AddEdge(id, ids[(i*31+j%3)%len(ids)], int64(j)))
		}
	}
	must.Do(t, err)
	return p
}

// TestScorePatchEnds wants an error, or the end of the context, to leave the store as it was.
func TestScorePatchEnds(t *testing.T) {
	s := cleanedForm(t, "built-in predictions")
	labels := []string{"alpha", "beta"}
	failed := errors.New("failed")
	fail := func(*kv.Tx, NodeScore) error { return failed }
	if err := ScorePatch(t.Context(), labelledPatch(t, s, labels, false), ops.Options{}, fail); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of use", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ScorePatch(ended, labelledPatch(t, s, labels, false), ops.Options{}, fail); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	view(t, s, func(tx *kv.Tx) error {
		if _, err := tx.Node("in-0"); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		return nil
	})
}

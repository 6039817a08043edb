package decide

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func mustCount(t *testing.T, s *kv.Store, nodes kv.NodeID, wantRight, wantWrong int64) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		right, wrong, err := CountJudgements(t.Context(), tx, nodes)
		if right != wantRight || wrong != wantWrong {
			t.Errorf("got %d right and %d wrong labels, want %d and %d", right, wrong, wantRight, wantWrong)
		}
		return err
	})
}

// TestOneJudgementOfEachKind has one meaning of each kind of decision, of a label alone and in the count of all.
func TestOneJudgementOfEachKind(t *testing.T) {
	s := loaded(t, 5, 80)
	kinds := []struct {
		kind         Kind
		want         Judgement
		right, wrong int64 // counted so far
	}{{Reject, Right, 1, 0}, {Relabel, Wrong, 1, 1}, {Unlabel, Unsettled, 1, 1}, {Unsure, Unsettled, 1, 1}}
	before := states(t, s)
	var nodes []kv.NodeID
	for i, c := range kinds {
		v := labelledNode(t, s, kv.NodeID(10*i))
		nodes = append(nodes, v)
		request := Request{Node: v, Kind: c.kind}
		if c.kind == Relabel {
			request.To = "beta"
			if before[v].label == "beta" {
				request.To = "alpha"
			}
		}
		mustDecide(t, s, Options{Who: "ann"}, request)
		view(t, s, func(tx *kv.Tx) error {
			if got := must.Get(JudgementAfter(t.Context(), tx, v, before[v].label, 0))(t); got != c.want {
				t.Errorf("%s: got judgement %d, want %d", c.kind, got, c.want)
			}
			return nil
		})
		mustCount(t, s, 80, c.right, c.wrong)
	}
	mustCount(t, s, nodes[1], 1, 0)
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.RemoveNode(nodes[1]) }))
	mustCount(t, s, 80, 1, 0)
}

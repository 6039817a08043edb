package decide

import (
	"context"
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestAgreement has three people decide about some nodes: what was taken back, or said before, does not count.
func TestAgreement(t *testing.T) {
	s := scored(t, 18, 200)
	var alpha []kv.NodeID
	for v := range kv.NodeID(200) {
		if states(t, s)[v].label == "alpha" {
			alpha = append(alpha, v)
		}
	}
	unlabelled := unlabelledNode(t, s)
	say := func(who string, requests ...Request) {
		t.Helper()
		mustDecide(t, s, Options{Who: who}, requests...)
	}
	relabel := func(v kv.NodeID, to string) Request { return Request{Node: v, Kind: Relabel, To: to} }
	// ann and bob: two right, one wrong with two labels, one wrong and unsure; one without a label.
	say("ann", Request{Node: alpha[0], Kind: Reject}, Request{Node: alpha[1], Kind: Reject}, relabel(alpha[2], "beta"), relabel(alpha[3], "beta"), relabel(unlabelled, "beta"))
	say("bob", relabel(alpha[0], "gamma"), relabel(alpha[1], "alpha"), relabel(alpha[2], "gamma"), Request{Node: alpha[3], Kind: Unsure}, relabel(unlabelled, "beta"))
	say("bob", Request{Node: alpha[0], Kind: Reject}) // alpha again: the node is disputed, and keeps ann's label
	say("bob", Request{Node: alpha[4], Kind: Reject}) // ann says nothing of it
	say("cy", relabel(alpha[0], "beta"))
	mustUndo(t, s, 1)
	say("cy", relabel(alpha[1], "beta"))
	var got []PairAgreement
	view(t, s, func(tx *kv.Tx) (err error) {
		got, err = Agreement(t.Context(), tx)
		return err
	})
	type pair struct {
		a, b                                      string
		verdicts, sameVerdicts, labels, sameLabel int64
	}
	want := []pair{{"ann", "bob", 4, 3, 4, 3}, {"ann", "cy", 1, 0, 1, 0}, {"bob", "cy", 1, 0, 1, 0}}
	for i, w := range want {
		if len(got) != len(want) {
			t.Fatalf("got %+v, want %d pairs", got, len(want))
		}
		g := got[i]
		if is := (pair{g.A, g.B, g.Verdicts.Nodes, g.Verdicts.Same, g.Labels.Nodes, g.Labels.Same}); is != w {
			t.Errorf("got %+v, want %+v", is, w)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := loaded(t, 19, 1000)
	reqs := make([]Request, 1000)
	for i := range reqs {
		reqs[i] = Request{Node: kv.NodeID(i), Kind: Unsure}
	}
	mustDecide(t, many, Options{}, reqs...)
	view(t, many, func(tx *kv.Tx) error {
		if _, err := Agreement(ctx, tx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: got %v, want context.Canceled", err)
		}
		if pairs, err := Agreement(t.Context(), tx); err != nil || len(pairs) != 0 {
			t.Errorf("of one person: got %v, %v, want no pairs", pairs, err)
		}
		return nil
	})
}

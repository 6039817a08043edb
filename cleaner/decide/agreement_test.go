package decide

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestKappa holds kappas of tables that are computed by hand, from the definitions.
func TestKappa(t *testing.T) {
	for _, test := range []struct {
		name         string
		table        pairTable
		nodes, same  int64
		value, error float64 // NaN: none
	}{
		// o = .7, e = .5. The variance is (.10972 + .10188 - .01) / (50 · .25) = .016128.
		{"two grants", pairTable{{"y", "y"}: 20, {"y", "n"}: 5, {"n", "y"}: 10, {"n", "n"}: 15}, 50, 35, 0.4, math.Sqrt(0.016128)},
		// o = .6 in both; e = .54 and .46: the same agreement is worth more where it is less expected.
		{"expected", pairTable{{"y", "y"}: 45, {"y", "n"}: 15, {"n", "y"}: 25, {"n", "n"}: 15}, 100, 60, 0.06 / 0.46, math.NaN()},
		{"unexpected", pairTable{{"y", "y"}: 25, {"y", "n"}: 35, {"n", "y"}: 5, {"n", "n"}: 35}, 100, 60, 0.14 / 0.54, math.NaN()},
		// Three categories: o = 14/20, e = (10·9 + 6·7 + 4·4)/400 = .37. Fewer than 30 nodes have no interval.
		{"three", pairTable{{"a", "a"}: 7, {"a", "b"}: 2, {"a", "c"}: 1, {"b", "a"}: 2, {"b", "b"}: 4, {"c", "b"}: 1, {"c", "c"}: 3}, 20, 14, 0.33 / 0.63, math.NaN()},
		{"all the same", pairTable{{"y", "y"}: 40}, 40, 40, math.NaN(), math.NaN()},
		{"one and another", pairTable{{"y", "n"}: 40}, 40, 0, 0, 0},
		{"opposite", pairTable{{"y", "n"}: 20, {"n", "y"}: 20}, 40, 0, -1, 0},
		{"perfect", pairTable{{"y", "y"}: 20, {"n", "n"}: 20}, 40, 40, 1, 0},
		{"none", pairTable{}, 0, 0, math.NaN(), math.NaN()},
	} {
		got := kappaOf(test.table)
		if got.Nodes != test.nodes || got.Same != test.same || !isClose(got.Value, test.value) {
			t.Errorf("%s: got %+v, want %d of %d and %v", test.name, got, test.same, test.nodes, test.value)
		}
		if has := !math.IsNaN(got.Low) && !math.IsNaN(got.High); has != (test.nodes >= MinInterval && !math.IsNaN(test.value)) {
			t.Errorf("%s: got the interval %v to %v", test.name, got.Low, got.High)
		}
		if !math.IsNaN(test.error) && (!isClose(got.Low, max(-1, test.value-z90*test.error)) || !isClose(got.High, min(1, test.value+z90*test.error))) {
			t.Errorf("%s: got the interval %v to %v, want the standard error %v", test.name, got.Low, got.High, test.error)
		}
	}
}

// isClose compares numbers, with NaN equal to NaN.
func isClose(got, want float64) bool {
	return math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) < 1e-9
}

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
	// right, wrong and unsure: o = 3/4, e = (2·2 + 2·1)/16.
	if k := got[0].Verdicts.Value; !isClose(k, (0.75-0.375)/(1-0.375)) {
		t.Errorf("got the kappa %v of verdicts, want .6", k)
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

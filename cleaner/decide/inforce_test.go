package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// decideWords has people decide about a node with the label alpha, in the words of TestDisputes.
func decideWords(t *testing.T, s *kv.Store, words string) (v kv.NodeID) {
	t.Helper()
	for node, state := range states(t, s) {
		if state.label == "alpha" {
			v = node
		}
	}
	for _, word := range strings.Fields(words) {
		if word == "~" {
			mustUndo(t, s, 1)
			continue
		}
		who, label, _ := strings.Cut(word, ":")
		opt := Options{Who: who}
		if label, found := strings.CutSuffix(label, "!"); found {
			opt.Why = "seen " + label
		}
		request := Request{Node: v, Kind: Relabel, To: strings.TrimSuffix(label, "!")}
		switch request.To {
		case "?":
			request.Kind, request.To = Unsure, ""
		case "-":
			request.Kind, request.To = Unlabel, ""
		case "=":
			request.Kind, request.To = Reject, ""
		}
		mustDecide(t, s, opt, request)
	}
	return v
}

// inForce are the numbers of the entries in force, of a node or of all.
func inForce(t *testing.T, s *kv.Store, node kv.NodeID, from int64) (seqs []int64) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		isInForce := must.Get(InForce(t.Context(), tx, node, from))(t)
		newest, err := Newest(tx)
		for seq := int64(1); seq <= newest; seq++ {
			if isInForce(seq) {
				seqs = append(seqs, seq)
			}
		}
		return err
	})
	return seqs
}

// TestInForce has people decide about one node in turn, in the words of TestDisputes, where = rejects.
func TestInForce(t *testing.T) {
	for _, test := range []struct {
		words string
		want  []int64
	}{
		{"ann:beta", []int64{1}},
		{"ann:beta ~", nil},
		{"ann:beta ann:gamma", []int64{2}},
		{"ann:beta ann:beta", []int64{2}},
		{"ann:beta ann:gamma ~", []int64{1}},
		{"ann:beta ann:gamma ~ ~", nil}, // the second undo takes the first decision back, not the first undo
		{"ann:beta ~ ann:beta", []int64{3}},
		{"ann:beta ann:-", []int64{2}},
		{"ann:= ann:-", []int64{2}},
		{"ann:beta ann:=", []int64{2}},
		{"ann:beta ann:?", []int64{2}},
		// Several people: all who name the label that the node has.
		{"ann:beta bob:beta", []int64{1, 2}},
		{"ann:beta bob:=", []int64{1, 2}},
		{"ann:beta bob:gamma", []int64{1}}, // disputed: the label stays
		{"ann:beta bob:gamma ~", []int64{1}},
		{"ann:beta bob:gamma cy:gamma", []int64{2, 3}},
		{"ann:beta bob:gamma cy:gamma ~", []int64{1}},
		{"ann:beta bob:gamma cy:alpha!", []int64{3}},
		{"ann:beta bob:gamma ann:?", []int64{2}},
	} {
		t.Run(test.words, func(t *testing.T) {
			s := loaded(t, 12, 60)
			v := decideWords(t, s, test.words)
			if got := inForce(t, s, v, 1); !slices.Equal(got, test.want) {
				t.Errorf("of the node: got %d, want %d", got, test.want)
			}
			for from := int64(1); from < 6; from++ {
				want := slices.DeleteFunc(slices.Clone(test.want), func(seq int64) bool { return seq < from })
				if got := inForce(t, s, kv.NoNode, from); !slices.Equal(got, want) {
					t.Errorf("of all from %d on: got %d, want %d", from, got, want)
				}
			}
			if got := inForce(t, s, v+1, 1); got != nil {
				t.Errorf("of another node: got %d", got)
			}
		})
	}
}

// TestInForceOfMany decides about many nodes in a step, about some of them again, and removes one.
func TestInForceOfMany(t *testing.T) {
	s := loaded(t, 5, 400)
	var reqs []Request
	for v, state := range states(t, s) {
		if state.label != "" {
			reqs = append(reqs, Request{Node: v, Kind: Reject})
		}
	}
	n := int64(len(reqs))
	mustDecide(t, s, Options{Who: "ann"}, reqs...)
	mustDecide(t, s, Options{Who: "ann"}, Request{Node: reqs[3].Node, Kind: Unlabel},
		Request{Node: reqs[5].Node, Kind: Unsure})
	mustDecide(t, s, Options{Who: "ann"}, Request{Node: reqs[7].Node, Kind: Unlabel})
	mustUndo(t, s, 1)
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.RemoveNode(reqs[9].Node) }))
	var want []int64
	for seq := int64(1); seq <= n+2; seq++ {
		if seq != 4 && seq != 6 && seq != 10 {
			want = append(want, seq)
		}
	}
	if got := inForce(t, s, kv.NoNode, 1); !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	mustUndo(t, s, 2)
	if got := inForce(t, s, kv.NoNode, 1); got != nil {
		t.Errorf("after all was taken back: got %d, want none", got)
	}
}

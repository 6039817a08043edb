package labelmodel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// randomEvidence has many equal predictions and votes.
func randomEvidence(r *rand.Rand, c int) Evidence {
	e := Evidence{Predictions: make([]float32, c), Votes: make([]float64, c), Ranks: make([]int32, c)}
	for k := range c {
		e.Predictions[k] = float32(r.IntN(3)) / 4
		e.Votes[k] = float64(r.IntN(3))
	}
	for rank, k := range r.Perm(c) {
		e.Ranks[k] = int32(rank)
	}
	return e
}

func TestRivalsAreTheLargestOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 500 {
		c := 2 + r.IntN(9)
		e, label := randomEvidence(r, c), kv.Class(r.IntN(c))
		got := make([]kv.Class, CountRivals(c))
		e.ChooseRivals(label, got)
		var want []kv.Class
		for k := range c {
			if kv.Class(k) != label {
				want = append(want, kv.Class(k))
			}
		}
		slices.SortFunc(want, e.byPrediction)
		slices.SortFunc(want[len(got)-1:], e.byVotes)
		if want = want[:len(got)]; !slices.Equal(got, want) {
			t.Fatalf("label %d of %+v: got rivals %v, want %v", label, e, got, want)
		}
	}
}

func TestSuggestion(t *testing.T) {
	predictions, ranks := []float32{0.1, 0.3, 0.3, 0.3}, []int32{0, 3, 2, 1}
	for _, c := range []struct {
		votes       []float64
		label, want kv.Class
	}{
		{[]float64{9, 1, 2, 1}, 1, 2}, // the votes
		{[]float64{9, 2, 1, 2}, 1, 1}, // the label
		{[]float64{9, 2, 1, 2}, 2, 3}, // the rank
		{[]float64{0, 0, 0, 0}, kv.NoClass, 3},
		{[]float64{0, 0, 0, 0}, 0, 3},
	} {
		if got := (Evidence{predictions, c.votes, ranks}).Suggest(c.label); got != c.want {
			t.Errorf("votes %v, label %d: got class %d, want %d", c.votes, c.label, got, c.want)
		}
	}
}

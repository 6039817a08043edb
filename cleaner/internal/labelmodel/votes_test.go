package labelmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

func TestNoArcsSayNothing(t *testing.T) {
	if got := NewCompatibility(make([]int64, 9), 3); slices.Max(got.Logs) != 0 || slices.Min(got.Logs) != 0 {
		t.Errorf("got %v, want zeros", got.Logs)
	}
	arcs := []int64{500, 3, 0, 3, 400, 0, 0, 0, 0} // nobody votes for the last class
	for i, x := range NewCompatibility(arcs, 3).Logs {
		if y := float64(x); math.IsNaN(y) || math.IsInf(y, 0) || i/3 == 2 && y != 0 || i%3 == 2 && y != 0 {
			t.Errorf("entry %d: got %v", i, x)
		}
	}
}

// TestVotesCount: more votes of the same say more, never as much as mostVoters independent ones, and the scale of the
// weights says nothing.
func TestVotesCount(t *testing.T) {
	m := NewCompatibility([]int64{10, 90, 90, 10}, 2)
	of := func(other, same float64, voters int) float64 {
		return float64(m.Evidence(Ballot{[]float64{same, other}, voters}, 0))
	}
	if got := of(0, 0, 0); got != 0 {
		t.Errorf("no votes: got %v, want 0", got)
	}
	one, four, hub := of(1, 0, 1), of(4, 0, 4), of(1e6, 0, 1e6)
	if !(0 < one && 3*one < four && four < hub && hub < mostVoters*float64(m.Logs[1])) {
		t.Errorf("votes for the other class: got %v of one, %v of four, %v of a million", one, four, hub)
	}
	if got := of(0, 1, 1); got >= 0 {
		t.Errorf("a vote for the own class, whose nodes are no neighbours: got %v, want below 0", got)
	}
	if got, want := of(0.3, 0.1, 4), of(3, 1, 4); !near(got, want, 1e-6) {
		t.Errorf("weights a tenth as large: got %v, want %v", got, want)
	}
}

// TestModelWithoutCompatibility: a model that was kept before votes were counted scores as it did.
func TestModelWithoutCompatibility(t *testing.T) {
	m, z := randomModel(rand.New(rand.NewPCG(5, 0)), 3, 3)
	classes := []kv.Class{0, 1, 2}
	old := m.Scorer()
	if n := old.Votes(classes, Ballot{[]float64{1, 0, 0}, 1}, make([]float32, 3)); n != nil {
		t.Fatalf("got votes %v, want none", n)
	}
	want := old.Score(classes, z, nil, false, make([]float64, 3+len(z)))
	m.Compatibility, m.VoteWeight = NewCompatibility([]int64{9, 1, 1, 1, 9, 1, 1, 1, 9}, 3).Logs, 1
	counting := m.Scorer()
	score := func(votes ...float64) float64 {
		n := counting.Votes(classes, Ballot{votes, 40}, make([]float32, 3))
		return counting.Score(classes, z, n, false, make([]float64, 3+len(z)))
	}
	if none := score(0, 0, 0); !near(none, want, 1e-12) {
		t.Errorf("without voters: got score %v, want %v", none, want)
	}
	if with, against := score(40, 0, 0), score(0, 40, 0); !(with < want && want < against) {
		t.Errorf("got %v with votes for the label, %v without, %v with votes against it", with, want, against)
	}
}

package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/kvtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// voteTrial is a graph with labels, all of them under test.
func voteTrial(g kvtest.MemoryGraph, labels []kv.Class, classes int) trial {
	return trial{testNodes: countLabelled(labels), problem: problem{
		graph: g, labels: labels, classes: classes, splits: make([]Split, len(g)),
	}}
}

func runMethod(t *testing.T, p trial, name string, opt Options) *judgement {
	t.Helper()
	result, err := findMethod(name).run(context.Background(), p, opt)
	if err != nil {
		t.Fatalf("method %s: %v", name, err)
	}
	return result
}

func TestLabelVote(t *testing.T) {
	const none = kv.NoClass
	edges := [][2]kv.NodeID{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {5, 1}, {5, 3}, {6, 4}, {6, 7}}
	p := voteTrial(kvtest.NewMemoryGraph(9, edges), []kv.Class{0, 1, 1, 0, none, 0, 1, 0, 1}, 2)
	result := runMethod(t, p, "label-vote", Options{})
	for v, want := range []struct {
		score float64
		flag  bool
		why   string
	}{
		{2.0 / 3, true, "two of three labelled neighbours are of another class"},
		{1, true, "both neighbours are of class 0"}, {1, true, "its neighbour is of class 0"},
		{0, false, "both agree"}, {0, false, "it has no label"}, {0.5, false, "a tie"},
		{1, true, "the unlabelled neighbour has no vote"}, {1, true, "its neighbour is of class 1"},
		{0.5, false, "no neighbour"},
	} {
		if math.Abs(result.scores[v]-want.score) > 1e-6 || result.flagged[v] != want.flag {
			t.Errorf("node %d, %s: got score %v, flagged %v, want %v and %v",
				v, want.why, result.scores[v], result.flagged[v], want.score, want.flag)
		}
	}
}

func TestNeighbourVotesAreSharesOfNeighbours(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, c := 1+r.IntN(40), 1+r.IntN(5)
		p := voteTrial(awkwardGraph(r, n), kvtest.AwkwardLabels(r, n, c), c)
		want := make([]float32, n*c)
		for v, list := range p.graph.(kvtest.MemoryGraph) {
			all := 0
			counts := make([]int, c)
			for _, u := range list {
				if y := p.labels[u]; y != kv.NoClass {
					all++
					counts[y]++
				}
			}
			for j, count := range counts {
				if want[v*c+j] = 1 / float32(c); all > 0 {
					want[v*c+j] = float32(float64(count) / float64(all))
				}
			}
		}
		for _, workers := range []int{1, 3} {
			votes, err := p.neighbourVotes(context.Background(), workers)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, n*c)
			if err := votes.Read(kv.Range{End: kv.NodeID(n)}, 0, c, got); err != nil {
				t.Fatal(err)
			}
			closeStore(t, votes)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %d workers: got votes %v, want %v", seed, workers, got, want)
			}
		}
		p.predictions = rowsSource{c, want}
		if got, flags := runMethod(t, p, "confident-vote", Options{}), plainConfidentLearning(p, want); !slices.Equal(got.flagged, flags) {
			t.Errorf("seed %d: confident-vote flags %v, want %v", seed, got.flagged, flags)
		}
	}
}

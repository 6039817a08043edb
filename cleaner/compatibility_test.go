package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// strangers is a problem whose neighbours disagree: an arc leads from class k to any other or, where ring, to the next and
// the one before. Predictions say nothing. One label in ten is wrong.
func strangers(seed uint64, n, c int, ring bool) (p problem, truth []kv.Class) {
	r := rand.New(rand.NewPCG(seed, 0))
	p = problem{order: inOrderOfIDs(n), classes: c, crossFitted: true}
	values := make([]float32, n*c)
	var edges [][2]kv.NodeID
	for v := range n {
		k := v % c
		given := k
		if r.IntN(10) == 0 {
			given = (k + 1 + r.IntN(c-1)) % c
		}
		truth, p.labels = append(truth, kv.Class(k)), append(p.labels, kv.Class(given))
		p.splits = append(p.splits, []Split{SplitTrain, SplitValidation}[r.IntN(2)])
		for j := range c {
			values[v*c+j] = 1 / float32(c)
		}
		for range 6 {
			step := 1
			if !ring {
				step += r.IntN(c - 1)
			}
			u := r.IntN(n/c)*c + (k+step)%c
			edges = append(edges, [2]kv.NodeID{kv.NodeID(v), kv.NodeID(u)})
		}
	}
	for k := range c {
		p.names = append(p.names, fmt.Sprintf("class %d", k))
	}
	p.graph, p.predictions = newMemoryGraph(n, edges), rowsSource{c, values}
	return p, truth
}

// TestStrangersAreHeard: neighbours that are never of the same class tell wrong labels as well as others do.
func TestStrangersAreHeard(t *testing.T) {
	for _, c := range []struct {
		classes int
		ring    bool
		want    float64
	}{{2, false, 0.95}, {3, false, 0.9}, {5, true, 0.9}} {
		p, truth := strangers(7, 1500, c.classes, c.ring)
		scores, _ := p.result(t)
		wrong, found, flagged := 0, 0, 0
		for v, y := range p.labels {
			if y != truth[v] {
				wrong++
			}
			if scores[v] > 0.5 {
				if flagged++; y != truth[v] {
					found++
				}
			}
		}
		if f1 := 2 * float64(found) / float64(wrong+flagged); f1 < c.want {
			t.Errorf("%d classes, ring %t: got F1 %.3f, want %v or more", c.classes, c.ring, f1, c.want)
		}
	}
}

func TestCompatibility(t *testing.T) {
	p, _ := strangers(3, 600, 4, true)
	for v := range p.labels {
		if v%5 == 0 {
			p.labels[v] = kv.NoClass
		}
	}
	p.labels[1] = 3
	counts := make([]float64, 16)
	for v, list := range p.graph.(memoryGraph) {
		for _, u := range list {
			if k, j := p.labels[v], p.labels[u]; k != kv.NoClass && j != kv.NoClass {
				counts[int(k)*4+int(j)]++
			}
		}
	}
	var from, to [4]float64
	var all float64
	for i, count := range counts {
		from[i/4] += count
		to[i%4] += count
		all += count
	}
	var want []float32
	for i, count := range counts {
		k, j := i/4, i%4
		a := 10 + 0.05*from[k]
		want = append(want, float32(math.Log((count+a*to[j]/all)/((from[k]+a)*to[j]/all))))
	}
	for _, workers := range []int{1, 4} {
		got, err := p.compatibility(context.Background(), workers)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !near(float64(got.logs[i]), float64(want[i]), 1e-5) {
				t.Fatalf("%d workers: got %v, want %v", workers, got.logs, want)
			}
		}
	}
	friends, _ := communities(3, 600, 4)
	if got, err := friends.compatibility(context.Background(), 1); got != nil || err != nil {
		t.Errorf("neighbours that agree: got %v and error %v, want none", got, err)
	}
	p.classes = mostCompatible + 1
	if got, err := p.compatibility(context.Background(), 1); got != nil || err != nil {
		t.Errorf("%d classes: got %v and error %v, want none", p.classes, got, err)
	}
}

func TestNoArcsSayNothing(t *testing.T) {
	if got := newCompatibility(make([]int64, 9), 3); slices.Max(got.logs) != 0 || slices.Min(got.logs) != 0 {
		t.Errorf("got %v, want zeros", got.logs)
	}
	arcs := []int64{500, 3, 0, 3, 400, 0, 0, 0, 0} // nobody votes for the last class
	for i, x := range newCompatibility(arcs, 3).logs {
		if y := float64(x); math.IsNaN(y) || math.IsInf(y, 0) || i/3 == 2 && y != 0 || i%3 == 2 && y != 0 {
			t.Errorf("entry %d: got %v", i, x)
		}
	}
}

// TestVotesCount: more votes of the same say more, never as much as mostVoters independent ones, and the scale of the
// weights says nothing.
func TestVotesCount(t *testing.T) {
	m := newCompatibility([]int64{10, 90, 90, 10}, 2)
	of := func(other, same float64, voters int) float64 {
		return float64(m.evidence(ballot{[]float64{same, other}, voters}, 0))
	}
	if got := of(0, 0, 0); got != 0 {
		t.Errorf("no votes: got %v, want 0", got)
	}
	one, four, hub := of(1, 0, 1), of(4, 0, 4), of(1e6, 0, 1e6)
	if !(0 < one && 3*one < four && four < hub && hub < mostVoters*float64(m.logs[1])) {
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
	old := m.laidOut()
	if n := old.votes(classes, ballot{[]float64{1, 0, 0}, 1}, make([]float32, 3)); n != nil {
		t.Fatalf("got votes %v, want none", n)
	}
	want := old.score(classes, z, nil, false, make([]float64, 3))
	m.Compatibility, m.VoteWeight = newCompatibility([]int64{9, 1, 1, 1, 9, 1, 1, 1, 9}, 3).logs, 1
	counting := m.laidOut()
	score := func(votes ...float64) float64 {
		n := counting.votes(classes, ballot{votes, 40}, make([]float32, 3))
		return counting.score(classes, z, n, false, make([]float64, 3))
	}
	if none := score(0, 0, 0); !near(none, want, 1e-12) {
		t.Errorf("without voters: got score %v, want %v", none, want)
	}
	if with, against := score(40, 0, 0), score(0, 40, 0); !(with < want && want < against) {
		t.Errorf("got %v with votes for the label, %v without, %v with votes against it", with, want, against)
	}
}

package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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
	p.graph, p.predictions = kvtest.NewMemoryGraph(n, edges), rowsSource{c, values}
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
	for v, list := range p.graph.(kvtest.MemoryGraph) {
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
		got := must.Get(p.compatibility(context.Background(), workers))(t)
		for i := range want {
			if !golden.Near(float64(got.Logs[i]), float64(want[i]), 1e-5) {
				t.Fatalf("%d workers: got %v, want %v", workers, got.Logs, want)
			}
		}
	}
	friends, _ := communities(3, 600, 4)
	if got, err := friends.compatibility(context.Background(), 1); got != nil || err != nil {
		t.Errorf("neighbours that agree: got %v and error %v, want none", got, err)
	}
	p.classes = labelmodel.MostCompatible + 1
	if got, err := p.compatibility(context.Background(), 1); got != nil || err != nil {
		t.Errorf("%d classes: got %v and error %v, want none", p.classes, got, err)
	}
}

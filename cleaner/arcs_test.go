package cleaner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// strangers is a problem whose neighbours disagree: an arc leads from class k to any other or, where ring, to the next
// and the one before. One label in ten is wrong.
func strangers(seed uint64, n, c int, ring bool) (p problem, truth []kv.Class) {
	r := rand.New(rand.NewPCG(seed, 0))
	p = problem{order: inOrderOfIDs(n), classes: c, crossFitted: true}
	var edges [][2]kv.NodeID
	for v := range n {
		k := v % c
		given := k
		if r.IntN(10) == 0 {
			given = (k + 1 + r.IntN(c-1)) % c
		}
		truth, p.labels = append(truth, kv.Class(k)), append(p.labels, kv.Class(given))
		p.splits = append(p.splits, []Split{SplitTrain, SplitValidation}[r.IntN(2)])
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
	p.graph = kvtest.NewMemoryGraph(n, edges)
	return p, truth
}

// TestStrangersAreHeard: the built-in classifier learns from neighbours that are never of the same class.
func TestStrangersAreHeard(t *testing.T) {
	for _, c := range []struct {
		classes int
		ring    bool
		want    float64
	}{{2, false, 0.95}, {3, false, 0.9}, {5, true, 0.9}} {
		p, truth := strangers(7, 1500, c.classes, c.ring)
		p.drawn = true
		values, _ := train(t, *p.base(), Options{})
		p.predictions = rowsSource{c.classes, values}
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

package cleaner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestLabelAgreement tells predictions of some accuracy from those with shuffled rows and with exchanged columns.
func TestLabelAgreement(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		classes, nodes := 3+int(seed%4), 400
		labels, tops := make([]kv.Class, nodes), make([]kv.Class, nodes)
		for v := range labels {
			labels[v] = kv.Class(r.IntN(classes))
			if tops[v] = labels[v]; r.Float64() < 0.4 {
				tops[v] = kv.Class(r.IntN(classes))
			}
		}
		shuffled, exchanged := slices.Clone(tops), slices.Clone(tops)
		r.Shuffle(nodes, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for v, top := range tops {
			if top < 2 {
				exchanged[v] = 1 - top
			}
		}
		for _, c := range []struct {
			name      string
			tops      []kv.Class
			misplaced int
		}{{"right", tops, 0}, {"shuffled", shuffled, -1}, {"exchanged", exchanged, 2}} {
			of := make([]kv.Class, classes)
			for k := range of {
				of[k] = kv.Class(k)
			}
			p, row := newLargestPredictions(nodes), make([]float64, classes)
			for v, top := range c.tops {
				row[top] = 1
				p.see(kv.NodeID(v), row, of)
				row[top] = 0
			}
			got, err := p.compare(nodes, classes, func(rows kv.Range, dst []kv.Class) error {
				copy(dst, labels[rows.First:rows.End])
				return nil
			})
			isRight := len(got.Misplaced) == c.misplaced && (c.misplaced > 0 || !got.IsLittle())
			if c.name == "shuffled" {
				isRight = got.IsLittle()
			}
			if err != nil || !isRight || got.Nodes != int64(nodes) {
				t.Errorf("seed %d, %s: got %+v, %v", seed, c.name, got, err)
			}
		}
	}
	if few := (Agreement{Nodes: fewNodes - 1, Chance: 9}); few.IsLittle() {
		t.Error("few nodes: got little agreement, want no verdict")
	}
}

package labelnoise

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

func labelled(labels []kv.Class) (count int) {
	for _, y := range labels {
		if y != kv.NoClass {
			count++
		}
	}
	return count
}

// inMemory has the graph predict by chance and label, in scratch arrays of a directory of the test.
func (g *Graph) inMemory(t *testing.T) {
	g.Scratch = scratch.Temporary(t.TempDir())
	g.Predict = func(_ context.Context, seed uint64) (*rowstore.Store, error) {
		s, err := rowstore.New(g.Scratch, len(g.Labels), g.Classes)
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for v, err := range g.Order {
			if err != nil {
				return nil, err
			}
			row, sum := make([]float32, g.Classes), float32(0)
			for j := range row {
				row[j] = float32(elementary.Exp(r.NormFloat64()))
				sum += row[j]
			}
			for j := range row {
				row[j] /= sum
			}
			if err := s.Write(kv.Range{First: v, End: v + 1}, 0, g.Classes, row); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
}

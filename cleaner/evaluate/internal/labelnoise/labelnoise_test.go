package labelnoise

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestParseLabelNoise(t *testing.T) {
	for _, kind := range Kinds() {
		for text, rate := range map[string]float64{"0.1": 0.1, "0.25": 0.25, "1e-3": 0.001, ".5": 0.5} {
			if got := mustParse(t, kind+":"+text); got.kind.name != kind || got.rate != rate {
				t.Errorf("noise %s:%s: got %+v", kind, text, got)
			}
		}
	}
	for _, text := range []string{"", "sym", "sym:", "sym:0", "sym:1", "sym:-0.1", "sym:1.5", "asym:NaN", "sym:Inf",
		"sym:0.1:2", "pair:0.1", "0.1", "SYM:0.1", "sym:0,1"} {
		_, err := Parse(text)
		if !errors.Is(err, cleaner.ErrOptions) || !strings.Contains(err.Error(), "want KIND:RATE with one of sym, asym,") {
			t.Errorf("noise %q: got %v, want ErrOptions that says what is wanted", text, err)
		}
	}
}

func identityOrder(n int) iter.Seq2[kv.NodeID, error] {
	nodes := make([]kv.NodeID, n)
	for v := range nodes {
		nodes[v] = kv.NodeID(v)
	}
	return listOrder(nodes)
}

// listOrder is an order of nodes by a list.
func listOrder(nodes []kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func mustParse(t *testing.T, text string) Noise {
	t.Helper()
	return must.Get(Parse(text))(t)
}

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

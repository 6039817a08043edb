package ops

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// What a Series may hold decides whether the operator that follows finds the lists.
func TestSeriesLimit(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 0))
	g := rmat(8, 6, 1)
	read := &interruptedGraph{Graph: g, then: func() {}}
	series := NewSeries(read)
	defer func() { must.Do(t, series.Close()) }()
	if err := series.Limit(0); err != nil {
		t.Errorf("before the first operator: %v", err)
	}
	sizes := must.Get(Measure(ctx, series, Options{}))(t)
	blocks := must.Get(g.AdjacencyBlocks())(t)
	x := Dense(randomRows(r, g.NumNodes(), 3), 3)
	bytes := 4 * (int64(g.NumNodes()) + 2*sizes.Edges())
	for i, c := range []struct{ limit, reads int64 }{{bytes, 1}, {bytes, 0}, {bytes - 1, 0}, {0, 1}, {bytes, 1}} {
		before := read.reads.Load()
		must.Get(collect(ctx, series, x, Operator{Hops: 3}, Options{}))(t)
		if reads := read.reads.Load() - before; reads != c.reads*int64(len(blocks)) {
			t.Errorf("propagation %d: got %d reads of blocks, want all of the %d read %d times", i, reads, len(blocks), c.reads)
		}
		if err := series.Limit(c.limit); err != nil {
			t.Error(err)
		}
	}
}

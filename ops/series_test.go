package ops

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Operators in a series give the bits that each gives by itself, and read the graph once for the degrees and once for
// the lists, or once a walk where the budget has no room for these.
func TestSeries(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 0))
	for name, g := range map[string]*listGraph{"by degree": rmat(8, 6, 1), "in any order": shuffled(rmat(8, 6, 1), 2)} {
		x := Dense(randomRows(r, g.NumNodes(), 5), 5)
		sizes := must.Get(Measure(ctx, g, Options{}))(t)
		blocks := must.Get(g.AdjacencyBlocks())(t)
		wantDiagonals := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: 3}, Options{}))(t)
		want := must.Get(collect(ctx, g, x, Operator{Hops: 3, Diagonals: wantDiagonals}, Options{}))(t)
		for _, small := range []bool{false, true} {
			read := &interruptedGraph{Graph: g, then: func() {}}
			series := NewSeries(read)
			for _, workers := range []int{2, 1, 3} {
				opt := Options{Workers: workers}
				if small {
					opt.MemoryBudget = max(sizes.diagonalBytes(3, 1, false), sizes.leastForPropagate(3, opt))
				}
				degrees := must.Get(Degrees(ctx, series, opt))(t)
				clear(degrees) // they are the caller's
				d := must.Get(ComputeDiagonals(ctx, series, Powers{Hops: 3}, opt))(t)
				got := must.Get(collect(ctx, series, x, Operator{Hops: 3, Diagonals: d}, opt))(t)
				if !slices.Equal(d.At(2), wantDiagonals.At(2)) || !slices.Equal(d.At(3), wantDiagonals.At(3)) {
					t.Errorf("%s, small budget %v, %d workers: other diagonals than without a series", name, small, workers)
				}
				if !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s, small budget %v, %d workers: other rows than without a series", name, small, workers)
				}
			}
			if reads, twice := read.reads.Load(), int64(2*len(blocks)); small == (reads == twice) {
				t.Errorf("%s, small budget %v: got %d reads of blocks, %d are two of all", name, small, reads, twice)
			}
			if err := errors.Join(series.Close(), series.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// Between two operators a Series holds no block. An operator whose budget has no room for the lists that were kept
// drops them.
func TestSeriesHoldsLittle(t *testing.T) {
	ctx := context.Background()
	g := shuffled(rmat(8, 6, 1), 2)
	series := NewSeries(g)
	x := Dense(make([]float32, g.NumNodes()), 1)
	for name, operate := range map[string]func() error{
		"Measure": func() error { _, err := Measure(ctx, series, Options{Workers: 3}); return err },
		"Degrees": func() error { _, err := Degrees(ctx, series, Options{Workers: 3}); return err },
		"diagonal": func() error {
			_, err := ComputeDiagonals(ctx, series, Powers{Hops: 3}, Options{Workers: 3})
			return err
		},
		"hops": func() error {
			_, err := collect(ctx, series, x, Operator{Hops: 2}, Options{Workers: 3})
			return err
		},
	} {
		must.Do(t, operate())
		if series.walker.bufs != nil {
			t.Errorf("after %s: got %d buffers of blocks, want none", name, len(series.walker.bufs))
		}
	}
	if series.walker.lists == nil {
		t.Fatal("got no lists that were kept, want some to drop")
	}
	least := Options{Workers: 1, MemoryBudget: series.survey.diagonalBytes(3, 1, false)}
	d := must.Get(ComputeDiagonals(ctx, series, Powers{Hops: 3}, least))(t)
	if series.walker.lists != nil || series.walker.bufs != nil {
		t.Error("within the least memory: got lists or blocks that are kept, want none")
	}
	if err := errors.Join(d.Close(), series.Close()); err != nil {
		t.Error(err)
	}
}

func TestSeriesRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, g := range []Graph{weightedList{rmat(5, 4, 1), 3}, randomArcGraph(r, false, true)} {
		series := NewSeries(g)
		if _, err := Measure(context.Background(), series, Options{}); !errors.Is(err, ErrShape) {
			t.Errorf("%T: got error %v, want ErrShape", g, err)
		}
		if err := series.Close(); err != nil {
			t.Error(err)
		}
	}
}

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

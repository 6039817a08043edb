package ops

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A countingSource counts what is read of another.
type countingSource struct {
	Source
	rows    *atomic.Int64
	crossed *atomic.Bool // a read went beyond a block
}

func (s countingSource) Read(rows kv.Range, lo, hi int, dst []float32) error {
	s.rows.Add(int64(rows.Len()))
	if rows.Len() > 0 && int(rows.First)/visitRows != int(rows.End-1)/visitRows {
		s.crossed.Store(true)
	}
	return s.Source.Read(rows, lo, hi, dst)
}

// TestSourceIsReadOnce: with memory for its columns the source is read once for each tile, else again at each hop that
// clears a diagonal; block by block, in stripes too. Nodes without neighbours at the end are not read.
func TestSourceIsReadOnce(t *testing.T) {
	ctx := t.Context()
	const left, classes, hops = 40, 3, 3 // two tiles have columns of predictions
	g := rmat(12, 4, 5)
	n := g.NumNodes()
	sizes := must.Get(Measure(ctx, g, Options{}))(t)
	labels := make([]kv.Class, n)
	for v := range labels {
		labels[v] = kv.Class(v % classes)
	}
	predictions := Dense(randomRows(rand.New(rand.NewPCG(1, 2)), n, left), left)
	diagonals := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{}))(t)
	op, dir := Operator{Hops: hops, Diagonals: diagonals}, scratchDir(t)
	byPlan := func(op Operator) func(Source) error {
		return func(src Source) error {
			return Propagate(ctx, g, src, op, Options{Workers: 2}, func(Tile) error { return nil })
		}
	}
	byForce := func(plan PropagatePlan) func(Source) error {
		plan.Width, plan.Workers = kernel.MaxColumns, 2
		return func(src Source) error {
			_, err := forced(ctx, g, src, op, Options{Scratch: dir}, plan)
			return err
		}
	}
	for _, c := range []struct {
		name  string
		read  func(src Source) error
		times int64 // that each row is read
	}{
		{"with memory", byPlan(op), 2},
		{"one hop", byPlan(Operator{Hops: 1, Diagonals: diagonals}), 2},
		{"without memory", byForce(PropagatePlan{}), 2 * hops},
		{"in stripes", byForce(PropagatePlan{OnDisk: true, Stripes: 3, Inputs: true}), 2},
	} {
		counting := countingSource{predictions, new(atomic.Int64), new(atomic.Bool)}
		must.Do(t, c.read(SideBySide(counting, OneHot(labels, classes))))
		if rows := counting.rows.Load(); rows != c.times*int64(sizes.Linked) || counting.crossed.Load() {
			t.Errorf("%s: %d rows of %d were read, beyond a block: %t, want those with neighbours %d times, block by block",
				c.name, rows, sizes.Linked, counting.crossed.Load(), c.times)
		}
	}
}

// sameNumbers compares bits, except for those of NaN.
func sameNumbers(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		a, b := float64(x), float64(y)
		return a == b && math.Signbit(a) == math.Signbit(b) || math.IsNaN(a) && math.IsNaN(b)
	})
}

func TestSources(t *testing.T) {
	labels := OneHot([]kv.Class{2, kv.NoClass, 0}, 3)
	values := Dense([]float32{0, 1, 2, 10, 11, 12, 20, 21, 22}, 3)
	for _, c := range []struct {
		name   string
		source Source
		rows   kv.Range
		lo, hi int
		want   []float32
	}{
		{"labels", labels, kv.Range{First: 0, End: 3}, 0, 3, []float32{0, 0, 1, 0, 0, 0, 1, 0, 0}},
		{"labels", labels, kv.Range{First: 0, End: 1}, 1, 3, []float32{0, 1}},
		{"labels", labels, kv.Range{First: 1, End: 3}, 0, 1, []float32{0, 1}},
		{"values", values, kv.Range{First: 1, End: 3}, 1, 3, []float32{11, 12, 21, 22}},
		{"values", values, kv.Range{First: 2, End: 2}, 0, 3, []float32{}},
	} {
		got := slices.Repeat([]float32{-1}, len(c.want))
		if err := c.source.Read(c.rows, c.lo, c.hi, got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s, rows %v, columns %d to %d: got %v, %v, want %v", c.name, c.rows, c.lo, c.hi, got, err, c.want)
		}
	}
	for name, source := range map[string]Source{"labels": labels, "values": values} {
		if err := source.Read(kv.Range{First: 2, End: 4}, 0, 1, make([]float32, 2)); !errors.Is(err, ErrShape) {
			t.Errorf("%s, node 3 of 3: got error %v, want ErrShape", name, err)
		}
	}
	if err := OneHot([]kv.Class{-2}, 3).Read(kv.Range{End: 1}, 0, 3, make([]float32, 3)); !errors.Is(err, ErrShape) {
		t.Errorf("class -2: got error %v, want ErrShape", err)
	}
}

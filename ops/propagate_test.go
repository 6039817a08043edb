package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// collect propagates and returns S_k X row-major [n×c] for k = 1..K; it fails where a tile is missing, comes twice or
// out of turn.
func collect(ctx context.Context, g Graph, src Source, op Operator, opt Options) ([][]float32, error) {
	return collectWith(g, src, op, func(visit func(Tile) error) error { return Propagate(ctx, g, src, op, opt, visit) })
}

func collectWith(
	g Graph, src Source, op Operator, propagate func(visit func(Tile) error) error,
) ([][]float32, error) {
	n, c := g.NumNodes(), src.Width()
	out := make([][]float32, op.Hops)
	for k := range out {
		out[k] = slices.Repeat([]float32{float32(math.NaN())}, n*c)
	}
	var mu sync.Mutex
	seen, hop, lo := 0, 0, 0
	err := propagate(func(t Tile) error {
		mu.Lock()
		defer mu.Unlock()
		if t.Lo < lo || t.Lo == lo && t.Hop < hop {
			return fmt.Errorf("tile %d, hop %d came after tile %d, hop %d", t.Lo, t.Hop, lo, hop)
		}
		lo, hop = t.Lo, t.Hop
		if want := int(t.Rows.End-t.Rows.First) * (t.Hi - t.Lo); len(t.Values) != want {
			return fmt.Errorf("rows %v of columns %d to %d: got %d values, want %d", t.Rows, t.Lo, t.Hi, len(t.Values), want)
		}
		for v := t.Rows.First; v < t.Rows.End; v++ {
			copy(out[t.Hop-1][int(v)*c+t.Lo:int(v)*c+t.Hi], t.Values[int(v-t.Rows.First)*(t.Hi-t.Lo):])
		}
		seen += len(t.Values)
		return nil
	})
	if err == nil && seen != n*c*op.Hops {
		err = fmt.Errorf("got %d values visited, want %d", seen, n*c*op.Hops)
	}
	return out, err
}

// densePropagated is S_k X by its definition.
func densePropagated(t *testing.T, g Graph, x []float32, c, k int, op Operator) *mat.Dense {
	t.Helper()
	n, power := g.NumNodes(), densePower(t, g, k, op.SelfLoops)
	if op.Diagonals != nil {
		for v := range n {
			power.Set(v, v, 0)
		}
	}
	input := mat.NewDense(n, c, nil)
	for i, value := range x {
		input.Set(i/c, i%c, float64(value))
	}
	var out mat.Dense
	out.Mul(power, input)
	return &out
}

// randomGraph draws a small graph of any kind.
func randomGraph(r *rand.Rand, seed uint64) Graph {
	if seed%2 == 0 {
		return awkwardGraph(r)
	}
	return randomArcGraph(r, false, seed%3 > 0)
}

func TestPropagateIsItsDefinition(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(longtest.Of(100, 500)) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := randomGraph(r, seed)
		n, c, hops := g.NumNodes(), 1+r.IntN(20), 1+r.IntN(MaxHops)
		x := randomRows(r, n, c)
		diagonals, err := ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{})
		if err != nil {
			t.Fatalf("seed %d: diagonals: %v", seed, err)
		}
		for _, op := range []Operator{{Hops: hops}, {Hops: hops, Diagonals: diagonals}, {Hops: hops, SelfLoops: true}} {
			got, err := collect(ctx, g, Dense(x, c), op, Options{Workers: 1 + r.IntN(3)})
			if err != nil {
				t.Fatalf("seed %d: propagate %d hops of %d×%d: %v", seed, hops, n, c, err)
			}
			for k := 1; k <= hops; k++ {
				want := densePropagated(t, g, x, c, k, op)
				// Entries of Ã are at most 1 where A is symmetric, else as many as there are nodes.
				tolerance := 1e-6 * max(1, mat.Max(want))
				for i, value := range got[k-1] {
					if w := want.At(i/c, i%c); !(math.Abs(float64(value)-w) <= tolerance) {
						t.Fatalf("seed %d, %T, cleared %t, self loops %t, hop %d, node %d, column %d: got %v, want %v",
							seed, g, op.Diagonals != nil, op.SelfLoops, k, i/c, i%c, value, w)
					}
				}
			}
		}
	}
}

func TestPropagateSameBits(t *testing.T) {
	ctx := context.Background()
	g := rmat(9, 5, 1)
	n, c := g.NumNodes(), 21
	x := randomRows(rand.New(rand.NewPCG(2, 0)), n, c)
	diagonals := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: 3}, Options{}))(t)
	op := Operator{Hops: 3, Diagonals: diagonals}
	want, err := collect(ctx, g, Dense(x, c), op, Options{Workers: 1})
	must.Do(t, err)
	var tooSmall *BudgetError
	err = Propagate(ctx, g, Dense(x, c), op, Options{MemoryBudget: 1}, nil)
	if !errors.As(err, &tooSmall) || !errors.Is(err, ErrBudget) ||
		err.Error() != fmt.Sprintf("propagate: got a memory budget of 1 bytes, want at least %d", tooSmall.Least) {
		t.Fatalf("budget of 1 byte: got error %v, want a *BudgetError", err)
	}
	for budget, want := range map[int64]error{tooSmall.Least - 1: ErrBudget, tooSmall.Least: nil} {
		if _, err := collect(ctx, g, Dense(x, c), op, Options{MemoryBudget: budget}); !errors.Is(err, want) {
			t.Errorf("%d bytes, with %d at least: got error %v, want %v", budget, tooSmall.Least, err, want)
		}
	}
	for _, block := range []int{1, 7, 100, 5000} {
		g.block = block
		for _, workers := range []int{1, 2, 4} {
			for _, budget := range []int64{0, 4*tooSmall.Least + 40*int64(n), tooSmall.Least * 12} {
				opt := Options{Workers: workers, MemoryBudget: budget}
				got, err := collect(ctx, g, Dense(x, c), op, opt)
				if err != nil {
					t.Fatalf("blocks of %d, %d workers, %d bytes: %v", block, workers, budget, err)
				}
				for k := range want {
					if !sameBits(got[k], want[k]) {
						t.Errorf("blocks of %d, %d workers, %d bytes: hop %d differs in its bits", block, workers, budget, k+1)
					}
				}
			}
		}
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestPropagateWanted(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := awkwardGraph(r)
		n, c, hops := g.NumNodes(), 1+r.IntN(40), 1+r.IntN(3)
		x := Dense(randomRows(r, n, c), c)
		diagonals, err := ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{})
		if err != nil {
			t.Fatalf("seed %d: diagonals: %v", seed, err)
		}
		wanted := make([][]kv.Class, 2)
		for i := range wanted {
			for range n {
				wanted[i] = append(wanted[i], kv.Class(r.IntN(c+1)-1)) // -1 is NoClass
			}
		}
		for _, op := range []Operator{{Hops: hops, Diagonals: diagonals}, {Hops: hops, SelfLoops: true}} {
			whole, err := collect(ctx, g, x, op, Options{})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			op.Want = func(v kv.NodeID, columns []int) []int {
				a, b := int(wanted[0][v]), int(wanted[1][v])
				for _, j := range []int{min(a, b), max(a, b)} {
					if j >= 0 && (len(columns) == 0 || columns[len(columns)-1] != j) {
						columns = append(columns, j)
					}
				}
				return columns
			}
			got, err := collect(ctx, g, x, op, Options{Workers: 2})
			if err != nil {
				t.Fatalf("seed %d, wanted columns: %v", seed, err)
			}
			last := whole[hops-1]
			for i := range last {
				if column := kv.Class(i % c); wanted[0][i/c] != column && wanted[1][i/c] != column {
					if len(g.lists[i/c]) == 0 && got[hops-1][i] == 0 {
						continue
					}
					last[i] = float32(math.NaN())
				}
			}
			for k := range whole {
				for i, value := range got[k] {
					want := whole[k][i]
					if value != want && !(math.IsNaN(float64(value)) && math.IsNaN(float64(want))) {
						t.Fatalf("seed %d, hop %d of %d, node %d, column %d: got %v, want %v", seed, k+1, hops, i/c, i%c, value, want)
					}
				}
			}
		}
	}
}

func TestPropagateEmpty(t *testing.T) {
	visited := func(Tile) error { return errors.New("visited") }
	for name, g := range map[string]*listGraph{"no nodes": newListGraph(0, nil), "no columns": newListGraph(3, nil)} {
		if err := Propagate(context.Background(), g, Dense(nil, 0), Operator{Hops: 2}, Options{}, visited); err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		}
	}
}

func TestPropagateShapes(t *testing.T) {
	ctx := context.Background()
	g := newListGraph(3, [][2]int{{0, 1}, {1, 2}})
	two := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: 2}, Options{}))(t)
	other := must.Get(ComputeDiagonals(ctx, newListGraph(4, nil), Powers{Hops: 2}, Options{}))(t)
	x := Dense(make([]float32, 3), 1)
	for _, c := range []struct {
		src  Source
		op   Operator
		want string
	}{
		{x, Operator{}, "got 0 hops, want at least 1"},
		{x, Operator{Hops: 3, Diagonals: two}, "got diagonals of 2 hops, want 3"},
		{x, Operator{Hops: 2, Diagonals: other}, "got diagonals of 4 nodes, want 3"},
		{x, Operator{Hops: 2, Diagonals: two, SelfLoops: true}, "together with self loops"},
		{x, Operator{Hops: 1, First: -1}, "got a first column of -1, want at least 0"},
		{Dense(make([]float32, 2), 1), Operator{Hops: 1}, "got 2 values of 1 columns, want a row for node 2"},
		{OneHot([]kv.Class{0, 5, 1}, 2), Operator{Hops: 1}, "node 1 has class 5, want less than 2"},
		{OneHot([]kv.Class{0}, 2), Operator{Hops: 1}, "got 1 labels, want one for node 2"},
	} {
		err := Propagate(ctx, g, c.src, c.op, Options{}, func(Tile) error { return nil })
		if !errors.Is(err, ErrShape) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want ErrShape with %q", c.op, err, c.want)
		}
	}
}

// TestLeastForPropagate propagates with the least budget on a graph most of whose nodes have no neighbours.
func TestLeastForPropagate(t *testing.T) {
	g := newListGraph(1<<14, [][2]int{{0, 1}, {1, 2}})
	sizes := must.Get(Measure(t.Context(), g, Options{}))(t)
	x := Dense(make([]float32, 1<<14), 1)
	opt := Options{Scratch: scratchDir(t), MemoryBudget: sizes.LeastForPropagate()}
	for _, loops := range []bool{false, true} {
		op := Operator{Hops: 3, SelfLoops: loops}
		if err := Propagate(t.Context(), g, x, op, opt, func(Tile) error { return nil }); err != nil {
			t.Errorf("self loops %v: %v", loops, err)
		}
	}
}

func TestPropagateStops(t *testing.T) {
	g := rmat(8, 4, 5)
	x := Dense(randomRows(rand.New(rand.NewPCG(6, 0)), g.NumNodes(), 40), 40)
	broken := errors.New("no room")
	for _, workers := range []int{1, 4} {
		opt := Options{Workers: workers}
		err := Propagate(context.Background(), g, x, Operator{Hops: 3}, opt, func(t Tile) error {
			if t.Hop == 2 && t.Lo > 0 {
				return broken
			}
			return nil
		})
		if err != broken {
			t.Errorf("%d workers, failing visit: got error %v, want %v", workers, err, broken)
		}

		ctx, cancel := context.WithCancel(context.Background())
		err = Propagate(ctx, g, x, Operator{Hops: 3}, opt, func(t Tile) error {
			switch t.Hop {
			case 2:
				cancel()
			case 3:
				return errors.New("visited after the cancellation")
			}
			return nil
		})
		if err != context.Canceled {
			t.Errorf("%d workers, cancelled: got error %v, want %v", workers, err, context.Canceled)
		}

		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "a slip") {
					t.Errorf("%d workers, panicking visit: got the panic %q, want %q", workers, got, "a slip")
				}
			}()
			err := Propagate(context.Background(), g, x, Operator{Hops: 3}, opt, func(Tile) error { panic("a slip") })
			t.Errorf("%d workers, panicking visit: got error %v, want a panic", workers, err)
		}()
	}
}

func TestPropagateReports(t *testing.T) {
	g := rmat(7, 4, 7)
	n := g.NumNodes()
	x := Dense(randomRows(rand.New(rand.NewPCG(8, 0)), n, kernel.MaxColumns+2), kernel.MaxColumns+2)
	var stages []Stage
	var done, total int64
	opt := Options{
		OnStage: func(s Stage) { stages = append(stages, s) },
		Progress: func(stage string, d, all int64) {
			if stage == "propagate" {
				done, total = d, all
			}
		},
	}
	must.Do(t, Propagate(context.Background(), g, x, Operator{Hops: 2}, opt, func(Tile) error { return nil }))
	read := func(s Stage) int64 {
		if s.Name == "degrees" || s.Hop == 1 && s.Columns == kernel.MaxColumns {
			return int64(g.entries())
		}
		return 0 // the lists are held
	}
	var got []string
	for _, s := range stages {
		got = append(got, fmt.Sprintf("%s %d %d", s.Name, s.Hop, s.Columns))
		if s.Seconds < 0 || s.Edges != int64(g.entries()/2) || s.BytesRead != read(s) {
			t.Errorf("stage %+v: want %d edges and %d bytes", s, g.entries()/2, read(s))
		}
	}
	want := []string{"degrees 0 0", "propagate 1 32", "propagate 2 32", "propagate 1 2", "propagate 2 2"}
	if !slices.Equal(got, want) {
		t.Errorf("stages (name, hop, columns): got %q, want %q", got, want)
	}
	if want := int64(4 * g.entries()); done != want || total != want {
		t.Errorf("progress ended at %d of %d, want %d of %d", done, total, want, want)
	}
}

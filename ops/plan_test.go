package ops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

func scratchDir(t testing.TB) *scratch.Dir {
	t.Helper()
	dir := must.Get(scratch.Open(t.TempDir()))(t)
	return dir
}

// forced is collect by a plan.
func forced(
	ctx context.Context, g Graph, src Source, op Operator, opt Options, plan PropagatePlan,
) ([][]float32, error) {
	opt.Workers = plan.Workers
	return collectWith(g, src, op, func(visit func(Tile) error) error {
		w, err := newWalker(g, opt.Workers)
		if err != nil {
			return err
		}
		s, err := w.survey(ctx, opt)
		if err != nil {
			return err
		}
		columns := src.Width() - op.First
		plan.Tiles = (columns + plan.Width - 1) / plan.Width
		plan.Rows = s.Linked
		if op.SelfLoops {
			plan.Rows = g.NumNodes()
		}
		plan.Stripes, plan.StripeRows = max(1, plan.Stripes), plan.Rows
		if plan.Stripes > 1 {
			plan.StripeRows = (plan.Rows + plan.Stripes - 1) / plan.Stripes
			plan.Stripes = (plan.Rows + plan.StripeRows - 1) / plan.StripeRows
		}
		plan.Held = plan.Held && !s.Weighted // only neighbours are kept
		return propagate(ctx, w, s, src, op, opt, plan, visit)
	})
}

// Every plan gives the bits of the plain way: the labels as rows like any others, all columns in one tile.
func TestPlansSameBits(t *testing.T) {
	ctx := context.Background()
	dir := scratchDir(t)
	for seed := range uint64(longtest.Of(70, 600)) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := randomGraph(r, seed)
		if seed%10 == 0 {
			g = rmat(7, 6, seed)
		}
		n, left, classes, hops := g.NumNodes(), 1+r.IntN(18), 1+r.IntN(18), 1+r.IntN(4)
		labels := make([]kv.Class, n)
		for v := range labels {
			labels[v] = kv.Class(r.IntN(classes+1) - 1)
		}
		c := left + classes
		predictions := randomRows(r, n, left)
		plain := make([]float32, n*c)
		for v, y := range labels {
			copy(plain[v*c:], predictions[v*left:(v+1)*left])
			if y != kv.NoClass {
				plain[v*c+left+int(y)] = 1
			}
		}
		src := SideBySide(Dense(predictions, left), OneHot(labels, classes))
		if seed%5 == 0 {
			src = SideBySide(Dense(predictions, left), SideBySide(OneHot(labels, classes), Dense(nil, 0)))
		}
		diagonals := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{}))(t)
		var wanted func(kv.NodeID, []int) []int
		if seed%3 > 0 {
			wanted = func(v kv.NodeID, columns []int) []int {
				y := int(v) % (classes + 1)
				if seed%3 == 1 && y < classes && y < left {
					columns = append(columns, y)
				}
				for j := left + y; j < c; j += 5 {
					columns = append(columns, j)
				}
				return columns
			}
		}
		for _, op := range []Operator{
			{Hops: hops, Diagonals: diagonals, Want: wanted}, {Hops: hops, SelfLoops: true, Want: wanted},
		} {
			whole := PropagatePlan{Width: kernel.MaxColumns, Workers: 1}
			want, err := forced(ctx, g, Dense(plain, c), op, Options{}, whole)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, plan := range []PropagatePlan{
				{}, {Held: true}, {OnDisk: true}, {OnDisk: true, Stripes: 1 + r.IntN(5)}, {OnDisk: true, Stripes: n, Held: true},
			} {
				plan.Width, plan.Workers, plan.Inputs = 1+r.IntN(kernel.MaxColumns), 1+r.IntN(4), r.IntN(2) == 0
				for _, opt := range []Options{{}, {Scratch: dir}} {
					got, err := forced(ctx, g, src, op, opt, plan)
					if err != nil {
						t.Fatalf("seed %d, %+v: %v", seed, plan, err)
					}
					for k := range want {
						if !sameNumbers(got[k], want[k]) {
							t.Fatalf("seed %d, %+v, self loops %t, hop %d of %d, %d+%d columns:\ngot  %v\nwant %v",
								seed, plan, op.SelfLoops, k+1, hops, left, classes, got[k], want[k])
						}
					}
				}
			}
		}
	}
}

func TestPlanKeepsItsBudget(t *testing.T) {
	const n, entries = 1 << 26, 2_000_000_000
	s := &Sizes{Nodes: n, Linked: n, Entries: entries, MaxRows: 1 << 15, MaxEntries: 2 << 20, MaxDegree: 2 << 20}
	dir := scratchDir(t)
	for _, c := range []struct {
		budget  int64
		scratch *scratch.Dir
		want    string
	}{
		{32 << 30, nil, "32 columns, 1 stripe, held"},
		{5 << 30, nil, "8 columns, 1 stripe"},
		{5 << 29, dir, "8 columns, 1 stripe, on disk"},
		{1 << 20, dir, ""},
	} {
		for _, workers := range []int{1, 2, 4} {
			opt := Options{MemoryBudget: c.budget, Workers: workers, Scratch: c.scratch}
			p, err := Plan(s, 32, 3, opt)
			if c.want == "" {
				var tooSmall *BudgetError
				if !errors.As(err, &tooSmall) {
					t.Fatalf("%+v: got %v, want a *BudgetError", c, err)
				}
				opt.MemoryBudget = tooSmall.Least
				if p, err := Plan(s, 32, 3, opt); err != nil || p.MemoryBytes > tooSmall.Least {
					t.Errorf("the least budget %d: got %+v, %v", tooSmall.Least, p, err)
				}
				opt.MemoryBudget--
				if _, err := Plan(s, 32, 3, opt); !errors.Is(err, ErrBudget) {
					t.Errorf("a byte less than the least budget: got %v, want ErrBudget", err)
				}
				continue
			}
			if err != nil || p.MemoryBytes > c.budget || p.Passes != p.Tiles*3*p.Stripes || p.Tiles*p.Width < 32 {
				t.Errorf("%+v: got %+v, %v", c, p, err)
			}
			got := fmt.Sprintf("%d columns, %d stripe", p.Width, p.Stripes)
			if p.Held {
				got += ", held"
			}
			if p.OnDisk {
				got += ", on disk"
			}
			if got != c.want {
				t.Errorf("%d bytes, %d workers: got %q (%+v), want %q", c.budget, workers, got, p, c.want)
			}
		}
	}
}

// A budget less than one column of a tile is enough where there is a scratch directory.
func TestPropagateInStripes(t *testing.T) {
	ctx := context.Background()
	g := rmat(9, 5, 1)
	g.block = 20
	n, c := g.NumNodes(), 9
	src := Dense(randomRows(rand.New(rand.NewPCG(2, 0)), n, c), c)
	op := Operator{Hops: 3}
	want := must.Get(collect(ctx, g, src, op, Options{}))(t)
	opt := Options{Scratch: scratchDir(t), MemoryBudget: 1}
	var tooSmall *BudgetError
	if err := Propagate(ctx, g, src, op, opt, nil); !errors.As(err, &tooSmall) {
		t.Fatalf("budget of 1 byte: got %v, want a *BudgetError", err)
	}
	for _, more := range []int64{0, 100, 1000, 5000, 20000} {
		opt.MemoryBudget = tooSmall.Least + more
		got, err := collect(ctx, g, src, op, opt)
		if err != nil {
			t.Fatalf("%d bytes: %v", opt.MemoryBudget, err)
		}
		for k := range want {
			if !sameBits(got[k], want[k]) {
				t.Errorf("%d bytes: hop %d differs in its bits", opt.MemoryBudget, k+1)
			}
		}
	}
}

// TestPropagateFromColumn wants the columns from one on to have the bits that they have beside the others.
func TestPropagateFromColumn(t *testing.T) {
	ctx := context.Background()
	g := rmat(6, 4, 3)
	n, c := g.NumNodes(), 40
	src := Dense(randomRows(rand.New(rand.NewPCG(4, 0)), n, c), c)
	want, err := collect(ctx, g, src, Operator{Hops: 2}, Options{})
	must.Do(t, err)
	for _, first := range []int{7, c} {
		least := c
		err := Propagate(ctx, g, src, Operator{Hops: 2, First: first}, Options{}, func(t Tile) error {
			least = min(least, t.Lo)
			for v := t.Rows.First; v < t.Rows.End; v++ {
				from := int(v-t.Rows.First) * (t.Hi - t.Lo)
				if !sameBits(t.Values[from:from+t.Hi-t.Lo], want[t.Hop-1][int(v)*c+t.Lo:int(v)*c+t.Hi]) {
					return fmt.Errorf("hop %d, node %d, columns %d to %d differ", t.Hop, v, t.Lo, t.Hi)
				}
			}
			return nil
		})
		if err != nil || least != first {
			t.Errorf("from column %d on: got %v and column %d first", first, err, least)
		}
	}
}

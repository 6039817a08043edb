package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
)

// returnsAfterThree are diag(Ã³), from the triangles of all triples of ranges.
func (c *cutBlocks) returnsAfterThree(ctx context.Context, strengths []float64) ([]float64, error) {
	sums := make([]float64, len(strengths))
	corner := func(i int) block.Corner {
		return block.Corner{
			Range: i, Strengths: strengths[c.starts[i]:c.starts[i+1]], Sums: sums[c.starts[i]:c.starts[i+1]],
		}
	}
	for i := range c.ranges() {
		for j := range i + 1 {
			for k := range j + 1 {
				err := block.AddTriangles(ctx, corner(i), corner(j), corner(k), c.blocks[i][j], c.blocks[i][k], c.blocks[j][k])
				if err != nil {
					return nil, err
				}
			}
		}
	}
	for v := range sums {
		sums[v] *= 2
	}
	return sums, nil
}

func checkReturnsAfterThree(t *testing.T, r *rand.Rand, g Graph, c *cutBlocks) {
	t.Helper()
	ctx := context.Background()
	got := must.Get(c.returnsAfterThree(ctx, c.strengths(t, r)))(t)
	want := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: 3}, Options{}))(t)
	for v, want := range want.At(3) {
		if !(math.Abs(got[v]-want) <= 1e-12*max(want, 1e-3)) {
			t.Fatalf("node %d: got %v, want %v", v, got[v], want)
		}
	}
}

func TestBlockTriangles(t *testing.T) { eachCutGraph(t, 200, checkReturnsAfterThree) }

// A graph of so many nodes has rows with a map and rows without one, in every triple of ranges.
func TestBlockTrianglesOfHeavyTail(t *testing.T) {
	heavy := rmat(12, 6, 1)
	for name, g := range map[string]Graph{"no": heavy, "yes": weightedList{heavy, 3}} {
		for _, starts := range [][]int{{0, 4096}, {0, 100, 100, 700, 4096}} {
			t.Run(fmt.Sprintf("weights=%s/ranges=%d", name, len(starts)-1), func(t *testing.T) {
				checkReturnsAfterThree(t, rand.New(rand.NewPCG(1, 0)), g, cut(t, g, starts))
			})
		}
	}
}

func TestBlockTrianglesRefuse(t *testing.T) {
	ctx, g := context.Background(), newListGraph(5, [][2]int{{0, 1}, {1, 2}, {0, 2}, {2, 4}})
	c := cut(t, g, []int{0, 2, 5})
	b := c.blocks
	corner := func(i, n int) block.Corner {
		return block.Corner{Range: i, Strengths: make([]float64, n), Sums: make([]float64, n)}
	}
	low, high := corner(0, 2), corner(1, 3)
	if err := block.AddTriangles(ctx, high, low, low, b[1][0], b[1][0], b[0][0]); err != nil {
		t.Errorf("blocks that fit: got error %v, want none", err)
	}
	half := must.Get(block.New(2, kv.Adjacency{Range: kv.Range{First: 1, End: 3}, Offsets: []int64{0, 0, 0}}))(t)
	fewer := block.Corner{Range: 1, Strengths: make([]float64, 2), Sums: high.Sums}
	for name, err := range map[string]error{
		"ranges that ascend":   block.AddTriangles(ctx, low, high, high, b[0][1], b[0][1], b[1][1]),
		"rows of another":      block.AddTriangles(ctx, high, low, low, b[0][0], b[1][0], b[0][0]),
		"columns of another":   block.AddTriangles(ctx, high, low, low, b[1][0], b[1][1], b[0][0]),
		"the last transposed":  block.AddTriangles(ctx, high, high, low, b[1][1], b[1][0], b[0][1]),
		"a part of the rows":   block.AddTriangles(ctx, high, low, low, half, b[1][0], b[0][0]),
		"fewer strengths":      block.AddTriangles(ctx, fewer, low, low, b[1][0], b[1][0], b[0][0]),
		"corner of other size": block.AddTriangles(ctx, high, corner(0, 3), low, b[1][0], b[1][0], b[0][0]),
	} {
		if !errors.Is(err, ErrShape) {
			t.Errorf("%s: got error %v, want ErrShape", name, err)
		}
	}
}

// A countdown is a context that is cancelled after it was looked at so often.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestBlockTrianglesStop(t *testing.T) {
	g := rmat(11, 16, 1)
	c := cut(t, g, []int{0, g.NumNodes()})
	strengths := c.strengths(t, rand.New(rand.NewPCG(1, 0)))
	for _, looks := range []int{0, 1, 3} {
		ctx := &countdown{context.Background(), looks}
		if _, err := c.returnsAfterThree(ctx, strengths); err != context.Canceled || ctx.looks != -1 {
			t.Errorf("cancelled at look %d: got error %v after %d more looks, want %v after none",
				looks, err, -1-ctx.looks, context.Canceled)
		}
	}
}

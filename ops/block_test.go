package ops

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// cutBlocks are the blocks of a graph whose nodes are cut in ranges, each from a start to the next.
type cutBlocks struct {
	starts []int
	blocks [][]*block.Block // by range of rows, range of columns
}

// cut reads a graph and cuts it.
func cut(t testing.TB, g Graph, starts []int) *cutBlocks {
	t.Helper()
	all := readAll(t, g)
	c := &cutBlocks{starts: starts}
	for i := range c.ranges() {
		var row []*block.Block
		for j := range c.ranges() {
			lists := kv.Adjacency{Range: kv.Range{End: kv.NodeID(c.size(i))}, Offsets: []int64{0}}
			if all.Weights != nil {
				lists.Weights = []float32{}
			}
			for v := starts[i]; v < starts[i+1]; v++ {
				weights := kernel.WeightsOf(all, v)
				for place, u := range all.Of(kv.NodeID(v)) {
					if starts[j] <= int(u) && int(u) < starts[j+1] {
						lists.Neighbors = append(lists.Neighbors, u-kv.NodeID(starts[j]))
						if weights != nil {
							lists.Weights = append(lists.Weights, weights[place])
						}
					}
				}
				lists.Offsets = append(lists.Offsets, int64(len(lists.Neighbors)))
			}
			b := must.Get(block.New(c.size(j), lists))(t)
			row = append(row, b)
		}
		c.blocks = append(c.blocks, row)
	}
	return c
}

func (c *cutBlocks) ranges() int    { return len(c.starts) - 1 }
func (c *cutBlocks) size(i int) int { return c.starts[i+1] - c.starts[i] }

// readAll are the lists of all nodes.
func readAll(t testing.TB, g Graph) *kv.Adjacency {
	t.Helper()
	w := must.Get(newWalker(g, 1))(t)
	all := &kv.Adjacency{Range: kv.Range{End: kv.NodeID(g.NumNodes())}, Offsets: []int64{0}}
	must.Do(t, w.walk(context.Background(), func(_ context.Context, _ int, adj *kv.Adjacency) error {
		for _, end := range adj.Offsets[1:] {
			all.Offsets = append(all.Offsets, int64(len(all.Neighbors))+end)
		}
		all.Neighbors = append(all.Neighbors, adj.Neighbors...)
		all.Weights = append(all.Weights, adj.Weights...)
		return nil
	}))
	return all
}

// randomCut cuts n nodes in so many uneven ranges, of which some may be empty.
func randomCut(r *rand.Rand, n, ranges int) []int {
	starts := []int{0, n}
	for range ranges - 1 {
		starts = append(starts, r.IntN(n+1))
	}
	slices.Sort(starts)
	return starts
}

// sum adds up what add says of every part of the rows of all ranges, over the columns in order: [nodes×width].
func (c *cutBlocks) sum(
	r *rand.Rand, width int, add func(sums []float64, rows kv.Range, b *block.Block, j int) error,
) ([]float64, error) {
	out := make([]float64, c.starts[c.ranges()]*width)
	for i, row := range c.blocks {
		for j, b := range row {
			for first := kv.NodeID(0); first < b.Rows().End; {
				rows := kv.Range{First: first, End: min(b.Rows().End, first+1+kv.NodeID(r.IntN(9)))}
				part := make([]float64, rows.Len()*width)
				if err := add(part, rows, b, j); err != nil {
					return nil, err
				}
				for p, x := range part {
					out[(c.starts[i]+int(first))*width+p] += x
				}
				first = rows.End
			}
		}
	}
	return out, nil
}

func (c *cutBlocks) strengths(t *testing.T, r *rand.Rand) []float64 {
	t.Helper()
	return must.Get(c.sum(r, 1, func(sums []float64, rows kv.Range, b *block.Block, _ int) error {
		return b.AddStrengths(sums, rows)
	}))(t)
}

// gather adds up the rows of neighbours, given for each range.
func (c *cutBlocks) gather(t *testing.T, r *rand.Rand, x []*block.Rows) []float64 {
	t.Helper()
	sums := must.Get(c.sum(r, x[0].Width(), func(sums []float64, rows kv.Range, b *block.Block, j int) error {
		return b.AddRows(sums, rows, x[j])
	}))(t)
	return sums
}

// finish makes S_k X of sums, and the rows of every range for the next hop.
func (c *cutBlocks) finish(
	t *testing.T, sums []float64, x []float32, width int, strengths, diagonal []float64,
) (hop []float32, next []*block.Rows) {
	t.Helper()
	hop = make([]float32, len(sums))
	for i := range c.ranges() {
		rows := block.NewRows(c.size(i), width)
		for v := c.starts[i]; v < c.starts[i+1]; v++ {
			at := func(s []float32) []float32 { return s[v*width : (v+1)*width] }
			row := make([]float32, width)
			block.FinishRow(at(hop), row, at(x), sums[v*width:(v+1)*width], strengths[v], diagonal[v])
			must.Do(t, rows.Set(v-c.starts[i], row))
		}
		next = append(next, rows)
	}
	return hop, next
}

// randomBlockGraph draws a graph to be cut, of many kinds.
func randomBlockGraph(r *rand.Rand, seed uint64) Graph {
	switch {
	case seed%25 == 0:
		return rmat(7, 1+r.IntN(8), seed)
	case seed%25 == 1:
		return shuffled(rmat(7, 4, seed), seed)
	case seed%2 == 0:
		return randomArcGraph(r, false, true)
	default:
		return awkwardGraph(r)
	}
}

func eachCutGraph(t *testing.T, seeds uint64, try func(t *testing.T, r *rand.Rand, g Graph, c *cutBlocks)) {
	for seed := range seeds {
		for _, ranges := range []int{1, 2, 5} {
			r := rand.New(rand.NewPCG(seed, 5))
			g := randomBlockGraph(r, seed)
			starts := randomCut(r, g.NumNodes(), ranges)
			t.Run(fmt.Sprintf("seed=%d/starts=%v", seed, starts), func(t *testing.T) { try(t, r, g, cut(t, g, starts)) })
		}
	}
}

// compareHop holds a hop by blocks to that of Propagate: to the bit if there is one range.
func (c *cutBlocks) compareHop(t *testing.T, what string, k int, got, want []float32) {
	t.Helper()
	if c.ranges() == 1 && !sameNumbers(got, want) {
		t.Fatalf("hop %d of %s: got %v, want %v", k, what, got, want)
	}
	for i, x := range got {
		if !(math.Abs(float64(x)-float64(want[i])) <= 1e-6) {
			t.Fatalf("hop %d of %s, place %d: got %v, want %v", k, what, i, x, want[i])
		}
	}
}

func TestBlocksPropagate(t *testing.T) {
	eachCutGraph(t, 100, func(t *testing.T, r *rand.Rand, g Graph, c *cutBlocks) {
		const hops = 3
		ctx, n, width := context.Background(), g.NumNodes(), 1+r.IntN(40)
		strengths := c.strengths(t, r)
		d := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{}))(t)
		x := randomRows(r, n, width)
		want := must.Get(collect(ctx, g, Dense(x, width), Operator{Hops: hops, Diagonals: d}, Options{}))(t)
		var rows []*block.Rows
		for i := range c.ranges() {
			own := block.NewRows(c.size(i), width)
			for first := c.starts[i]; first < c.starts[i+1]; {
				end := min(first+1+r.IntN(5), c.starts[i+1])
				must.Do(t, own.Set(first-c.starts[i], scaled(x[first*width:end*width], width, strengths[first:end])))
				first = end
			}
			rows = append(rows, own)
		}
		for k := 1; k <= hops; k++ {
			var got []float32
			got, rows = c.finish(t, c.gather(t, r, rows), x, width, strengths, d.At(k))
			c.compareHop(t, "rows", k, got, want[k-1])
		}
	})
}

func TestBlocksPropagateLabels(t *testing.T) {
	eachCutGraph(t, 100, func(t *testing.T, r *rand.Rand, g Graph, c *cutBlocks) {
		const hops = 3
		ctx, n, classes := context.Background(), g.NumNodes(), 1+r.IntN(12)
		strengths, all := c.strengths(t, r), readAll(t, g)
		d := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{}))(t)
		labels, x := make([]kv.Class, n), make([]float32, n*classes)
		for v := range labels {
			if labels[v] = kv.Class(r.IntN(classes+1) - 1); labels[v] != kv.NoClass {
				x[v*classes+int(labels[v])] = 1
			}
		}
		want := must.Get(collect(ctx, g, OneHot(labels, classes), Operator{Hops: hops, Diagonals: d}, Options{}))(t)
		var of []*block.Labels
		for i := range c.ranges() {
			l := must.Get(block.NewLabels(labels[c.starts[i]:c.starts[i+1]], strengths[c.starts[i]:c.starts[i+1]], classes))(t)
			of = append(of, l)
		}
		width := 2*classes + 2
		first := must.Get(c.sum(r, width, func(sums []float64, rows kv.Range, b *block.Block, j int) error {
			return b.AddLabels(sums, rows, of[j])
		}))(t)
		hop := make([]float64, 0, n*classes)
		for v := range n {
			row := first[v*width : (v+1)*width]
			hop = append(hop, row[classes:2*classes]...)
			votes, labelled, weights := make([]float64, classes), 0, kernel.WeightsOf(all, v)
			for i, u := range all.Of(kv.NodeID(v)) {
				w := float64(1)
				if weights != nil {
					w = float64(weights[i])
				}
				if labels[u] != kv.NoClass {
					votes[labels[u]] += w
					labelled++
				}
			}
			for class, want := range votes {
				if math.Abs(row[class]-want) > 1e-12*want {
					t.Fatalf("node %d: got the votes %v, want %v", v, row[:classes], votes)
				}
			}
			if row[2*classes] != float64(labelled) {
				t.Fatalf("node %d: got %v labelled neighbours, want %d", v, row[2*classes], labelled)
			}
			got, want := block.ReturnAfterTwo(strengths[v], row[2*classes+1]), d.At(2)[v]
			if c.ranges() == 1 && all.Weights == nil && got != want || !(math.Abs(got-want) <= 1e-12*max(want, 1e-3)) {
				t.Fatalf("node %d: got the chance %v of a return after two steps, want %v", v, got, want)
			}
		}
		got, rows := c.finish(t, hop, x, classes, strengths, d.At(1))
		c.compareHop(t, "labels", 1, got, want[0])
		for k := 2; k <= hops; k++ {
			got, rows = c.finish(t, c.gather(t, r, rows), x, classes, strengths, d.At(k))
			c.compareHop(t, "labels", k, got, want[k-1])
		}
	})
}

// scaled are the rows D^(-1/2)x, of x row-major [count×width] and D [count].
func scaled(x []float32, width int, strengths []float64) []float32 {
	rows := make([]float32, len(x))
	for i, strength := range strengths {
		scaleRow(rows[i*width:][:width], x[i*width:][:width], kernel.Scale(strength))
	}
	return rows
}

// Sums are added to, not set; a part of the rows is that part.
func TestBlockAddsToSums(t *testing.T) {
	g := rmat(6, 5, 1)
	n := g.NumNodes()
	c := cut(t, g, []int{0, n})
	b, r := c.blocks[0][0], rand.New(rand.NewPCG(1, 0))
	strengths := c.strengths(t, r)
	for _, width := range []int{1, 3, 8, 33} {
		rows := block.NewRows(n, width)
		must.Do(t, rows.Set(0, scaled(randomRows(r, n, width), width, strengths)))
		want := c.gather(t, r, []*block.Rows{rows})
		part := kv.Range{First: 5, End: 40}
		got := slices.Repeat([]float64{100}, part.Len()*width)
		must.Do(t, b.AddRows(got, part, rows))
		for i, x := range got {
			if w := want[5*width+i]; math.Abs(x-100-w) > 1e-12 {
				t.Fatalf("width %d, place %d: got %v after 100, want %v more", width, i, x, w)
			}
		}
	}
}

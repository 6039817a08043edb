package shell

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/graphcleaner/graphcleaner/shell/internal/files"
)

// An edgeCount is what is known of the edges of a graph.
type edgeCount struct {
	rows, edges int64 // of the file, and what is left without loops and parallel ones, in either direction
	weights     int   // that differ, at most files.ManyWeights; 0: there are none
	sample      *edgeSample
	text        bool // some id is no integer
}

// countEdges counts the edges of files, of which directed ones are walked along their direction.
func countEdges(ctx context.Context, names files.Names, r files.Job, directed bool) (edgeCount, error) {
	of, err := r.CountEdges(ctx, names)
	if err != nil {
		return edgeCount{}, err
	}
	c := edgeCount{rows: of.Rows, weights: of.Weights, text: of.TextIDs}
	c.sample = newEdgeSample(of.Edges, of.Ends, of.Share(), directed)
	c.sample.weighted = of.Weights > 0
	c.edges = edgesLeft(of.Edges, len(c.sample.edges), c.sample.share)
	return c, nil
}

// edgesLeft is how many edges there are in all of a file without loops and parallel ones, of which a sample has so many. How
// fast parallel ones grow with the size of a sample is seen in half of it.
func edgesLeft(edges [][2]uint32, distinct int, share float64) int64 {
	loops, halfLoops := 0, 0
	var half [][2]uint32
	for i, e := range edges {
		loop := 0
		if e[0] == e[1] {
			loop = 1
		}
		if loops += loop; i%2 == 0 {
			half = append(half, e)
			halfLoops += loop
		}
	}
	parallel := float64(len(edges) - loops - distinct)
	all := float64(len(edges)-loops) / share
	if parallel == 0 || share == 1 {
		return int64(all - parallel/share)
	}
	ofHalf := float64(len(half) - halfLoops - len(distinctEdges(half, false)))
	power := min(max(math.Log2(parallel/max(ofHalf, 1)), 1), 2)
	return int64(max(all-parallel*math.Pow(1/share, power), all/2))
}

// powerLaw is the edges of a graph of which nothing is known but its size: the degree of the r-th node falls with
// r^(-2/3), so that there are d^(-2.5) times as many nodes of degree d.
func powerLaw(nodes, edges int64, directed bool) edgeCount {
	random := rand.New(rand.NewPCG(1, 1))
	number := make(map[int64]uint32)
	find := func() uint32 {
		x := random.Float64()
		id := int64(x * x * x * float64(nodes))
		v, ok := number[id]
		if !ok {
			v = uint32(len(number))
			number[id] = v
		}
		return v
	}
	pairs := make([][2]uint32, min(edges, 1<<20))
	for i := range pairs {
		pairs[i] = [2]uint32{find(), find()}
	}
	share := float64(len(pairs)) / float64(max(edges, 1))
	return edgeCount{rows: edges, edges: edges, sample: newEdgeSample(pairs, len(number), share, directed)}
}

// A fileShape is what is known of a matrix in a file.
type fileShape struct {
	columns int
	filled  float64 // share of the values that are not zero
	equal   bool    // those values are all equal
}

// shapedRows is how many rows of a matrix are looked at.
const shapedRows = 256

// countColumns looks at a file with a matrix of a name, or takes the number of its columns; no text is no matrix.
func countColumns(ctx context.Context, text, flag, name string, r files.Job) (shape fileShape, err error) {
	if text == "" {
		return shape, nil
	}
	if columns, err := strconv.Atoi(text); err == nil {
		if columns < 1 {
			return shape, usagef("%s %s: want a file, or a number of columns", flag, text)
		}
		return fileShape{columns: columns, filled: 1}, nil
	}
	rows, filled, first := 0, 0, 0.0
	shape.equal = true
	shape.columns, err = r.SampleMatrix(ctx, text, name, shapedRows, func(row []float64) {
		rows++
		for _, x := range row {
			if x == 0 {
				continue
			}
			if filled++; filled == 1 {
				first = x
			}
			shape.equal = shape.equal && x == first
		}
	})
	shape.filled = float64(filled) / float64(max(rows*shape.columns, 1))
	return shape, err
}

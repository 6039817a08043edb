package files

import (
	"context"
	"errors"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A NodeCount is how many nodes, labels and classes a nodes file has, and the bytes of its ids.
type NodeCount struct {
	Nodes, Labelled, IDBytes int64
	Classes                  int
	TextIDs                  bool // some id is no integer
}

// CountNodes reads a nodes file and counts, with labels in a form.
func (r Job) CountNodes(ctx context.Context, names Names, form Form) (c NodeCount, err error) {
	in, places, err := r.openLabelled(ctx, names)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id, label := places[0], places[1]
	classes, labelOf := map[string]bool{}, form.Labels()
	err = EachRow(ctx, in, r.Progress, func(row table.Row) error {
		c.Nodes++
		c.IDBytes += int64(len(row.Fields[id]))
		c.TextIDs = c.TextIDs || !wording.IsInteger(string(row.Fields[id]))
		if label < 0 {
			return nil
		}
		if name := labelOf(string(row.Fields[label])); name != "" {
			c.Labelled++
			classes[name] = true
		}
		return nil
	})
	c.Classes = len(classes)
	return c, err
}

// The rows of an edges file of which the edges are kept: blocks of neighbouring rows, spread over the file, up to a number.
const (
	keptBlock = 1 << 10
	mostKept  = 1 << 21
)

// ManyWeights is more weights than are kept in a table.
const ManyWeights = 1 << 10

// An EdgeCount is how many rows an edges file has, and some of its edges: all of them if they are few.
type EdgeCount struct {
	Rows    int64
	Edges   [][2]uint32 // their ends, numbered
	Ends    int         // numbers below it
	Weights int         // that differ, at most ManyWeights; 0: edges have none
	TextIDs bool        // some id is no integer

	every   int64 // one of so many blocks is kept
	numbers map[string]uint32
	weights map[float32]bool
}

// CountEdges reads an edges file and counts.
func (r Job) CountEdges(ctx context.Context, names Names) (c *EdgeCount, err error) {
	in, err := openEdges(ctx, names, nil, r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	c = &EdgeCount{every: 1, numbers: map[string]uint32{}, weights: map[float32]bool{}}
	r.Workers = 1
	if _, err := in.read(ctx, []edgeTaker{c}, r); err != nil {
		return nil, err
	}
	c.Weights = len(c.weights)
	number := make([]uint32, len(c.numbers)) // plus one, of those that are still ends
	for i := range c.Edges {
		for j, end := range c.Edges[i] {
			if number[end] == 0 {
				c.Ends++
				number[end] = uint32(c.Ends)
			}
			c.Edges[i][j] = number[end] - 1
		}
	}
	return c, nil
}

// Share is the part of the rows whose edges were kept.
func (c *EdgeCount) Share() float64 {
	if c.Rows == 0 {
		return 1
	}
	return float64(len(c.Edges)) / float64(c.Rows)
}

// Add takes an edge.
func (c *EdgeCount) Add(src, dst string, _ int64) error {
	block := c.Rows / keptBlock
	c.Rows++
	if block%c.every != 0 {
		return nil
	}
	if len(c.Edges) == mostKept {
		half := c.Edges[:0]
		for i := 0; i < mostKept; i += 2 * keptBlock {
			half = append(half, c.Edges[i:i+keptBlock]...)
		}
		c.Edges, c.every = half, 2*c.every
		if block%c.every != 0 {
			return nil
		}
	}
	c.Edges = append(c.Edges, [2]uint32{c.number(src), c.number(dst)})
	return nil
}

// AddWeighted takes an edge.
func (c *EdgeCount) AddWeighted(src, dst string, weight float32, source int64) error {
	if len(c.weights) < ManyWeights {
		c.weights[weight] = true
	}
	return c.Add(src, dst, source)
}

// number is that of an end.
func (c *EdgeCount) number(id string) uint32 {
	number, ok := c.numbers[id]
	if !ok {
		number = uint32(len(c.numbers))
		c.numbers[strings.Clone(id)] = number
		c.TextIDs = c.TextIDs || !wording.IsInteger(id)
	}
	return number
}

package ops_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// triangleWithTail is the graph 0–1–2–0, 2–3, in one block. A *kv.Tx is a Graph too.
type triangleWithTail struct{}

func (triangleWithTail) NumNodes() int { return 4 }

func (triangleWithTail) AdjacencyBlocks() ([]kv.Range, error) {
	return []kv.Range{{First: 0, End: 4}}, nil
}

func (triangleWithTail) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	buf.Range = r
	buf.Offsets = append(buf.Offsets[:0], 0, 2, 4, 7, 8)
	buf.Neighbors = append(buf.Neighbors[:0], 1, 2, 0, 2, 0, 1, 3, 2)
	return nil
}

func ExampleComputeDiagonals() {
	d, err := ops.ComputeDiagonals(context.Background(), triangleWithTail{}, ops.Powers{Hops: 4}, ops.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for k := 1; k <= d.Hops(); k++ {
		fmt.Printf("%.4f\n", d.At(k))
	}
	// Output:
	// [0.0000 0.0000 0.0000 0.0000]
	// [0.4167 0.4167 0.6667 0.3333]
	// [0.1667 0.1667 0.1667 0.0000]
	// [0.2986 0.2986 0.5278 0.2222]
}

func ExamplePropagate() {
	ctx, g := context.Background(), triangleWithTail{}
	d, err := ops.ComputeDiagonals(ctx, g, ops.Powers{Hops: 2}, ops.Options{})
	if err != nil {
		log.Fatal(err)
	}
	// How much of each class is around a node, itself left out? A node of class kv.NoClass would count for none.
	labels := ops.OneHot([]kv.Class{0, 1, 1, 0}, 2)
	var mu sync.Mutex
	err = ops.Propagate(ctx, g, labels, ops.Operator{Hops: 2, Diagonals: d}, ops.Options{}, func(t ops.Tile) error {
		mu.Lock() // row ranges of one hop come concurrently
		defer mu.Unlock()
		fmt.Printf("hop %d, nodes %d to %d: %.3f\n", t.Hop, t.Rows.First, t.Rows.End-1, t.Values)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// hop 1, nodes 0 to 3: [0.000 0.908 0.500 0.408 0.986 0.408 0.000 0.577]
	// hop 2, nodes 0 to 3: [0.236 0.371 0.402 0.204 0.204 0.204 0.236 0.236]
}

package index

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Nodes that come in another order than that of their numbers are filtered in batches, which grow, so that a query
// that is soon satisfied reads little.
const (
	firstBatch = 16
	lastBatch  = 1024
)

// A batch is decided in parts of neighbours: some for each goroutine, so that all end at about the same time, and none
// so small that handing it out takes longer.
const (
	partsEach = 4
	leastPart = 16
)

// A filter decides for nodes in any order whether a predicate is true.
type filter struct {
	where      Predicate
	properties []string // that decide
	reader     *reader
	reads      *Reads
	workers    []filterWorker

	order  []uint64 // of the batch: nodes, ascending, and their places
	nodes  []kv.NodeID
	passed []bool
}

// A filterWorker decides nodes on one goroutine. It is made when it is first needed.
type filterWorker struct {
	test   evaluator
	values vectors
}

// newFilter prepares a simplified predicate.
func newFilter(r *reader, p Predicate, reads *Reads) *filter {
	return &filter{
		where: p, properties: Properties(p), reader: r, reads: reads, workers: make([]filterWorker, max(r.workers, 1)),
	}
}

// decide tells for each node of a batch whether it passes; the result is borrowed until the next call. It reads the
// nodes in ascending NodeID, since a column is read in blocks of neighbours.
func (f *filter) decide(ctx context.Context, batch []kv.NodeID) ([]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.order, f.nodes, f.passed = f.order[:0], f.nodes[:0], f.passed[:0]
	for i, v := range batch {
		f.order = append(f.order, uint64(v)<<32|uint64(i))
		f.passed = append(f.passed, isAlways(f.where))
	}
	if isAlways(f.where) {
		return f.passed, nil
	}
	slices.Sort(f.order)
	for _, x := range f.order {
		f.nodes = append(f.nodes, kv.NodeID(x>>32))
	}
	f.reader.head.willRead(f.reader.tx, f.properties, slices.Values(f.nodes))
	f.reads.Rows += int64(len(batch))
	size := max(len(batch)/(partsEach*len(f.workers)), leastPart)
	if len(f.workers) == 1 || len(batch) <= size {
		return f.passed, f.decidePart(0, 0, len(batch))
	}
	err := parallel.Do(ctx, len(f.workers), (len(batch)+size-1)/size, func(_ context.Context, worker, part int) error {
		return f.decidePart(worker, part*size, min((part+1)*size, len(batch)))
	})
	return f.passed, err
}

// decidePart decides some nodes of the batch, by their order, on a goroutine.
func (f *filter) decidePart(number, begin, end int) error {
	w := &f.workers[number]
	if w.test == nil {
		r := f.reader
		if number > 0 {
			r = newReader(r.tx, r.computed)
			r.head = f.reader.head
		}
		w.test, w.values = newEvaluator(f.where, r.computed), r.vectors
	}
	kept, err := w.test.keep(w.values, f.nodes[begin:end:end])
	for _, x := range f.order[begin:end] {
		if len(kept) > 0 && kept[0] == kv.NodeID(x>>32) {
			f.passed[uint32(x)], kept = true, kept[1:]
		}
	}
	return err
}

package index

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Nodes that come in another order than that of their numbers are filtered in batches, which grow, so that a query
// that is soon satisfied reads little.
const (
	leastBatch = 4
	firstBatch = 16
	lastBatch  = 1024
)

// firstSize is how many nodes a walk decides first that wants so many to pass; below zero all. Often most pass that
// come first.
func firstSize(limit int) int {
	if limit < 0 {
		return firstBatch
	}
	return min(max(limit, leastBatch), lastBatch)
}

// A batch is decided in parts of neighbours: some for each goroutine, so that all end at about the same time, and none
// so small that handing it out takes longer.
const (
	partsEach = 4
	leastPart = 16
)

// A filter keeps the nodes for which a predicate is true.
type filter struct {
	where  Predicate
	all    bool // it is always true
	reader *reader
	holds  []*nodeFilter // the predicate, for each goroutine; made when first needed
	reads  *Reads

	properties []string // that decide

	order  []int // of the batch's nodes, ascending
	passed []bool
}

// newFilter prepares p, which is simplified.
func newFilter(r *reader, p Predicate, reads *Reads) *filter {
	if isAlways(p) {
		return &filter{all: true}
	}
	return &filter{
		where: p, reader: r, holds: make([]*nodeFilter, max(r.workers, 1)), reads: reads, properties: Properties(p),
	}
}

// A nodeFilter decides nodes on one goroutine.
type nodeFilter struct {
	reader    *reader
	evaluator evaluator
	nodes     []kv.NodeID
	outcomes  []truth
}

// one decides a single node.
func (f *filter) one(v kv.NodeID) (bool, error) {
	if f.all {
		return true, nil
	}
	f.reads.Rows++
	f.passed = append(f.passed[:0], true)
	err := f.decideSome(0, []kv.NodeID{v}, []int{0})
	return f.passed[0], err
}

// decide tells for each node of a batch whether it passes; the result is borrowed until the next call. It reads the
// nodes in ascending NodeID, since a column is read in blocks of neighbours.
func (f *filter) decide(ctx context.Context, batch []kv.NodeID) ([]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.order, f.passed = f.order[:0], f.passed[:0]
	for i := range batch {
		f.order = append(f.order, i)
		f.passed = append(f.passed, true)
	}
	if f.all {
		return f.passed, nil
	}
	slices.SortFunc(f.order, func(i, j int) int { return cmp.Compare(batch[i], batch[j]) })
	f.reader.head.willRead(f.reader.tx, f.properties, func(yield func(kv.NodeID) bool) {
		for _, i := range f.order {
			if !yield(batch[i]) {
				return
			}
		}
	})
	f.reads.Rows += int64(len(batch))
	size := max(len(batch)/(partsEach*len(f.holds)), leastPart)
	if len(f.holds) == 1 || len(batch) <= size {
		return f.passed, f.decideSome(0, batch, f.order)
	}
	err := parallel.Do(ctx, len(f.holds), (len(batch)+size-1)/size, func(_ context.Context, worker, part int) error {
		return f.decideSome(worker, batch, f.order[part*size:min((part+1)*size, len(batch))])
	})
	return f.passed, err
}

// decideSome decides nodes of a batch on a goroutine.
func (f *filter) decideSome(worker int, batch []kv.NodeID, some []int) error {
	w := f.holds[worker]
	if w == nil {
		w = &nodeFilter{reader: f.reader, evaluator: newEvaluator(f.where, f.reader.computed)}
		if worker > 0 {
			w.reader = newReader(f.reader.tx, f.reader.computed)
			w.reader.head = f.reader.head
		}
		f.holds[worker] = w
	}
	w.nodes, w.outcomes = w.nodes[:0], w.outcomes[:0]
	for _, i := range some {
		w.nodes, w.outcomes = append(w.nodes, batch[i]), append(w.outcomes, isTrue)
	}
	if err := w.evaluator.join(w.reader.nodeRows(w.nodes), isFalse, w.outcomes); err != nil {
		return err
	}
	for i, outcome := range w.outcomes {
		f.passed[some[i]] = outcome == isTrue
	}
	return nil
}

package index

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Nodes that come in another order than that of their numbers are filtered in batches, which grow, so that a query
// that is soon satisfied reads little.
const (
	firstBatch = 16
	lastBatch  = 1024
)

// A filter keeps the nodes for which a predicate is true.
type filter struct {
	all   bool // the predicate is always true
	holds condition
	reads *Reads

	tx         *kv.Tx
	properties []string // that decide

	order  []int // of the batch's nodes, ascending
	passed []bool
}

// newFilter prepares p, which is simplified.
func newFilter(r *reader, p Predicate, reads *Reads) (*filter, error) {
	if isAlways(p) {
		return &filter{all: true}, nil
	}
	holds, err := r.condition(p)
	if err != nil {
		return nil, err
	}
	return &filter{holds: holds, reads: reads, tx: r.tx, properties: Properties(p)}, nil
}

// one decides a single node.
func (f *filter) one(v kv.NodeID) (bool, error) {
	if f.all {
		return true, nil
	}
	f.reads.Rows++
	outcome, err := f.holds(v)
	return outcome == isTrue, err
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
	f.tx.WillRead(f.properties, func(yield func(kv.NodeID) bool) {
		for _, i := range f.order {
			if !yield(batch[i]) {
				return
			}
		}
	})
	for _, i := range f.order {
		ok, err := f.one(batch[i])
		if err != nil {
			return nil, err
		}
		f.passed[i] = ok
	}
	return f.passed, nil
}

package index

import (
	"context"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv"
)

// walk yields the nodes of start within the plan's patience. When that is over, the plan that finds the rows as a set
// takes over. Both have one order, so its first rows are those that were yielded already.
func (p *Plan) walk(
	ctx context.Context, r *reader, limit int, reads *Reads, start func(patience *int) iter.Seq2[kv.NodeID, error],
) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		rows, patience := 0, p.patience
		for v, err := range start(&patience) {
			if !yield(v, err) || err != nil {
				return
			}
			rows++
		}
		if patience >= 0 {
			return
		}
		set, err := p.unordered()
		if err != nil {
			yield(0, err)
			return
		}
		p.gaveWay, p.lastValue = set, kv.Value{}
		for v, err := range set.run(ctx, r, limit, reads) {
			if rows > 0 && err == nil {
				rows--
				continue
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// inFileOrder yields the nodes for which p, simplified, is true in the order of the node file, reading values in
// batches so that neighbours are read together, and stops before the batch that cannot be spent.
func (r *reader) inFileOrder(
	ctx context.Context, p Predicate, reads *Reads, patience *int,
) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		f := newFilter(r, p, reads)
		var batch []kv.NodeID
		size := firstBatch
		flush := func() bool {
			if *patience -= len(batch); *patience < 0 {
				return false
			}
			passed, err := f.decide(ctx, batch)
			if err != nil {
				yield(0, err)
				return false
			}
			for i, v := range batch {
				if passed[i] && !yield(v, nil) {
					return false
				}
			}
			batch, size = batch[:0], min(2*size, lastBatch)
			return true
		}
		for v, err := range r.tx.InFileOrder() {
			if err != nil {
				yield(0, err)
				return
			}
			if batch = append(batch, v); len(batch) == size && !flush() {
				return
			}
		}
		flush()
	}
}

package index

import (
	"context"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An allowance is how many rows a walk in order may still read.
type allowance struct {
	left    int
	refused bool
}

// batch takes the rows of a batch from it, or refuses if there are not as many.
func (a *allowance) batch(rows int) bool {
	a.left -= rows
	a.refused = a.left < 0
	return !a.refused
}

// walk yields what start does within the plan's patience. When that is over, the plan that finds the rows as a set
// takes over. Both have one order, so its first rows are those that were yielded already.
func (p *Plan) walk(
	ctx context.Context, r *reader, limit int, reads *Reads, start func(*allowance) iter.Seq2[kv.NodeID, error],
) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		spend := &allowance{left: p.patience}
		rows := 0
		for v, err := range start(spend) {
			if !yield(v, err) || err != nil {
				return
			}
			rows++
		}
		if !spend.refused {
			return
		}
		set, err := p.unordered()
		if err != nil {
			yield(0, err)
			return
		}
		p.gaveWay = set
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

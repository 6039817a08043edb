package index

import (
	"context"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An allowance is what a walk in order may still cost. How soon such a walk reaches its limit is a guess, since rows
// that match may all come last, so what it may cost is bounded.
type allowance struct {
	budget     float64
	n          float64  // nodes
	step       float64  // cost of a row before it is decided
	properties []string // that decide
	refused    bool
}

// batch spends the cost of deciding a batch of rows, or refuses when the budget is smaller.
func (a *allowance) batch(rows int) bool {
	if a.budget -= batchCost(a.n, float64(rows), a.step, a.properties); a.budget < 0 {
		a.refused = true
	}
	return !a.refused
}

// walk yields what start does within the plan's patience, and when that is over, what is left of the rows of match.
// Those it has in common with the walk come first, as both have one order.
func (p *Plan) walk(
	ctx context.Context, r *reader, limit int, reads *Reads, step float64,
	start func(*allowance) iter.Seq2[kv.NodeID, error],
) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		spend := &allowance{
			budget: p.patience, n: float64(p.tx.NumPresent()), step: step, properties: Properties(p.residual),
		}
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
		p.gaveWay, p.lastValue = true, kv.Value{}
		for v, err := range p.match.run(ctx, r, limit, reads) {
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

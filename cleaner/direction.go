package cleaner

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// along is the graph that a job walks. A direction of a graph that has none is an ErrOptions.
func along(tx *kv.Tx, d kv.Direction) (ops.Graph, error) {
	switch {
	case d > kv.In:
		return nil, fmt.Errorf("%w: %s: want both, out or in", ErrOptions, d)
	case d != kv.Both && !tx.Shape().Directed:
		return nil, fmt.Errorf("%w: direction %s: the graph is undirected, want none", ErrOptions, d)
	case tx.Shape().Directed || tx.Shape().Weighted:
		return tx.Along(d), nil
	}
	return tx, nil
}

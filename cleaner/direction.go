package cleaner

import (
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// graphOf is the graph that a job walks: with the weights of its edges, where these have weights or directions.
func graphOf(tx *kv.Tx) ops.Graph {
	if tx.Shape().Directed || tx.Shape().Weighted {
		return tx.Along(kv.Both)
	}
	return tx
}

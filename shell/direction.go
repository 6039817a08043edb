package shell

import (
	"github.com/graphcleaner/graphcleaner/kv"
)

// orientation is the flag of commands that walk the graph.
type orientation struct {
	Direction kv.Direction `default:"both" placeholder:"WAY" help:"For a directed graph, the neighbours that count. out: the nodes that its edges lead to. in: the nodes whose edges lead to it. both: all of them. Default: both."`
}

// checkDirection refuses a direction of a store that has none.
func (o *orientation) checkDirection(store *kv.Store) error {
	if o.Direction == kv.Both {
		return nil
	}
	return store.View(func(tx *kv.Tx) error {
		if !tx.Shape().Directed {
			return usagef("--direction %s: the store is undirected, want one imported with --directed", o.Direction)
		}
		return nil
	})
}

package files

import (
	"context"
	"errors"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Remove removes the nodes and the edges that files list from a store, all of them or nothing. An empty path is a file
// that is not given. A row that is there again counts once.
func Remove(ctx context.Context, store *kv.Store, nodes, edges string, r Job) (stats kv.Stats, err error) {
	patch, err := store.NewPatch(kv.PatchOptions{Progress: r.Progress})
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, patch.Abort()) }()
	f := &graphFiles{Job: r, path: edges, want: "ids of the store"}
	defer func() { err = errors.Join(err, f.close()) }()
	if nodes != "" {
		in, id, err := r.openIDs(ctx, nodes)
		if err != nil {
			return stats, err
		}
		f.nodes = &nodesFile{in: in, id: id, label: -1, split: -1}
	}
	if f.edges, err = openEdges(ctx, edges, r); err != nil {
		return stats, err
	}
	remove := func(n kv.Node) error { return patch.RemoveNode(strings.Clone(n.ID), n.Source) }
	removeEdge := func(src, dst string, _ float32, source int64) error { return patch.RemoveEdge(src, dst, source) }
	if err := f.read(ctx, remove, func() []edgeTaker { return []edgeTaker{{add: removeEdge}} }); err != nil {
		return stats, err
	}
	stats, err = patch.Commit(ctx)
	return stats, f.explain(err)
}

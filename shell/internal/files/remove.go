package files

import (
	"cmp"
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Remove removes the nodes and the edges that files list from a store, all of them or nothing. An empty path is a file
// that is not given. A row that is there again counts once.
func Remove(ctx context.Context, store *kv.Store, nodes, edges string, r Job) (stats kv.Stats, err error) {
	patch, err := store.NewPatch(kv.PatchOptions{Progress: r.Progress})
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, patch.Abort()) }()
	of := rowPlaces{edges: edges}
	if nodes != "" {
		if err = of.removeNodes(ctx, patch, nodes, r); err != nil {
			return stats, err
		}
	}
	if edges != "" {
		in, err := openEdges(ctx, edges, r)
		if err == nil {
			of.edgeParts = in.parts()
			_, _, err = patchEdges(ctx, in, removedEdges{patch}, r)
			err = cmp.Or(err, in.close())
		}
		if err != nil {
			return stats, err
		}
	}
	stats, err = patch.Commit(ctx)
	return stats, of.explain(err, "ids of the store")
}

// removeNodes removes the nodes of a file.
func (p *rowPlaces) removeNodes(ctx context.Context, patch *kv.Patch, path string, r Job) (err error) {
	in, columns, err := r.openNodeTable(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	p.nodeParts, p.id = in.Parts(), in.Header()[columns[0]]
	return EachRow(ctx, in, r.Progress, func(row table.Row) error {
		id := row.Fields[columns[0]]
		if len(id) == 0 {
			return in.Want(row, columns[0], "the id of a node")
		}
		return patch.RemoveNode(string(id), row.Line)
	})
}

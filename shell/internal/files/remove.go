package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
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
	of := removal{edges: edges}
	if nodes != "" {
		if of.nodeParts, err = removeNodes(ctx, patch, nodes, r); err != nil {
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
	return stats, of.explain(err)
}

// removeNodes removes the nodes of a file, and returns what was read.
func removeNodes(ctx context.Context, patch *kv.Patch, path string, r Job) (_ table.Parts, err error) {
	in, columns, err := r.openNodeTable(ctx, path)
	if err != nil {
		return table.Parts{}, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return in.Parts(), EachRow(ctx, in, r.Progress, func(row table.Row) error {
		id := row.Fields[columns[0]]
		if len(id) == 0 {
			return in.Want(row, columns[0], "the id of a node")
		}
		return patch.RemoveNode(string(id), row.Line)
	})
}

// A removal is the files that are removed from a store.
type removal struct {
	edges                string
	nodeParts, edgeParts table.Parts
}

// explain says at which line of which file is what cannot be removed.
func (of removal) explain(err error) error {
	row, ok := errors.AsType[*kv.RowError](err)
	if !ok {
		return err
	}
	id := wording.Cut(row.ID, kv.MaxID)
	if !row.Edge {
		msg := fmt.Sprintf("got %q, want the id of a node of the store", id)
		path, line := of.nodeParts.Place(row.Source)
		return &table.Error{Path: path, Line: line, Column: "id", Msg: msg, Err: err}
	}
	msg := fmt.Sprintf("got an edge of node %q, want ids of the store", id)
	if row.To != "" {
		msg = fmt.Sprintf("got an edge from %q to %q, which the store does not have", id, wording.Cut(row.To, kv.MaxID))
	}
	return atEdge(of.edges, of.edgeParts, row.Source, msg, err)
}

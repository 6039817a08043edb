package files

import (
	"context"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// eachNamed calls fn for every row of a table with the node that it names in the column id, each once. It returns the
// nodes. It is fast where the rows are in the order of the nodes file.
func eachNamed(
	ctx context.Context, tx *kv.Tx, in *table.Reader, id int, report kv.Progress,
	fn func(v kv.NodeID, row table.Row) error,
) (kv.NodeSet, error) {
	seen := bitset.New[kv.NodeID](tx.NumNodes())
	nextNode, stopNodes := iter.Pull2(tx.InFileOrder())
	defer stopNodes()
	nextID, stopIDs := iter.Pull2(tx.IDs())
	defer stopIDs()
	var expected kv.NodeID // the next one of the nodes file
	var expectedID string  // empty after the last
	expect := func() (err error) {
		if expected, err, _ = nextNode(); err == nil {
			expectedID, err, _ = nextID()
		}
		return err
	}
	find := func(id []byte) (v kv.NodeID, err error) {
		if expectedID == "" || expectedID != string(id) {
			return tx.Node(string(id))
		}
		v = expected
		return v, expect()
	}
	if err := expect(); err != nil {
		return seen, err
	}
	return seen, EachRow(ctx, in, report, func(row table.Row) error {
		v, err := find(row.Fields[id])
		switch {
		case errors.Is(err, kv.ErrNotFound):
			return in.Want(row, id, "the id of a node")
		case err != nil:
			return err
		case seen.Has(v):
			return in.Errorf(row.Line, in.Header()[id], "got %q again, want every id once", row.Fields[id])
		}
		seen.Add(v)
		return fn(v, row)
	})
}

// wantAll returns an error that names the first node, in the order of the nodes file, without a row in a table.
func wantAll(tx *kv.Tx, in *table.Reader, seen kv.NodeSet) error {
	missing := tx.Shape().Present - seen.Len()
	if missing == 0 {
		return nil
	}
	for v, err := range tx.InFileOrder() {
		if err != nil {
			return err
		}
		if seen.Has(v) {
			continue
		}
		id, err := tx.ID(v)
		if err != nil {
			return err
		}
		return in.Errorf(0, "", "has no row for node %q (%d of %d nodes have none), want one for each", id, missing,
			tx.Shape().Present)
	}
	return nil
}

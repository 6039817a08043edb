package files

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// splits writes the column split, in which a node left out is in none.
func (w *writing) splits(ctx context.Context, path string) error {
	column, err := w.bulk.Column("split", kv.KindString)
	if err != nil {
		return err
	}
	column.Sort()
	return eachSplit(ctx, w.tx, path, w.Job, func(v kv.NodeID, name string) error {
		if name == "" {
			return nil
		}
		return column.Put(v, kv.ValueOf(name))
	})
}

// eachSplit calls fn for every row of a splits file, with the name of cleaner.Split.String; "" of an empty one.
func eachSplit(
	ctx context.Context, tx *kv.Tx, path string, r Job, fn func(v kv.NodeID, name string) error,
) (err error) {
	in, columns, err := r.OpenTable(ctx, path, "split")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id, split := columns[0], columns[1]
	_, err = eachNamed(ctx, tx, in, id, r.Progress, func(v kv.NodeID, row table.Row) error {
		name := string(row.Fields[split])
		if name == "" {
			return fn(v, "")
		}
		kind, err := cleaner.ParseSplit(name)
		if err != nil {
			return in.Want(row, split, "train, val, test or none")
		}
		return fn(v, kind.String())
	})
	return err
}

package files

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// splits writes the column split, in which a node left out is in none, and the index on it where there was one, which
// is what is to be marked.
func (w *writing) splits(ctx context.Context, path string, stage *ops.Stage) (mark marker, err error) {
	stage.Columns = 1
	column, err := w.bulk.Column("split", kv.KindString)
	if err != nil {
		return nil, err
	}
	column.Sort()
	put := column.Put
	if before, _ := w.tx.Column("split"); before.Indexed {
		entries, failed := index.NewBuilder(w.bulk, "split")
		if failed != nil {
			return nil, failed
		}
		defer func() {
			if err == nil {
				err = entries.Finish()
			}
			err = errors.Join(err, entries.Close())
		}()
		mark, put = entries, func(v kv.NodeID, value kv.Value) error {
			if err := column.Put(v, value); err != nil {
				return err
			}
			return entries.Add(v, value)
		}
	}
	return mark, eachSplit(ctx, w.tx, path, w.Job, func(v kv.NodeID, name string) error {
		if name == "" {
			return nil
		}
		return put(v, kv.ValueOf(name))
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

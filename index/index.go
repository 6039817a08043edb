package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Open opens a store whose indexes are kept in step with every write: it is kv.Open with Options.OnWrite set to
// Maintain. An OnWrite given by the caller runs after it.
func Open(dir string, opt kv.Options) (*kv.Store, error) {
	also := opt.OnWrite
	opt.OnWrite = func(tx *kv.Tx, v kv.NodeID, column string, before, after kv.Value) error {
		err := Maintain(tx, v, column, before, after)
		if err == nil && also != nil {
			err = also(tx, v, column, before, after)
		}
		return err
	}
	opt.OnRewrite = func(b *kv.Bulk, column string) (kv.ColumnIndex, error) { return NewBuilder(b, column) }
	return kv.Open(dir, opt)
}

// Maintain moves the entry of one changed value, in the transaction of the change. Open hands it to kv as
// Options.OnWrite, and kv.Create needs it there for a new store.
func Maintain(tx *kv.Tx, v kv.NodeID, column string, before, after kv.Value) error {
	p := openPostings(tx, column)
	if !before.IsNull() {
		if err := p.set(before, v, false); err != nil {
			return err
		}
	}
	if after.IsNull() {
		return nil
	}
	return p.set(after, v, true)
}

// Create builds the index of a stored column. It holds the store's write lock meanwhile; readers go on. It returns
// kv.ErrExists if the column has an index, and kv.ErrNoColumn if there is no such column. id and degree are no columns.
func Create(ctx context.Context, s *kv.Store, column string) error {
	return build(ctx, s, column, func(tx *kv.Tx) error { return creatable(tx, column) })
}

// checkEvery is how many nodes a walk passes between two looks at its context.
const checkEvery = 512

func creatable(tx *kv.Tx, column string) error {
	c, ok := tx.Column(column)
	switch {
	case !ok || column == propertyID || column == propertyDegree:
		return fmt.Errorf("index on %s: %w", column, kv.ErrNoColumn)
	case c.Indexed:
		return fmt.Errorf("index on %s: %w", column, kv.ErrExists)
	}
	return nil
}

// Drop removes the index of a column, or returns kv.ErrNotFound when it has none.
func Drop(s *kv.Store, column string) error {
	return s.Update(func(tx *kv.Tx) error {
		if c, ok := tx.Column(column); !ok || !c.Indexed {
			return fmt.Errorf("index on %s: %w", column, kv.ErrNotFound)
		}
		if err := tx.SetIndexed(column, false); err != nil {
			return fmt.Errorf("index on %s: %w", column, err)
		}
		if err := errors.Join(tx.Space(spaceName(column)).Drop(), tx.Space(headSpace(column)).Drop()); err != nil {
			return fmt.Errorf("index on %s: %w", column, err)
		}
		return nil
	})
}

// Compact folds the changes made since an index was built into its leaves, for every index that has any, and copies
// the first rows of indexes anew. It holds the store's write lock meanwhile; readers go on.
func Compact(ctx context.Context, s *kv.Store) error {
	bulk, err := s.Bulk(ctx)
	if err != nil {
		return fmt.Errorf("compacting indexes: %w", err)
	}
	defer bulk.Abort()
	tx := bulk.Tx()
	var writers []*leafWriter
	for _, c := range tx.Columns() {
		if !c.Indexed {
			continue
		}
		p := openPostings(tx, c.Name)
		changed, err := p.hasChanges()
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		put, err := bulk.Space(spaceName(c.Name))
		if err != nil {
			return p.wrap(err)
		}
		w := &leafWriter{column: c.Name, put: put}
		if err := w.copy(ctx, p, wholeRange(valueKind(c.Kind))); err != nil {
			return p.wrap(err)
		}
		writers = append(writers, w)
	}
	return bulk.Commit(func(tx *kv.Tx) error {
		for _, w := range writers {
			if err := w.mark(tx); err != nil {
				return fmt.Errorf("index on %s: %w", w.column, err)
			}
		}
		return CopyHeads(tx)
	})
}

// copy writes all entries of postings.
func (w *leafWriter) copy(ctx context.Context, p postings, all keyRange) error {
	groups := 0
	for g, err := range p.ascend(all) {
		if err != nil {
			return err
		}
		if groups%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		groups++
		for _, v := range g.nodes {
			if err := w.add(g.key, v); err != nil {
				return err
			}
		}
	}
	return w.flush()
}

package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Repair rebuilds each index in which Check finds a problem from its column, and calls report for it. It is for a store
// that kv.Repair has repaired. After an error, or a kill, it can be run again.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	problems := map[string]kv.Problem{} // the first problem of an index
	var columns []string
	err := s.View(func(tx *kv.Tx) error {
		for _, c := range tx.Columns() {
			if !c.Indexed {
				continue
			}
			columns = append(columns, c.Name)
			err := checkColumn(ctx, tx, c, func(p kv.Problem) {
				if _, there := problems[c.Name]; !there {
					problems[c.Name] = p
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, column := range columns {
		p, there := problems[column]
		if !there {
			continue
		}
		if err := build(ctx, s, column, func(*kv.Tx) error { return nil }); err != nil {
			return err
		}
		report(kv.Correction{Where: p.Where, What: p.What, Done: "built anew"})
	}
	return nil
}

// build builds the index of a column, in place of one that is there, if allow returns nil.
func build(ctx context.Context, s *kv.Store, column string, allow func(tx *kv.Tx) error) error {
	bulk, err := s.Bulk(ctx)
	if err != nil {
		return fmt.Errorf("index on %s: %w", column, err)
	}
	defer bulk.Abort()
	if err := allow(bulk.Tx()); err != nil {
		return err
	}
	b, err := Build(bulk, column)
	if err != nil {
		return err
	}
	return bulk.Commit(b.Mark)
}

// Build writes the index of a stored column as part of a kv.Bulk. Call Mark of the Builder in the final function of
// Bulk.Commit.
func Build(bulk *kv.Bulk, column string) (_ *Builder, err error) {
	ctx, tx := bulk.Context(), bulk.Tx()
	values, err := tx.Reader(column)
	if err != nil {
		return nil, fmt.Errorf("index on %s: %w", column, err)
	}
	b, err := NewBuilder(bulk, column)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		value, err := values.At(v)
		if err != nil {
			return nil, fmt.Errorf("index on %s: %w", column, err)
		}
		if err := b.Add(v, value); err != nil {
			return nil, err
		}
	}
	return b, b.Finish()
}

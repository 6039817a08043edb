package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Builder writes the index of a column from scratch, beside the live one, as part of a kv.Bulk that also
// replaces the column itself:
//
//	b, err := index.NewBuilder(bulk, "score")
//	defer b.Close()
//	err = b.Add(v, value)     // every node that has a value, in any order
//	err = b.Finish()          // before bulk.Commit
//	err = bulk.Commit(b.Mark) // column and index become visible together
//
// A kv.Bulk.Sorter sorts the entries. A Builder belongs to
// one goroutine.
type Builder struct {
	column  string
	removed kv.NodeSet // whose values the column drops
	sorter  *spill.Sorter
	entry   []byte
	out     leafWriter
}

// NewBuilder begins the index of a column. The column need not be there before Mark.
func NewBuilder(b *kv.Bulk, column string) (*Builder, error) {
	space, err := b.Space(spaceName(column))
	if err != nil {
		return nil, fmt.Errorf("index on %s: %w", column, err)
	}
	removed, err := b.Tx().Removed()
	if err != nil {
		return nil, fmt.Errorf("index on %s: %w", column, err)
	}
	return &Builder{
		column:  column,
		removed: removed,
		sorter:  b.Sorter(),
		out:     leafWriter{column: column, space: space},
	}, nil
}

// Add adds the entry of one node; null and NaN have none, and neither has a removed node. The value must be what the column will return: of the
// column's kind, and rounded to float32 where that is KindSingle.
func (b *Builder) Add(v kv.NodeID, value kv.Value) error {
	if value.IsNull() || b.removed.Has(v) {
		return nil
	}
	b.entry, _ = appendKey(b.entry[:0], value)
	b.entry = binary.BigEndian.AppendUint32(b.entry, uint32(v))
	return b.wrap(b.sorter.Add(b.entry, nil))
}

// Finish sorts what was added and writes the leaves. An entry given twice is a *kv.DuplicateRowError.
func (b *Builder) Finish() error { return b.finish(context.Background()) }

func (b *Builder) finish(ctx context.Context) error {
	var last []byte
	for record, err := range b.sorter.Records(ctx) {
		if err != nil {
			return b.wrap(err)
		}
		key, v, _ := cutEntry(record.Key)
		if bytes.Equal(record.Key, last) {
			return b.wrap(&kv.DuplicateRowError{Name: b.column, Node: v})
		}
		last = append(last[:0], record.Key...)
		if err := b.out.add(key, v); err != nil {
			return b.wrap(err)
		}
	}
	if err := b.out.flush(); err != nil {
		return b.wrap(err)
	}
	return b.wrap(b.Close())
}

// Mark puts the index into use. Call it in the final function of Bulk.Commit, after the column. It first compares some entries
// with the column, to find values that were added in another form.
func (b *Builder) Mark(tx *kv.Tx) error { return b.wrap(b.out.mark(tx)) }

// Close removes the temporary file. Call it if Finish is not called; after Finish it does nothing.
func (b *Builder) Close() error { return b.sorter.Close() }

func (b *Builder) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index on %s: %w", b.column, err)
}

package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"

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
// As long as the values are few, and the nodes of each come ascending, as those of labels do, it keeps the nodes of
// each value. Else a kv.Bulk.Sorter sorts the entries. A Builder belongs to one goroutine.
type Builder struct {
	bulk    *kv.Bulk
	column  string
	removed kv.NodeSet                 // whose values the column drops
	few     map[string]*ascendingNodes // by key; nil if the entries are in sorter
	bytes   int64                      // of the nodes in few
	sorter  *spill.Sorter
	entry   []byte
	out     leafWriter
}

// ascendingNodes are nodes that ascend: the differences between neighbours, the first from zero, as varints.
type ascendingNodes struct {
	last kv.NodeID
	gaps []byte
}

// all yields the nodes.
func (n *ascendingNodes) all() iter.Seq[kv.NodeID] {
	return func(yield func(kv.NodeID) bool) {
		v := uint64(0)
		for rest := n.gaps; len(rest) > 0; {
			gap, length := binary.Uvarint(rest)
			v, rest = v+gap, rest[length:]
			if !yield(kv.NodeID(v)) {
				return
			}
		}
	}
}

// maxFew is how many values are few.
const maxFew = 1 << 10

// NewBuilder begins the index of a column. The column need not be there before Mark.
func NewBuilder(b *kv.Bulk, column string) (*Builder, error) {
	put, err := b.Space(spaceName(column))
	if err != nil {
		return nil, fmt.Errorf("index on %s: %w", column, err)
	}
	removed, err := b.Tx().Removed()
	if err != nil {
		return nil, fmt.Errorf("index on %s: %w", column, err)
	}
	return &Builder{
		bulk:    b,
		column:  column,
		removed: removed,
		few:     map[string]*ascendingNodes{},
		sorter:  b.Sorter(),
		out:     leafWriter{column: column, put: put},
	}, nil
}

// Add adds the entry of one node; null and NaN have none, and neither has a removed node. The value must be what the
// column will return: of the column's kind, and rounded to float32 where that is KindSingle.
func (b *Builder) Add(v kv.NodeID, value kv.Value) error {
	if value.IsNull() || b.removed.Has(v) {
		return nil
	}
	b.entry, _ = appendKey(b.entry[:0], value)
	if b.few != nil {
		if b.addFew(v) {
			return nil
		}
		if err := b.sortFew(); err != nil {
			return b.wrap(err)
		}
		b.entry, _ = appendKey(b.entry[:0], value)
	}
	return b.wrap(b.addEntry(v))
}

// addFew adds a node with the key in entry to few; false if it does not go there.
func (b *Builder) addFew(v kv.NodeID) bool {
	nodes := b.few[string(b.entry)]
	switch {
	case b.bytes >= b.sorter.Limit()/4: // arrays are longer than what is in them, and in sortFew the sorter has as much
		return false
	case nodes == nil && len(b.few) == maxFew:
		return false
	case nodes == nil:
		nodes = &ascendingNodes{}
		b.few[string(b.entry)] = nodes
	case v <= nodes.last:
		return false
	}
	before := len(nodes.gaps)
	nodes.gaps = binary.AppendUvarint(nodes.gaps, uint64(v-nodes.last))
	nodes.last = v
	b.bytes += int64(len(nodes.gaps) - before)
	return true
}

// sortFew moves the entries from few to the sorter.
func (b *Builder) sortFew() error {
	few := b.few
	b.few = nil
	for key, nodes := range few {
		for v := range nodes.all() {
			b.entry = append(b.entry[:0], key...)
			if err := b.addEntry(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// addEntry adds a node with the key in entry to the sorter.
func (b *Builder) addEntry(v kv.NodeID) error {
	b.entry = binary.BigEndian.AppendUint32(b.entry, uint32(v))
	return b.sorter.Add(b.entry, nil)
}

// Finish sorts the added entries and writes the leaves. An entry given twice is a kv.ErrDuplicateRow.
func (b *Builder) Finish() error {
	ctx := b.bulk.Context()
	for _, text := range slices.Sorted(maps.Keys(b.few)) {
		key := []byte(text)
		for v := range b.few[text].all() {
			if v%checkEvery == 0 && ctx.Err() != nil {
				return b.wrap(ctx.Err())
			}
			if err := b.out.add(key, v); err != nil {
				return b.wrap(err)
			}
		}
	}
	var last []byte
	for record, err := range b.sorter.Records(ctx) {
		if err != nil {
			return b.wrap(err)
		}
		key, v, _ := cutEntry(record.Key)
		if bytes.Equal(record.Key, last) {
			return b.wrap(fmt.Errorf("%w: node number %d", kv.ErrDuplicateRow, v))
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

// Mark puts the index into use. Call it in the final function of Bulk.Commit, after the column. It first compares some
// entries with the column, to find values that were added in another form.
func (b *Builder) Mark(tx *kv.Tx) error { return b.wrap(b.out.mark(tx)) }

// Close removes the temporary file. Call it if Finish is not called; after Finish it does nothing.
func (b *Builder) Close() error {
	b.few = nil
	return b.sorter.Close()
}

func (b *Builder) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index on %s: %w", b.column, err)
}

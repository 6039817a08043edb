// Package column reads the values of one property of nodes: blocks of them, and what changed since they were written. A
// value is a cell: a class is the int of its number. It knows nothing of the names of columns and classes.
package column

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// An Entry is a column in the catalogue. Its blocks cover the nodes v < Rows; values of later nodes, and changes, are
// deltas, of which there are none unless Deltas.
type Entry struct {
	Generation record.Generation `msgpack:"generation"`
	Kind       codec.Kind        `msgpack:"kind"`
	Indexed    bool              `msgpack:"indexed"`
	Rows       uint32            `msgpack:"rows"`
	Deltas     bool              `msgpack:"deltas"`
	Sum        record.Sum        `msgpack:"sum,omitempty"`
}

// A Column is a column of a snapshot.
type Column struct {
	Entry
	Records snapshot.Reader
	Nodes   int
}

// Keys are those of the blocks that hold the values of ascending nodes, each of its first part, which few blocks are
// longer than.
func (c *Column) Keys(nodes iter.Seq[record.NodeID]) iter.Seq[[]byte] {
	return snapshot.BlockKeys(nodes, codec.ColumnRows, int(c.Rows), func(block uint32) []byte {
		return record.PartKey(Key(c.Generation, block), 0)
	})
}

// Cell is the value of a node.
func (c *Column) Cell(v record.NodeID) (codec.Value, error) {
	if cell, changed, err := c.Changed(v); changed || err != nil || uint32(v) >= c.Rows {
		return cell, err
	}
	block, err := c.Lookup(uint32(v) / codec.ColumnRows)
	if err != nil {
		return codec.Value{}, err
	}
	return block.Cell(int(v) % codec.ColumnRows), nil
}

// Changed returns the value of a node that was set on its own, after the blocks were written; false if there is none.
func (c *Column) Changed(v record.NodeID) (cell codec.Value, changed bool, err error) {
	if !c.Deltas {
		return cell, false, nil
	}
	changed, err = snapshot.Find(c.Records, DeltaKey(c.Generation, v), func(body []byte) error {
		cell, err = c.parseCell(body)
		return err
	})
	return cell, changed, err
}

// parseCell reads a change.
func (c *Column) parseCell(body []byte) (codec.Value, error) {
	cell, err := codec.ParseValue(body)
	if err == nil && !cell.IsNull() && cell.Kind() != c.Kind.OfCells() {
		err = fmt.Errorf("%w: a %s in a %s column", record.ErrCorrupt, cell.Kind(), c.Kind)
	}
	return cell, err
}

// Set changes the value of a node.
func (c *Column) Set(w snapshot.Writer, v record.NodeID, cell codec.Value) error {
	return w.Put(DeltaKey(c.Generation, v), cell.Append(nil))
}

// Lookup returns a block, from memory if it was looked up before. It is not changed.
func (c *Column) Lookup(number uint32) (*codec.Column, error) {
	name := snapshot.Name{Kind: record.KindColumn, Generation: c.Generation, A: number}
	if entry := c.Records.Cache().Get(name); entry != nil {
		return entry.Value.(*codec.Column), nil
	}
	key, block, entry := Key(c.Generation, number), new(codec.Column), &snapshot.Entry{Name: name}
	err := snapshot.NeedChain(c.Records, key, func(body []byte) error {
		entry.Body = bytes.Clone(body)
		if err := block.Parse(c.Kind, entry.Body); err != nil {
			return fmt.Errorf("%s: %w", record.Describe(key), err)
		}
		if want := min(codec.ColumnRows, int(c.Rows-number*codec.ColumnRows)); block.Count != want {
			return record.Corrupt(key, fmt.Sprintf("it has %d rows, want %d", block.Count, want))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	entry.Value, entry.ValueSize = block, block.Size()
	c.Records.Cache().Add(entry)
	return block, nil
}

// ReadDeltas hands the changed cells of a range to set, ascending.
func (c *Column) ReadDeltas(rng record.Range, set func(v record.NodeID, cell codec.Value)) error {
	if !c.Deltas {
		return nil
	}
	return snapshot.EachNode(c.Records.Scan, record.KindColumnDelta, c.Generation, rng,
		func(v record.NodeID, r record.Record) error {
			cell, err := c.parseCell(r.Body)
			if err != nil {
				return fmt.Errorf("%s: %w", record.Describe(r.Key), err)
			}
			set(v, cell)
			return nil
		})
}

// Key is the key of a block, a chain.
func Key(g record.Generation, block uint32) []byte {
	return record.NumberKey(record.KindColumn, g, block)
}

// DeltaKey is the key of a change.
func DeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindColumnDelta, g, uint32(v))
}

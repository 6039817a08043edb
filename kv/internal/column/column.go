// Package column reads the values of one property of nodes: blocks of them, and what changed since they were written. A
// value is a cell: a class is the int of its number. It knows nothing of the names of columns and classes.
package column

import (
	"bytes"
	"errors"
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

// Cell is the value of a node. Its block is kept when it is asked for again: before, the value is read where the block
// lies.
func (c *Column) Cell(v record.NodeID) (codec.Value, error) {
	if c.Deltas {
		if cell, err := c.changed(v); !errors.Is(err, record.ErrNotFound) {
			return cell, err
		}
	}
	if uint32(v) >= c.Rows {
		return codec.Value{}, nil
	}
	name, row := c.name(uint32(v)/codec.ColumnRows), int(v)%codec.ColumnRows
	if entry := c.Records.Cache().Get(name); entry != nil {
		return entry.Value.(*codec.Column).Cell(row, c.Kind), nil
	}
	if entry := c.Records.Cache().Get(cellName(name, row)); entry != nil {
		return entry.Value.(codec.Value), nil
	}
	if !c.Records.Cache().Again(name) {
		return c.cellInPlace(name, row)
	}
	block, err := c.load(name)
	if err != nil {
		return codec.Value{}, err
	}
	return block.Cell(row, c.Kind), nil
}

// Changed reports whether the value of a node was set on its own, after the blocks were written.
func (c *Column) Changed(v record.NodeID) (bool, error) {
	if !c.Deltas {
		return false, nil
	}
	_, err := c.changed(v)
	if errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// cellName is that of a row of a block, kept by itself.
func cellName(block snapshot.Name, row int) snapshot.Name {
	block.B = uint32(row) + 1
	return block
}

// cellSize is about what a cell takes in memory beside its text, in bytes.
const cellSize = 48

// cellInPlace is a row of a block that is not kept: only the row is. Like changed and load it allocates, so that Cell
// need not.
func (c *Column) cellInPlace(name snapshot.Name, row int) (cell codec.Value, err error) {
	disk := *c
	err = disk.lend(name.A, func(body []byte) error {
		block := new(codec.Column)
		if err := disk.parse(name.A, body, block); err != nil {
			return err
		}
		cell = block.Cell(row, disk.Kind)
		return nil
	})
	if err == nil {
		size := int64(cellSize)
		if cell.Kind() == codec.KindString {
			size += int64(len(cell.Str()))
		}
		c.Records.Cache().Add(&snapshot.Entry{Name: cellName(name, row), Value: cell, ValueSize: size})
	}
	return cell, err
}

// changed is the value of a node that changed since the blocks were written, or record.ErrNotFound.
func (c *Column) changed(v record.NodeID) (cell codec.Value, err error) {
	err = snapshot.InPlace(c.Records).Get(DeltaKey(c.Generation, v), func(body []byte) error {
		cell, err = codec.ParseValue(body)
		return err
	})
	return cell, err
}

// parse reads an encoded block into block, which borrows body.
func (c *Column) parse(number uint32, body []byte, block *codec.Column) error {
	key := Key(c.Generation, number)
	if err := block.Parse(c.Kind, body); err != nil {
		return fmt.Errorf("%s: %w", record.Describe(key), err)
	}
	if want := min(codec.ColumnRows, int(c.Rows-number*codec.ColumnRows)); block.Count != want {
		return record.Corrupt(key, fmt.Sprintf("it has %d rows, want %d", block.Count, want))
	}
	return nil
}

// Set changes the value of a node.
func (c *Column) Set(w snapshot.Writer, v record.NodeID, cell codec.Value) error {
	return w.Put(DeltaKey(c.Generation, v), cell.Append(nil))
}

// name is that of a block.
func (c *Column) name(number uint32) snapshot.Name {
	return snapshot.Name{Kind: record.KindColumn, Generation: c.Generation, A: number}
}

// Lookup returns a block, from memory if it was looked up before. It is not changed.
func (c *Column) Lookup(number uint32) (*codec.Column, error) {
	name := c.name(number)
	if entry := c.Records.Cache().Get(name); entry != nil {
		return entry.Value.(*codec.Column), nil
	}
	return c.load(name)
}

// load is Lookup from the disk.
func (c *Column) load(name snapshot.Name) (block *codec.Column, err error) {
	disk := *c // a copy, so that c may stay on the caller's stack
	err = disk.lend(name.A, func(body []byte) error {
		block, err = disk.keep(name, body)
		return err
	})
	return block, err
}

// lend calls use with an encoded block where it lies, borrowed.
func (c *Column) lend(number uint32, use func(body []byte) error) error {
	key := Key(c.Generation, number)
	err := snapshot.Chain(snapshot.InPlace(c.Records), key, use)
	if errors.Is(err, record.ErrNotFound) {
		return record.Corrupt(key, "it is missing")
	}
	return err
}

// keep keeps a block for later lookups.
func (c *Column) keep(name snapshot.Name, body []byte) (*codec.Column, error) {
	block, entry := new(codec.Column), &snapshot.Entry{Name: name, Body: bytes.Clone(body)}
	if err := c.parse(name.A, entry.Body, block); err != nil {
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
	prefix := record.Prefix(record.KindColumnDelta, c.Generation)
	for r, err := range c.Records.Scan(prefix, DeltaKey(c.Generation, rng.First)) {
		if err != nil {
			return err
		}
		v, err := record.NumberAt(r.Key, 0)
		if err != nil {
			return err
		}
		if record.NodeID(v) >= rng.End {
			if int(v) >= c.Nodes {
				return record.Corrupt(r.Key, "there is no such node")
			}
			return nil
		}
		cell, err := codec.ParseValue(r.Body)
		if err != nil {
			return fmt.Errorf("%s: %w", record.Describe(r.Key), err)
		}
		set(record.NodeID(v), cell)
	}
	return nil
}

// Key is the key of a block, a chain.
func Key(g record.Generation, block uint32) []byte {
	return record.NumberKey(record.KindColumn, g, block)
}

// DeltaKey is the key of a change.
func DeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindColumnDelta, g, uint32(v))
}

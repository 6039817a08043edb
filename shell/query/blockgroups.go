package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// addBlocks counts the nodes that a plan finds, on as many goroutines as there are tables. Read are the properties of grouping.
func (g *groups) addBlocks(ctx context.Context, tx *kv.Tx, plan *index.Plan, read []string) error {
	counters := make([]*blockCounter, len(g.tables))
	return plan.Blocks(ctx, func(worker int, nodes []kv.NodeID) error {
		if counters[worker] == nil {
			c, err := newBlockCounter(tx, g.tables[worker], read)
			if err != nil {
				return err
			}
			counters[worker] = c
		}
		return counters[worker].add(nodes)
	})
}

// A blockCounter counts nodes of one block after another in a table. If the values that tell the groups apart have codes, a group is looked up once
// for each combination of codes.
type blockCounter struct {
	table   *groupTable
	names   []string
	columns []*kv.ColumnReader // nil for a property that the store does not hold

	areFixed bool // the codes are the same for all blocks
	blocks   []kv.Vector
	known    []*group // by their combinations of codes
	spills   int      // of the table when they were looked up
	row      []kv.Value
}

// maxCombinations is for how many combinations of codes groups are looked up once.
const maxCombinations = 1 << 16

// knownBytes is what a group that is looked up takes in memory, beside the group.
const knownBytes = 8

func newBlockCounter(tx *kv.Tx, table *groupTable, read []string) (*blockCounter, error) {
	c := &blockCounter{
		table: table, names: read, columns: make([]*kv.ColumnReader, len(read)),
		areFixed: true, blocks: make([]kv.Vector, table.of.by), row: make([]kv.Value, len(read)),
	}
	for i, name := range read {
		column, stored := tx.Column(name)
		if !stored {
			continue
		}
		var err error
		if c.columns[i], err = tx.Reader(name); err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		c.areFixed = c.areFixed && (i >= table.of.by || column.Kind == kv.KindClass)
	}
	return c, nil
}

// noValues is a block of a property that the store does not hold.
var noValues = kv.Vector{Table: make([]kv.Value, 1), Codes: make([]uint32, kv.BlockRows)}

// add counts the nodes, which are of one block, and ascend.
func (c *blockCounter) add(nodes []kv.NodeID) error {
	combinations, err := c.encode(nodes[0])
	if err != nil {
		return err
	}
	if combinations > maxCombinations || int64(combinations)*knownBytes > c.table.limit/2 {
		for _, v := range nodes {
			for i := range c.row {
				if c.row[i], err = c.value(i, v); err != nil {
					return err
				}
			}
			if err := c.table.add(c.row); err != nil {
				return err
			}
		}
		return nil
	}
	if !c.areFixed || len(c.known) != combinations {
		c.known = slices.Grow(c.known[:0], combinations)[:combinations]
		clear(c.known)
		c.table.known = int64(cap(c.known)) * knownBytes
	}
	for _, v := range nodes {
		if c.spills != c.table.spills {
			c.spills = c.table.spills
			clear(c.known)
		}
		combination := 0
		for _, block := range c.blocks {
			combination = combination*len(block.Table) + int(block.Codes[v%kv.BlockRows])
		}
		to := c.known[combination]
		if to == nil {
			for i, block := range c.blocks {
				c.row[i] = block.Table[block.Codes[v%kv.BlockRows]]
			}
			to = c.table.group(c.row[:len(c.blocks)])
			c.known[combination] = to
		}
		to.count++
		for i, of := range c.table.of.tallies {
			value, err := c.value(of.value, v)
			if err != nil {
				return err
			}
			c.table.tally(to, i, value)
		}
		if err := c.table.bound(); err != nil {
			return err
		}
	}
	return nil
}

// encode reads the codes of a block, and returns how many combinations of them there are: more than maxCombinations if a property has none.
func (c *blockCounter) encode(v kv.NodeID) (combinations int, err error) {
	combinations = 1
	for i := range c.blocks {
		if c.blocks[i] = noValues; c.columns[i] != nil {
			if c.blocks[i], err = c.columns[i].Block(v); err != nil {
				return 0, fmt.Errorf("property %s: %w", c.names[i], err)
			}
		}
		if combinations *= len(c.blocks[i].Table); combinations == 0 || combinations > maxCombinations {
			return maxCombinations + 1, nil
		}
	}
	return combinations, nil
}

// value is one of the properties of a node.
func (c *blockCounter) value(i int, v kv.NodeID) (kv.Value, error) {
	if c.columns[i] == nil {
		return kv.Value{}, nil
	}
	value, err := c.columns[i].At(v)
	if err != nil {
		err = fmt.Errorf("property %s: %w", c.names[i], err)
	}
	return value, err
}

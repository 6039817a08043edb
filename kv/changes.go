package kv

import (
	"fmt"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// LastCommit is the number of the last commit that the snapshot sees. It is the mark to ask ChangesSince with later.
// Numbers ascend, also over Compact, Close and Restore. Keep a mark in a document of the store that gave it: a store
// that was restored from an earlier backup gives the same numbers to other commits.
func (tx *Tx) LastCommit() (number uint64, err error) { return tx.last, tx.Err() }

// Changes are the nodes that the commits after a mark touched.
type Changes struct {
	// NumNodes is the number of nodes at the mark. Nodes with this number or a greater one were added since.
	NumNodes int

	sets touches
}

// Touched are nodes that were written to.
type Touched struct {
	// All says that every node may have been: the column or matrix was made, dropped or written as a whole.
	All bool

	nodes roaring.Bitmap
}

// Has reports whether v was touched.
func (t *Touched) Has(v NodeID) bool { return t.All || t.nodes.Contains(uint32(v)) }

// Count is the number of nodes that Nodes yields.
func (t *Touched) Count() int { return int(t.nodes.GetCardinality()) }

// Nodes yields the nodes that were touched, ascending. If All, it need not yield all of them.
func (t *Touched) Nodes() iter.Seq[NodeID] {
	return func(yield func(v NodeID) bool) {
		t.nodes.Iterate(func(v uint32) bool { return yield(NodeID(v)) })
	}
}

func (t *Touched) add(nodes iter.Seq[NodeID]) {
	for v := range nodes {
		t.nodes.Add(uint32(v))
	}
}

// Edges returns the nodes whose edges changed: both ends of each edge that was added, removed or given another weight.
func (c *Changes) Edges() *Touched { return c.sets.of(edgesTouched) }

// Column returns the nodes whose value in a column was set.
func (c *Changes) Column(name string) *Touched { return c.sets.of(columnTouched(name)) }

// Matrix returns the nodes whose row of a matrix was set.
func (c *Changes) Matrix(name string) *Touched { return c.sets.of(matrixTouched(name)) }

// ChangesSince returns the nodes that the commits after a mark touched. LastCommit gave the mark. In an Update these
// are also the nodes that the Update touched so far. ChangesSince returns ErrNotTracked if the store does not know:
// more than a million commits follow the mark, or a Repair lost something since.
func (tx *Tx) ChangesSince(mark uint64) (*Changes, error) {
	last, err := tx.LastCommit()
	if err != nil {
		return nil, err
	}
	from := tx.cat.changesFrom(last)
	switch {
	case mark < from:
		return nil, fmt.Errorf("%w since commit %d: the store keeps those since commit %d", ErrNotTracked, mark, from)
	case mark > last:
		return nil, fmt.Errorf("%w since commit %d: the last one is %d", ErrNotTracked, mark, last)
	}
	c := &Changes{NumNodes: tx.nodesBefore}
	for commit, err := range tx.changesAfter(mark, last) {
		if err != nil {
			return nil, err
		}
		c.NumNodes -= commit.Added
		for name, set := range commit.Sets {
			to := c.sets.of(name)
			to.All = to.All || set.All()
			to.add(set.Nodes())
		}
	}
	if tx.write {
		for name, own := range tx.touched {
			to := c.sets.of(name)
			to.All = to.All || own.All
			to.add(own.Nodes())
		}
	}
	if c.NumNodes < 0 {
		return nil, record.Corrupt(changesKey(last), "more nodes were added than there are")
	}
	return c, nil
}

// changesAfter yields the commits after one up to last, ascending. A commit of no record is damage.
func (tx *Tx) changesAfter(after, last uint64) iter.Seq2[changes.Commit, error] {
	return func(yield func(changes.Commit, error) bool) {
		next := after + 1
		missing := func() error {
			return record.Corrupt(changesKey(next), fmt.Sprintf("the changes of commit %d are missing", next))
		}
		prefix := record.Prefix(record.KindChanges, changesGeneration)
		for chain, err := range snapshot.ScanChains(tx.records(), prefix, changesKey(next)) {
			var c changes.Commit
			number := next
			if err == nil {
				number, err = changesCommit(chain.Key)
			}
			switch {
			case err != nil:
			case number > last:
				err = record.Corrupt(chain.Key, fmt.Sprintf("the last commit is %d", last))
			case number > next:
				err = missing()
			default:
				if c, err = changes.Parse(chain.Body, tx.cat.Nodes); err != nil {
					err = record.Corrupt(chain.Key, err.Error())
				}
			}
			if !yield(c, err) || err != nil {
				return
			}
			next++
		}
		if next <= last {
			yield(changes.Commit{}, missing())
		}
	}
}

package kv

import (
	"fmt"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// LastCommit is the number of the last commit that the snapshot sees. It is the mark to ask ChangesSince with later. Numbers
// ascend, also over Compact, Close and Restore. Keep a mark in a document of the store that gave it: a store that was restored
// from an earlier backup gives the same numbers to other commits.
func (tx *Tx) LastCommit() (number uint64, err error) {
	_, err = snapshot.Find(tx.records(), record.CommitKey(), func(body []byte) (err error) {
		number, err = record.ParseCommit(body)
		return err
	})
	return number, err
}

// Changes are the nodes that the commits after a mark touched.
type Changes struct {
	// NumNodes is the number of nodes at the mark. Nodes with this number or a greater one were added since.
	NumNodes int

	mark     uint64
	tracking tracking
	sets     kindSets
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

// kindSets are the nodes that were touched in each kind that is tracked.
type kindSets map[changes.Kind]*Touched

func (t *tracking) newSets() kindSets {
	sets := kindSets{changes.Edges: {}}
	for _, names := range []map[string]trackedSet{t.Columns, t.Matrices} {
		for _, set := range names {
			sets[set.Kind] = new(Touched)
		}
	}
	return sets
}

// add adds a list of nodes, if its kind is tracked.
func (s kindSets) add(l changes.List) {
	to := s[l.Kind]
	if to == nil || to.All {
		return
	}
	to.All = l.All
	for _, v := range l.Nodes {
		to.nodes.Add(uint32(v))
	}
}

// Edges returns the nodes whose edges changed: both ends of each edge that was added, removed or given another weight.
func (c *Changes) Edges() *Touched { return c.sets[changes.Edges] }

// Column returns the nodes whose value in a column was set, ErrNotTracked if these are not known.
func (c *Changes) Column(name string) (*Touched, error) {
	return c.of("column "+name, c.tracking.Columns, name)
}

// Matrix returns the nodes whose row of a matrix was set, ErrNotTracked if these are not known.
func (c *Changes) Matrix(name string) (*Touched, error) {
	return c.of("matrix "+name, c.tracking.Matrices, name)
}

func (c *Changes) of(what string, sets map[string]trackedSet, name string) (*Touched, error) {
	set, ok := sets[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w: the store does not keep them", what, ErrNotTracked)
	}
	if c.mark < set.Since {
		return nil, fmt.Errorf("%s: %w", what, notKept(c.mark, set.Since))
	}
	return c.sets[set.Kind], nil
}

func notKept(mark, since uint64) error {
	return fmt.Errorf("%w since commit %d: the store keeps those since commit %d", ErrNotTracked, mark, since)
}

// ChangesSince returns the nodes that the commits after a mark touched. LastCommit gave the mark. In an Update these are also
// the nodes that the Update touched so far. ChangesSince returns ErrNotTracked if the store does not know: TrackChanges was not
// called by then, or was told to forget them, or a Repair lost them.
func (tx *Tx) ChangesSince(mark uint64) (*Changes, error) {
	last, err := tx.LastCommit()
	if err != nil {
		return nil, err
	}
	t := tx.cat.Tracking
	switch {
	case t == nil:
		return nil, fmt.Errorf("%w: the store does not keep them", ErrNotTracked)
	case mark < t.Since:
		return nil, notKept(mark, t.Since)
	case mark > last:
		return nil, fmt.Errorf("%w since commit %d: the last one is %d", ErrNotTracked, mark, last)
	}
	c := &Changes{NumNodes: tx.nodesBefore, mark: mark, tracking: *t, sets: t.newSets()}
	for commit, err := range tx.changesAfter(t, mark, last) {
		if err != nil {
			return nil, err
		}
		c.NumNodes -= commit.Added
		for _, l := range commit.Lists {
			c.sets.add(l)
		}
	}
	if tx.write {
		for _, l := range tx.touchedLists() {
			c.sets.add(l)
		}
	}
	if c.NumNodes < 0 {
		return nil, record.Corrupt(changesKey(t.Generation, last), "more nodes were added than there are")
	}
	return c, nil
}

// changesAfter yields the commits after one up to last, ascending. A commit of no record is damage.
func (tx *Tx) changesAfter(t *tracking, after, last uint64) iter.Seq2[changes.Commit, error] {
	return func(yield func(changes.Commit, error) bool) {
		next := after + 1
		missing := func() error {
			return record.Corrupt(changesKey(t.Generation, next), fmt.Sprintf("the changes of commit %d are missing", next))
		}
		for chain, err := range snapshot.ScanChains(tx.records(), record.Prefix(record.KindChanges, t.Generation), changesKey(t.Generation, next)) {
			var c changes.Commit
			if err == nil {
				c, err = tx.parseChanges(chain, last)
			}
			if err == nil && c.Number > next {
				err = missing()
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

// parseChanges decodes the record of a commit up to last.
func (tx *Tx) parseChanges(chain record.Record, last uint64) (c changes.Commit, err error) {
	number, err := changesCommit(chain.Key)
	if err != nil {
		return c, err
	}
	if number > last {
		return c, record.Corrupt(chain.Key, fmt.Sprintf("the last commit is %d", last))
	}
	if c, err = changes.Parse(number, chain.Body); err != nil {
		return c, record.Corrupt(chain.Key, err.Error())
	}
	if v, ok := c.Greatest(); ok && int(v) >= tx.cat.Nodes {
		return c, record.Corrupt(chain.Key, fmt.Sprintf("there is no node number %d", v))
	}
	return c, nil
}

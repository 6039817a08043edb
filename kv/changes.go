package kv

import (
	"fmt"
	"iter"

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
	kinds    map[changes.Kind]*Touched // of every kind that is tracked
}

// Touched are nodes that were written to.
type Touched struct {
	// All says that every node may have been: the column or matrix was made, dropped or written as a whole.
	All bool

	set NodeSet // nil if there is none
}

// Has reports whether v was touched.
func (t *Touched) Has(v NodeID) bool { return t.All || t.set != nil && t.set.Has(v) }

// Nodes yields the nodes that were touched, ascending. If All, it need not yield all of them.
func (t *Touched) Nodes() iter.Seq[NodeID] { return t.set.All() }

// Edges returns the nodes whose edges changed: both ends of each edge that was added, removed or given another weight.
func (c *Changes) Edges() *Touched { return c.kinds[changes.Edges] }

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
	return c.kinds[set.Kind], nil
}

func notKept(mark, since uint64) error {
	return fmt.Errorf("%w since commit %d: the store keeps those since commit %d", ErrNotTracked, mark, since)
}

// ChangesSince returns the nodes that the commits after a mark touched. LastCommit gave the mark. In an Update these are also
// the nodes that the Update touched so far. ChangesSince returns ErrNotTracked if the store does not know: TrackChanges was not
// called by then, or was told to forget them, or a Repair lost them. It holds up to a bit for each node, for the edges and for
// each column and matrix.
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
	c := &Changes{NumNodes: tx.nodesBefore, mark: mark, tracking: *t, kinds: map[changes.Kind]*Touched{changes.Edges: {}}}
	for _, sets := range []map[string]trackedSet{t.Columns, t.Matrices} {
		for _, set := range sets {
			c.kinds[set.Kind] = new(Touched)
		}
	}
	err = tx.eachChange(t, mark, last, func(commit changes.Commit) error {
		c.NumNodes -= commit.Added
		return c.touch(commit.Lists, tx.cat.Nodes)
	})
	if err == nil && tx.write {
		err = c.touch(tx.touchedLists(), tx.cat.Nodes)
	}
	if err == nil && c.NumNodes < 0 {
		err = record.Corrupt(changesKey(t.Generation, last), "more nodes were added than there are")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// touch adds lists of nodes v < n.
func (c *Changes) touch(lists []changes.List, n int) error {
	for _, l := range lists {
		to := c.kinds[l.Kind]
		if to == nil {
			continue // of a name that is not tracked any more
		}
		to.All = to.All || l.All
		if to.set == nil && len(l.Nodes) > 0 {
			to.set = NewNodeSet(n)
		}
		for _, v := range l.Nodes {
			to.set.Add(v)
		}
	}
	return nil
}

// eachChange calls use with the commits after one up to last that did something that is tracked. A commit without a record is
// damage.
func (tx *Tx) eachChange(t *tracking, after, last uint64, use func(changes.Commit) error) error {
	next := after + 1
	missing := func() error {
		return record.Corrupt(changesKey(t.Generation, next), fmt.Sprintf("the changes of commit %d are missing", next))
	}
	prefix := record.Prefix(record.KindChanges, t.Generation)
	for r, err := range snapshot.ScanChains(tx.records(), prefix, changesKey(t.Generation, next)) {
		if err != nil {
			return err
		}
		end, err := changesCommit(r.Key)
		if err != nil {
			return err
		}
		first, commits, err := changes.Parse(end, r.Body)
		switch {
		case err != nil:
			return record.Corrupt(r.Key, err.Error())
		case first > next:
			return missing()
		case end > last:
			return record.Corrupt(r.Key, fmt.Sprintf("the last commit is %d", last))
		}
		for _, c := range commits {
			if c.Number < next {
				continue
			}
			if v, ok := c.Last(); ok && int(v) >= tx.cat.Nodes {
				return record.Corrupt(r.Key, fmt.Sprintf("there is no node number %d", v))
			}
			if err := use(c); err != nil {
				return err
			}
		}
		next = end + 1
	}
	if next <= last {
		return missing()
	}
	return nil
}

package kv

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A tracking says which changes a store keeps. From the commit after Since on, each commit has a record of the nodes that it
// touched, also one that touched none: so a missing record is noticed.
type tracking struct {
	Generation record.Generation     `msgpack:"generation"` // of the records
	Since      uint64                `msgpack:"since"`
	Columns    map[string]trackedSet `msgpack:"columns"`
	Matrices   map[string]trackedSet `msgpack:"matrices"`
	Next       changes.Kind          `msgpack:"next"` // the next unused

	// Trackers are those for whom it keeps them, by their names.
	Trackers map[string]tracker `msgpack:"trackers,omitempty"`
}

// A tracker is one for whom a store keeps changes.
type tracker struct {
	Columns  []string `msgpack:"columns"`
	Matrices []string `msgpack:"matrices"`
	Since    uint64   `msgpack:"since"` // it asks with no mark below
}

// A trackedSet is a column or a matrix whose changes are kept from the commit after Since on.
type trackedSet struct {
	Kind  changes.Kind `msgpack:"kind"`
	Since uint64       `msgpack:"since"`
}

func (t *tracking) clone() *tracking {
	if t == nil {
		return nil
	}
	c := *t
	c.Columns, c.Matrices, c.Trackers = maps.Clone(t.Columns), maps.Clone(t.Matrices), maps.Clone(t.Trackers)
	return &c
}

// isDropped reports whether a key is that of a commit whose changes nobody may ask for.
func (t *tracking) isDropped(key []byte) bool {
	if t == nil || record.Kind(key[0]) != record.KindChanges || record.GenerationOf(key) != t.Generation {
		return false
	}
	number, err := changesCommit(key)
	return err == nil && number <= t.Since
}

// changesKey is the chain of the changes of a commit.
func changesKey(g record.Generation, number uint64) []byte {
	return binary.BigEndian.AppendUint64(record.Prefix(record.KindChanges, g), number)
}

// changesCommit is the commit of a chain, or of a part of it.
func changesCommit(key []byte) (uint64, error) {
	if len(key) < 13 {
		return 0, record.Corrupt(key, "the key is too short")
	}
	return binary.BigEndian.Uint64(key[5:]), nil
}

// TrackChanges has the store keep, from this commit on, which nodes change: their edges, and their values in the named columns
// and matrices, which need not be there. ChangesSince then tells them. A store keeps changes for any number of trackers, each
// with a name of its own: the columns and matrices take the place of those of an earlier call for the same tracker, and of
// those that are in both, the changes so far stay known. The tracker promises to ask with no mark below upTo; zero keeps its
// earlier promise. The store forgets the changes that no tracker may ask for, and the next Bulk, Compact or Open gives back
// their room.
//
// Call it before the snapshot that gives the first mark. Each later commit costs some tens of bytes, until they may be forgotten.
func (tx *Tx) TrackChanges(name string, columns, matrices []string, upTo uint64) error {
	if err := tx.writable(); err != nil {
		return err
	}
	last := tx.s.commits
	if upTo > last {
		return fmt.Errorf("%w: changes up to commit %d, want at most %d", ErrInvalidValue, upTo, last)
	}
	if err := validateName("tracker", name); err != nil {
		return err
	}
	for _, name := range columns {
		if err := checkColumn(name, KindClass); err != nil {
			return err
		}
	}
	for _, name := range matrices {
		if err := validateName("matrix", name); err != nil {
			return err
		}
	}
	next := tracker{Columns: sortedSet(columns), Matrices: sortedSet(matrices), Since: last}
	if t := tx.cat.Tracking; t != nil {
		before, known := t.Trackers[name]
		if known && before.Since >= upTo && before.asks(next) {
			return nil
		}
		if known {
			next.Since = max(before.Since, t.Since, upTo)
		}
	}
	return tx.setTracker(name, next)
}

// setTracker enters a tracker, and has the store keep what all trackers ask for.
func (tx *Tx) setTracker(name string, to tracker) error {
	c, err := tx.change()
	if err != nil {
		return err
	}
	last := tx.s.commits
	if c.Tracking == nil {
		g, err := c.newGeneration()
		if err != nil {
			return err
		}
		c.Tracking = &tracking{Generation: g, Since: last, Next: changes.Edges + 1, Trackers: map[string]tracker{}}
	}
	t := c.Tracking
	t.Trackers[name] = to
	var columns, matrices []string
	since := last
	for _, tracker := range t.Trackers {
		columns, matrices = append(columns, tracker.Columns...), append(matrices, tracker.Matrices...)
		since = min(since, tracker.Since)
	}
	t.Since = max(t.Since, since) // the next sweep removes the records
	t.Columns, t.Matrices = t.renew(t.Columns, sortedSet(columns), last), t.renew(t.Matrices, sortedSet(matrices), last)
	return nil
}

// asks says whether a tracker asks for the same columns and matrices as another.
func (t tracker) asks(other tracker) bool {
	return slices.Equal(t.Columns, other.Columns) && slices.Equal(t.Matrices, other.Matrices)
}

// sortedSet are names, each once.
func sortedSet(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// renew returns the sets of names, which are sorted: those there were as they are, the others from the commit after last on.
func (t *tracking) renew(sets map[string]trackedSet, names []string, last uint64) map[string]trackedSet {
	renewed := map[string]trackedSet{}
	for _, name := range names {
		set, ok := sets[name]
		if !ok {
			set = trackedSet{Kind: t.Next, Since: last}
			t.Next++
		}
		renewed[name] = set
	}
	return renewed
}

// The touches of a transaction are the nodes that it wrote something of, tracked or not.
type touches struct {
	edges             touched
	columns, matrices map[string]*touched
}

// touched are nodes in the order in which they were touched, or all.
type touched struct {
	all   bool
	nodes []NodeID
}

func (t *touched) add(nodes ...NodeID) { t.nodes = append(t.nodes, nodes...) }

func (t *touches) column(name string) *touched { return touchedOf(&t.columns, name) }
func (t *touches) matrix(name string) *touched { return touchedOf(&t.matrices, name) }

func touchedOf(sets *map[string]*touched, name string) *touched {
	set := (*sets)[name]
	if set == nil {
		if *sets == nil {
			*sets = map[string]*touched{}
		}
		set = new(touched)
		(*sets)[name] = set
	}
	return set
}

// putChanges writes the record of what the transaction touched, if it is to be kept.
func (tx *Tx) putChanges() error {
	t := tx.cat.Tracking
	if t == nil || len(tx.entries) == 0 {
		return nil
	}
	number := tx.s.commits + 1
	c := changes.Commit{Number: number, Added: tx.cat.Nodes - tx.nodesBefore, Lists: tx.touchedLists()}
	body := c.Append(nil)
	for limit := tx.s.mostTouched(); len(body) > limit && c.Shorten(); {
		body = c.Append(body[:0])
	}
	_, err := record.PutParts(tx.put, changesKey(t.Generation, number), body)
	return err
}

// touchedLists are the nodes that were touched in what is tracked, by kind.
func (tx *Tx) touchedLists() (lists []changes.List) {
	t := tx.cat.Tracking
	add := func(k changes.Kind, set *touched) {
		switch {
		case set.all:
			lists = append(lists, changes.List{Kind: k, All: true})
		case len(set.nodes) > 0:
			l := changes.Sorted(k, set.nodes)
			set.nodes = l.Nodes
			lists = append(lists, l)
		}
	}
	add(changes.Edges, &tx.touched.edges)
	for _, name := range sortedNames(tx.touched.columns) {
		if set, ok := t.Columns[name]; ok {
			add(set.Kind, tx.touched.columns[name])
		}
	}
	for _, name := range sortedNames(tx.touched.matrices) {
		if set, ok := t.Matrices[name]; ok {
			add(set.Kind, tx.touched.matrices[name])
		}
	}
	return lists
}

// mostTouched is the size of the largest record of a commit, in bytes. What is longer becomes "all", because it would not fit into
// the transaction beside the rest. So many changes of a graph are seldom looked at one by one.
func (s *Store) mostTouched() int { return int(s.db.MostInTransaction() / 8) }

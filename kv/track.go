package kv

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Each commit has a record of the nodes that it touched, also one that touched none: so a missing record is noticed.

// keptCommits is how many of the last commits have a record. The next fold leaves out the others'.
const keptCommits = 1 << 20

// changesGeneration is the generation of these records. It is never replaced.
const changesGeneration record.Generation = 0

// changesKey is the chain of the changes of a commit.
func changesKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(record.Prefix(record.KindChanges, changesGeneration), number)
}

// changesCommit is the commit of a chain, or of a part of it.
func changesCommit(key []byte) (uint64, error) {
	if len(key) < 13 {
		return 0, record.Corrupt(key, "the key is too short")
	}
	return binary.BigEndian.Uint64(key[5:]), nil
}

// changesFrom is the commit behind which every commit has a record, if there are last commits.
func (c *catalog) changesFrom(last uint64) uint64 {
	return max(c.ChangesFrom, last-min(last, keptCommits))
}

// isOld reports whether a key is that of the changes of a commit up to one.
func isOld(key []byte, upTo uint64) bool {
	if record.Kind(key[0]) != record.KindChanges {
		return false
	}
	number, err := changesCommit(key)
	return err == nil && number <= upTo
}

// The names of the sets of nodes that a commit touched.
const edgesTouched = "edges"

func columnTouched(name string) string { return "column " + name }
func matrixTouched(name string) string { return "matrix " + name }

// touches are the nodes that something was written of, by the names of the sets.
type touches map[string]*Touched

func (t *touches) of(name string) *Touched {
	if *t == nil {
		*t = touches{}
	}
	set := (*t)[name]
	if set == nil {
		set = new(Touched)
		(*t)[name] = set
	}
	return set
}

// add adds nodes to a set.
func (t *touches) add(name string, nodes ...NodeID) { t.of(name).add(slices.Values(nodes)) }

// addAll makes a set one of all nodes.
func (t *touches) addAll(name string) { t.of(name).All = true }

// putChanges writes the record of what the transaction touched.
func (tx *Tx) putChanges() error {
	if len(tx.entries) == 0 {
		return nil
	}
	c := changes.Commit{Added: tx.cat.Nodes - tx.nodesBefore, Sets: map[string]changes.Set{}}
	for name, t := range tx.touched {
		switch {
		case t.All:
			c.Sets[name] = nil
		case t.Count() > 0:
			c.Sets[name] = changes.SetOf(t.Nodes())
		}
	}
	body, err := c.Encode(tx.s.mostTouched())
	if err != nil {
		return fmt.Errorf("changes of the commit: %w", err)
	}
	_, err = record.PutParts(tx.put, changesKey(tx.s.commits+1), body)
	return err
}

// mostTouched is the size of the largest record of a commit, in bytes. What is longer becomes "all", because it would
// not fit into the transaction beside the rest. So many changes of a graph are seldom looked at one by one.
func (s *Store) mostTouched() int { return int(s.db.MostInTransaction() / 8) }

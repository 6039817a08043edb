package kv

import (
	"encoding/binary"
	"fmt"

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

// The touches of a transaction are the nodes that it wrote something of, by the names of the sets.
type touches map[string]*touched

// touched are nodes in the order in which they were touched, or all.
type touched struct {
	all   bool
	nodes []NodeID
}

func (t *touches) of(name string) *touched {
	if *t == nil {
		*t = touches{}
	}
	set := (*t)[name]
	if set == nil {
		set = new(touched)
		(*t)[name] = set
	}
	return set
}

// add adds nodes to a set.
func (t *touches) add(name string, nodes ...NodeID) {
	set := t.of(name)
	set.nodes = append(set.nodes, nodes...)
}

// addAll makes a set one of all nodes.
func (t *touches) addAll(name string) { t.of(name).all = true }

// putChanges writes the record of what the transaction touched.
func (tx *Tx) putChanges() error {
	if len(tx.entries) == 0 {
		return nil
	}
	c := changes.Commit{Added: tx.cat.Nodes - tx.nodesBefore, Sets: tx.touchedSets()}
	body, err := c.Encode(tx.s.mostTouched())
	if err != nil {
		return fmt.Errorf("changes of the commit: %w", err)
	}
	_, err = record.PutParts(tx.put, changesKey(tx.s.commits+1), body)
	return err
}

// touchedSets are the nodes that were touched.
func (tx *Tx) touchedSets() map[string]changes.Set {
	sets := map[string]changes.Set{}
	for name, t := range tx.touched {
		switch {
		case t.all:
			sets[name] = nil
		case len(t.nodes) > 0:
			sets[name] = changes.SetOf(t.nodes)
		}
	}
	return sets
}

// mostTouched is the size of the largest record of a commit, in bytes. What is longer becomes "all", because it would
// not fit into the transaction beside the rest. So many changes of a graph are seldom looked at one by one.
func (s *Store) mostTouched() int { return int(s.db.MostInTransaction() / 8) }

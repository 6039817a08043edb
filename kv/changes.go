package kv

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// LastCommit is the number of the last commit that the snapshot sees. It is the mark to ask ChangesSince with later.
// Numbers ascend, also over Compact, Close and Restore. Keep a mark in a document of the store that gave it: a store
// that was restored from an earlier backup gives the same numbers to other commits.
func (tx *Tx) LastCommit() (number uint64, err error) { return tx.last, tx.Err() }

// Changes are the nodes that the commits after a mark touched.
type Changes struct {
	// NumNodes is the number of nodes at the mark. Nodes with this number or a greater one were added since.
	NumNodes int

	sets changes.Sets
}

// Touched are nodes that were written to. All says that every node may have been: the column or matrix was made,
// dropped or written as a whole. Its methods are
//
//	Has(v NodeID) bool        // whether v was touched
//	Nodes() iter.Seq[NodeID]  // the nodes, ascending; if All, it need not yield all of them
//	Count() int               // how many these are
type Touched = changes.Touched

// Edges returns the nodes whose edges changed: both ends of each edge that was added, removed or given another weight.
func (c *Changes) Edges() *Touched { return c.sets.Named(edgesTouched) }

// Column returns the nodes whose value in a column was set.
func (c *Changes) Column(name string) *Touched { return c.sets.Named(columnTouched(name)) }

// Matrix returns the nodes whose row of a matrix was set.
func (c *Changes) Matrix(name string) *Touched { return c.sets.Named(matrixTouched(name)) }

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
		c.sets.Join(commit.Sets)
	}
	c.sets.Join(tx.touched)
	if c.NumNodes < 0 {
		return nil, record.Corrupt(record.ChangesKey(last), "more nodes were added than there are")
	}
	return c, nil
}

// changesAfter yields the commits after one up to last, ascending. A commit of no record is damage.
func (tx *Tx) changesAfter(after, last uint64) iter.Seq2[changes.Commit, error] {
	return func(yield func(changes.Commit, error) bool) {
		next := after + 1
		missing := func() error {
			return record.Corrupt(record.ChangesKey(next), fmt.Sprintf("the changes of commit %d are missing", next))
		}
		prefix := record.Prefix(record.KindChanges, record.ChangesGeneration)
		for r, err := range tx.records().Scan(prefix, record.ChangesKey(next)) {
			var c changes.Commit
			number := next
			if err == nil {
				var ok bool
				if number, ok = record.ChangesCommit(r.Key); !ok {
					err = record.Corrupt(r.Key, "the key is of another size")
				}
			}
			switch {
			case err != nil:
			case number > last:
				err = record.Corrupt(r.Key, fmt.Sprintf("the last commit is %d", last))
			case number > next:
				err = missing()
			default:
				if c, err = changes.Parse(r.Body, tx.cat.Nodes); err != nil {
					err = record.Corrupt(r.Key, err.Error())
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

// Each commit has a record of the nodes that it touched, also one that touched none: so a missing record is noticed.

// keptCommits is how many of the last commits have a record. The next fold leaves out the others'.
const keptCommits = 1 << 20

// changesFrom is the commit after which every commit has a record, if there are last commits.
func (c *catalog) changesFrom(last uint64) uint64 {
	return max(c.ChangesFrom, last-min(last, keptCommits))
}

// isOld reports whether a key is that of the changes of a commit up to one.
func isOld(key []byte, upTo uint64) bool {
	number, ok := record.ChangesCommit(key)
	return ok && number <= upTo
}

// The names of the sets of nodes that a commit touched.
const edgesTouched = "edges"

func columnTouched(name string) string { return "column " + name }
func matrixTouched(name string) string { return "matrix " + name }

// mostTouched is the size of the largest record of a commit, in bytes, or the share of a transaction that it may take,
// as a divisor. What is longer becomes "all": so many changes of a graph are seldom looked at one by one.
const (
	mostTouched      = 512 << 10
	mostTouchedShare = 8
)

// putChanges writes the record of the nodes that the transaction touched.
func (tx *Tx) putChanges() error {
	if len(tx.entries) == 0 {
		return nil
	}
	c := changes.Commit{Added: tx.cat.Nodes - tx.nodesBefore, Sets: tx.touched}
	body, err := c.Encode(min(mostTouched, int(tx.s.db.MostInTransaction()/mostTouchedShare)))
	if err != nil {
		return fmt.Errorf("changes of the commit: %w", err)
	}
	return tx.put(record.ChangesKey(tx.s.commits+1), body)
}

// Version names the content of the graph, which is the nodes, their external ids and order, and the edges; of some
// stored columns, and of the names of classes if one has classes; and of some matrices. If two snapshots of a store
// have equal versions, this content is equal in both, even if older files of the store were put back in between. A
// column or matrix that is not there has a version too. Version reads what changed since the last whole write.
func (tx *Tx) Version(columns, matrices []string) (string, error) {
	if err := tx.Err(); err != nil {
		return "", err
	}
	sum := sha256.New() // never fails to write
	number := func(x int) { sum.Write(binary.BigEndian.AppendUint64(nil, uint64(x))) }
	text := func(text []byte) {
		number(len(text))
		sum.Write(text)
	}
	texts := func(texts []string) {
		number(len(texts))
		for _, t := range texts {
			text([]byte(t))
		}
	}
	text([]byte(tx.s.header.ID))
	number(tx.cat.Nodes)
	number(tx.cat.LoadedNodes)
	number(int(tx.cat.Edges))
	part := func(g record.Generation, whole record.Sum, deltas ...record.Kind) error {
		number(int(g))
		number(int(whole))
		for _, kind := range deltas {
			for r, err := range tx.iterate(record.Prefix(kind, g), nil, false) {
				if err != nil {
					return err
				}
				text(r.Key)
				text(r.Body)
			}
		}
		return nil
	}
	err := part(tx.cat.Graph, tx.cat.GraphSum, record.KindEdgeDelta, record.KindAddedNode, record.KindRemoved)
	for _, name := range columns {
		entry := tx.cat.Columns[name]
		number(int(entry.Kind))
		number(int(entry.Rows))
		if entry.Kind == KindClass {
			texts(tx.cat.Classes)
		}
		err = cmp.Or(err, part(entry.Generation, entry.Sum, record.KindColumnDelta))
	}
	for _, name := range matrices {
		entry := tx.cat.Matrices[name]
		number(int(entry.Rows))
		texts(entry.Columns)
		err = cmp.Or(err, part(entry.Generation, entry.Sum, record.KindRowDelta))
	}
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

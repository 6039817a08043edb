package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// GraphVersion names the content of the nodes, their external ids and order, and the edges. If two snapshots of a store
// have equal versions, this content is equal in both, even if older files of the store were put back in between.
// GraphVersion reads the changes since the last whole write of the graph.
func (tx *Tx) GraphVersion() (string, error) {
	whole := []uint64{uint64(tx.cat.GraphSum), uint64(tx.cat.Nodes), uint64(tx.cat.LoadedNodes), uint64(tx.cat.Edges)}
	return tx.version(tx.cat.Graph, whole, nil, record.KindEdgeDelta, record.KindAddedNode, record.KindRemoved)
}

// ColumnVersion is like GraphVersion, of a stored column and, if it has classes, of their names; ErrNoColumn when there
// is none.
func (tx *Tx) ColumnVersion(name string) (string, error) {
	entry, err := tx.columnEntry(name)
	if err != nil {
		return "", err
	}
	var classes []string
	if entry.Kind == KindClass {
		classes = tx.cat.Classes
	}
	whole := []uint64{uint64(entry.Sum), uint64(entry.Kind), uint64(entry.Rows), uint64(tx.cat.Nodes)}
	return tx.version(entry.Generation, whole, classes, record.KindColumnDelta)
}

// MatrixVersion is like GraphVersion, of a stored matrix; ErrNotFound when there is none.
func (tx *Tx) MatrixVersion(name string) (string, error) {
	entry, err := tx.matrixEntry(name)
	if err != nil {
		return "", err
	}
	whole := []uint64{uint64(entry.Sum), uint64(entry.Rows), uint64(tx.cat.Nodes)}
	return tx.version(entry.Generation, whole, entry.Columns, record.KindRowDelta)
}

// version hashes the identity of the store, what a generation has as a whole, and its deltas of some kinds.
func (tx *Tx) version(g record.Generation, whole []uint64, names []string, deltas ...record.Kind) (string, error) {
	if err := tx.Err(); err != nil {
		return "", err
	}
	sum := sha256.New() // never fails to write
	number := func(x int) { sum.Write(binary.BigEndian.AppendUint64(nil, uint64(x))) }
	text := func(text []byte) {
		number(len(text))
		sum.Write(text)
	}
	text([]byte(tx.s.header.ID))
	number(int(g))
	for _, x := range slices.Concat(whole, []uint64{uint64(len(names))}) {
		number(int(x))
	}
	for _, name := range names {
		text([]byte(name))
	}
	for _, kind := range deltas {
		for r, err := range tx.iterate(record.Prefix(kind, g), nil, false) {
			if err != nil {
				return "", err
			}
			text(r.Key)
			text(r.Body)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

package kv

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Work is the directory inside a store in which one long job at a time keeps what it has finished, so that it can go
// on after it was interrupted or killed. What is in it is the job's alone. It is no part of the store, and may be deleted while
// no process has the store open.
type Work struct {
	store  *Store
	dir    *scratch.Dir
	closed bool
}

// Work lends the directory, once the job before has closed it, or returns the error of a context that ends first.
// ErrReadOnly if the store was opened so: other processes may be reading it.
func (s *Store) Work(ctx context.Context) (*Work, error) {
	if s.opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	if err := s.worker.LockContext(ctx); err != nil {
		return nil, err
	}
	var dir *scratch.Dir
	err := cmp.Or(s.checkOpen(), s.db.Failed())
	if err == nil {
		dir, err = scratch.Open(filepath.Join(s.dir, storedir.WorkName))
	}
	if err != nil {
		s.worker.Unlock()
		return nil, err
	}
	return &Work{store: s, dir: dir}, nil
}

// Dir is the directory.
func (w *Work) Dir() *scratch.Dir { return w.dir }

// Close lets the next job in. An empty directory is removed, other files stay. Closing again does nothing.
func (w *Work) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	defer w.store.worker.Unlock()
	entries, err := os.ReadDir(w.dir.Path())
	if err != nil || len(entries) > 0 {
		return err
	}
	if err := os.Remove(w.dir.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Scratch returns a directory for temporary arrays, which disappear with the process. It is in the directory of the store,
// or, if the store was opened read-only, in that of the system's temporary files. On a file system in memory, a tmpfs, the
// arrays take memory: TMPDIR names another directory.
func (s *Store) Scratch() *scratch.Dir {
	if s.opt.ReadOnly {
		return scratch.Temporary(os.TempDir())
	}
	return scratch.Temporary(s.dir)
}

// GraphVersion names the content of the nodes, their external ids and order, and the edges. If two snapshots of a store
// have equal versions, this content is equal in both, even if older files of the store were put back in between.
// GraphVersion reads the changes since the last whole write of the graph.
func (tx *Tx) GraphVersion() (string, error) {
	g := tx.cat.Graph
	return tx.version(func(sum hash.Hash) error {
		number(sum, int64(g), int64(tx.cat.GraphSum), int64(tx.cat.Nodes), int64(tx.cat.LoadedNodes), tx.cat.Edges)
		return tx.sumDeltas(sum,
			record.Prefix(record.KindEdgeDelta, g), record.Prefix(record.KindAddedNode, g), record.Prefix(record.KindRemoved, g))
	})
}

// ColumnVersion is like GraphVersion, of a stored column and, if it has classes, of their names; ErrNoColumn when there is
// none.
func (tx *Tx) ColumnVersion(name string) (string, error) {
	entry, err := tx.columnEntry(name)
	if err != nil {
		return "", err
	}
	return tx.version(func(sum hash.Hash) error {
		number(sum, int64(entry.Generation), int64(entry.Sum), int64(entry.Kind), int64(entry.Rows), int64(tx.cat.Nodes))
		if entry.Kind == KindClass {
			texts(sum, tx.cat.Classes)
		}
		return tx.sumDeltas(sum, record.Prefix(record.KindColumnDelta, entry.Generation))
	})
}

// MatrixVersion is like GraphVersion, of a stored matrix; ErrNotFound when there is none.
func (tx *Tx) MatrixVersion(name string) (string, error) {
	entry, err := tx.matrixEntry(name)
	if err != nil {
		return "", err
	}
	return tx.version(func(sum hash.Hash) error {
		number(sum, int64(entry.Generation), int64(entry.Sum), int64(entry.Rows), int64(tx.cat.Nodes))
		texts(sum, entry.Columns)
		return tx.sumDeltas(sum, record.Prefix(record.KindRowDelta, entry.Generation))
	})
}

// version hashes what write writes, with the identity of the store.
func (tx *Tx) version(write func(sum hash.Hash) error) (string, error) {
	if err := tx.Err(); err != nil {
		return "", err
	}
	sum := sha256.New()
	texts(sum, []string{tx.s.header.ID})
	if err := write(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// sumDeltas adds the records whose keys begin with prefixes, as they are stored.
func (tx *Tx) sumDeltas(sum hash.Hash, prefixes ...[]byte) error {
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	for _, prefix := range prefixes {
		if err := tx.sumDelta(sum, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) sumDelta(sum hash.Hash, prefix []byte) error {
	it := tx.txn.Iterator(prefix, false)
	defer it.Close()
	err := it.Seek(prefix)
	for ; err == nil && it.Valid(); err = it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		number(sum, int64(len(it.Key())), int64(len(value)))
		sum.Write(it.Key()) // never fails
		sum.Write(value)
	}
	return err
}

func number(sum hash.Hash, numbers ...int64) {
	var b [8]byte
	for _, x := range numbers {
		binary.BigEndian.PutUint64(b[:], uint64(x))
		sum.Write(b[:])
	}
}

func texts(sum hash.Hash, list []string) {
	number(sum, int64(len(list)))
	for _, text := range list {
		number(sum, int64(len(text)))
		sum.Write([]byte(text))
	}
}

// Scratch is that of the store, for a job that has only the transaction.
func (tx *Tx) Scratch() *scratch.Dir { return tx.s.Scratch() }

// Finished is the directory that Work lends, for reading what jobs have kept there; nil if there is none.
func (tx *Tx) Finished() (*scratch.Dir, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	path := filepath.Join(tx.s.dir, storedir.WorkName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return scratch.Existing(path), nil
}

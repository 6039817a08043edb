package pack

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Listed has the facts about a table to know before it is opened.
type Listed struct {
	storedir.Mark
	First  []byte // its first key, with its version
	Newest uint64 // version
}

// Look reads the facts of a table. It compares the checksums of the index and of the last block.
func Look(path string) (l Listed, err error) {
	t, err := Map(path)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	readAtRandom(t.Data)
	if err := t.parse(); err != nil {
		return l, err
	}
	if err := t.Verify(t.count - 1); err != nil {
		return l, err
	}
	err = GuardFile(path, func() error {
		first, err := t.firstMapped(0)
		l = Listed{Mark: t.Mark, First: bytes.Clone(first), Newest: t.index.MaxVersion()}
		return err
	})
	return l, err
}

// A Table is opened when a read first needs it.
type Table struct {
	Listed
	reader  *Reader       // nil before the table is open
	disk    storedir.Disk // has its file
	path    string
	opening sync.Mutex
	isOpen  atomic.Bool

	asked []uint64 // a bit for each block that the system was asked for
}

// NewTable is a table of which something is known.
func NewTable(disk storedir.Disk, path string, listed Listed) *Table {
	return &Table{disk: disk, path: path, Listed: listed}
}

// Close closes a table, which may not be open. Nobody reads it.
func (t *Table) Close() error {
	if t.reader == nil {
		return nil
	}
	return t.reader.Close()
}

// open opens the table if it is not. What fails is tried again by the next read.
func (t *Table) open() error {
	if t.isOpen.Load() {
		return nil
	}
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.isOpen.Load() {
		return nil
	}
	f, err := t.disk.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return record.CorruptFile(t.path, "it is missing")
	}
	if err != nil {
		return err
	}
	r, err := mapOpened(t.path, f)
	if err != nil {
		return err
	}
	readAtRandom(r.Data)
	if r.Mark == t.Mark {
		err = r.parse()
	} else {
		err = record.CorruptFile(t.path, "it is not the table that was there when the store was opened, of %d bytes", t.Size)
	}
	if err != nil {
		return errors.Join(err, r.Close())
	}
	t.reader, t.asked = r, make([]uint64, (r.count+63)/64)
	t.isOpen.Store(true)
	return nil
}

// beginsWith says whether a table begins with a version of a key.
func (t *Table) beginsWith(key []byte) bool { return bytes.Equal(y.ParseKey(t.First), key) }

// lacks says that a table has no key of a hash.
func (t *Table) lacks(hash uint32) (bool, error) {
	if err := t.open(); err != nil {
		return false, err
	}
	filter := t.reader.index.BloomFilterBytes()
	return len(filter) > 0 && !y.Filter(filter).MayContain(hash), nil
}

package lsm

import (
	"encoding/binary"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
)

// A badgerSource is an iterator of Badger's, as a walk reads it. It has the newest version of each record.
type badgerSource struct {
	t       *Txn
	it      *badger.Iterator
	flushes int64  // writeFailure.flushes before it began
	key     []byte // scratch
}

var _ pack.Source = (*badgerSource)(nil)

func (t *Txn) badger(prefix []byte, descending bool) *badgerSource {
	flushes := t.d.failure.flushes.Load()
	it := t.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, Reverse: descending})
	return &badgerSource{t: t, it: it, flushes: flushes}
}

// Close ends the iterator. Badger then removes, by their paths, the logs of memtables that became tables since and that
// nobody else reads. If the directory was moved, these paths may be those of another store, so that the iterator is
// kept for good.
func (s *badgerSource) Close() {
	failure := s.t.d.failure
	if s.flushes == failure.flushes.Load() || !failure.isMoved() {
		s.it.Close()
	}
}

func (s *badgerSource) Seek(key []byte) error {
	s.it.Seek(y.ParseKey(key))
	return nil
}

func (s *badgerSource) SeekBack(key []byte) error { return s.Seek(key) }

func (s *badgerSource) Next() error {
	s.it.Next()
	return nil
}

func (s *badgerSource) Previous() error { return s.Next() }

func (s *badgerSource) Valid() bool { return s.it.Valid() }

func (s *badgerSource) Key() []byte {
	item := s.it.Item()
	s.key = append(s.key[:0], item.Key()...)
	s.key = binary.BigEndian.AppendUint64(s.key, ^item.Version())
	return s.key
}

func (s *badgerSource) Holds() (value []byte) {
	s.it.Item().Value(func(v []byte) error { //nolint:errcheck // what cannot be read is empty, which is no record
		value = v
		return nil
	})
	return value
}

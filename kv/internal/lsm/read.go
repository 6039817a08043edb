package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Where a record is looked for depends on its key:
//
//   - One of a block is in a pack alone.
//   - One of another kind, of a generation that has packs of that kind, is in Badger or in a pack. What Badger has of it is newer, also if
//     that is a deletion.
//   - All others are in Badger alone.

// Get returns the value under a key, which is the caller's to keep and not to change; record.ErrNotFound if there is
// none.
func (t *Txn) Get(key []byte) ([]byte, error) {
	value, _, err := t.get(key)
	return value, err
}

// Version is that of the commit that wrote the value under a key; record.ErrNotFound if there is none.
func (t *Txn) Version(key []byte) (uint64, error) {
	_, version, err := t.get(key)
	return version, err
}

func (t *Txn) get(key []byte) (value []byte, version uint64, err error) {
	err = guard(key, func() error {
		found, err := t.find(key, false)
		if err == nil && (found.version == 0 || found.deleted) {
			return record.ErrNotFound
		}
		value, version = found.value, found.version
		return err
	})
	return value, version, wrapBadger(err)
}

// Last is the version of the last that is known of a key, and whether that was a deletion; zero if nothing is known.
func (t *Txn) Last(key []byte) (version uint64, deleted bool, err error) {
	err = guard(key, func() error {
		found, err := t.find(key, true)
		version, deleted = found.version, found.deleted
		return err
	})
	return version, deleted, wrapBadger(err)
}

// A finding is the newest that is known of a key. The version is zero if nothing is.
type finding struct {
	value   []byte
	version uint64
	deleted bool
}

// find finds it. A deletion counts as nothing, unless it is asked for and is known.
func (t *Txn) find(key []byte, deletions bool) (f finding, err error) {
	tables := t.packs.of(key)
	if t.d.tables != nil {
		tables = t.d.tables.Tables
	} else if tables == nil || !record.Kind(key[0]).IsBlock() {
		if f, err = t.inBadger(key, deletions || tables != nil); err != nil || f.version > 0 || tables == nil {
			return f, err
		}
	}
	cursors := tables.Cursors()
	value, version, err := cursors.Get(key)
	if errors.Is(err, record.ErrNotFound) {
		f.version, f.deleted, err = cursors.Last(key)
		return f, err
	}
	return finding{value: bytes.Clone(value), version: version}, err
}

// inBadger finds what Badger has of a key. Get of Badger does not tell a deletion from nothing. An iterator does, and
// costs some microseconds.
func (t *Txn) inBadger(key []byte, deletions bool) (f finding, err error) {
	t.d.opening.RLock()
	defer t.d.opening.RUnlock()
	txn := t.txn
	if txn == nil {
		txn = t.committed()
	}
	item, err := txn.Get(key)
	if err == nil {
		f.version = item.Version()
		f.value, err = item.ValueCopy(nil)
		return f, err
	}
	if !errors.Is(err, badger.ErrKeyNotFound) {
		return f, err
	}
	if t.removed[string(key)] {
		return finding{version: t.sees, deleted: true}, nil
	}
	if !deletions {
		return f, nil
	}
	it := t.committed().NewKeyIterator(key, badger.IteratorOptions{AllVersions: true})
	defer it.Close()
	if it.Rewind(); !it.Valid() {
		return f, nil
	}
	f.version, f.deleted = it.Item().Version(), it.Item().IsDeletedOrExpired()
	f.value, err = it.Item().ValueCopy(nil)
	return f, err
}

// WillRead says under which keys records are read soon. The system is asked at once for those in packs, so that the
// disk finds them side by side. What goes wrong is told by the reads themselves.
func (t *Txn) WillRead(keys iter.Seq[[]byte]) {
	tables := t.everywhere()
	guardFaults(func() error { //nolint:errcheck // see above
		tables.Cursors().WillRead(keys)
		return nil
	})
}

// everywhere are all tables that are read here and not by Badger.
func (t *Txn) everywhere() pack.Tables {
	if t.d.tables != nil {
		return t.d.tables.Tables
	}
	return t.packs.all
}

// Iterator begins to read the records whose keys begin with prefix, descending or not. It must be closed.
func (t *Txn) Iterator(prefix []byte, descending bool) *Iterator {
	tables := t.packs.of(prefix)
	isPart := len(prefix) < len(stream{}) // of how the keys of a stream begin
	if t.d.tables != nil || isPart {
		tables = t.everywhere()
	}
	switch {
	case t.d.tables != nil || !isPart && tables != nil && record.Kind(prefix[0]).IsBlock():
		return &Iterator{tables.Walk(prefix, descending)}
	case tables == nil:
		return &Iterator{badgerWalk{t.read(badger.IteratorOptions{Prefix: prefix, Reverse: descending})}}
	}
	all := t.read(badger.IteratorOptions{Prefix: prefix, Reverse: descending, AllVersions: true})
	return &Iterator{tables.Walk(prefix, descending, &badgerSource{it: all})}
}

// A badgerSource is an iterator of all versions that Badger has, as a walk reads it.
type badgerSource struct {
	it         *reading
	key, value []byte // scratch
}

func (s *badgerSource) Close() { s.it.Close() }

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

func (s *badgerSource) Valid() bool { return s.it.item != nil }

func (s *badgerSource) Key() []byte {
	item := s.it.item
	s.key = append(s.key[:0], item.Key()...)
	s.key = binary.BigEndian.AppendUint64(s.key, ^item.Version())
	return s.key
}

func (s *badgerSource) Holds() (value y.ValueStruct, err error) {
	item := s.it.item
	if item.IsDeletedOrExpired() {
		return y.ValueStruct{Meta: pack.MarkDeleted}, nil
	}
	s.value, err = item.ValueCopy(s.value)
	return y.ValueStruct{Value: s.value}, err
}

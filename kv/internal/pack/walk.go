package pack

import (
	"bytes"
	"math"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Source has versions of records in the order of their keys, the newest version of a key first. A walk goes in one
// direction.
type Source interface {
	Seek(key []byte) error     // to the first entry that is not before a key, with its version
	SeekBack(key []byte) error // to the last that is not after it
	Next() error
	Previous() error
	Valid() bool   // it stands on an entry
	Key() []byte   // with its version, borrowed until the next step
	Holds() []byte // borrowed until the next call of Holds
	Close()
}

// A Walk reads records in the order of their keys, each in its newest version.
type Walk struct {
	sources    []Source
	prefix     []byte
	descending bool

	onKey   []byte // the key of the record, which the sources have passed
	newest  uint64 // its version
	holds   []byte // the value
	on      bool
	scratch []byte // the value, lent
}

// Walk begins to read the records whose keys begin with prefix, descending or not, of the tables and of other
// sources. Of two that hold the same version of a key, the first counts, and other sources before tables. It closes
// the other sources.
func (r Tables) Walk(prefix []byte, descending bool, others ...Source) *Walk {
	w := &Walk{sources: others, prefix: prefix, descending: descending}
	for _, c := range r.Cursors() {
		w.sources = append(w.sources, c)
	}
	return w
}

// Close ends the walk.
func (w *Walk) Close() {
	for _, source := range w.sources {
		source.Close()
	}
	w.sources, w.on = nil, false
}

// Seek goes to the first record whose key is not before one; descending, to the last that is not after it.
func (w *Walk) Seek(key []byte) error {
	if len(key) == 0 {
		key = w.prefix
	}
	w.on = false
	for _, c := range w.sources {
		var err error
		if w.descending {
			err = c.SeekBack(y.KeyWithTs(key, 0))
		} else {
			err = c.Seek(y.KeyWithTs(key, math.MaxUint64))
		}
		if err != nil {
			return err
		}
	}
	return w.Next()
}

// foremost is the cursor that comes first; nil at the end.
func (w *Walk) foremost() (first Source) {
	for _, c := range w.sources {
		if !c.Valid() {
			continue
		}
		if first == nil {
			first = c
		} else if order := y.CompareKeys(c.Key(), first.Key()); order < 0 && !w.descending || order > 0 && w.descending {
			first = c
		}
	}
	return first
}

// Next goes to the next record that is there.
func (w *Walk) Next() error {
	w.on = false
	for c := w.foremost(); c != nil; c = w.foremost() {
		// Descending, a record after the prefix is passed. One before it ends the walk even if it was deleted: there
		// may be many of those.
		key := y.ParseKey(c.Key())
		if !bytes.HasPrefix(key, w.prefix) && (!w.descending || bytes.Compare(key, w.prefix) < 0) {
			return nil
		}
		if err := w.gather(c); err != nil {
			return err
		}
		if !record.IsDeletion(w.onKey, w.holds) && !IsBadgers(w.onKey) {
			w.on = bytes.HasPrefix(w.onKey, w.prefix)
			return nil
		}
	}
	return nil
}

// IsBadgers says whether a key is one that Badger keeps for itself.
func IsBadgers(key []byte) bool { return bytes.HasPrefix(key, badgersKeys) }

var badgersKeys = []byte("!badger!")

// gather takes the newest version of the key that a source stands on, and has all sources pass the key. Descending,
// older versions come first.
func (w *Walk) gather(c Source) error {
	w.onKey = append(w.onKey[:0], y.ParseKey(c.Key())...)
	w.newest = 0
	for c != nil && bytes.Equal(y.ParseKey(c.Key()), w.onKey) {
		if version := y.ParseTs(c.Key()); version > w.newest { // of two that are equal, the first source has the say
			w.holds, w.newest = c.Holds(), version
		}
		var err error
		if w.descending {
			err = c.Previous()
		} else {
			err = c.Next()
		}
		if err != nil {
			return err
		}
		c = w.foremost()
	}
	return nil
}

// Valid says whether there is a record; false at the end.
func (w *Walk) Valid() bool { return w.on }

// Key is the key of the record, borrowed until the next step.
func (w *Walk) Key() []byte { return w.onKey }

// Version is that of the record.
func (w *Walk) Version() uint64 { return w.newest }

// ValueSize is the size of the value in bytes.
func (w *Walk) ValueSize() int64 { return int64(len(w.holds)) }

// Value copies the value, lent until the next step: a fault of the mapped file is to be found here.
func (w *Walk) Value() []byte {
	w.scratch = append(w.scratch[:0], w.holds...)
	return w.scratch
}

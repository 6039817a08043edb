package pack

import (
	"bytes"
	"math"

	"github.com/dgraph-io/badger/v4/y"
)

// A Walk reads records in the order of their keys, each in its newest version.
type Walk struct {
	cursors    Cursors
	prefix     []byte
	descending bool

	from    *Cursor // that stands on the record, ascending
	onKey   []byte  // the key of the record
	newest  uint64  // its version
	holds   y.ValueStruct
	on      bool
	scratch []byte // the value, lent
}

// Walk begins to read the records whose keys begin with prefix, descending or not.
func (r Tables) Walk(prefix []byte, descending bool) *Walk {
	return &Walk{cursors: r.Cursors(), prefix: prefix, descending: descending}
}

// Close ends the walk.
func (w *Walk) Close() { w.cursors, w.on = nil, false }

// Seek goes to the first record whose key is not before one; descending, to the last that is not behind it.
func (w *Walk) Seek(key []byte) error {
	if len(key) == 0 {
		key = w.prefix
	}
	w.on, w.from, w.onKey = false, nil, w.onKey[:0]
	for _, c := range w.cursors {
		var err error
		if w.descending {
			err = c.seekBack(y.KeyWithTs(key, 0))
		} else {
			err = c.seek(y.KeyWithTs(key, math.MaxUint64))
		}
		if err != nil {
			return err
		}
	}
	return w.settle()
}

// Next goes to the next record.
func (w *Walk) Next() error {
	if w.from != nil {
		if err := w.from.next(); err != nil {
			w.on = false
			return err
		}
	}
	return w.settle()
}

// foremost is the cursor that comes first; nil at the end.
func (w *Walk) foremost() (first *Cursor) {
	for _, c := range w.cursors {
		if !c.on {
			continue
		}
		if first == nil {
			first = c
		} else if order := y.CompareKeys(c.key, first.key); order < 0 && !w.descending || order > 0 && w.descending {
			first = c
		}
	}
	return first
}

// settle goes on to the next record that is there.
func (w *Walk) settle() error {
	w.on, w.from = false, nil
	for {
		c := w.foremost()
		if c == nil {
			return nil
		}
		key := y.ParseKey(c.key)
		// Descending, a record behind the prefix is passed. One before it ends the walk even if it was deleted: there may be many of those.
		if !bytes.HasPrefix(key, w.prefix) && (!w.descending || bytes.Compare(key, w.prefix) < 0) {
			return nil
		}
		if w.descending {
			if err := w.gather(c); err != nil {
				return err
			}
		} else {
			if bytes.Equal(key, w.onKey) { // an older version
				if err := c.next(); err != nil {
					return err
				}
				continue
			}
			w.onKey, w.newest = append(w.onKey[:0], key...), y.ParseTs(c.key)
			w.holds.Decode(c.value)
			w.from = c
		}
		if !IsDeleted(w.holds) && !bytes.HasPrefix(w.onKey, badgersKeys) {
			w.on = bytes.HasPrefix(w.onKey, w.prefix)
			return nil
		}
		if w.from != nil {
			if err := w.from.next(); err != nil {
				return err
			}
			w.from = nil
		}
	}
}

// badgersKeys is how keys begin that Badger keeps for itself.
var badgersKeys = []byte("!badger!")

// gather takes the newest version of the key that a cursor stands on, and goes to the key before. Older versions come first.
func (w *Walk) gather(c *Cursor) error {
	w.onKey = append(w.onKey[:0], y.ParseKey(c.key)...)
	w.newest = 0
	for c != nil && bytes.Equal(y.ParseKey(c.key), w.onKey) {
		if version := y.ParseTs(c.key); version > w.newest { // of two that are equal, the first run has the say
			w.newest = version
			w.holds.Decode(c.value)
		}
		if err := c.previous(); err != nil {
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
func (w *Walk) ValueSize() int64 { return int64(len(w.holds.Value)) }

// Value copies the value, lent until the next step: a fault of the mapped file is to be found here.
func (w *Walk) Value() ([]byte, error) {
	value, err := valueIn(w.holds)
	w.scratch = append(w.scratch[:0], value...)
	return w.scratch, err
}

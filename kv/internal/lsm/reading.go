package lsm

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"
)

// Badger is closed and opened anew while snapshots live on (fold.go). So whoever reads with it holds DB.opening for a
// moment only, and a reading goes on from one moment to the next.

// A reading is an iterator of Badger's, which keeps the tables and memtables that it reads. If Badger was opened anew
// since the last step, the next one goes on from there.
type reading struct {
	t       *Txn
	opt     badger.IteratorOptions
	flushes int64            // writeFailure.flushes before it began
	it      *badger.Iterator // nil if Badger was closed since the last step
	item    *badger.Item     // on which it stands, also once Badger is closed; nil for none
}

// read begins to read with Badger.
func (t *Txn) read(opt badger.IteratorOptions) *reading {
	d := t.d
	r := &reading{t: t, opt: opt, flushes: d.failure.flushes.Load()}
	d.opening.RLock()
	defer d.opening.RUnlock()
	r.open()
	d.reads.Lock()
	defer d.reads.Unlock()
	d.readings[r] = struct{}{}
	return r
}

func (r *reading) open() { r.it = r.t.open().NewIterator(r.opt) }

// open is a transaction of Badger's as it is open now.
func (t *Txn) open() *badger.Txn {
	if t.txn != nil {
		return t.txn
	}
	return t.committed()
}

// committed is one that sees what was committed when the transaction began.
func (t *Txn) committed() *badger.Txn { return t.d.db.NewTransactionAt(t.sees, false) }

// suspend ends the iterator before Badger closes.
func (r *reading) suspend() {
	if r.it != nil {
		r.it.Close()
		r.it = nil
	}
}

// Close ends the reading. Badger then removes, by their paths, the logs of memtables that became tables since and that
// nobody else reads. If the directory was moved, these paths may be those of another store, so that the iterator is
// kept for good.
func (r *reading) Close() {
	d := r.t.d
	d.opening.RLock()
	defer d.opening.RUnlock()
	d.reads.Lock()
	delete(d.readings, r)
	d.reads.Unlock()
	if r.flushes != d.failure.flushes.Load() && d.failure.isMoved() {
		r.t.kept.Store(true)
		return
	}
	r.suspend()
}

// Seek goes to the first record whose key is not before one, in the order of the reading.
func (r *reading) Seek(key []byte) {
	r.t.d.opening.RLock()
	defer r.t.d.opening.RUnlock()
	if r.it == nil {
		r.open()
	}
	r.it.Seek(key)
	r.stand()
}

// Next goes to the next record; at the end it does nothing.
func (r *reading) Next() {
	if r.item == nil {
		return
	}
	r.t.d.opening.RLock()
	defer r.t.d.opening.RUnlock()
	if r.it != nil || r.resume() {
		r.it.Next()
	}
	r.stand()
}

// resume opens the iterator again, and goes to the version of a record on which it stood, or to what follows if Badger
// has that no more; found says which.
func (r *reading) resume() (found bool) {
	r.open()
	key, version := r.item.Key(), r.item.Version()
	for r.it.Seek(key); r.it.Valid() && bytes.Equal(r.it.Item().Key(), key); r.it.Next() {
		if at := r.it.Item().Version(); at == version {
			return true
		} else if at > version == r.opt.Reverse {
			return false
		}
	}
	return false
}

func (r *reading) stand() {
	r.item = nil
	if r.it.Valid() {
		r.item = r.it.Item()
	}
}

// A badgerWalk reads the newest version of each record.
type badgerWalk struct{ *reading }

// Seek goes to the first record whose key is not before one.
func (w badgerWalk) Seek(key []byte) error {
	w.reading.Seek(key)
	return nil
}

// Next goes to the next record.
func (w badgerWalk) Next() error {
	w.reading.Next()
	return nil
}

// Valid says whether there is a record.
func (w badgerWalk) Valid() bool { return w.item != nil }

// Key is that of the record.
func (w badgerWalk) Key() []byte { return w.item.Key() }

// Version is that of the record.
func (w badgerWalk) Version() uint64 { return w.item.Version() }

// ValueSize is the size of the value in bytes.
func (w badgerWalk) ValueSize() int64 { return w.item.ValueSize() }

// Value is the value as it is stored.
func (w badgerWalk) Value() (value []byte, err error) {
	err = w.item.Value(func(v []byte) error {
		value = v
		return nil
	})
	return value, err
}

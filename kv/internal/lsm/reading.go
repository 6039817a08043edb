package lsm

import "github.com/dgraph-io/badger/v4"

// A reading is an iterator of Badger's, which keeps the tables and memtables that it reads.
type reading struct {
	*badger.Iterator
	t     *Txn
	moves int64 // mergeGuard.moves before it began
}

// read begins to read with Badger.
func (t *Txn) read(opt badger.IteratorOptions) reading {
	moves := t.d.merges.moves.Load()
	return reading{t.txn.NewIterator(opt), t, moves}
}

// Close ends the reading. Badger then removes, by their paths, what was merged since and nobody else reads. If the
// directory was moved, these paths may be those of another store, so that the iterator and its transaction are kept for
// good.
func (r reading) Close() {
	if r.moves != r.t.d.merges.moves.Load() && r.t.d.failure.isMoved() {
		r.t.kept.Store(true)
		return
	}
	r.Iterator.Close()
}

// A badgerWalk is that of an iterator of Badger's.
type badgerWalk struct{ it reading }

func (w badgerWalk) Close() { w.it.Close() }

func (w badgerWalk) Seek(key []byte) error {
	w.it.Seek(key)
	return nil
}

func (w badgerWalk) Next() error {
	w.it.Next()
	return nil
}

func (w badgerWalk) Valid() bool      { return w.it.Valid() }
func (w badgerWalk) Key() []byte      { return w.it.Item().Key() }
func (w badgerWalk) Version() uint64  { return w.it.Item().Version() }
func (w badgerWalk) ValueSize() int64 { return w.it.Item().ValueSize() }

func (w badgerWalk) Value() (value []byte, err error) {
	err = w.it.Item().Value(func(v []byte) error {
		value = v
		return nil
	})
	return value, err
}

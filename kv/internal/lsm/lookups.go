package lsm

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Lookups reads records by key with one iterator, in memory that it uses again. One goroutine at a time. It does not see what the
// transaction writes later.
type Lookups struct {
	cursors pack.Cursors // of a database that is read without Badger, which leaves the rest empty
	it      reading
	began   bool // the iterator was moved, and no move failed

	// hits and misses count how often the record behind the last one was the one that was wanted, and how often not.
	hits, misses int
}

// Lookups begins to read records whose keys begin with prefix. It must be closed.
func (t *Txn) Lookups(prefix []byte) *Lookups {
	if t.txn == nil {
		return &Lookups{cursors: t.d.tables.Cursors()}
	}
	return &Lookups{it: t.read(badger.IteratorOptions{Prefix: prefix})}
}

// Close ends the lookups.
func (l *Lookups) Close() {
	if l.it.Iterator != nil {
		l.it.Close()
	}
}

// Record calls use with the body of the record under key, which is borrowed; record.ErrNotFound if there is none. Next says that it is
// probably the one behind the record that was read last: then it is found without a search.
func (l *Lookups) Record(key []byte, next bool, use func(body []byte) error) error {
	var body []byte
	err := guard(key, func() error {
		value, err := l.value(key, next)
		if err == nil {
			body, err = record.Decode(key, value)
		}
		return err
	})
	if err != nil {
		return wrapBadger(err)
	}
	return guardFaults(func() error { return use(body) })
}

// value is the value under key, borrowed.
func (l *Lookups) value(key []byte, next bool) ([]byte, error) {
	if l.it.Iterator == nil {
		value, _, err := l.cursors.Get(key)
		return value, err
	}
	if !l.find(key, next) {
		return nil, badger.ErrKeyNotFound
	}
	return badgerWalk{l.it}.Value()
}

// find goes to a key. If there is none it returns false, and is at a later key.
func (l *Lookups) find(key []byte, next bool) bool {
	step := next && l.began && l.misses <= l.hits
	l.began = false // until it returns: Badger may panic
	on := func() bool { return l.it.Valid() && bytes.Equal(l.it.Item().Key(), key) }
	if step {
		if l.it.Valid() && !on() {
			l.it.Next()
		}
		if on() {
			l.hits++
			l.began = true
			return true
		}
		l.misses++
	}
	l.it.Seek(key)
	l.began = true
	return on()
}

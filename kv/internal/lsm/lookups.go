package lsm

import (
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Lookups reads records by key, where they lie in a pack, with what it has found last. One goroutine at a time. It
// does not see what the transaction writes later.
type Lookups struct {
	t       *Txn
	cursors pack.Cursors // none if what is read may be in Badger
}

// Lookups begins to read records whose keys begin with prefix, a kind and a generation.
func (t *Txn) Lookups(prefix []byte) *Lookups {
	l := &Lookups{t: t}
	if t.txn == nil || record.Kind(prefix[0]).IsBlock() {
		l.cursors = t.packs.of(prefix).Cursors()
	}
	return l
}

// Record calls use with the body of the record under key, which is borrowed; record.ErrNotFound if there is none.
func (l *Lookups) Record(key []byte, use func(body []byte) error) error {
	var body []byte
	err := guard(key, func() error {
		get := l.t.find
		if len(l.cursors) > 0 {
			get = l.cursors.Get
		}
		value, _, err := get(key)
		if err == nil {
			body, err = record.Decode(key, value)
		}
		return err
	})
	if err != nil {
		return wrapBadger(err)
	}
	return pack.GuardFaults(func() error { return use(body) })
}

package lsm

import (
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Lookups reads records by key, where they lie in a pack, with what it has found last. One goroutine at a time. It
// does not see what the transaction writes later.
type Lookups struct {
	get func(key []byte) (value []byte, version uint64, err error)
}

// Lookups begins to read records whose keys begin with prefix, a kind and a generation.
func (t *Txn) Lookups(prefix []byte) *Lookups {
	if t.txn == nil || record.Kind(prefix[0]).IsBlock() { // else it may be in Badger
		return &Lookups{t.packs.of(prefix).Cursors().Get}
	}
	return &Lookups{t.find}
}

// Record calls use with the body of the record under key, which is borrowed; record.ErrNotFound if there is none.
func (l *Lookups) Record(key []byte, use func(body []byte) error) error {
	var body []byte
	err := guard(key, func() error {
		value, _, err := l.get(key)
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

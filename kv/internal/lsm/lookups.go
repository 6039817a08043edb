package lsm

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Lookups reads records by key with one iterator, each where it lies in a mapped table. Badger's Get copies a value three times, into new
// memory each time, and its iterator copies it twice, and the value behind it once: of records as large as blocks of columns that costs
// several times what reading them does. One goroutine at a time. It does not see what the transaction writes later.
type Lookups struct {
	cursors []*runCursor // of a database that is read without Badger, which leaves the rest empty
	txn     *badger.Txn
	it      reading

	// versions are what the iterator goes over: those of all records, nil if there is none.
	versions y.Iterator
	shown    bool     // Badger has them where they are expected
	at       position // where they are
	seek     []byte   // scratch: a key with the version that is read
	buf      []byte   // scratch: of a value that Badger copies

	// hits and misses count how often the record behind the last one was the one that was wanted, and how often not.
	hits, misses int
}

// A position says where the versions of lookups are.
type position byte

const (
	unknown      position = iota
	onRecord              // on the version of the record that was read last
	beforeRecord          // on the first version of a record behind what was asked for last, or at the end
)

// Lookups begins to read records whose keys begin with prefix. It must be closed.
func (t *Txn) Lookups(prefix []byte) *Lookups {
	if t.txn == nil {
		return &Lookups{cursors: t.d.tables.cursors()}
	}
	it := t.read(badger.IteratorOptions{Prefix: prefix})
	l := &Lookups{txn: t.txn, it: it}
	l.versions, l.shown = versionsOf(it.Iterator)
	return l
}

// versionsOf is what an iterator of Badger 4.9.6 goes over, which it does not show; ok is false if it is not where that version has it.
func versionsOf(it *badger.Iterator) (versions y.Iterator, ok bool) {
	field := reflect.ValueOf(it).Elem().FieldByName("iitr")
	if !field.IsValid() || field.Type() != reflect.TypeFor[y.Iterator]() {
		return nil, false
	}
	return *(*y.Iterator)(unsafe.Pointer(field.UnsafeAddr())), true
}

// Close ends the lookups.
func (l *Lookups) Close() {
	if l.txn != nil {
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
	if l.txn == nil {
		value, _, err := getFrom(l.cursors, key)
		return value, err
	}
	if l.shown {
		if l.versions == nil || !l.find(key, next) {
			return nil, badger.ErrKeyNotFound
		}
		v := l.versions.Value()
		if isDeleted(v) {
			return nil, badger.ErrKeyNotFound
		}
		if v.Meta&markElsewhere == 0 {
			return v.Value, nil
		}
	}
	item, err := l.txn.Get(key)
	if err == nil {
		l.buf, err = item.ValueCopy(l.buf)
	}
	return l.buf, err
}

// find goes to the last version of a key that the transaction sees. If there is none it returns false, and is at the first version of a later key.
func (l *Lookups) find(key []byte, next bool) bool {
	version, at := l.txn.ReadTs(), l.at
	l.at = unknown // until it returns: Badger may panic
	on := func() bool { return l.versions.Valid() && bytes.Equal(y.ParseKey(l.versions.Key()), key) }
	if next && at != unknown && l.misses <= l.hits && l.versions.Valid() {
		if at == onRecord && !on() { // else an older version is next
			l.versions.Next()
		}
		for on() && y.ParseTs(l.versions.Key()) > version {
			l.versions.Next()
		}
		if on() {
			l.hits++
			l.at = onRecord
			return true
		}
		l.misses++
	}
	l.seek = append(l.seek[:0], key...)
	l.seek = binary.BigEndian.AppendUint64(l.seek, math.MaxUint64-version) // as y.KeyWithTs does
	l.versions.Seek(l.seek)
	if l.at = beforeRecord; on() {
		l.at = onRecord
	}
	return l.at == onRecord
}

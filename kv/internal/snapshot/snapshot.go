// Package snapshot shows the records of one snapshot to the structures that are made of them: by key, in order, in
// chains, or from memory. It knows nothing of what bodies mean, nor of where records are kept.
package snapshot

import (
	"bytes"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// ErrShape is returned when a slice handed in has not the length, or a range not the bounds, that the store has. It
// stands at the door of kv, so that its text begins with its name.
var ErrShape = errors.New("kv: wrong shape")

// A Getter reads records by key.
type Getter interface {
	// Get calls use with the body of the record under key, which is use's to keep and not to change; record.ErrNotFound
	// when there is none.
	Get(key []byte, use func(body []byte) error) error
}

// A GetFunc is a Getter of one function.
type GetFunc func(key []byte, use func(body []byte) error) error

// Get calls the function.
func (get GetFunc) Get(key []byte, use func(body []byte) error) error { return get(key, use) }

// A Reader reads the records of one snapshot.
type Reader interface {
	Getter

	// GetAfter is Get of a body that is borrowed, where it lies. It costs no search if previous is the key before key,
	// and was read like this; nil for none.
	GetAfter(previous, key []byte, use func(body []byte) error) error

	// Fetch calls read with a Getter for about count records whose keys begin with prefix.
	Fetch(prefix []byte, count int, read func(Getter) error) error

	// Scan yields the records whose key begins with prefix and is not less than from (nil: all), ascending, each borrowed
	// until the next step.
	Scan(prefix, from []byte) iter.Seq2[record.Record, error]

	// Cache keeps what is looked up.
	Cache() *Cache
}

// A Writer also writes, and reads what it wrote. It keeps keys and bodies.
type Writer interface {
	Reader
	Put(key, body []byte) error
	Remove(key []byte) error
}

// Need is Get for a record that must be there.
func Need(r Getter, key []byte, read func(body []byte) error) error {
	err := r.Get(key, read)
	if errors.Is(err, record.ErrNotFound) {
		return record.Corrupt(key, "the record is missing")
	}
	return err
}

// InPlace reads records where they lie: bodies are borrowed.
func InPlace(r Reader) Getter { return After(r, nil) }

// After is InPlace for the record behind the one under previous, which was read last.
func After(r Reader, previous []byte) Getter {
	return GetFunc(func(key []byte, use func(body []byte) error) error { return r.GetAfter(previous, key, use) })
}

// Find is Get for a record that may be there.
func Find(r Getter, key []byte, read func(body []byte) error) (found bool, err error) {
	err = r.Get(key, func(body []byte) error {
		found = true
		return read(body)
	})
	if !found && errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	return found, err
}

// Lookup returns the body of a record that must be there, from memory if it was looked up before. Nobody changes it.
func Lookup(r Reader, name Name) ([]byte, error) {
	if entry := r.Cache().Get(name); entry != nil {
		return entry.Body, nil
	}
	entry := &Entry{Name: name}
	err := Need(InPlace(r), name.Key(), func(body []byte) error {
		entry.Body = bytes.Clone(body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Cache().Add(entry)
	return entry.Body, nil
}

// BlockKeys yields the keys of the blocks of some ascending numbers below end, so many in a block.
func BlockKeys[N ~uint32 | ~int](numbers iter.Seq[N], inBlock, end int, key func(block uint32) []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		last := -1
		for n := range numbers {
			if block := int(n) / inBlock; block != last && int(n) < end {
				if last = block; !yield(key(uint32(block))) {
					return
				}
			}
		}
	}
}

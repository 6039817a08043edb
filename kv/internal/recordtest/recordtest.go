// Package recordtest keeps the records of a snapshot in memory, for tests of the structures that are made of records.
package recordtest

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// Records is a snapshot.Writer in memory. It overwrites each body that it lent, so that a reader that keeps one reads
// wrong values.
type Records struct {
	bodies map[string][]byte
	cache  *snapshot.Cache
}

// New makes an empty snapshot.
func New() *Records {
	return &Records{bodies: map[string][]byte{}, cache: snapshot.NewCache(64 << 20)}
}

// Put keeps copies.
func (r *Records) Put(key, body []byte) error {
	r.bodies[string(key)] = bytes.Clone(body)
	return nil
}

// Remove forgets a record.
func (r *Records) Remove(key []byte) error {
	delete(r.bodies, string(key))
	return nil
}

// Change calls use with a copy whose record under key has another body, nil for none. Its cache is empty.
func (r *Records) Change(key, body []byte, use func(other *Records)) {
	other := New()
	other.bodies = maps.Clone(r.bodies)
	if other.bodies[string(key)] = body; body == nil {
		delete(other.bodies, string(key))
	}
	use(other)
}

// Body is the body under key.
func (r *Records) Body(key []byte) []byte { return bytes.Clone(r.bodies[string(key)]) }

// Get is that of a snapshot.Getter.
func (r *Records) Get(key []byte, use func(body []byte) error) error {
	body, found := r.bodies[string(key)]
	if !found {
		return record.ErrNotFound
	}
	return use(bytes.Clone(body))
}

// lend is Get with a body that is borrowed.
func (r *Records) lend(key []byte, use func(body []byte) error) error {
	return r.Get(key, func(body []byte) error {
		defer overwrite(body)
		return use(body)
	})
}

func overwrite(body []byte) {
	for i := range body {
		body[i] = 0xa5
	}
}

// GetAfter is that of a snapshot.Reader.
func (r *Records) GetAfter(_, key []byte, use func(body []byte) error) error {
	return r.lend(key, use)
}

// Fetch is that of a snapshot.Reader.
func (r *Records) Fetch(_ []byte, _ int, read func(snapshot.Getter) error) error {
	return read(snapshot.GetFunc(r.lend))
}

// Scan is that of a snapshot.Reader.
func (r *Records) Scan(prefix, from []byte) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(r.bodies)) {
			if !strings.HasPrefix(key, string(prefix)) || key < string(from) {
				continue
			}
			loan := record.Record{Key: []byte(key), Body: bytes.Clone(r.bodies[key])}
			more := yield(loan, nil)
			overwrite(loan.Key)
			overwrite(loan.Body)
			if !more {
				return
			}
		}
	}
}

// Cache is that of a snapshot.Reader.
func (r *Records) Cache() *snapshot.Cache { return r.cache }

// Deltas is that of a snapshot.Reader.

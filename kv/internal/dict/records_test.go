package dict

import (
	"bytes"
	"maps"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// memoryRecords is a snapshot.Writer in memory, as far as a dictionary uses one. It overwrites each body that it lent,
// so that a reader that keeps one reads wrong values.
type memoryRecords struct {
	snapshot.Reader // nil

	bodies map[string][]byte
	cache  *snapshot.Cache
}

func newRecords() *memoryRecords {
	return &memoryRecords{bodies: map[string][]byte{}, cache: snapshot.NewCache(64 << 20)}
}

// Put keeps copies.
func (r *memoryRecords) Put(key, body []byte) error {
	r.bodies[string(key)] = bytes.Clone(body)
	return nil
}

// Remove forgets a record.
func (r *memoryRecords) Remove(key []byte) error {
	delete(r.bodies, string(key))
	return nil
}

// change calls use with a copy whose record under key has another body, nil for none. Its cache is empty.
func (r *memoryRecords) change(key, body []byte, use func(other *memoryRecords)) {
	other := newRecords()
	other.bodies = maps.Clone(r.bodies)
	if other.bodies[string(key)] = body; body == nil {
		delete(other.bodies, string(key))
	}
	use(other)
}

// body is the body under key.
func (r *memoryRecords) body(key []byte) []byte { return bytes.Clone(r.bodies[string(key)]) }

// Get is that of a snapshot.Reader.
func (r *memoryRecords) Get(key []byte, use func(body []byte) error) error {
	body, found := r.bodies[string(key)]
	if !found {
		return record.ErrNotFound
	}
	lent := bytes.Clone(body)
	defer func() {
		for i := range lent {
			lent[i] = 0xa5
		}
	}()
	return use(lent)
}

// Cache is that of a snapshot.Reader.
func (r *memoryRecords) Cache() *snapshot.Cache { return r.cache }

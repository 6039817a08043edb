// Package snapshot shows the records of one snapshot to the structures that are made of them: by key, in order, in
// chains, or from memory. It knows nothing of what bodies mean, nor of where records are kept.
package snapshot

import (
	"bytes"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// ErrShape is kv.ErrShape.
var ErrShape = errors.New("kv: wrong shape")

// A Reader reads the records of one snapshot.
type Reader interface {
	// Get calls use with the body of the record under key, borrowed; record.ErrNotFound when there is none. It costs
	// no search if the record before it was read last.
	Get(key []byte, use func(body []byte) error) error

	// Scan yields the records whose key begins with prefix and is not less than from (nil: all), ascending, each
	// borrowed until the next step.
	Scan(prefix, from []byte) iter.Seq2[record.Record, error]

	// Cache keeps the records looked up.
	Cache() *Cache
}

// A Writer also writes, and reads its own writes. It keeps keys and bodies.
type Writer interface {
	Reader
	Put(key, body []byte) error
	Remove(key []byte) error
}

// Need is Get for a record that must be there.
func Need(r Reader, key []byte, read func(body []byte) error) error {
	err := r.Get(key, read)
	if errors.Is(err, record.ErrNotFound) {
		return record.Corrupt(key, "the record is missing")
	}
	return err
}

// Find is Get for a record that may be there.
func Find(r Reader, key []byte, read func(body []byte) error) (found bool, err error) {
	err = r.Get(key, func(body []byte) error {
		found = true
		return read(body)
	})
	if !found && errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	return found, err
}

// EachNode hands the records of the nodes of a range to use, ascending: those of a kind and generation, whose keys go
// on with the node, as a scan of a Reader or ScanChains yields them.
func EachNode(
	scan func(prefix, from []byte) iter.Seq2[record.Record, error], k record.Kind, g record.Generation,
	nodes record.Range, use func(v record.NodeID, r record.Record) error,
) error {
	for r, err := range scan(record.Prefix(k, g), record.NumberKey(k, g, uint32(nodes.First))) {
		if err != nil {
			return err
		}
		v, err := record.NumberAt(r.Key, 0)
		if err != nil || record.NodeID(v) >= nodes.End {
			return err
		}
		if err := use(record.NodeID(v), r); err != nil {
			return err
		}
	}
	return nil
}

// Lookup returns the body of a record that must be there, from memory if it was looked up before. Nobody changes it.
func Lookup(r Reader, name Name) ([]byte, error) { return lookup(r, name, Need) }

// LookupChain is Lookup for a chain.
func LookupChain(r Reader, name Name) ([]byte, error) { return lookup(r, name, NeedChain) }

func lookup(
	r Reader, name Name, need func(r Reader, key []byte, read func(body []byte) error) error,
) ([]byte, error) {
	if entry := r.Cache().Get(name); entry != nil {
		return entry.Body, nil
	}
	entry := &Entry{Name: name}
	err := need(r, name.Key(), func(body []byte) error {
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
func BlockKeys[N ~uint32 | ~int](
	numbers iter.Seq[N], inBlock, end int, key func(block uint32) []byte,
) iter.Seq[[]byte] {
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

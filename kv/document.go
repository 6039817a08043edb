package kv

import (
	"fmt"
	"iter"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// documentKey is the chain of a document. Names hold no control characters, so the zero byte after the space's ends it.
func documentKey(space, key string) []byte {
	b := make([]byte, 0, 2+len(space)+len(key))
	b = append(b, byte(record.KindDocument))
	b = append(b, space...)
	b = append(b, 0)
	return append(b, key...)
}

func validateDocument(space, key string) error {
	if err := validateName("document space", space); err != nil {
		return err
	}
	return validateName("document", key)
}

// Documents are the documents of a space: small things, such as settings, runs, a history. Each has a key.
type Documents struct {
	tx    *Tx
	space string
}

// Documents returns the documents of a space.
func (tx *Tx) Documents(space string) Documents { return Documents{tx, space} }

// Put writes v, encoded by msgpack, in place of the document that is there.
func (d Documents) Put(key string, v any) error {
	if err := d.tx.writable(); err != nil {
		return err
	}
	if err := validateDocument(d.space, key); err != nil {
		return err
	}
	body, err := msgpack.Marshal(v)
	if err != nil {
		return fmt.Errorf("document %s/%s: %w", d.space, key, err)
	}
	return snapshot.PutChain(d.tx.records(), documentKey(d.space, key), body)
}

// Get decodes a document into v; ErrNotFound when there is none.
func (d Documents) Get(key string, v any) error {
	err := snapshot.Chain(d.tx.records(), documentKey(d.space, key), func(body []byte) error {
		if err := msgpack.Unmarshal(body, v); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("document %s/%s: %w", d.space, key, err)
	}
	return nil
}

// Delete removes a document. It is no error if there is none.
func (d Documents) Delete(key string) error {
	if err := d.tx.writable(); err != nil {
		return err
	}
	return snapshot.RemoveChain(d.tx.records(), documentKey(d.space, key))
}

// Keys yields the keys, ascending. On failure it yields the error once, and stops.
func (d Documents) Keys() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		prefix := documentKey(d.space, "")
		for r, err := range snapshot.ScanChains(d.tx.records(), prefix, nil) {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(string(r.Key[len(prefix):]), nil) {
				return
			}
		}
	}
}

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

// PutDocument writes v, encoded by msgpack, under a space and key, in place of the document that is there. Documents are
// for small things: settings, runs, a history.
func (tx *Tx) PutDocument(space, key string, v any) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if err := validateDocument(space, key); err != nil {
		return err
	}
	body, err := msgpack.Marshal(v)
	if err != nil {
		return fmt.Errorf("document %s/%s: %w", space, key, err)
	}
	return snapshot.PutChain(tx.records(), documentKey(space, key), body)
}

// Document decodes a document into v; ErrNotFound when there is none.
func (tx *Tx) Document(space, key string, v any) error {
	err := snapshot.Chain(tx.records(), documentKey(space, key), func(body []byte) error {
		if err := msgpack.Unmarshal(body, v); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("document %s/%s: %w", space, key, err)
	}
	return nil
}

// DeleteDocument removes a document. It is no error if there is none.
func (tx *Tx) DeleteDocument(space, key string) error {
	if err := tx.writable(); err != nil {
		return err
	}
	return snapshot.RemoveChain(tx.records(), documentKey(space, key))
}

// Documents yields the keys of a space's documents, ascending.
func (tx *Tx) Documents(space string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		prefix := documentKey(space, "")
		for r, err := range snapshot.ScanChains(tx.records(), prefix, nil) {
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

package kv

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Space is a key range lent to an upper room. Keys are 1 to MaxSpaceKey bytes, values at most MaxSpaceValue; records
// carry version and checksum like all others. A space that was never written is empty.
type Space struct {
	tx   *Tx
	name string
}

// An Entry is a key of a Space with its value.
type Entry struct{ Key, Value []byte }

// Space returns the space of a name as the transaction sees it.
func (tx *Tx) Space(name string) *Space { return &Space{tx, name} }

// Drop removes the space with all its entries. It is no error if there is none.
func (s *Space) Drop() error {
	if _, ok := s.tx.cat.Spaces[s.name]; !ok {
		return s.tx.writable()
	}
	c, err := s.tx.change()
	if err != nil {
		return err
	}
	s.tx.renews = s.tx.renews || c.Twice[s.name]
	delete(c.Spaces, s.name)
	delete(c.Twice, s.name)
	return nil
}

// Get returns a copy of the value under key; ErrNotFound when there is none.
func (s *Space) Get(key []byte) (value []byte, err error) {
	g := s.tx.cat.Spaces[s.name] // 0, which nothing has, if there is none
	err = s.tx.records().Get(spaceKey(g, key), func(body []byte) error {
		value = bytes.Clone(body)
		return nil
	})
	return value, err
}

// Put writes a value, over one that is there.
func (s *Space) Put(key, value []byte) error {
	if err := s.tx.writable(); err != nil {
		return err
	}
	if err := checkEntry(s.name, key, value); err != nil {
		return err
	}
	g, ok := s.tx.cat.Spaces[s.name]
	if !ok {
		var c *catalog
		var err error
		if c, g, err = s.tx.newEntry("space", s.name); err != nil {
			return err
		}
		c.Spaces[s.name] = g
	}
	return s.tx.put(spaceKey(g, key), value)
}

// Delete removes a key. It is no error if there is none.
func (s *Space) Delete(key []byte) error {
	if err := s.tx.writable(); err != nil {
		return err
	}
	g, ok := s.tx.cat.Spaces[s.name]
	if !ok {
		return nil
	}
	return s.tx.remove(spaceKey(g, key))
}

// Ascend yields the entries with key ≥ from (nil: all), ascending. Key and value are borrowed until the next step.
func (s *Space) Ascend(from []byte) iter.Seq2[Entry, error] {
	return s.entries(from, s.tx.records().Scan)
}

// Descend yields the entries with key ≤ from (nil: all), descending. Key and value are borrowed until the next step.
func (s *Space) Descend(from []byte) iter.Seq2[Entry, error] {
	return s.entries(from, s.tx.records().ScanDown)
}

func (s *Space) entries(from []byte, scan func(prefix, from []byte) iter.Seq2[record.Record, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		prefix := record.Prefix(record.KindSpace, s.tx.cat.Spaces[s.name])
		start := []byte(nil)
		if from != nil {
			start = append(bytes.Clone(prefix), from...)
		}
		for r, err := range scan(prefix, start) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(Entry{Key: r.Key[len(prefix):], Value: r.Body}, nil) {
				return
			}
		}
	}
}

func checkEntry(space string, key, value []byte) error {
	switch {
	case len(key) == 0 || len(key) > MaxSpaceKey:
		return fmt.Errorf("space %s: %w: a key of %d bytes, want 1 to %d", space, ErrInvalidValue, len(key), MaxSpaceKey)
	case len(value) > MaxSpaceValue:
		return fmt.Errorf("space %s: %w: a value of %d bytes, want at most %d", space, ErrInvalidValue, len(value),
			MaxSpaceValue)
	}
	return nil
}

func spaceKey(g record.Generation, key []byte) []byte {
	return append(record.Prefix(record.KindSpace, g), key...)
}

// Made returns what build makes of the whole space, and keeps it in memory for all who ask, until a Bulk writes the
// space again. Nobody may change it, and the space must be one that no Update writes into. build also returns how many
// bytes it takes: if they are more than a small part of the memory budget, nothing is kept.
func (s *Space) Made(build func() (value any, size int64, err error)) (any, error) {
	if err := s.tx.Err(); err != nil {
		return nil, err
	}
	name := snapshot.Name{Kind: record.KindSpace, Generation: s.tx.cat.Spaces[s.name]}
	if entry := s.tx.cache.Get(name); entry != nil {
		return entry.Value, nil
	}
	value, size, err := build()
	if err == nil && !s.tx.write { // if an Update is given up, another may use the number of its generation
		s.tx.cache.Add(&snapshot.Entry{Name: name, Value: value, ValueSize: size})
	}
	return value, err
}

// documentKey is the chain of a document. Names hold no control characters, so the zero byte after the space's ends
// it.
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

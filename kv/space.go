package kv

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// Limits on what a Space takes, in bytes.
const (
	MaxSpaceKey   = 512
	MaxSpaceValue = 64 << 10
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

// DropSpace removes a space with all its entries. It is no error if there is none.
func (tx *Tx) DropSpace(name string) error {
	if _, ok := tx.cat.Spaces[name]; !ok {
		return tx.writable()
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	tx.renews = tx.renews || c.Twice[name]
	delete(c.Spaces, name)
	delete(c.Twice, name)
	return nil
}

// Get returns a copy of the value under key; ErrNotFound when there is none.
func (s *Space) Get(key []byte) (value []byte, err error) {
	g, ok := s.tx.cat.Spaces[s.name]
	if !ok {
		if err := s.tx.Err(); err != nil {
			return nil, err
		}
		return nil, ErrNotFound
	}
	err = snapshot.InPlace(s.tx.records()).Get(spaceKey(g, key), func(body []byte) error {
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
		if err := validateName("space", s.name); err != nil {
			return err
		}
		c, err := s.tx.change()
		if err != nil {
			return err
		}
		if g, err = c.newGeneration(); err != nil {
			return fmt.Errorf("space %s: %w", s.name, err)
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
		g, ok := s.tx.cat.Spaces[s.name]
		if !ok {
			if err := s.tx.Err(); err != nil {
				yield(Entry{}, err)
			}
			return
		}
		prefix := record.Prefix(record.KindSpace, g)
		start := []byte(nil)
		if from != nil {
			start = spaceKey(g, from)
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

// A SpaceWriter writes a whole space in a Bulk.
type SpaceWriter struct {
	b          *Bulk
	name       string
	generation record.Generation
	last       []byte
}

// Put takes keys in ascending order, each once. The caller may reuse key and value.
func (w *SpaceWriter) Put(key, value []byte) error { return w.b.fail(w.put(key, value)) }

func (w *SpaceWriter) put(key, value []byte) error {
	if err := w.b.check(); err != nil {
		return err
	}
	if err := checkEntry(w.name, key, value); err != nil {
		return err
	}
	if bytes.Compare(key, w.last) <= 0 {
		return fmt.Errorf("space %s: %w: key %x after %x, want ascending keys", w.name, ErrInvalidValue, key, w.last)
	}
	w.last = append(w.last[:0], key...)
	return w.b.batch.Put(spaceKey(w.generation, key), value)
}

func spaceKey(g record.Generation, key []byte) []byte {
	return append(record.Prefix(record.KindSpace, g), key...)
}

package kv

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Matrix is a stored [n×c] matrix with named columns, read as float32. It is safe for concurrent use, as its Tx is.
type Matrix struct {
	tx      *Tx
	name    string
	columns []string
}

// Matrix returns a stored matrix; ErrNotFound when there is none of that name.
func (tx *Tx) Matrix(name string) (*Matrix, error) {
	entry, err := tx.matrixEntry(name)
	if err != nil {
		return nil, err
	}
	return &Matrix{tx, name, entry.Columns}, nil
}

// matrix is a matrix of the transaction.
func (tx *Tx) matrix(entry matrix.Entry) matrix.Matrix {
	return matrix.Matrix{Entry: entry, Records: tx.records()}
}

func (tx *Tx) matrixEntry(name string) (matrix.Entry, error) {
	if err := tx.Err(); err != nil {
		return matrix.Entry{}, err
	}
	entry, ok := tx.cat.Matrices[name]
	if !ok {
		return entry, fmt.Errorf("matrix %s: %w", name, ErrNotFound)
	}
	return entry, nil
}

// Matrices lists the names of the stored matrices, ascending.
func (tx *Tx) Matrices() []string { return sortedNames(tx.cat.Matrices) }

// Columns are the names of the columns, which the caller must not change.
func (m *Matrix) Columns() []string { return m.columns }

// Width is the number of columns, c.
func (m *Matrix) Width() int { return len(m.columns) }

// Read fills dst, row-major [(rows.End-rows.First)×(hi-lo)], with columns lo ≤ j < hi. A row that was never written is
// NaN. Columns are stored in tiles: a read of all columns of a tile reads no byte twice.
func (m *Matrix) Read(rows Range, lo, hi int, dst []float32) error {
	entry, err := m.tx.matrixEntry(m.name)
	if err != nil {
		return err
	}
	if lo < 0 || hi < lo || hi > len(entry.Columns) || rows.End < rows.First || int(rows.End) > m.tx.cat.Nodes ||
		len(dst) != int(rows.End-rows.First)*(hi-lo) {
		return fmt.Errorf("matrix %s: %w: rows %d to %d and columns %d to %d of %d×%d into %d floats", m.name, ErrShape,
			rows.First, rows.End, lo, hi, m.tx.cat.Nodes, len(entry.Columns), len(dst))
	}
	if len(dst) == 0 {
		return nil
	}
	window := codec.Window{Values: dst, Stride: hi - lo}
	if err := m.tx.matrix(entry).Read(rows, lo, hi, window); err != nil {
		return fmt.Errorf("matrix %s: %w", m.name, err)
	}
	return nil
}

// Drop removes the matrix.
func (m *Matrix) Drop() error {
	c, err := m.tx.change()
	if err != nil {
		return err
	}
	delete(c.Matrices, m.name)
	m.tx.touched.Of(matrixTouched(m.name)).All = true
	return nil
}

// SetRow sets one row of a matrix, whose length must be its width.
func (tx *Tx) SetRow(name string, v NodeID, row []float32) error {
	if err := tx.checkRow(name, v, row); err != nil {
		return err
	}
	return tx.putRow(name, v, row)
}

// checkRow says why a row cannot be that of a node.
func (tx *Tx) checkRow(name string, v NodeID, row []float32) error {
	entry, err := tx.matrixEntry(name)
	if err = cmp.Or(tx.checkNode(v), err); err != nil {
		return err
	}
	if err := entry.CheckWidth(row); err != nil {
		return fmt.Errorf("matrix %s, node number %d: %w", name, v, err)
	}
	return nil
}

// TouchRow counts the row of a node as changed, as it is: something else that the transaction writes, which is not
// tracked, goes by the row. In a transaction that writes nothing it does nothing.
func (tx *Tx) TouchRow(name string, v NodeID) error {
	_, err := tx.matrixEntry(name)
	if err = cmp.Or(tx.writable(), err, tx.checkNode(v)); err == nil {
		tx.touched.Of(matrixTouched(name)).Add(v)
	}
	return err
}

// A Space is a key range that belongs to an upper room. Keys are 1 to MaxSpaceKey bytes, values at most MaxSpaceValue;
// records carry version and checksum like all others. A space that was never written is empty.
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
	if !ok || len(key) > MaxSpaceKey {
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

func (s *Space) entries(
	from []byte, scan func(prefix, from []byte) iter.Seq2[record.Record, error],
) iter.Seq2[Entry, error] {
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

// documentKey is the chain of a document. Names hold no control characters, so the zero byte after the space's ends it.
func documentKey(space, key string) []byte {
	b := make([]byte, 0, 2+len(space)+len(key))
	b = append(b, byte(record.KindDocument))
	b = append(b, space...)
	b = append(b, 0)
	return append(b, key...)
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
	if err := cmp.Or(validateName("document space", d.space), validateName("document", key)); err != nil {
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

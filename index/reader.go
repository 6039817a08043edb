package index

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A reader holds the column readers of one walk, one a property. It belongs to one goroutine.
type reader struct {
	tx       *kv.Tx
	columns  map[string]*kv.ColumnReader
	computed map[string]Computed
	head     *head // of the walk, that has copies of rows; nil for none
	workers  int   // goroutines that a filter may decide nodes on; 0 is one
}

func newReader(tx *kv.Tx, computed map[string]Computed) *reader {
	return &reader{tx: tx, columns: map[string]*kv.ColumnReader{}, computed: computed}
}

// values returns the values of a property, stored or computed.
func (r *reader) values(name string) (func(v kv.NodeID) (kv.Value, error), error) {
	if c, ok := r.computed[name]; ok {
		return c.At, nil
	}
	c, err := r.column(name)
	if err != nil {
		return nil, err
	}
	if r.head == nil {
		return c.At, nil
	}
	return func(v kv.NodeID) (kv.Value, error) {
		if value, ok := r.head.known(v, name); ok {
			return value, nil
		}
		return c.At(v)
	}, nil
}

// vectors returns the values of a property of any nodes.
func (r *reader) vectors(property string) (vector, error) {
	at, err := r.values(property)
	return vector{at: at}, err
}

// column returns the reader of a property the store has.
func (r *reader) column(name string) (*kv.ColumnReader, error) {
	if c := r.columns[name]; c != nil {
		return c, nil
	}
	c, err := r.tx.Reader(name)
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", name, err)
	}
	r.columns[name] = c
	return c, nil
}

func wrapProperty(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("property %s: %w", name, err)
}

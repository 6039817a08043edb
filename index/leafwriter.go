package index

import (
	"bytes"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A leafWriter writes entries that come in ascending order as leaves.
type leafWriter struct {
	column  string
	put     func(key, value []byte) error // into the space
	leaf    leaf
	data    []byte
	leaves  int
	samples []sample
}

// A sample is an entry that is compared with the column before the index counts.
type sample struct {
	key  []byte
	node kv.NodeID
}

func (w *leafWriter) add(key []byte, v kv.NodeID) error {
	if len(w.leaf.nodes) >= leafEntries || len(w.leaf.keys)+len(key) > leafKeyBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.leaf.add(key, v)
	return nil
}

// flush writes the leaf underway, if it holds anything.
func (w *leafWriter) flush() error {
	if len(w.leaf.nodes) == 0 {
		return nil
	}
	if w.leaves++; w.leaves&(w.leaves-1) == 0 { // one in ever more leaves
		w.samples = append(w.samples, sample{bytes.Clone(w.leaf.key(0)), w.leaf.nodes[0]})
	}
	w.data = w.leaf.appendTo(w.data[:0])
	err := w.put(leafKey(w.leaf.first()), w.data)
	w.leaf.reset()
	return err
}

// mark compares the samples with the column and marks the column as indexed.
func (w *leafWriter) mark(tx *kv.Tx) error {
	for _, s := range w.samples {
		value, err := tx.Value(s.node, w.column)
		if err != nil {
			return err
		}
		if !value.IsNull() {
			if key, _ := appendKey(nil, value); bytes.Equal(key, s.key) {
				continue
			}
		}
		return fmt.Errorf("node number %d was added with %s, the column holds %s",
			s.node, literal(decodeKey(s.key)), literal(value))
	}
	if err := tx.SetIndexed(w.column, true); err != nil {
		return err
	}
	return copyHead(tx, w.column)
}

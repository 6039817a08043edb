package kv

import (
	"errors"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
)

// FuzzCatalog holds that a catalogue is decoded whole, or is damaged.
func FuzzCatalog(f *testing.F) {
	c := newCatalog()
	c.Classes, c.Nodes, c.Columns["label"] = []string{"a", "b"}, 3, column.Entry{Generation: 2, Kind: KindClass}
	c.Matrices["m"] = matrix.Entry{Generation: 3, Columns: []string{"a"}, Rows: 3}
	for _, v := range []any{c, c.counts, newCatalog(), map[string]any{"columns": nil}} {
		body, err := msgpack.Marshal(v)
		must.Do(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeCatalog(body)
		if err == nil {
			c.live()
			_, err = c.withCounts(body)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt", err)
		}
	})
}

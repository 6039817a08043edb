package kv

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
)

// FuzzAdjacencyBlock holds that no body of a block of the adjacency makes its reader panic, or claim more than it holds.
func FuzzAdjacencyBlock(f *testing.F) {
	const nodes = 100
	d := &directory{generation: 1}
	w := newAdjacencyWriter(func(_, body []byte) error {
		f.Add(append([]byte(nil), body...))
		return nil
	}, 1, codec.ArcForm{})
	for v := range nodes {
		list := []NodeID{NodeID(v / 2), NodeID(v/2 + 7), NodeID(v/2 + 40)}
		if err := w.append(list, nil); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		f.Fatal(err)
	}
	f.Add(binary.AppendUvarint([]byte{0}, 1<<62))
	d.add(nodes, 1)
	f.Fuzz(func(t *testing.T, body []byte) {
		block, err := d.parse(0, body)
		if err != nil {
			return
		}
		offsets, neighbors, err := gap.AppendAll([]int64{0}, []NodeID(nil), block.Block)
		if err != nil {
			return
		}
		if len(offsets) != nodes+1 || len(neighbors) > len(body)*nodes {
			t.Fatalf("got %d lists of %d neighbours from %d bytes", len(offsets)-1, len(neighbors), len(body))
		}
		for _, v := range neighbors {
			if v >= nodes {
				t.Fatalf("got neighbour %d of %d nodes", v, nodes)
			}
		}
	})
}

// FuzzCatalog holds that a catalogue is decoded whole, or is damaged.
func FuzzCatalog(f *testing.F) {
	c := newCatalog()
	c.Classes, c.Nodes, c.Columns["label"] = []string{"a", "b"}, 3, columnEntry{Generation: 2, Kind: KindClass}
	c.Matrices["m"] = matrixEntry{Generation: 3, Columns: []string{"a"}, Rows: 3, BlockRows: 1024}
	for _, v := range []any{c, c.counts, newCatalog(), map[string]any{"columns": nil}} {
		body, err := msgpack.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
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

// FuzzDeltas holds that the records of changed edges and degrees are decoded, or damaged.
func FuzzDeltas(f *testing.F) {
	for i, form := range arcForms {
		f.Add(uint8(i), encodeDelta(form, edgeDelta{u: 1, v: 2, change: edgeAdded, arc: codec.Arc{Out: 1, In: 1}}))
		f.Add(uint8(i), []byte{byte(edgeRemoved)})
	}
	f.Add(uint8(0), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, number uint8, body []byte) {
		key := edgeDeltaKey(1, 1, 2)
		if _, _, err := decodeDelta(arcForms[int(number)%len(arcForms)], key, body); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("edge: got %v, want ErrCorrupt", err)
		}
		if d, err := decodeDegreeDelta(key, body); err == nil && d == (degreeDelta{}) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("degree: got %+v, %v", d, err)
		}
	})
}

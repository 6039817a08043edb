package graph

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// FuzzBlock holds that no body of a block of the adjacency makes its reader panic, or claim more than it holds.
func FuzzBlock(f *testing.F) {
	const nodes = 100
	d := NewPartition(1)
	w := NewWriter(func(_, body []byte) error {
		f.Add(append([]byte(nil), body...))
		return nil
	}, 1, codec.ArcForm{})
	for v := range nodes {
		list := []record.NodeID{record.NodeID(v / 2), record.NodeID(v/2 + 7), record.NodeID(v/2 + 40)}
		must.Do(f, w.Append(list, nil))
	}
	must.Do(f, w.Close())
	d.Add(nodes)
	f.Fuzz(func(t *testing.T, body []byte) {
		block, err := d.parse(0, body)
		if err != nil {
			return
		}
		offsets, neighbors, err := gap.AppendAll([]int64{0}, []record.NodeID(nil), block)
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

// FuzzDeltas holds that the records of changed edges and degrees are decoded, or damaged.
func FuzzDeltas(f *testing.F) {
	for i, form := range arcForms {
		f.Add(uint8(i), encodeDelta(form, codec.Arc{Out: 1, In: 1}))
		f.Add(uint8(i), encodeDelta(form, codec.Arc{}))
	}
	f.Add(uint8(0), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, number uint8, body []byte) {
		key := edgeDeltaKey(1, 1, 2)
		if _, err := decodeDelta(arcForms[int(number)%len(arcForms)], key, body); err != nil && !errors.Is(err,
			record.ErrCorrupt) {
			t.Fatalf("edge: got %v, want record.ErrCorrupt", err)
		}
		if d, err := decodeDegreeDelta(key, body); err == nil && d == (DegreeDelta{}) || err != nil && !errors.Is(err,
			record.ErrCorrupt) {
			t.Fatalf("degree: got %+v, %v", d, err)
		}
	})
}

// arcForms are all that a graph can be.
var arcForms = []codec.ArcForm{{}, {Directed: true}, {Weighted: true}, {Directed: true, Weighted: true}}

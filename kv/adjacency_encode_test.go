package kv

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// TestEncodedLists cuts the arcs of random graphs, with hubs and nodes without neighbours, into random stretches, and
// expects the records that whole lists give.
func TestEncodedLists(t *testing.T) {
	type record struct{ key, body []byte }
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		const width = 16
		n := 1 + r.IntN(300)
		lists := make([][]NodeID, n)
		var arcs []uint64
		for u := range lists {
			degree := r.IntN(1 << r.IntN(6))
			if r.IntN(60) == 0 {
				degree = hubDegree - 1 + r.IntN(hubDegree+2)
			}
			v := NodeID(r.IntN(10))
			for range degree {
				lists[u] = append(lists[u], v)
				arcs = append(arcs, edgeKey(uint32(u), uint32(v), width))
				v += 1 + NodeID(r.IntN(2)*r.IntN(3))
			}
		}
		write := func(fill func(w *adjacencyWriter) error) (records []record) {
			w := newAdjacencyWriter(func(key, body []byte) error {
				records = append(records, record{key, bytes.Clone(body)})
				return nil
			}, 1, codec.ArcForm{})
			if err := fill(w); err != nil {
				t.Fatal(err)
			}
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
			return records
		}
		want := write(func(w *adjacencyWriter) error {
			for _, list := range lists {
				if err := w.append(list, nil); err != nil {
					return err
				}
			}
			return nil
		})
		got := write(func(w *adjacencyWriter) error {
			out := listWriter{w: w, width: width}
			var e encodedLists
			for rest := arcs; len(rest) > 0; {
				stretch := rest[:1+r.IntN(min(len(rest), 1<<r.IntN(16)))]
				rest = rest[len(stretch):]
				e.encode(stretch, width)
				if err := out.append(&e, stretch); err != nil {
					return err
				}
			}
			return out.upTo(NodeID(n))
		})
		same := slices.EqualFunc(got, want, func(a, b record) bool { return bytes.Equal(a.key, b.key) && bytes.Equal(a.body, b.body) })
		if !same {
			t.Fatalf("seed %d: got %d records, want other %d", seed, len(got), len(want))
		}
	}
}

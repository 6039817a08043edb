package graph

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestLists cuts the arcs of random graphs, with hubs and nodes without neighbours, into random stretches, and
// expects the records that whole lists give.
func TestLists(t *testing.T) {
	type written struct{ key, body []byte }
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		const width = 16
		n := 1 + r.IntN(300)
		lists := make([][]record.NodeID, n)
		var arcs []uint64
		for u := range lists {
			degree := r.IntN(1 << r.IntN(6))
			if r.IntN(60) == 0 {
				degree = HubDegree - 1 + r.IntN(HubDegree+2)
			}
			v := record.NodeID(r.IntN(10))
			for range degree {
				lists[u] = append(lists[u], v)
				arcs = append(arcs, uint64(u)<<width|uint64(v))
				v += 1 + record.NodeID(r.IntN(2)*r.IntN(3))
			}
		}
		write := func(fill func(w *Writer) error) (records []written) {
			w := NewWriter(func(key, body []byte) error {
				records = append(records, written{key, bytes.Clone(body)})
				return nil
			}, 1, codec.ArcForm{})
			must.Do(t, fill(w))
			must.Do(t, w.Close())
			return records
		}
		want := write(func(w *Writer) error {
			for _, list := range lists {
				if err := w.Append(list, nil); err != nil {
					return err
				}
			}
			return nil
		})
		got := write(func(w *Writer) error {
			out := NewListWriter(w, width)
			var e Lists
			for rest := arcs; len(rest) > 0; {
				stretch := rest[:1+r.IntN(min(len(rest), 1<<r.IntN(16)))]
				rest = rest[len(stretch):]
				e.Encode(stretch, width)
				if err := out.Append(&e, stretch); err != nil {
					return err
				}
			}
			return out.UpTo(record.NodeID(n))
		})
		same := slices.EqualFunc(got, want, func(a, b written) bool { return bytes.Equal(a.key, b.key) && bytes.Equal(a.body, b.body) })
		if !same {
			t.Fatalf("seed %d: got %d records, want other %d", seed, len(got), len(want))
		}
	}
}

package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// sampleByDefinition gives every node its number, sorts all of them by it, and takes the first.
func sampleByDefinition(nodes []kv.NodeID, size int, seed uint64) map[kv.NodeID]bool {
	key := func(v kv.NodeID) uint64 { return rand.NewPCG(seed^streamSample, uint64(v)).Uint64() }
	sorted := slices.SortedFunc(slices.Values(nodes), func(a, b kv.NodeID) int {
		if key(a) < key(b) {
			return -1
		}
		return 1
	})
	taken := map[kv.NodeID]bool{}
	for _, v := range sorted[:min(size, len(sorted))] {
		taken[v] = true
	}
	return taken
}

// idsOf answers a statement that returns the id alone.
func idsOf(t *testing.T, tx *kv.Tx, opt Options, text string) []string {
	t.Helper()
	return firsts(must.Get(rowsOf(Query(t.Context(), tx, opt, text)))(t))
}

// TestSamplesAreThoseOfTheDefinition draws stores, statements and samples. It wants the rows that the definition takes
// of all rows, in the order of the statement, with any number of workers.
func TestSamplesAreThoseOfTheDefinition(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := drawStore(t, r, []int{1, 3, 30, 150, 700, 60}[seed])
		s.change(t, r)
		for range longtest.Of(12, 40) {
			text := []string{"nodes", "suspects", "suspects where score > 0.2", "nodes where degree > 1",
				"nodes where disputed or label is null"}[r.IntN(5)]
			order := ""
			if r.IntN(2) == 0 {
				order = s.drawOrder(r).text
			}
			size, from := r.IntN(2*len(s.rows)+2), uint64(r.IntN(4))
			tx := s.Begin()
			all := idsOf(t, tx, Options{}, text+order+" return id")
			var nodes []kv.NodeID
			byID := map[kv.NodeID]string{}
			for _, id := range all {
				v := must.Get(tx.Node(id))(t)
				nodes, byID[v] = append(nodes, v), id
			}
			taken := sampleByDefinition(nodes, size, max(from, DefaultSeed))
			var want []string
			for _, v := range nodes {
				if taken[v] {
					want = append(want, byID[v])
				}
			}
			clause := fmt.Sprint(" sample ", size, " seed ", from)
			for _, asked := range []string{text + clause + order + " return id", text + order + " return id" + clause} {
				for _, workers := range []int{1, 4} {
					if got := idsOf(t, tx, Options{Workers: workers}, asked); !slices.Equal(got, want) {
						t.Fatalf("store %d, %d workers: %s: got %q, want %q", seed, workers, asked, got, want)
					}
				}
			}
			limit := r.IntN(size + 2)
			asked := fmt.Sprint(text, order, " limit ", limit, clause, " return id")
			if got := idsOf(t, tx, Options{}, asked); !slices.Equal(got, want[:min(limit, len(want))]) {
				t.Fatalf("store %d: %s: got %q, want the first of %q", seed, asked, got, want)
			}
			tx.Close()
		}
	}
}

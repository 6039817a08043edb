package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestBuilderOfFewValues builds the index of few values and of many, of nodes that ascend and that do not, and with more nodes than memory
// is for. The index is sound, and keeps the nodes of each value as long as it can.
func TestBuilderOfFewValues(t *testing.T) {
	const n = 5000
	for _, c := range []struct {
		name     string
		values   int
		shuffled bool
		full     int // node from which on memory is full
		few      bool
	}{
		{"one value", 1, false, n, true},
		{"few values", 7, false, n, true},
		{"as many as are few", maxFew, false, n, true},
		{"one more", maxFew + 1, false, n, false},
		{"in any order", 7, true, n, false},
		{"full", 7, false, n / 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := emptyStore(t, n)
			bulk, err := s.Bulk()
			if err != nil {
				t.Fatal(err)
			}
			defer bulk.Abort()
			column, err := bulk.Column("score", kv.KindString)
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewBuilder(bulk, "score")
			if err != nil {
				t.Fatal(err)
			}
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			if c.shuffled {
				order = rand.New(rand.NewPCG(1, 1)).Perm(n)
			}
			for i, v := range order {
				if i == c.full {
					b.bytes = b.sorter.Limit()
				}
				value := kv.StringValue(fmt.Sprint("value ", v*7919%c.values))
				if err := errors.Join(column.Put(kv.NodeID(v), value), b.Add(kv.NodeID(v), value)); err != nil {
					t.Fatal(err)
				}
			}
			if few := b.few != nil; few != c.few {
				t.Errorf("nodes kept by value: got %v, want %v", few, c.few)
			}
			if err := b.Finish(); err != nil {
				t.Fatal(err)
			}
			if err := bulk.Commit(b.Mark); err != nil {
				t.Fatal(err)
			}
			mustBeSound(t, s)
		})
	}
}

package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestBuilderOfFewValues builds the index of few values and of many, of nodes that ascend and that do not, and with
// more nodes than memory is for. The index is sound, and keeps the nodes of each value as long as it can.
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
			bulk := must.Get(s.Bulk(context.Background()))(t)
			defer bulk.Abort()
			column := must.Get(bulk.Column("score", kv.KindString))(t)
			b := must.Get(NewBuilder(bulk, "score"))(t)
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			if c.shuffled {
				order = rand.New(rand.NewPCG(1, 1)).Perm(n)
				column.Sort()
			}
			for i, v := range order {
				if i == c.full {
					b.bytes = b.sorter.Limit()
				}
				value := kv.ValueOf(fmt.Sprint("value ", v*7919%c.values))
				must.Do(t, errors.Join(column.Put(kv.NodeID(v), value), b.Add(kv.NodeID(v), value)))
			}
			if few := b.few != nil; few != c.few {
				t.Errorf("nodes kept by value: got %v, want %v", few, c.few)
			}
			must.Do(t, b.Finish())
			must.Do(t, bulk.Commit(b.Mark))
			mustBeSound(t, s)
		})
	}
}

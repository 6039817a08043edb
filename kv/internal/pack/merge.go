package pack

import (
	"container/heap"
	"context"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An Input is a sequence of entries whose keys ascend; of one key, the versions descend.
type Input interface {
	// Next goes to the next entry, first to the first; on is false at the end.
	Next() (on bool, err error)

	// Entry is the entry that it stands on.
	Entry() Entry
}

// Merge hands the newest entry of each key of inputs to use. Of two entries of one version of a key, that of the later
// input counts.
func Merge(ctx context.Context, inputs []Input, use func(newest Entry) error) error {
	var h mergeHeap
	for i, in := range inputs {
		on, err := in.Next()
		if err != nil {
			return err
		}
		if on {
			h = append(h, agedInput{in, i})
		}
	}
	heap.Init(&h)
	for count := 0; len(h) > 0; count++ {
		if count%record.ContextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		newest := h[0].Entry()
		for len(h) > 0 && y.SameKey(h[0].Entry().Key, newest.Key) {
			on, err := h[0].Next()
			if err != nil {
				return err
			}
			if on {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
		if err := use(newest); err != nil {
			return err
		}
	}
	return nil
}

// An agedInput is one of those that are merged. A greater age is of a later one.
type agedInput struct {
	Input
	age int
}

// A mergeHeap has inputs by their next entries.
type mergeHeap []agedInput

func (h mergeHeap) Len() int { return len(h) }
func (h mergeHeap) Less(i, j int) bool {
	if c := y.CompareKeys(h[i].Entry().Key, h[j].Entry().Key); c != 0 {
		return c < 0
	}
	return h[i].age > h[j].age
}
func (h mergeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(t any)   { *h = append(*h, t.(agedInput)) }
func (h *mergeHeap) Pop() any {
	t := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return t
}

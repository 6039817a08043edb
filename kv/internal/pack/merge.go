package pack

import (
	"bytes"
	"container/heap"
	"context"

	"github.com/dgraph-io/badger/v4/y"
)

// An Input is a sequence of entries whose keys ascend; of one key, the versions descend.
type Input interface {
	// Next goes to the next entry, first to the first; on is false at the end.
	Next() (on bool, err error)

	// Entry is the entry that it stands on.
	Entry() Entry
}

// mergeEvery is after how many keys the context is asked.
const mergeEvery = 1 << 12

// Merge hands each key of inputs with all its entries, the newest version first, to use. Of two entries of one version
// of a key, that of the later input counts.
func Merge(ctx context.Context, inputs []Input, use func(entries []Entry) error) error {
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
	var entries []Entry
	for count := 0; len(h) > 0; count++ {
		if count%mergeEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		entries = append(entries[:0], h[0].Entry())
		for {
			on, err := h[0].Next()
			if err != nil {
				return err
			}
			if on {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
			if len(h) == 0 || !y.SameKey(h[0].Entry().Key, entries[0].Key) {
				break
			}
			e := h[0].Entry()
			if !bytes.Equal(e.Key, entries[len(entries)-1].Key) { // else a later input has the same version
				entries = append(entries, e)
			}
		}
		if err := use(entries); err != nil {
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

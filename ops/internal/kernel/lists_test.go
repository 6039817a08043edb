package kernel

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestCheckLists has the lists of nodes 1 to 3, of four, at places that a kernel must not follow.
func TestCheckLists(t *testing.T) {
	want := kv.Range{First: 1, End: 4}
	for name, c := range map[string]struct {
		offsets   []int64
		neighbors []kv.NodeID
		malformed bool
	}{
		"as they are":             {[]int64{0, 1, 3, 4}, []kv.NodeID{3, 0, 2, 1}, false},
		"too few offsets":         {[]int64{1, 2}, []kv.NodeID{3, 0, 2, 1}, true},
		"offsets not from 0":      {[]int64{1, 1, 3, 4}, []kv.NodeID{3, 0, 2, 1}, true},
		"offset below 0":          {[]int64{0, -1, 3, 4}, []kv.NodeID{3, 0, 2, 1}, true},
		"offsets that descend":    {[]int64{0, 3, 2, 4}, []kv.NodeID{3, 0, 2, 1}, true},
		"offset behind the end":   {[]int64{0, 5, 3, 4}, []kv.NodeID{3, 0, 2, 1}, true},
		"lists end early":         {[]int64{0, 1, 2, 3}, []kv.NodeID{3, 0, 2, 1}, true},
		"lists end late":          {[]int64{0, 1, 2, 5}, []kv.NodeID{3, 0, 2, 1}, true},
		"neighbour out of range":  {[]int64{0, 1, 3, 4}, []kv.NodeID{3, 0, 4, 1}, true},
		"neighbours out of order": {[]int64{0, 1, 3, 4}, []kv.NodeID{3, 2, 0, 1}, true},
	} {
		adj := &kv.Adjacency{Range: want, Offsets: c.offsets, Neighbors: c.neighbors}
		if err := CheckLists(adj, want, 4, false); errors.Is(err, ErrGraph) != c.malformed || !c.malformed && err != nil {
			t.Errorf("%s: got %v, malformed %t", name, err, c.malformed)
		}
	}
}

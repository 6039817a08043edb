package ops

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A NeighborReader reads the list of one node, ascending; *kv.Tx satisfies it.
type NeighborReader interface {
	Neighbors(v kv.NodeID) iter.Seq2[kv.NodeID, error]
}

// Neighborhood returns the nodes around v by their distance: level 0 is v itself, level k the nodes at k ≤ hops steps
// and no fewer, ascending. The result ends before the first level without nodes. At most limit nodes are returned, v
// included; truncated is true if there are more. limit 0 means no limit.
func Neighborhood(
	ctx context.Context, g NeighborReader, v kv.NodeID, hops, limit int,
) (levels [][]kv.NodeID, truncated bool, err error) {
	if hops < 0 || limit < 0 {
		return nil, false, fmt.Errorf("%w: got %d hops and a limit of %d nodes, want neither negative", ErrShape, hops, limit)
	}
	levels = [][]kv.NodeID{{v}}
	count := 1
	b := Ball{Graph: g}
	err = b.Each(ctx, v, hops, func(u kv.NodeID, hop int) bool {
		if truncated = count == limit; truncated { // of no limit, count is above it
			return false
		}
		if hop == len(levels) {
			levels = append(levels, nil)
		}
		levels[hop] = append(levels[hop], u)
		count++
		return true
	})
	if err != nil {
		return nil, false, err
	}
	for _, level := range levels {
		slices.Sort(level)
	}
	return levels, truncated, nil
}

// A Ball visits the nodes around one node after another. It belongs to one goroutine, and holds about 64 bytes for each
// node that it visits around one, if these are more than one hop away.
type Ball struct {
	Graph NeighborReader

	members     map[kv.NodeID]struct{}
	level, next []kv.NodeID
}

// manyMembers is from how many members on a map is made anew: it would stay as large as it once was, and take long to
// clear.
const manyMembers = 1 << 12

// Each calls visit for each node at 1 to hops steps from v, the nearest first, with the number of steps, until visit
// returns false.
func (b *Ball) Each(ctx context.Context, v kv.NodeID, hops int, visit func(u kv.NodeID, hop int) bool) error {
	if b.members == nil || len(b.members) > manyMembers {
		b.members = map[kv.NodeID]struct{}{}
	}
	clear(b.members)
	b.members[v] = struct{}{}
	b.level = append(b.level[:0], v)
	steps := 0
	for hop := 1; hop <= hops && len(b.level) > 0; hop++ {
		b.next = b.next[:0]
		for _, u := range b.level {
			for w, err := range b.Graph.Neighbors(u) {
				if err != nil {
					return err
				}
				if steps++; steps%256 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				if hops > 1 { // a list names no node twice
					if _, ok := b.members[w]; ok {
						continue
					}
					b.members[w] = struct{}{}
					b.next = append(b.next, w)
				}
				if !visit(w, hop) {
					return nil
				}
			}
		}
		slices.Sort(b.next)
		b.level, b.next = b.next, b.level
	}
	return ctx.Err()
}

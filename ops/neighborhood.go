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
	members := map[kv.NodeID]struct{}{v: {}}
	count, steps := 1, 0
	for hop := 1; hop <= hops && !truncated; hop++ {
		var next []kv.NodeID
	level:
		for _, u := range levels[hop-1] {
			for w, err := range g.Neighbors(u) {
				if steps++; err == nil && steps%256 == 0 {
					err = ctx.Err()
				}
				if err != nil {
					return nil, false, err
				}
				if hops > 1 { // a list names no node twice
					if _, ok := members[w]; ok {
						continue
					}
					members[w] = struct{}{}
				}
				if truncated = count == limit; truncated { // of no limit, count is above it
					break level
				}
				next = append(next, w)
				count++
			}
		}
		if next == nil {
			break
		}
		slices.Sort(next)
		levels = append(levels, next)
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	return levels, truncated, nil
}

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

// Neighborhood returns the nodes around v by their distance: level 0 is v itself, level k the nodes at k ≤ hops steps and
// no fewer, ascending. The result ends before the first level without nodes. At most limit nodes are returned, v
// included; truncated is true if there are more. limit 0 means no limit.
func Neighborhood(
	ctx context.Context, g NeighborReader, v kv.NodeID, hops, limit int,
) (levels [][]kv.NodeID, truncated bool, err error) {
	if hops < 0 || limit < 0 {
		return nil, false, fmt.Errorf("%w: got %d hops and a limit of %d nodes, want neither negative", ErrShape, hops, limit)
	}
	members := map[kv.NodeID]struct{}{v: {}}
	levels = [][]kv.NodeID{{v}}
	for len(levels) <= hops {
		var level []kv.NodeID
		steps := 0
		for _, u := range levels[len(levels)-1] {
			for w, err := range g.Neighbors(u) {
				if err != nil {
					return nil, false, err
				}
				if steps++; steps%256 == 0 && ctx.Err() != nil {
					return nil, false, ctx.Err()
				}
				if _, ok := members[w]; ok {
					continue
				}
				if limit > 0 && len(members) == limit {
					return appendLevel(levels, level), true, nil
				}
				members[w] = struct{}{}
				level = append(level, w)
			}
		}
		if len(level) == 0 {
			break
		}
		levels = appendLevel(levels, level)
	}
	return levels, false, ctx.Err()
}

func appendLevel(levels [][]kv.NodeID, level []kv.NodeID) [][]kv.NodeID {
	if len(level) == 0 {
		return levels
	}
	slices.Sort(level)
	return append(levels, level)
}

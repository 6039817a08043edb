package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A changeSet is the nodes on which the scores of a run depend and that changed since: an end of an edge, or one with
// another label or prediction, or one that was added.
type changeSet struct {
	all     bool // every node may have changed
	changed bool // something has, also if it was removed
	nodes   []kv.NodeID
}

func (c *changeSet) none() bool { return !c.all && !c.changed }

// changesSince are the changes since the scores of a run were up to date. If the store does not know them, all nodes
// may have changed. If the nodes are more than most, it may return ErrReach.
func changesSince(tx *kv.Tx, run *Run, most int) (*changeSet, error) {
	changes, err := tx.ChangesSince(run.Commit)
	if errors.Is(err, kv.ErrNotTracked) {
		return &changeSet{all: true}, nil
	}
	if err != nil {
		return nil, err
	}
	touched := touchedSince(changes)
	if slices.ContainsFunc(touched, func(t *kv.Touched) bool { return t.All }) {
		return &changeSet{all: true}, nil
	}
	set := new(changeSet)
	for _, t := range touched {
		if t.Count() > most+tx.NumNodes()-tx.Shape().Present {
			return nil, tooManyAround(most)
		}
		set.nodes = slices.AppendSeq(set.nodes, t.Nodes())
	}
	for v := changes.NumNodes; v < tx.NumNodes(); v++ {
		set.nodes = append(set.nodes, kv.NodeID(v))
	}
	set.changed = len(set.nodes) > 0
	slices.Sort(set.nodes)
	removed, err := tx.Removed() // those that they were joined to have lost an edge
	if err != nil {
		return nil, err
	}
	set.nodes = slices.DeleteFunc(slices.Compact(set.nodes), removed.Has)
	return set, nil
}

// touchedSince are the nodes whose edges changed, and those with another label and other predictions: on these scores
// depend.
func touchedSince(changes *kv.Changes) []*kv.Touched {
	return []*kv.Touched{changes.Edges(), changes.Column(kv.LabelColumn), changes.Matrix(PredictionsMatrix)}
}

// around are the nodes within some hops of the changes, ascending, whatever the direction of the arcs; ErrReach if they
// are more than most.
func (c *changeSet) around(ctx context.Context, tx *kv.Tx, hops, most int) ([]kv.NodeID, error) {
	seen := make(map[kv.NodeID]struct{}, len(c.nodes))
	for _, v := range c.nodes {
		seen[v] = struct{}{}
	}
	level, all := c.nodes, slices.Clone(c.nodes)
	if len(level) > most {
		return nil, tooManyAround(most)
	}
	for range hops {
		var next []kv.NodeID
		for i, v := range level {
			if i%lookEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			for u, err := range tx.Neighbors(v) {
				if err != nil {
					return nil, err
				}
				if _, ok := seen[u]; ok {
					continue
				}
				seen[u] = struct{}{}
				if next = append(next, u); len(seen) > most {
					return nil, tooManyAround(most)
				}
			}
		}
		all, level = append(all, next...), next
	}
	slices.Sort(all)
	return all, nil
}

// staleNodes are the nodes around the changes since the scores of a run were up to date, ascending; all says that it
// may be any node. If they are more than most, the error is ErrReach.
func staleNodes(ctx context.Context, tx *kv.Tx, run *Run, most int) (nodes []kv.NodeID, all bool, err error) {
	changed, err := changesSince(tx, run, most)
	if err != nil || changed.all {
		return nil, err == nil, err
	}
	nodes, err = changed.around(ctx, tx, run.reach(), most)
	return nodes, false, err
}

func tooManyAround(most int) error {
	return fmt.Errorf("more than %d nodes are around the changes: %w", most, ops.ErrReach)
}

package decide

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// mostVerdicts bounds how many verdicts are taken in: as many say all that verdicts can say.
const mostVerdicts = 1 << 16

// A Verdict is the judgement of a person about the label of a node. If Now equals Before, the label was right.
// Otherwise Now is the right label, or kv.NoClass for none.
type Verdict struct {
	Node        kv.NodeID
	Before, Now kv.Class
}

// Verdicts compares the decisions in force with the labels before all decisions, in ascending order of nodes. It leaves
// out a node that had no label or is disputed, or whose label was changed since without a decision. Only the first
// 65,536 nodes of the history are looked at.
func Verdicts(ctx context.Context, tx *kv.Tx, labels []kv.Class) (verdicts []Verdict, err error) {
	classes := map[string]kv.Class{"": kv.NoClass}
	for k, name := range tx.Classes() {
		classes[name] = kv.Class(k)
	}
	changes, err := changesAfter(ctx, tx, 0, mostVerdicts)
	for v, c := range changes {
		before, known := classes[c.was.label]
		now, there := classes[c.is.label]
		if c.is.isTrusted() && c.was.label != "" && known && there && int(v) < len(labels) && now == labels[v] {
			verdicts = append(verdicts, Verdict{Node: v, Before: before, Now: now})
		}
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.Node, b.Node) })
	return verdicts, err
}

// A change is the effect of successive entries on a node.
type change struct {
	was, is nodeState // before the first of them, and after the last
}

// changesAfter are the changes of nodes by the entries after entry seq, without those of removed nodes. It looks at the
// first so many nodes.
func changesAfter(ctx context.Context, tx *kv.Tx, seq int64, most int) (map[kv.NodeID]change, error) {
	removed, err := tx.Removed()
	if err != nil {
		return nil, err
	}
	changes := map[kv.NodeID]change{}
	for d, err := range historyFrom(ctx, tx, seq+1) {
		if err != nil {
			return nil, err
		}
		c, seen := changes[d.Node]
		if !seen && (len(changes) == most || removed.Has(d.Node)) {
			continue
		}
		if !seen {
			c = change{was: nodeState{d.From, d.Before, d.WasDisputed}}
		}
		c.is = d.state()
		changes[d.Node] = c
	}
	return changes, nil
}

// Reversals counts the nodes that had a decision other than Unsure at entry seq and were not disputed, and whose
// decision or label has changed since, or which are disputed by now. Only the first 65,536 nodes with later entries are
// looked at.
func Reversals(ctx context.Context, tx *kv.Tx, seq int64) (count int, err error) {
	changes, err := changesAfter(ctx, tx, seq, mostVerdicts)
	for _, c := range changes {
		if c.was.isTrusted() && c.was != c.is {
			count++
		}
	}
	return count, err
}

// NodesAfter returns the nodes that the entries of the history after entry seq are about.
func NodesAfter(ctx context.Context, tx *kv.Tx, seq int64) (map[kv.NodeID]struct{}, error) {
	nodes := make(map[kv.NodeID]struct{})
	for d, err := range historyFrom(ctx, tx, seq+1) {
		if err != nil {
			return nil, err
		}
		nodes[d.Node] = struct{}{}
	}
	return nodes, nil
}

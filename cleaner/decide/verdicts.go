package decide

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// mostVerdicts bounds how many verdicts are taken in: as many say all that verdicts can say.
const mostVerdicts = 1 << 16

// A Verdict is the judgement of a person about the label of a node. If Now equals Before, the label was right.
// Otherwise Now is the right label, or kv.NoClass for none. Score is the score of the node at the first decision, and
// Run the run that gave it; NaN and zero without a score.
type Verdict struct {
	Node        kv.NodeID
	Before, Now kv.Class
	Score       float64
	Run         int64
	Seq         int64 // of that decision in the history
}

// Verdicts compares the decisions in force with the labels before all decisions, in ascending order of nodes. It leaves
// out a node that had no label or is disputed, or whose label was changed since without a decision.
func Verdicts(ctx context.Context, tx *kv.Tx, labels []kv.Class) ([]Verdict, error) {
	if _, ok := tx.Column(Column); !ok {
		return nil, nil
	}
	decisions, err := tx.Reader(Column)
	if err != nil {
		return nil, err
	}
	disputes, err := newDisputeReader(tx)
	if err != nil {
		return nil, err
	}
	var verdicts []Verdict
	classes := classNumbers(tx.Classes())
	for v := range kv.NodeID(len(labels)) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		decision, err := decisions.At(v)
		if err != nil {
			return nil, err
		}
		if decision.IsNull() {
			continue
		}
		c, err := changeOf(tx, v)
		if err == nil {
			c.is.disputed, err = disputes.at(v)
		}
		if err != nil {
			return nil, err
		}
		if verdict, ok := c.verdict(labels[v], classes); ok {
			verdicts = append(verdicts, verdict)
		}
		if len(verdicts) == mostVerdicts {
			break
		}
	}
	return verdicts, nil
}

// A disputeReader reads DisputedColumn, which need not be there.
type disputeReader struct{ column *kv.ColumnReader }

func newDisputeReader(tx *kv.Tx) (r disputeReader, err error) {
	if _, there := tx.Column(DisputedColumn); there {
		r.column, err = tx.Reader(DisputedColumn)
	}
	return r, err
}

// at reports whether a node is disputed.
func (r disputeReader) at(v kv.NodeID) (bool, error) {
	if r.column == nil {
		return false, nil
	}
	value, err := r.column.At(v)
	return value.Bool(), err
}

// classNumbers are the numbers of classes by name.
func classNumbers(classes []string) map[string]kv.Class {
	numbers := make(map[string]kv.Class)
	for k, name := range classes {
		numbers[name] = kv.Class(k)
	}
	return numbers
}

// A change is what some entries, one after the other, have made of a node.
type change struct {
	node    kv.NodeID
	was, is nodeState // before the first of them, and after the last
	run     int64     // that had scored the node, and its score, at the first
	score   float64
	seq     int64 // of the first
}

func newChange(d *Decision) change {
	return change{node: d.Node, was: nodeState{d.From, d.Before, d.WasDisputed}, is: d.state(), run: d.Run, score: d.Score, seq: d.Seq}
}

// changeOf is the change of a node by all entries about it; of kv.NoNode if there are none.
func changeOf(tx *kv.Tx, v kv.NodeID) (c change, err error) {
	c.node = kv.NoNode
	for seq, err := range entriesOf(tx, v) {
		if err != nil {
			return c, err
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return c, err
		}
		if c.node == kv.NoNode {
			c = newChange(&d.Decision)
		}
		c.is = d.state()
	}
	return c, nil
}

// verdict is what the change says of the label from before it, given the label of the node now. It says nothing where
// all was taken back, is unsure or disputed, where there was no label, and where that was changed since by other means.
func (c *change) verdict(now kv.Class, classes map[string]kv.Class) (verdict Verdict, ok bool) {
	before, known := classes[c.was.label]
	to, there := classes[c.is.label]
	if c.is.label == "" {
		to, there = kv.NoClass, true
	}
	ok = c.node != kv.NoNode && c.is.isTrusted() && known && there && to == now
	return Verdict{Node: c.node, Before: before, Now: now, Score: c.score, Run: c.run, Seq: c.seq}, ok
}

// VerdictsAfter compares the decisions after entry seq with the labels before them, in the order of the history.
// reversals counts the nodes that had a decision other than Unsure at entry seq and were not disputed, and whose
// decision or label has changed since, or which are disputed by now. Only the first 65,536 nodes with later entries are
// looked at.
func VerdictsAfter(ctx context.Context, tx *kv.Tx, seq int64) (verdicts []Verdict, reversals int, err error) {
	reader, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, 0, err
	}
	var changes []change
	place := make(map[kv.NodeID]int) // of a node in changes
	for d, err := range historyRecords(ctx, tx, seq+1) {
		if err != nil {
			return nil, 0, err
		}
		at, seen := place[d.Node]
		switch {
		case seen:
			changes[at].is = d.state()
		case len(changes) < mostVerdicts:
			place[d.Node] = len(changes)
			changes = append(changes, newChange(&d.Decision))
		}
	}
	removed, err := tx.Removed()
	if err != nil {
		return nil, 0, err
	}
	classes := classNumbers(tx.Classes())
	disputes, err := newDisputeReader(tx)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range changes {
		if removed.Has(c.node) {
			continue
		}
		if c.is.disputed, err = disputes.at(c.node); err != nil {
			return nil, 0, err
		}
		if c.was.isTrusted() && c.was != c.is {
			reversals++
		}
		label, err := reader.At(c.node)
		if err != nil {
			return nil, 0, fmt.Errorf("label of node number %d: %w", c.node, err)
		}
		now := kv.NoClass
		if !label.IsNull() {
			now = classes[label.Str()]
		}
		if verdict, ok := c.verdict(now, classes); ok {
			verdicts = append(verdicts, verdict)
		}
	}
	return verdicts, reversals, nil
}

// NodesAfter returns the nodes that the entries of the history after entry seq are about.
func NodesAfter(ctx context.Context, tx *kv.Tx, seq int64) (map[kv.NodeID]struct{}, error) {
	nodes := make(map[kv.NodeID]struct{})
	for d, err := range historyRecords(ctx, tx, seq+1) {
		if err != nil {
			return nil, err
		}
		nodes[d.Node] = struct{}{}
	}
	return nodes, nil
}

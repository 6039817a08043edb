package decide

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A State holds the values of a node that decisions change.
type State struct {
	Label    string // "" is none
	Decision Kind   // in force
	Disputed bool
}

// IsTrusted reports whether the label is one that people have decided on and agree about.
func (s State) IsTrusted() bool { return s.Decision != None && s.Decision != Unsure && !s.Disputed }

// state is the state of the node after an entry.
func (d *Decision) state() State { return State{d.Label, d.After, d.Disputed} }

// A Change is the effect of successive entries on a node.
type Change struct {
	Was, Is State // before the first of them, and after the last
}

// ChangesAfter returns what the entries after entry seq have changed, by node, of each node that is there and has such
// an entry. Decisions have not changed other nodes since; what else has changed a label does not count. 0 is before
// the first entry. It holds some 200 bytes a node.
func ChangesAfter(ctx context.Context, tx *kv.Tx, seq int64) (map[kv.NodeID]Change, error) {
	removed, err := tx.Removed()
	if err != nil {
		return nil, err
	}
	changes := map[kv.NodeID]Change{}
	for d, err := range historyFrom(ctx, tx, seq+1) {
		if err != nil {
			return nil, err
		}
		if removed.Has(d.Node) {
			continue
		}
		c, seen := changes[d.Node]
		if !seen {
			c.Was = State{d.From, d.Before, d.WasDisputed}
		}
		c.Is = d.state()
		changes[d.Node] = c
	}
	return changes, nil
}

// A Verdict is the judgement of a person about the label of a node. If Now equals Before, the label was right.
// Otherwise Now is the right label, or kv.NoClass for none.
type Verdict struct {
	Node        kv.NodeID
	Before, Now kv.Class
}

// Verdicts compares the decisions in force with the labels before all decisions, in ascending order of nodes. It leaves
// out a node that had no label or is disputed, or whose label was changed since without a decision.
func Verdicts(ctx context.Context, tx *kv.Tx, labels []kv.Class) (verdicts []Verdict, err error) {
	classes := map[string]kv.Class{"": kv.NoClass}
	for k, name := range tx.Classes() {
		classes[name] = kv.Class(k)
	}
	changes, err := ChangesAfter(ctx, tx, 0)
	for v, c := range changes {
		before, known := classes[c.Was.Label]
		now, there := classes[c.Is.Label]
		if c.Is.IsTrusted() && c.Was.Label != "" && known && there && int(v) < len(labels) && now == labels[v] {
			verdicts = append(verdicts, Verdict{Node: v, Before: before, Now: now})
		}
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.Node, b.Node) })
	return verdicts, err
}

// A Judgement is people's verdict on a label that a node had.
type Judgement uint8

// The judgements. Unsettled is that of a node which somebody has looked at, and about whose label people are unsure,
// disagree, or say that it is to have none.
const (
	Unjudged Judgement = iota
	Right
	Wrong
	Unsettled
)

// JudgementAfter returns the judgement about the label that a node had when entry seq was the newest, by the later
// entries about it. What else has changed the label of the node since does not count.
func JudgementAfter(ctx context.Context, tx *kv.Tx, v kv.NodeID, label string, seq int64) (Judgement, error) {
	entries, err := entriesOf(ctx, tx, v)
	if err != nil || len(entries) == 0 {
		return Unjudged, err
	}
	d := &entries[len(entries)-1]
	if d.Seq <= seq {
		return Unjudged, nil
	}
	switch is := d.state(); {
	case is.Decision == None:
		return Unjudged, nil
	case !is.IsTrusted() || is.Label == "":
		return Unsettled, nil
	case is.Label == label:
		return Right, nil
	}
	return Wrong, nil
}

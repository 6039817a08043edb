package decide

import (
	"context"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

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
	case is.decision == None:
		return Unjudged, nil
	case !is.isTrusted() || is.label == "":
		return Unsettled, nil
	case is.label == label:
		return Right, nil
	}
	return Wrong, nil
}

// CountJudgements counts the nodes, of the first so many, whose labels from before all decisions people have judged,
// by how they judged them: Right or Wrong. What else has changed a label since does not count, and removed nodes do
// not. It holds some 200 bytes for each node that somebody has decided on.
func CountJudgements(ctx context.Context, tx *kv.Tx, nodes kv.NodeID) (right, wrong int64, err error) {
	changes, err := changesAfter(ctx, tx, 0, math.MaxInt)
	for v, c := range changes {
		switch {
		case v >= nodes || c.was.label == "" || c.is.label == "" || !c.is.isTrusted():
		case c.is.label == c.was.label:
			right++
		default:
			wrong++
		}
	}
	return right, wrong, err
}

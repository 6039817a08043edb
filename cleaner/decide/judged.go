package decide

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Judgement is what people say of a label that a node had.
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
func JudgementAfter(tx *kv.Tx, v kv.NodeID, label string, seq int64) (Judgement, error) {
	last := int64(0)
	for entry, err := range entriesOf(tx, v) {
		if err != nil {
			return Unjudged, err
		}
		last = entry
	}
	if last <= seq {
		return Unjudged, nil
	}
	d, err := readDecision(tx, last)
	if err != nil {
		return Unjudged, err
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
// not. It holds 30 bytes for each node that somebody has decided on.
func CountJudgements(ctx context.Context, tx *kv.Tx, nodes kv.NodeID) (right, wrong int64, err error) {
	removed, err := tx.Removed()
	if err != nil {
		return 0, 0, err
	}
	type labels struct{ before, now int32 } // by numbers; of no label, or of one that is not settled, 0
	numbers, judged := map[string]int32{"": 0}, make(map[kv.NodeID]labels)
	number := func(name string) int32 {
		n, ok := numbers[name]
		if !ok {
			n = int32(len(numbers))
			numbers[name] = n
		}
		return n
	}
	for d, err := range historyRecords(ctx, tx, 1) {
		if err != nil {
			return 0, 0, err
		}
		if d.Node >= nodes || removed.Has(d.Node) {
			continue
		}
		of, seen := judged[d.Node]
		if !seen {
			of.before = number(d.From)
		}
		if of.now = 0; d.state().isTrusted() {
			of.now = number(d.Label)
		}
		judged[d.Node] = of
	}
	for _, of := range judged {
		switch {
		case of.before == 0 || of.now == 0:
		case of.now == of.before:
			right++
		default:
			wrong++
		}
	}
	return right, wrong, nil
}

package decide

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// mostVerdicts bounds how many verdicts are taken in: as many say all that verdicts can say.
const mostVerdicts = 1 << 16

// A Verdict is what a person has said of the label that a node was given: that it is right, or that the label which
// the node has now is. Now is kv.NoClass where it has none. Score is that of the node when it was decided on first, by Run;
// NaN and zero where it had none.
type Verdict struct {
	Node       kv.NodeID
	Given, Now kv.Class
	Score      float64
	Run        int64
}

// Verdicts returns what the decisions in force say of the labels before all decisions, ascending by node. Where a
// label was changed since by other means, or there was none, nothing is said.
func Verdicts(ctx context.Context, tx *kv.Tx, labels []kv.Class) ([]Verdict, error) {
	if _, ok := tx.Column(Column); !ok {
		return nil, nil
	}
	decisions, err := tx.Reader(Column)
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
		said, ok, err := verdictOn(tx, v, labels[v], 0, classes)
		if err != nil {
			return nil, err
		}
		if ok {
			verdicts = append(verdicts, said)
		}
		if len(verdicts) == mostVerdicts {
			break
		}
	}
	return verdicts, nil
}

// classNumbers are the numbers of classes by name.
func classNumbers(classes []string) map[string]kv.Class {
	numbers := make(map[string]kv.Class)
	for k, name := range classes {
		numbers[name] = kv.Class(k)
	}
	return numbers
}

// verdictOn is what the entries of a node after one say of the label that it had then. ok is false where they say nothing:
// there are none, or they were taken back, or they are unsure, or there was no label, or it was changed since by other means.
func verdictOn(
	tx *kv.Tx, v kv.NodeID, now kv.Class, after int64, classes map[string]kv.Class,
) (said Verdict, ok bool, err error) {
	var first, last *Decision
	for seq, err := range entriesOf(tx, v) {
		if err != nil {
			return said, false, err
		}
		if seq <= after {
			continue
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return said, false, err
		}
		if first == nil {
			first = &d.Decision
		}
		last = &d.Decision
	}
	if first == nil || last.After == None || last.After == Unsure {
		return said, false, nil
	}
	given, known := classes[first.From]
	to := kv.NoClass
	if last.To != "" {
		if to, ok = classes[last.To]; !ok {
			return said, false, nil
		}
	}
	return Verdict{Node: v, Given: given, Now: now, Score: first.Score, Run: first.Run}, known && to == now, nil
}

// VerdictsAfter calls visit for the nodes that were decided on after an entry, in the order of the history, with what the
// decisions say of the label from before them.
func VerdictsAfter(ctx context.Context, tx *kv.Tx, seq int64, visit func(Verdict) error) error {
	reader, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return err
	}
	seen, classes := make(map[kv.NodeID]bool), classNumbers(tx.Classes())
	for d, err := range historyRecords(ctx, tx, seq+1) {
		if err != nil {
			return err
		}
		if seen[d.Node] {
			continue
		}
		if seen[d.Node] = true; len(seen) > mostVerdicts {
			return nil
		}
		label, err := reader.At(d.Node)
		if err != nil {
			return fmt.Errorf("label of node number %d: %w", d.Node, err)
		}
		now := kv.NoClass
		if !label.IsNull() {
			now = classes[label.Str()]
		}
		said, ok, err := verdictOn(tx, d.Node, now, seq, classes)
		if err != nil {
			return err
		}
		if ok {
			if err := visit(said); err != nil {
				return err
			}
		}
	}
	return nil
}

// CountReversed counts the nodes that were decided on before the end of an entry, and whose decision is another now. It
// looks at the first nodes that were decided on since, as many as give verdicts.
func CountReversed(ctx context.Context, tx *kv.Tx, seq int64) (count int, err error) {
	type standing struct {
		decision Kind
		label    string
	}
	seen, now := make(map[kv.NodeID]standing), make(map[kv.NodeID]standing)
	for d, err := range historyRecords(ctx, tx, seq+1) {
		if err != nil {
			return 0, err
		}
		if _, ok := seen[d.Node]; !ok {
			if len(seen) == mostVerdicts {
				break
			}
			seen[d.Node] = standing{d.Before, d.From}
		}
		now[d.Node] = standing{d.After, d.To}
	}
	for v, was := range seen {
		if was.decision != None && was.decision != Unsure && was != now[v] {
			count++
		}
	}
	return count, nil
}

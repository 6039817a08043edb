package cleaner

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A runCounter counts what a run says of its scores: how many they are, suspects, and means by given label.
type runCounter struct {
	run      *Run
	facts    suspectFacts
	class    []kv.Class // of the run, by that of the store; NoClass: the run does not know it
	scored   int64
	suspects []kv.NodeID
	sums     *labelMeans
}

// newRunCounter begins to count by the threshold of a run.
func newRunCounter(tx *kv.Tx, run *Run) (c *runCounter, err error) {
	c = &runCounter{run: run, sums: newLabelMeans(len(run.Classes))}
	for _, name := range tx.Classes() {
		c.class = append(c.class, kv.Class(slices.Index(run.Classes, name)))
	}
	c.facts, err = readSuspectFacts(tx)
	return c, err
}

// add counts a node that has a score.
func (c *runCounter) add(v kv.NodeID, label kv.Class, score float64) error {
	if label != kv.NoClass && c.class[label] != kv.NoClass {
		c.sums.add(c.class[label], score)
	}
	c.scored++
	is, err := c.facts.isSuspect(c.run.Threshold, v, kv.ValueOf(score))
	if is {
		c.suspects = append(c.suspects, v)
	}
	return err
}

// finish notes the counts in the run.
func (c *runCounter) finish(ctx context.Context, tx *kv.Tx) error {
	last, err := lastFit(tx)
	if err != nil {
		return err
	}
	p, err := last.problem(tx)
	if err != nil {
		return err
	}
	if err := c.run.countSuspects(ctx, &p, c.suspects); err != nil {
		return err
	}
	c.run.Scored, c.run.Uncounted = c.scored, false
	c.run.meanScores, c.run.labelCounts = c.sums.means()
	return nil
}

// eachStored goes through the nodes that have a score, with their labels.
func eachStored(ctx context.Context, tx *kv.Tx, do func(v kv.NodeID, label kv.Class, score float64) error) error {
	column, err := tx.Reader(ScoreColumn)
	if err != nil {
		return err
	}
	var labels []kv.Class
	for rows := (kv.Range{}); int(rows.End) < tx.NumNodes(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := column.Block(rows.End)
		if err != nil {
			return err
		}
		rows = block.Nodes
		labels = slices.Grow(labels[:0], rows.Len())[:rows.Len()]
		if err := tx.ReadClasses(kv.LabelColumn, rows, labels); err != nil {
			return err
		}
		for i, score := range block.Floats {
			if score != score { // NaN: it has none
				continue
			}
			if err := do(rows.First+kv.NodeID(i), labels[i], score); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recount counts anew what the last run says of its scores, as they are stored, if it is Uncounted. It reads all
// scores.
func (r *Run) Recount(ctx context.Context, tx *kv.Tx) error {
	if !r.Uncounted {
		return nil
	}
	c, err := newRunCounter(tx, r)
	if err != nil {
		return err
	}
	if err := eachStored(ctx, tx, c.add); err != nil {
		return err
	}
	return c.finish(ctx, tx)
}

package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
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

// An Outdated says why the scores of the last run may not fit the store any more, a text for each reason.
type Outdated struct {
	Changes []string // which Rescore takes in, such as "edges of 3 nodes changed"
	Misfits []string // for which only Clean fits again, such as "predictions were written after run 3 began"
}

// ChangesSince compares the store with the last run, and what it has seen up to the last Rescore. A decision does not
// make scores outdated here, because decided labels are not looked at again, unless it replaces a decision that the run
// used as truth. Of a run that was made elsewhere it has no Changes, since Rescore cannot take them in.
func ChangesSince(ctx context.Context, tx *kv.Tx, run *Run) (o Outdated, err error) {
	writes, err := predictionWrites(tx)
	if err != nil {
		return o, err
	}
	_, err = tx.Matrix(PredictionsMatrix)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		o.Misfits = append(o.Misfits, fmt.Sprintf("the predictions of run %d are no longer there", run.ID))
	case err != nil:
		return o, err
	case writes != run.PredictionWrites:
		o.Misfits = append(o.Misfits, fmt.Sprintf("predictions were written after run %d began", run.ID))
	}
	if run.Commit != 0 { // as in CountStale
		if o.Changes, err = changeTexts(ctx, tx, run, writes); err != nil {
			return o, err
		}
	}
	if run.Model == nil { // it trusted no decision
		return o, nil
	}
	reversals, err := decide.Reversals(ctx, tx, run.Decisions)
	if err == nil && reversals > 0 {
		o.Misfits = append(o.Misfits, fmt.Sprintf("decisions that run %d trusted no longer hold: %d", run.ID, reversals))
	}
	return o, err
}

func changeTexts(ctx context.Context, tx *kv.Tx, run *Run, predictionWrites int64) (texts []string, err error) {
	if nodes := int64(tx.Shape().Present); nodes != run.Nodes {
		texts = append(texts, fmt.Sprintf("there are %d nodes, run %d saw %d", nodes, run.ID, run.Nodes))
	}
	changes, err := tx.ChangesSince(run.Commit)
	if errors.Is(err, kv.ErrNotTracked) {
		if edges := tx.Shape().Edges; edges != run.Edges {
			texts = append(texts, fmt.Sprintf("there are %d edges, run %d saw %d", edges, run.ID, run.Edges))
		}
		return texts, nil
	}
	if err != nil {
		return nil, err
	}
	touched := touchedSince(changes)
	decided, err := decide.NodesAfter(ctx, tx, run.seen())
	if err != nil {
		return nil, err
	}
	for i, kind := range []string{"edges", "labels without a decision", "predictions"} { // in the order of touched
		count := 0
		for v := range touched[i].Nodes() {
			if _, ok := decided[v]; !ok || i != 1 {
				count++
			}
		}
		switch {
		case i == 2 && predictionWrites != run.PredictionWrites: // Misfits has it
		case touched[i].All:
			texts = append(texts, kind+" changed")
		case count > 0:
			texts = append(texts, fmt.Sprintf("%s of %s changed", kind, plural(count, "node")))
		}
	}
	return texts, nil
}

// CountStale counts the nodes around everything that changed since the scores of a run, as LastRun returns it, were
// up to date: their scores are older than that, and Rescore brings them up to date. If there are more than most, or the
// store does not know, the count is -1. Of a run that was made elsewhere it is zero: it has seen no commit of this
// store, and nothing brings its scores up to date.
func CountStale(ctx context.Context, tx *kv.Tx, run *Run, most int) (int, error) {
	if run.Commit == 0 {
		return 0, nil
	}
	nodes, all, err := staleNodes(ctx, tx, run, most)
	if all || errors.Is(err, ops.ErrReach) {
		return -1, nil
	}
	return len(nodes), err
}

// To walk around one node, and look up all that is found, costs as much a step as a pass over the graph costs for some
// of its arcs. A pass costs as much as some steps before it begins.
const (
	stepsOfPass = 4
	leastSteps  = 1 << 18
)

// walkableSteps is how many arcs may be walked before a pass over the graph costs less.
func walkableSteps(tx *kv.Tx) int64 { return max(tx.Shape().Arcs/stepsOfPass, leastSteps) }

// stepsAround is how many arcs may be walked before a pass costs less, within the memory for the entries that come of
// them.
func stepsAround(tx *kv.Tx, opt ops.Options) *atomic.Int64 {
	steps := ballSteps(opt)
	steps.Store(min(steps.Load(), walkableSteps(tx)))
	return steps
}

// stepsOfRow is how many steps it costs to look up the features of a node.
const stepsOfRow = 64

// nodeLabels reads the labels of nodes as they are asked for.
type nodeLabels struct {
	tx  *kv.Tx
	all []kv.Class // [n], once so many were asked for that it pays
}

// readAll is the share of the nodes, as a divisor, from which on all labels are read at once; for fewer than leastAsked
// they never are.
const (
	readAll    = 64
	leastAsked = 16
)

// of is the label of a node, one of so many that are asked for.
func (l *nodeLabels) of(u kv.NodeID, asked int) (kv.Class, error) {
	if l.all == nil && asked > max(leastAsked, l.tx.NumNodes()/readAll) {
		var err error
		if l.all, err = readLabels(l.tx); err != nil {
			return kv.NoClass, err
		}
	}
	if l.all != nil {
		return l.all[u], nil
	}
	return l.tx.Label(u)
}

// passOver scores all nodes that have predictions in one pass over the graph. Others are walked around, whatever that
// costs. Arrays of its own are temporary ones, since a transaction that writes cannot wait for the workplace of the
// store: whoever has that may wait for it.
func (s *scorer) passOver() error {
	p, err := s.run.problem(s.tx)
	if err != nil {
		return err
	}
	if p.place, err = workplace.Reading(s.tx); err != nil {
		return err
	}
	if p.tested, err = testedLabels(s.ctx, &p, s.opt.Workers); err != nil {
		return err
	}
	s.passed, err = p.score(s.ctx, s.run.options(RescoreOptions{
		Workers: s.opt.Workers, MemoryBudget: s.opt.MemoryBudget, Progress: s.opt.Progress, OnStage: s.opt.OnStage,
	}), s.run.Model)
	return err
}

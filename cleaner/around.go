package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// touchedSince are the nodes whose edges changed, and those with another label and other predictions: on these scores
// depend.
func touchedSince(changes *kv.Changes) []*kv.Touched {
	return []*kv.Touched{changes.Edges(), changes.Column(kv.LabelColumn), changes.Matrix(PredictionsMatrix)}
}

// staleNodes are the nodes around everything that changed since the scores of the run were up to date, ascending,
// whatever the direction of the arcs: an end of an edge, a node with another label or prediction, one that was added,
// and all within the reach of the run. isChanged says that something has changed, also if it was removed. If the nodes
// are more than most, or the store does not know what changed, the error is ErrReach.
func (r *Run) staleNodes(ctx context.Context, tx *kv.Tx, most int) (nodes []kv.NodeID, isChanged bool, err error) {
	tooMany := fmt.Errorf("more than %d nodes are around the changes: %w", most, ops.ErrReach)
	changes, err := tx.ChangesSince(r.Commit)
	if errors.Is(err, kv.ErrNotTracked) {
		return nil, true, tooMany
	}
	if err != nil {
		return nil, false, err
	}
	removed, err := tx.Removed() // those that they were joined to have lost an edge
	if err != nil {
		return nil, false, err
	}
	seen, n := map[kv.NodeID]struct{}{}, tx.NumNodes()
	mostWithRemoved := most + n - tx.Shape().Present
	for _, t := range touchedSince(changes) {
		if t.All || t.Count() > mostWithRemoved || n-changes.NumNodes > mostWithRemoved {
			return nil, true, tooMany
		}
		for v := range t.Nodes() {
			seen[v] = struct{}{}
		}
	}
	for v := changes.NumNodes; v < n; v++ {
		seen[kv.NodeID(v)] = struct{}{}
	}
	isChanged = len(seen) > 0
	maps.DeleteFunc(seen, func(v kv.NodeID, _ struct{}) bool { return removed.Has(v) })
	level := slices.Sorted(maps.Keys(seen))
	for range r.reach() {
		var next []kv.NodeID
		for i, v := range level {
			if i%lookEvery == 0 && ctx.Err() != nil {
				return nil, true, ctx.Err()
			}
			for u, err := range tx.Neighbors(v) {
				if err != nil {
					return nil, true, err
				}
				if _, ok := seen[u]; !ok {
					seen[u], next = struct{}{}, append(next, u)
				}
				if len(seen) > most {
					return nil, true, tooMany
				}
			}
		}
		level = next
	}
	if len(seen) > most {
		return nil, true, tooMany
	}
	return slices.Sorted(maps.Keys(seen)), isChanged, nil
}

// lookEvery is how many nodes are looked at between two looks at the context.
const lookEvery = 512

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
	changes, err := decide.ChangesAfter(ctx, tx, run.Decisions)
	reversals := 0
	for _, c := range changes {
		if c.Was.IsTrusted() && c.Was != c.Is {
			reversals++
		}
	}
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
		return append(texts, fmt.Sprintf("it is not known what changed since run %d", run.ID)), nil
	}
	if err != nil {
		return nil, err
	}
	touched := touchedSince(changes)
	decided, err := decide.ChangesAfter(ctx, tx, run.seen())
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
	nodes, _, err := run.staleNodes(ctx, tx, most)
	if errors.Is(err, ops.ErrReach) {
		return -1, nil
	}
	return len(nodes), err
}

// surroundings are what the nodes around one node say of each of c classes.
type surroundings struct {
	own    []float32   // the predictions of the node [c]
	labels [][]float64 // (S_k Y)[v] by hop [K][c]; nil of a hop: not looked at
}

// features writes the agreement features of the node with a class as its label: P0, L1 … LK.
func (s *surroundings) features(class kv.Class, z []float32) []float32 {
	clear(z)
	z[0] = s.own[class]
	for k, labels := range s.labels {
		if labels != nil {
			z[1+k] = float32(labels[class])
		}
	}
	return z
}

// nodeLabels reads the labels of nodes as they are asked for, and adds them up.
type nodeLabels struct {
	tx      *kv.Tx
	classes int                             // a label of another class is none
	knows   func(u kv.NodeID) (bool, error) // whether the label of a node counts; nil: all do
	all     []kv.Class                      // [n], once so many were asked for that it pays
}

// readAll is the share of the nodes, as a divisor, from which on all labels are read at once; for fewer than leastAsked
// they never are.
const (
	readAll    = 64
	leastAsked = 16
)

// sums adds up the labels of the nodes of each row by their weights [rows][classes].
func (l *nodeLabels) sums(rows []ops.Row) ([][]float64, error) {
	sums := make([][]float64, len(rows))
	for k, row := range rows {
		if l.all == nil && len(row.Nodes) > max(leastAsked, l.tx.NumNodes()/readAll) {
			var err error
			if l.all, err = readLabels(l.tx); err != nil {
				return nil, err
			}
		}
		sums[k] = make([]float64, l.classes)
		for i, u := range row.Nodes {
			label, err := l.of(u)
			if err == nil && label != kv.NoClass {
				sums[k][label] += row.Values[i]
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return sums, nil
}

// of is the label of a node that counts, or NoClass.
func (l *nodeLabels) of(u kv.NodeID) (label kv.Class, err error) {
	if l.all != nil {
		label = l.all[u]
	} else if label, err = l.tx.Label(u); err != nil {
		return kv.NoClass, err
	}
	if !isClass(label, l.classes) {
		return kv.NoClass, nil
	}
	if l.knows != nil {
		if ok, err := l.knows(u); err != nil || !ok {
			return kv.NoClass, err
		}
	}
	return label, nil
}

// votes are the labels of the neighbours of a node, by the weights of the edges, and how many they are [classes]. Its
// memory does not grow with the neighbours.
func (l *nodeLabels) votes(ctx context.Context, v kv.NodeID) (weights []float64, nodes []int64, err error) {
	weights, nodes = make([]float64, l.classes), make([]int64, l.classes)
	graph, steps := l.tx.Undirected(), 0
	for arc, err := range graph.Arcs(v) {
		if steps++; err == nil && steps%lookEvery == 0 {
			err = ctx.Err()
		}
		label, weight := kv.NoClass, graph.Weight(arc)
		if err == nil && weight != 0 {
			label, err = l.of(arc.Neighbor)
		}
		if err != nil {
			return nil, nil, err
		}
		if label != kv.NoClass {
			weights[label] += float64(weight)
			nodes[label]++
		}
	}
	return weights, nodes, nil
}

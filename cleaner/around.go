package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
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
	nodes, _, err := run.staleNodes(ctx, tx, most)
	if errors.Is(err, ops.ErrReach) {
		return -1, nil
	}
	return len(nodes), err
}

// surroundings are what the nodes around one node say of each of c classes. The agreement features of the node, with a
// class as its label, are the numbers of that class.
type surroundings struct {
	own         []float32   // the predictions of the node [c]: P0
	predictions [][]float64 // (S_k P)[v] by hop [K][c]; nil: not looked at
	labels      [][]float64 // (S_k Y)[v] by hop [K][c]; nil of a hop: not looked at
}

// features are all agreement features of a class: P0 … PK, L1 … LK.
func (s *surroundings) features(class kv.Class) []float32 {
	z := []float32{s.own[class]}
	for _, sums := range slices.Concat(s.predictions, s.labels) {
		z = append(z, float32(sums[class]))
	}
	return z
}

// sumRows adds up the rows of a matrix by the weights of a row, and shows each to visit.
func sumRows(
	ctx context.Context, matrix ops.Source, row ops.Row, visit func(u kv.NodeID, weight float64, values []float32) error,
) ([]float64, error) {
	sums, at := make([]float64, matrix.Width()), 0
	return sums, rowstore.EachOf(ctx, matrix, row.Nodes, func(u kv.NodeID, values []float32) error {
		weight := row.Values[at]
		at++
		for j, x := range values {
			sums[j] += float64(weight * float64(x))
		}
		return visit(u, weight, values)
	})
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

// isMany says whether so many nodes are asked for that it pays to read the labels between them too.
func (l *nodeLabels) isMany(nodes int) bool { return nodes > max(leastAsked, l.tx.NumNodes()/readAll) }

// sum adds up the labels of the nodes of a row by their weights, and counts the nodes [classes].
func (l *nodeLabels) sum(row ops.Row) (weights []float64, nodes []int64, err error) {
	if l.all == nil && l.isMany(len(row.Nodes)) {
		if l.all, err = readLabels(l.tx); err != nil {
			return nil, nil, err
		}
	}
	weights, nodes = make([]float64, l.classes), make([]int64, l.classes)
	for i, u := range row.Nodes {
		label, err := l.of(u)
		if err == nil {
			err = l.add(u, label, row.Values[i], weights, nodes)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return weights, nodes, nil
}

// of is the label of a node.
func (l *nodeLabels) of(u kv.NodeID) (kv.Class, error) {
	if l.all != nil {
		return l.all[u], nil
	}
	return l.tx.Label(u)
}

// add adds the label of a node with a weight.
func (l *nodeLabels) add(u kv.NodeID, label kv.Class, weight float64, weights []float64, nodes []int64) error {
	if !isClass(label, l.classes) {
		return nil
	}
	if l.knows != nil {
		if ok, err := l.knows(u); err != nil || !ok {
			return err
		}
	}
	weights[label] += weight
	nodes[label]++
	return nil
}

// readForVotes is how many labels are read at once around a node with many neighbours.
const readForVotes = 1 << 14

// votes are the labels of the neighbours of a node, by the weights of the edges, and how many they are [classes]. Its
// memory does not grow with the neighbours.
func (l *nodeLabels) votes(ctx context.Context, v kv.NodeID) (weights []float64, nodes []int64, err error) {
	degree, err := l.tx.Degree(v)
	if err != nil {
		return nil, nil, err
	}
	weights, nodes = make([]float64, l.classes), make([]int64, l.classes)
	of := l.of
	if l.all == nil && l.isMany(degree) {
		of = l.ascending()
	}
	graph, steps := l.tx.Undirected(), 0
	for arc, err := range graph.Arcs(v) {
		if steps++; err == nil && steps%lookEvery == 0 {
			err = ctx.Err()
		}
		if weight := graph.Weight(arc); err == nil && weight != 0 {
			var label kv.Class
			if label, err = of(arc.Neighbor); err == nil {
				err = l.add(arc.Neighbor, label, float64(weight), weights, nodes)
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return weights, nodes, nil
}

// ascending is of for nodes that are asked for in ascending order.
func (l *nodeLabels) ascending() func(u kv.NodeID) (kv.Class, error) {
	var read kv.Range
	labels := make([]kv.Class, min(readForVotes, l.tx.NumNodes()))
	return func(u kv.NodeID) (kv.Class, error) {
		if u >= read.End {
			read = kv.Range{First: u, End: u + min(kv.NodeID(len(labels)), kv.NodeID(l.tx.NumNodes())-u)}
			if err := l.tx.ReadClasses(kv.LabelColumn, read, labels[:read.End-read.First]); err != nil {
				return kv.NoClass, err
			}
		}
		return labels[u-read.First], nil
	}
}

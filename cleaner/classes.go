package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// LowHomophily is the adjusted homophily, of either sign, below which neighbours add little to the predictions. It was
// measured on planted partitions with four classes, 1500 nodes, 6000 edges and a tenth of wrong labels:
//
//	adjusted homophily   0.68  0.44  0.25  0.14  0
//	average precision    1.00  0.94  0.76  0.56  0.43
//
// With predictions alone the average precision is 0.43.
const LowHomophily = 0.2

// LabelStatistics says how the labels of a store lie in its graph and the last run's results for them.
type LabelStatistics struct {
	Classes []ClassStatistics // by kv.Class
	Labels  int64             // nodes

	// Homophily is the share of neighbours with the same label, of all pairs of neighbours that are both labelled.
	// ChanceHomophily is the expected homophily of random labels, if each class keeps its sum D_k of degrees.
	// AdjustedHomophily is zero if both are the same, and 1 if all neighbours agree:
	//
	//	chance = Σ_k (D_k / Σ D)²    adjusted = (homophily − chance) / (1 − chance)
	//
	// All are NaN if no labelled nodes are neighbours. AdjustedHomophily is also NaN if there is only one class.
	Homophily, ChanceHomophily, AdjustedHomophily float64

	// Run is the run that the suspects and rates are from; zero if there was none.
	Run int64
}

// ClassStatistics are the statistics of one class. A missing number is NaN.
type ClassStatistics struct {
	Class          string
	Nodes          int64   // given the class
	Homophily      float64 // share of the labelled neighbours of its nodes that have the same label
	SelfConfidence float64 // mean predicted probability of the class, over its nodes that have predictions
	Suspects       int64   // number of its suspects at the threshold of the last run; see Suspects
	MislabelRate   float64 // share of wrong labels, as the last run estimates
}

// Warning returns a warning if neighbours agree about as often as by chance, because the method does not suit such
// labels. Otherwise it is empty.
func (s *LabelStatistics) Warning() string {
	if !(math.Abs(s.AdjustedHomophily) < LowHomophily) { // also if it is NaN
		return ""
	}
	return fmt.Sprintf("low homophily: %.3g of labelled neighbours agree, %.3g would by chance (adjusted homophily "+
		"%.3g, want %.3g or more, or %.3g or less): neighbours say less of a label here, and scores are less reliable",
		s.Homophily, s.ChanceHomophily, s.AdjustedHomophily, LowHomophily, -LowHomophily)
}

// Statistics reads labels, adjacency, predictions and scores once each. Neighbours are those along either direction,
// each counted once. It holds four bytes a node.
func Statistics(ctx context.Context, tx *kv.Tx) (*LabelStatistics, error) {
	labels, err := readLabels(tx)
	if err != nil {
		return nil, err
	}
	s := &LabelStatistics{Classes: make([]ClassStatistics, len(tx.Classes()))}
	for k, name := range tx.Classes() {
		s.Classes[k] = ClassStatistics{Class: name, SelfConfidence: math.NaN(), MislabelRate: math.NaN()}
	}
	for _, y := range labels {
		if y != kv.NoClass {
			s.Classes[y].Nodes++
			s.Labels++
		}
	}
	neighbors, err := countNeighbors(ctx, tx, labels, len(s.Classes), 1)
	if err != nil {
		return nil, err
	}
	s.setHomophily(neighbors.Agreeing, neighbors.All)
	if err := s.measureConfidence(ctx, tx, labels); err != nil {
		return nil, err
	}
	return s, s.measureRun(ctx, tx, labels)
}

// setHomophily computes homophily from the labelled neighbours of the nodes of each class [c], and those that agree.
func (s *LabelStatistics) setHomophily(agreeing, neighbors []int64) {
	var same, all float64
	for k := range s.Classes {
		same += float64(agreeing[k])
		all += float64(neighbors[k])
		s.Classes[k].Homophily = float64(agreeing[k]) / float64(neighbors[k]) // 0/0 is NaN
	}
	chance := 0.0
	for k := range s.Classes {
		share := float64(neighbors[k]) / all
		chance += float64(share * share)
	}
	s.Homophily, s.ChanceHomophily = same/all, chance
	s.AdjustedHomophily = (s.Homophily - chance) / (1 - chance)
	if chance == 1 {
		s.AdjustedHomophily = math.NaN()
	}
}

func (s *LabelStatistics) measureConfidence(ctx context.Context, tx *kv.Tx, labels []kv.Class) error {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	sums, nodes := make([]float64, len(s.Classes)), make([]float64, len(s.Classes))
	err = rowstore.EachRow(ctx, inClassOrder(tx, matrix), len(labels), 1, func(v kv.NodeID, row []float32) error {
		if y := labels[v]; y != kv.NoClass && !hasNaN(row) {
			sums[y] += float64(row[y])
			nodes[y]++
		}
		return nil
	})
	for k := range s.Classes {
		s.Classes[k].SelfConfidence = sums[k] / nodes[k] // 0/0 is NaN
	}
	return err
}

// measureRun counts suspects, and reads the last run's estimates.
func (s *LabelStatistics) measureRun(ctx context.Context, tx *kv.Tx, labels []kv.Class) error {
	run, err := LastRun(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Run = run.ID
	for k, rate := range run.ClassMislabelRates() {
		s.Classes[k].MislabelRate = rate
	}
	suspects, err := nodesWhere(ctx, tx, Suspects(run.Threshold))
	if err != nil {
		return err
	}
	for v := range suspects.All() {
		s.Classes[labels[v]].Suspects++
	}
	return nil
}

// NeighborCounts count labelled neighbours of labelled nodes. They can be kept as JSON.
type NeighborCounts struct {
	Agreeing []int64 // neighbours with the label of the node, by it [c]
	All      []int64 // labelled neighbours by the label of the node [c]
}

// NewNeighborCounts are those of no nodes.
func NewNeighborCounts(classes int) *NeighborCounts {
	return &NeighborCounts{Agreeing: make([]int64, classes), All: make([]int64, classes)}
}

// Add counts the neighbours of a node: neighbors [c] are their numbers by label, whatever their weights. A node without
// a label adds nothing.
func (n *NeighborCounts) Add(label kv.Class, neighbors []float64) {
	if label == kv.NoClass {
		return
	}
	for _, count := range neighbors {
		n.All[label] += int64(count)
	}
	n.Agreeing[label] += int64(neighbors[label])
}

// homophily are statistics of the labels, of which nothing else is known.
func (n *NeighborCounts) homophily() *LabelStatistics {
	s := &LabelStatistics{Classes: make([]ClassStatistics, len(n.All))}
	s.setHomophily(n.Agreeing, n.All)
	return s
}

// mostHeardClasses is how many classes there are at most where neighbours can disagree.
const mostHeardClasses = 256

// disagree says whether neighbours do: whether the adjusted homophily is below LowHomophily, and not NaN.
func (n *NeighborCounts) disagree() bool {
	return len(n.All) <= mostHeardClasses && n.homophily().AdjustedHomophily < LowHomophily
}

// countNeighbors counts the neighbours in a graph.
func countNeighbors(
	ctx context.Context, graph ops.Graph, labels []kv.Class, classes, workers int,
) (*NeighborCounts, error) {
	blocks, err := graph.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	counts := make([]*NeighborCounts, parallel.Workers(workers))
	for i := range counts {
		counts[i] = NewNeighborCounts(classes)
	}
	read := make([]kv.Adjacency, len(counts))
	err = parallel.Do(ctx, len(counts), len(blocks), func(_ context.Context, worker, b int) error {
		count, lists := counts[worker], &read[worker]
		if err := graph.ReadAdjacency(blocks[b], lists); err != nil {
			return err
		}
		for v := blocks[b].First; v < blocks[b].End; v++ {
			y := labels[v]
			if y == kv.NoClass {
				continue
			}
			i := v - lists.First
			for _, u := range lists.Neighbors[lists.Offsets[i]:lists.Offsets[i+1]] {
				if labels[u] != kv.NoClass {
					count.All[y]++
				}
				if labels[u] == y {
					count.Agreeing[y]++
				}
			}
		}
		return nil
	})
	for _, more := range counts[1:] {
		for k := range classes {
			counts[0].All[k] += more.All[k]
			counts[0].Agreeing[k] += more.Agreeing[k]
		}
	}
	return counts[0], err
}

// countNeighbors counts the neighbours in the graph, unless that was done before.
func (p *problem) countNeighbors(ctx context.Context, workers int) (err error) {
	if p.neighbors == nil {
		p.neighbors, err = countNeighbors(ctx, p.graph, p.labels, p.classes, workers)
	}
	return err
}

// Bounds of tellOrder. Measured with predictions out of fold, of two classifiers on clean labels and of one on labels
// of which 30% are wrong: their kappa was .047 to .90 on five real graphs, 0 on one that they cannot predict, and at
// most .037 once rows were shuffled 20 times. No classes took one another's place, but did in 170 of 170 pairs that
// were exchanged on the four graphs whose predictions agree with more than half of the labels.
const (
	leastKappa   = 0.05
	mostCompared = 1 << 16 // labels
	leastSwapped = 5       // labels of a class
	mostNamed    = 4       // classes of a warning
)

// tellOrder says that predictions from outside agree with the labels hardly more often than by chance, or would agree
// if classes changed places: their rows or columns may have another order than the nodes or the classes. It is empty if
// nothing speaks for that. It compares labels from all over the graph.
func (p *problem) tellOrder(ctx context.Context) (string, error) {
	var compared, agreeing, byChance float64
	labelled, predicted := make([]float64, p.classes), make([]float64, p.classes)
	counts := map[[2]kv.Class]int{} // by label and likeliest class
	step := rowstore.AtOnce(p.classes)
	rows := make([]float32, step*p.classes)
	for first := 0; first < len(p.labels); first += step * max(1, len(p.labels)/mostCompared) {
		labels := p.labels[first:min(first+step, len(p.labels))]
		block := rows[:len(labels)*p.classes]
		at := kv.Range{First: kv.NodeID(first), End: kv.NodeID(first + len(labels))}
		if err := errors.Join(ctx.Err(), p.predictions.Read(at, 0, p.classes, block)); err != nil {
			return "", err
		}
		for i, y := range labels {
			class, chance, _ := largest(block[i*p.classes:][:p.classes])
			if y == kv.NoClass || !(chance > 0) { // no label, or a row of NaN or of zeros
				continue
			}
			compared, labelled[y], predicted[class] = compared+1, labelled[y]+1, predicted[class]+1
			counts[[2]kv.Class{y, class}]++
			if y == class {
				agreeing++
			}
		}
	}
	if compared == 0 {
		return "", nil
	}
	if swapped := swappedClasses(counts, p.names); swapped != "" {
		return swapped, nil
	}
	for k := range labelled {
		byChance += labelled[k] * predicted[k] / compared
	}
	if kappa := (agreeing - byChance) / (compared - byChance); kappa >= leastKappa || agreeing == compared {
		return "", nil
	}
	return fmt.Sprintf("Your predictions agree with %.0f%% of the labels, and would with %.0f%% by chance: are their "+
		"rows in the order of the nodes, and their columns in the order of the classes?", 100*agreeing/compared,
		100*byChance/compared), nil
}

// swappedClasses names the first classes that are predicted for one another's labels. Class b takes the place of class
// a if more nodes labelled a are predicted as b than as a.
func swappedClasses(counts map[[2]kv.Class]int, names []string) string {
	usual := make([]kv.Class, len(names))
	for y := range usual {
		usual[y] = kv.Class(y)
	}
	own := func(y kv.Class) int { return counts[[2]kv.Class{y, y}] }
	for pair, count := range counts {
		y, class := pair[0], pair[1]
		if count < leastSwapped || count <= own(y) {
			continue
		}
		if most := counts[[2]kv.Class{y, usual[y]}]; usual[y] == y || count > most || count == most && class < usual[y] {
			usual[y] = class
		}
	}
	for first := range usual {
		var told []string
		for y := first; len(told) <= len(usual) && usual[y] != kv.Class(y); y = int(usual[y]) {
			told = append(told, fmt.Sprintf("%q for most labels %q", names[usual[y]], names[y]))
			if usual[y] == kv.Class(first) {
				if more := len(told) - mostNamed; more > 0 {
					told = append(told[:mostNamed], fmt.Sprintf("and so on for %d more", more))
				}
				return "Your predictions have " + strings.Join(told, ", ") + ": are their columns in the order of the classes?"
			}
		}
	}
	return ""
}

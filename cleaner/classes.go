package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// LowHomophily is the adjusted homophily, of either sign, below which neighbours add little to the predictions. It was
// measured on planted partitions with four classes, 1500 nodes, 6000 edges and a tenth of wrong labels:
//
//	adjusted homophily   0.68  0.44  0.25  0.14  0
//	average precision    1.00  0.94  0.76  0.56  0.43
//
// With predictions alone the average precision is 0.43.
const LowHomophily = 0.2

// LabelStatistics says how the labels of a store lie in its graph and what the last run made of them.
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

	// NoConfidence says why no class has a SelfConfidence although the store has predictions.
	NoConfidence string
}

// ClassStatistics are the statistics of one class. A missing number is NaN.
type ClassStatistics struct {
	Class          string
	Nodes          int64   // given the class
	Homophily      float64 // share of the labelled neighbours of its nodes that have the same label
	SelfConfidence float64 // mean predicted probability of the class, over its nodes
	Suspects       int64   // number of its suspects at the threshold of the last run; see Suspects
	MislabelRate   float64 // share of wrong labels, as the last run estimates
}

// Warning returns a warning if neighbours agree about as often as by chance, because the method does not suit such
// labels. Otherwise it is empty.
func (s *LabelStatistics) Warning() string {
	if !(math.Abs(s.AdjustedHomophily) < LowHomophily) { // also if it is NaN
		return ""
	}
	return fmt.Sprintf("low homophily: %.3g of labelled neighbours agree, %.3g would by chance (adjusted homophily %.3g, want %.3g "+
		"or more, or %.3g or less): neighbours say less of a label here, and scores are less reliable",
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
	predictions, err := Predictions(tx)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return nil
	case errors.Is(err, ErrMissingRows):
		s.NoConfidence = err.Error()
		return nil
	case err != nil:
		return err
	}
	c, sums := predictions.Width(), make([]float64, len(s.Classes))
	step := rowstore.AtOnce(c)
	values := make([]float32, min(step, len(labels))*c)
	for first := 0; first < len(labels); first += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, len(labels)))}
		if err := predictions.Read(rows, 0, c, values[:rows.Len()*c]); err != nil {
			return err
		}
		for i, y := range labels[rows.First:rows.End] {
			if y != kv.NoClass {
				sums[y] += float64(values[i*c+int(y)])
			}
		}
	}
	for k := range s.Classes {
		s.Classes[k].SelfConfidence = sums[k] / float64(s.Classes[k].Nodes) // 0/0 is NaN
	}
	return nil
}

// measureRun counts suspects, and reads what the last run estimates.
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
	plan, err := index.NewPlan(tx, index.Query{Where: Suspects(run.Threshold), Limit: -1})
	if err != nil {
		return err
	}
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return err
		}
		s.Classes[labels[v]].Suspects++
	}
	return nil
}

// ClassMislabelRates estimates the share r_k of wrong labels among those of each class k, in the order of Classes; NaN
// for a class without nodes. Their mean, weighted by the sizes of the classes, is MislabelRate p:
//
//	Σ_k n_k r_k / Σ_k n_k = p
//
// With the label model n_k is the number of nodes with this label, and r_k = min(1, λ m_k), with m_k the mean of their
// scores. The mean of all scores is not exactly p; one factor λ for all classes makes it p. With preset paper the
// fitting nodes alone count: n_k = Σ_j Q[k][j] and r_k = 1 − Q[k][k] / n_k of the joint distribution. Of a run that was
// made elsewhere all are NaN: the store does not have all scores. Use it for a run of LastRun.
func (r *Run) ClassMislabelRates() []float64 {
	if r.Elsewhere != nil {
		return slices.Repeat([]float64{math.NaN()}, len(r.Classes))
	}
	if r.joint == nil {
		return ratesOfMean(r.meanScores, r.labelCounts, r.MislabelRate)
	}
	rates, masses := make([]float64, r.joint.Classes), make([]float64, r.joint.Classes)
	for _, cell := range r.joint.Cells {
		masses[cell.Row] += cell.Value
	}
	for i, mass := range masses {
		rates[i] = 1 - r.joint.At(i, i)/mass // 0/0 is NaN
	}
	return rates
}

// leastMean is what a smaller mean of scores counts as in ratesOfMean, so that there is a factor for every rate.
const leastMean = 1e-12

// ratesOfMean are min(1, λ means_k), NaN if counts_k is zero, with the λ for which their mean by counts is rate, in
// [0,1]. Classes reach 1 in descending order of their means, so that λ is found by going through them once.
func ratesOfMean(means, counts []float64, rate float64) []float64 {
	rates := make([]float64, len(means))
	var order []int // of the classes with nodes, by descending mean
	var wrong float64
	for k, n := range counts {
		rates[k] = math.NaN()
		if n > 0 {
			order = append(order, k)
			rates[k] = max(means[k], leastMean)
			wrong += float64(rate * n)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rates[b], rates[a]) })
	masses := make([]float64, len(order)) // Σ counts·means from a class on
	var mass float64
	for i, k := range slices.Backward(order) {
		mass += float64(counts[k] * rates[k])
		masses[i] = mass
	}
	for i, k := range order {
		if rates[k]*wrong < masses[i] { // nor does a class after it reach 1
			for _, k := range order[i:] {
				rates[k] *= wrong / masses[i]
			}
			break
		}
		rates[k] = 1
		wrong = max(0, wrong-counts[k])
	}
	return rates
}

// meanScoresByLabel are the means of the scores by given label [c], NaN of a label that no node has, and the numbers of
// nodes with it [c].
func meanScoresByLabel(labels []kv.Class, scores []float32, classes int) (means, counts []float64) {
	m := newLabelMeans(classes)
	for v, y := range labels {
		if y != kv.NoClass {
			m.add(y, float64(scores[v]))
		}
	}
	return m.means()
}

// labelMeans are sums of scores, and numbers of nodes, by given label [c].
type labelMeans struct{ sums, counts []float64 }

func newLabelMeans(classes int) *labelMeans {
	return &labelMeans{make([]float64, classes), make([]float64, classes)}
}

func (m *labelMeans) add(label kv.Class, score float64) {
	m.sums[label] += score
	m.counts[label]++
}

// means turns the sums into means, NaN of a label that no node has.
func (m *labelMeans) means() (means, counts []float64) {
	for k := range m.sums {
		m.sums[k] /= m.counts[k] // 0/0 is NaN
	}
	return m.sums, m.counts
}

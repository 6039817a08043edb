package cleaner

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A HopVote is the support of the nodes at the end of walks of one length for one class. Weights are the entries of S_k.
// Labels and Predictions are the agreement features with this class as the label under test.
type HopVote struct {
	Hop         int // k, the length of the walks
	Class       string
	Nodes       int64   // given the class
	Labels      float64 // (S_k Y)[v][class]: the weight of these nodes
	Predictions float64 // (S_k P)[v][class]: the weight of all nodes, times what they are predicted to be of the class
}

// An Opponent is a neighbour that speaks against a label y. w is its weight in S_1, and p its predicted probability of y.
// Against is w·(1−p), plus w if its label is not y.
type Opponent struct {
	Node       kv.NodeID
	ID         string
	Label      string  // "" if unlabelled
	Class      string  // the class of its largest prediction
	Confidence float64 // that prediction
	Prediction float64 // p
	Score      float64 // that its own label is wrong; NaN if there is none
	Weight     float64 // w
	Against    float64
}

// mostOpponents is how many opponents are listed.
const mostOpponents = 10

// A surrounding is what the nodes around one node say of it.
type surrounding struct {
	features  [][]float32 // agreement features with each class for its label [c][2K+1]
	labels    [][]int64   // nodes by hop and class that they are given [K][c]
	opponents []Opponent  // most against first, Node to Against but for ID and Score
}

// oppose takes a neighbour in among the opponents of a label. p are its predictions.
func (s *surrounding) oppose(tx *kv.Tx, u kv.NodeID, weight float64, class kv.Class, label kv.Value, p []float32) {
	names := tx.Classes()
	o := Opponent{Node: u, Label: label.Str(), Confidence: math.NaN(), Prediction: float64(p[class]), Weight: weight}
	if best, most, _ := largest(p); best != kv.NoClass { // NaN if the node has no predictions
		o.Class, o.Confidence = names[best], float64(most)
		o.Against = weight * (1 - o.Prediction)
	}
	if !label.IsNull() && label.Str() != names[class] {
		o.Against += weight
	}
	at, _ := slices.BinarySearchFunc(s.opponents, o, func(a, b Opponent) int {
		return cmp.Or(cmp.Compare(b.Against, a.Against), cmp.Compare(a.Node, b.Node))
	})
	if at < mostOpponents {
		s.opponents = slices.Insert(s.opponents, at, o)
		s.opponents = s.opponents[:min(len(s.opponents), mostOpponents)]
	}
}

// addNeighbors puts what the neighbours say into an explanation.
func (e *Explanation) addNeighbors(tx *kv.Tx, around *surrounding, hops int) (err error) {
	for k := range hops {
		first := len(e.Hops)
		for x, name := range tx.Classes() {
			vote := HopVote{
				Hop: k + 1, Class: name, Nodes: around.labels[k][x],
				Labels: float64(around.features[x][hops+k+1]), Predictions: float64(around.features[x][k+1]),
			}
			if vote.Nodes > 0 || vote.Predictions > 0 {
				e.Hops = append(e.Hops, vote)
			}
		}
		slices.SortStableFunc(e.Hops[first:], func(a, b HopVote) int {
			return cmp.Or(cmp.Compare(b.Labels, a.Labels), cmp.Compare(b.Predictions, a.Predictions))
		})
	}
	e.Opponents = around.opponents
	for i := range e.Opponents {
		o := &e.Opponents[i]
		if o.ID, err = tx.ID(o.Node); err != nil {
			return err
		}
		score, err := tx.Value(o.Node, ScoreColumn)
		if err != nil && !errors.Is(err, kv.ErrNoColumn) {
			return err
		}
		o.Score = score.Float()
	}
	return nil
}

package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// communities is a problem of c classes with hard predictions, as they are where a classifier says the class alone. One
// label in ten is wrong, two predictions in ten repeat the label and four say anything. Neighbours are of the same
// class.
func communities(seed uint64, n, c int) (p problem, truth []kv.Class) {
	r := rand.New(rand.NewPCG(seed, 0))
	p = problem{order: identityOrder(n), classes: c}
	values := make([]float32, n*c)
	var edges [][2]kv.NodeID
	for v := range n {
		k := r.IntN(c)
		if v < c {
			k = v
		}
		given, predicted := k, k
		if v >= c && r.IntN(10) == 0 {
			given = (k + 1 + r.IntN(c-1)) % c
		}
		switch u := r.IntN(10); {
		case v < c:
		case u < 2:
			predicted = given // it has learned the label
		case u < 6:
			predicted = r.IntN(c)
		}
		truth = append(truth, kv.Class(k))
		p.labels = append(p.labels, kv.Class(given))
		p.splits = append(p.splits, []Split{SplitTrain, SplitTrain, SplitValidation}[r.IntN(3)])
		values[v*c+predicted] = 1
		if v%17 == 3 { // torn between two
			values[v*c+predicted] = 0.5
			values[v*c+(predicted+c/2)%c] += 0.5
		}
		for range 6 {
			if u := r.IntN(v + 1); truth[u] == kv.Class(k) {
				edges = append(edges, [2]kv.NodeID{kv.NodeID(u), kv.NodeID(v)})
			}
		}
		for u := v - 1; u >= max(0, v-3*c); u-- {
			if truth[u] == kv.Class(k) {
				edges = append(edges, [2]kv.NodeID{kv.NodeID(u), kv.NodeID(v)})
			}
		}
	}
	for k := range c {
		p.names = append(p.names, fmt.Sprintf("class %d", k*7919%c))
	}
	p.graph, p.predictions = kvtest.NewMemoryGraph(n, edges), rowsSource{c, values}
	return p, truth
}

// permuted is the same problem with class k as class to[k].
func (p problem) permuted(t *testing.T, to []int) problem {
	t.Helper()
	n, c := len(p.labels), p.classes
	rows := make([]float32, n*c)
	must.Do(t, p.predictions.Read(kv.Range{End: kv.NodeID(n)}, 0, c, rows))
	q := p
	q.labels, q.names = slices.Clone(p.labels), slices.Clone(p.names)
	values := make([]float32, n*c)
	for v, y := range p.labels {
		if y != kv.NoClass {
			q.labels[v] = kv.Class(to[y])
		}
		for k := range c {
			values[v*c+to[k]] = rows[v*c+k]
		}
	}
	for k := range c {
		q.names[to[k]] = p.names[k]
	}
	q.predictions = rowsSource{c, values}
	return q
}

// result is the scores and suggestions of a problem.
func (p problem) result(t *testing.T) (scores []float32, suggested []kv.Class) {
	t.Helper()
	result := must.Get(p.score(context.Background(), Options{Hops: 2}, nil))(t)
	scores = slices.Clone(result.scores.Data)
	suggested = slices.Clone(result.suggested.Data)
	must.Do(t, result.Close())
	return scores, suggested
}

// TestNeighborsAreHeard: of 40 classes, hard predictions say one; the class of all neighbours is tested nevertheless.
func TestNeighborsAreHeard(t *testing.T) {
	p, truth := communities(3, 2400, 40)
	scores, _ := p.result(t)
	row := make([]float32, p.classes)
	learned, found := 0, 0
	var rightLabels, sum float64
	for v, y := range p.labels {
		if y == truth[v] {
			rightLabels, sum = rightLabels+1, sum+float64(scores[v])
		}
	}
	for v, y := range p.labels {
		must.Do(t, p.predictions.Read(kv.Range{First: kv.NodeID(v), End: kv.NodeID(v + 1)}, 0, p.classes, row))
		if y != truth[v] && row[y] == 1 { // what is predicted is the wrong label: the neighbours alone say so
			if learned++; float64(scores[v]) > 3*sum/rightLabels {
				found++
			}
		}
	}
	if learned < 10 || 10*found < 8*learned {
		t.Errorf("wrong labels that the predictions repeat: got %d of %d with a score far above the mean of right labels, "+
			"%v, want most", found, learned, sum/rightLabels)
	}
}

// TestClassOrderDoesNotMatter: another order of the classes, and of the columns of the predictions, gives the same
// scores and suggestions, up to rounding.
func TestClassOrderDoesNotMatter(t *testing.T) {
	for seed, c := range []int{2, 4, 7, 12} {
		p, _ := communities(uint64(seed), 600, c)
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		scores, suggested := p.result(t)
		to := r.Perm(c)
		otherScores, otherSuggested := p.permuted(t, to).result(t)
		for v := range scores {
			if math.Abs(float64(scores[v]-otherScores[v])) > 1e-4 {
				t.Fatalf("%d classes, node %d: got score %v, and %v with its classes in the order %v", c, v, scores[v],
					otherScores[v], to)
			}
			if kv.Class(to[suggested[v]]) != otherSuggested[v] {
				t.Fatalf("%d classes, node %d: class %d is suggested, now number %d, and class %d in the order %v",
					c, v, suggested[v], to[suggested[v]], otherSuggested[v], to)
			}
		}
	}
}

package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// newRefiner has predictions drawn at random, and nodes dealt to so many folds; a third of the nodes is in none.
func newRefiner(t *testing.T, r *rand.Rand, n, c, folds int) (*refiner, *rowstore.Store) {
	p := baseProblem{
		graph: awkwardGraph(r, n), order: identityOrder(n), labels: kvtest.AwkwardLabels(r, n, c), classes: c, place: newPlace(t),
		splits: make([]Split, n),
	}
	fit := &crossFit{nets: make([]*nn.Network, folds), nodes: newNodeSet(n)}
	for v := range n {
		if p.splits[v] = Split(r.IntN(4)); p.teaches(kv.NodeID(v)) && r.IntN(3) > 0 {
			fit.nodes.add(kv.NodeID(v))
			fit.folds = append(fit.folds, uint8(r.IntN(folds)))
		}
	}
	fit.nodes.count()
	values := make([]float32, n*c)
	for at := range values {
		values[at] = float32(r.ExpFloat64())
	}
	for at := 0; at < len(values); at += c {
		var sum float32
		for _, x := range values[at : at+c] {
			sum += x
		}
		for j := range c {
			values[at+j] /= sum
		}
	}
	predictions := must.Get(rowstore.New(p.place.temporary(), n, c))(t)
	closeStore(t, predictions)
	must.Do(t, predictions.Write(kv.Range{End: kv.NodeID(n)}, 0, c, values))
	return &refiner{baseProblem: &p, fit: fit, budget: 64 << 20}, predictions
}

func closeStore(t *testing.T, s *rowstore.Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
}

func allRows(t *testing.T, s *rowstore.Store) []float32 {
	t.Helper()
	values := make([]float32, s.Rows*s.Width())
	must.Do(t, s.Read(kv.Range{End: kv.NodeID(s.Rows)}, 0, s.Width(), values))
	return values
}

// walks is Σ_k decay^(k-1) Ã^k [n×n].
func walks(g kvtest.MemoryGraph) *mat.Dense {
	n := len(g)
	adjacency := mat.NewDense(n, n, nil)
	for v, neighbors := range g {
		for _, u := range neighbors {
			adjacency.Set(v, int(u), 1/math.Sqrt(float64(len(g[v])*len(g[u]))))
		}
	}
	sum, power := mat.NewDense(n, n, nil), mat.DenseCopyOf(adjacency)
	for k := range smoothHops {
		var weighted, next mat.Dense
		weighted.Scale(math.Pow(smoothDecay, float64(k)), power)
		sum.Add(sum, &weighted)
		next.Mul(power, adjacency)
		power.CloneFrom(&next)
	}
	return sum
}

// TestCorrectAndSmoothIsItsDefinition computes it densely in float64.
func TestCorrectAndSmoothIsItsDefinition(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, c := 1+r.IntN(25), 1+r.IntN(4)
		refiner, predictions := newRefiner(t, r, n, c, 2)
		refiner.choice = &smoothing{correct: []float32{0, 0.5, 1}[r.IntN(3)], smooth: []float32{0, 0.25, 0.5}[r.IntN(3)]}
		before := allRows(t, predictions)
		want := mat.NewDense(n, c, nil)
		for i, x := range before {
			want.Set(i/c, i%c, float64(x))
		}
		w := walks(refiner.graph.(kvtest.MemoryGraph))
		around := func(turn func(v, j int) float64) *mat.Dense {
			turned, sum := mat.NewDense(n, c, nil), mat.NewDense(n, c, nil)
			for v := range n {
				for j := range c {
					turned.Set(v, j, turn(v, j))
				}
			}
			sum.Mul(w, turned)
			return sum
		}
		truth := func(v, j int) float64 {
			if int(refiner.labels[v]) == j {
				return 1
			}
			return 0
		}
		residuals := around(func(v, j int) float64 {
			if !refiner.fit.knows(1, kv.NodeID(v)) {
				return 0
			}
			return truth(v, j) - want.At(v, j)
		})
		if gamma := float64(refiner.choice.correct); gamma > 0 {
			for v := range n {
				if weight := mat.Sum(w.RowView(v)); weight > 0 {
					row := want.RawRowView(v)
					var sum float64
					for j := range row {
						row[j] = max(row[j]+gamma*residuals.At(v, j)/weight, leastRest*row[j])
						sum += row[j]
					}
					for j := range row {
						row[j] /= sum
					}
				}
			}
		}
		guesses := around(func(v, j int) float64 {
			if refiner.fit.knows(1, kv.NodeID(v)) {
				return truth(v, j)
			}
			return want.At(v, j)
		})
		for v := range n {
			if weight := mat.Sum(w.RowView(v)); weight > 0 {
				row := want.RawRowView(v)
				for j := range row {
					row[j] += float64(refiner.choice.smooth) * (guesses.At(v, j)/weight - row[j])
				}
			}
		}
		must.Do(t, refiner.refine(context.Background(), 1, predictions))
		for i, got := range allRows(t, predictions) {
			if math.Abs(float64(got)-want.At(i/c, i%c)) > 1e-5 {
				t.Fatalf("seed %d, %+v, node %d, class %d: got %v, want %v", seed, *refiner.choice, i/c, i%c, got, want.At(i/c, i%c))
			}
		}
	}
}

// TestRefiningDoesNotSeeTheLabelsOfTheFold changes all labels that a network has not learned.
func TestRefiningDoesNotSeeTheLabelsOfTheFold(t *testing.T) {
	for seed := range uint64(60) {
		refined := func(change bool) []float32 {
			r := rand.New(rand.NewPCG(seed, 4))
			refiner, predictions := newRefiner(t, r, 2+r.IntN(25), 3, 3)
			refiner.choice = &smoothing{correct: 1, smooth: 0.5}
			for v, y := range refiner.labels {
				if change && y != kv.NoClass && !refiner.fit.knows(1, kv.NodeID(v)) {
					refiner.labels[v] = (y + 1) % 3
				}
			}
			must.Do(t, refiner.refine(context.Background(), 1, predictions))
			return allRows(t, predictions)
		}
		if !slices.Equal(refined(true), refined(false)) {
			t.Errorf("seed %d: predictions depend on labels that the network has not learned", seed)
		}
	}
}

// TestSmoothingIsChosenByWhatItHelps has neighbours that tell the class, or tell nothing.
func TestSmoothingIsChosenByWhatItHelps(t *testing.T) {
	for _, helpful := range []bool{true, false} {
		p := newBaseProblem(t, 3, 300, 3, 0)
		r := rand.New(rand.NewPCG(1, 5))
		if !helpful {
			r.Shuffle(len(p.labels), func(a, b int) { p.labels[a], p.labels[b] = p.labels[b], p.labels[a] })
		}
		fit := &crossFit{nets: make([]*nn.Network, 4), nodes: newNodeSet(300)}
		predictions := must.Get(rowstore.New(p.place.temporary(), 300, 3))(t)
		closeStore(t, predictions)
		for v := range 300 {
			if p.teaches(kv.NodeID(v)) {
				fit.nodes.add(kv.NodeID(v))
				fit.folds = append(fit.folds, uint8(r.IntN(4)))
			}
			row := []float32{0.3, 0.3, 0.3}
			row[p.labels[v]] = 0.4
			must.Do(t, predictions.Write(kv.Range{First: kv.NodeID(v), End: kv.NodeID(v + 1)}, 0, 3, row))
		}
		fit.nodes.count()
		refiner := refiner{baseProblem: &p, fit: fit, budget: 64 << 20}
		must.Do(t, refiner.refine(context.Background(), 0, predictions))
		if got := refiner.choice.smooth; (got > 0) != helpful {
			t.Errorf("neighbours that tell the class: %v, got a share of %v, want it above zero: %v", helpful, got, helpful)
		}
	}
}

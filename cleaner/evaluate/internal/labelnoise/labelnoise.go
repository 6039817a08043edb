// Package labelnoise makes labels of a graph wrong on purpose, in one of several ways. Graph, labels and seed go in,
// noisy labels come out. It knows nothing of how mislabels are found.
//
// A new kind of noise is a function in kinds.go, and a line in the table kinds.
package labelnoise

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/confident"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A Graph is a graph whose labels go wrong. Labels are true.
type Graph struct {
	Adjacency ops.Graph  // arcs are walked both ways
	Features  ops.Source // [n×d]; nil, or of width 0, where there are none
	Labels    []kv.Class // [n]; NoClass stays as it is
	Classes   int
	Order     iter.Seq2[kv.NodeID, error] // every node, in file order, in which noise is drawn
	Scratch   *scratch.Dir                // of long arrays

	// Predict trains a classifier on Labels, and returns its prediction of every node [n×Classes], which the caller
	// closes. No prediction has learned from the label of its node.
	Predict func(ctx context.Context, seed uint64) (*rowstore.Store, error)
}

// A Noise is a way to corrupt labels on purpose.
type Noise struct {
	kind *kind
	rate float64 // share of the labelled nodes
}

// A kind is a way in which a share of the labels goes wrong.
type kind struct {
	name     string
	features bool // it goes by the features

	// spoil gives exactly s.count of s.nodes a wrong label in s.noisy: a class of s.present (sym and asym: any class).
	// It may give each node a key and call s.chooseLeast, which leaves in s.nodes the s.count nodes with the least
	// keys, in ascending order of keys, or fails if too few keys are finite. s.paretoKey makes a key of a chance.
	// s.relabelByShares draws the new classes. Draw from s.random in the order of s.nodes, or seed by s.seed and the
	// node: then the labels depend on the seed alone.
	spoil func(ctx context.Context, s *spoiling) error
}

// kinds are all that there are, in the order in which they are listed.
var kinds = []kind{
	{name: "sym", spoil: func(_ context.Context, s *spoiling) error { return s.bySteps(true) }},
	{name: "asym", spoil: func(_ context.Context, s *spoiling) error { return s.bySteps(false) }},
	{name: "feature", features: true, spoil: spoilByFeature},
	{name: "topology", spoil: spoilByTopology},
	{name: "confidence", spoil: spoilByConfidence},
	{name: "cluster", features: true, spoil: spoilByCluster},
	{name: "instance", features: true, spoil: spoilByInstance},
}

// Kinds are the names of all kinds, in the order of the table.
func Kinds() []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.name)
	}
	return names
}

// Parse reads KIND:RATE.
func Parse(text string) (Noise, error) {
	name, number, _ := strings.Cut(text, ":")
	rate, err := strconv.ParseFloat(number, 64)
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 || err != nil || !(rate > 0 && rate < 1) {
		return Noise{}, fmt.Errorf("noise %q: want KIND:RATE with one of %s and a rate between 0 and 1: %w",
			text, strings.Join(Kinds(), ", "), cleaner.ErrOptions)
	}
	return Noise{kind: &kinds[at], rate: rate}, nil
}

// stream is the second word of the seed, so that other draws with the seed are independent.
const stream uint64 = 0x6e6f6973 // "nois"

// A spoiling is labels that are to go wrong.
type spoiling struct {
	*Graph
	noise   Noise
	nodes   []kv.NodeID // the labelled ones, in file order until something is drawn
	count   int         // labels that are to be wrong
	noisy   []kv.Class  // [n] by NodeID, true until they are not
	present []bool      // [c] classes that nodes have
	random  *rand.Rand
	seed    uint64
	opt     ops.Options // with the budget that is left
}

// Inject returns labels [n] that are wrong in part, drawn in file order over all splits; those of p, the true ones, are
// left as they are. If too few nodes can go wrong, it returns cleaner.ErrOptions with the largest possible rate.
func (n Noise) Inject(ctx context.Context, p *Graph, seed uint64, opt ops.Options) ([]kv.Class, error) {
	if n.kind.features && (p.Features == nil || p.Features.Width() == 0) {
		return nil, fmt.Errorf("noise %s goes by features, and the graph has none, or only of few nodes: import some: %w",
			n.kind.name, cleaner.ErrOptions)
	}
	random := rand.New(rand.NewPCG(seed, stream))
	s := &spoiling{Graph: p, noise: n, noisy: slices.Clone(p.Labels), random: random, seed: seed, opt: opt}
	s.present = make([]bool, p.Classes)
	for v, err := range p.Order {
		if err != nil {
			return nil, err
		}
		if y := p.Labels[v]; y != kv.NoClass {
			s.nodes, s.present[y] = append(s.nodes, v), true
		}
	}
	s.count = int(float64(n.rate*float64(len(s.nodes))) + 0.5)
	err := n.kind.spoil(ctx, s)
	return s.noisy, err
}

// hold returns an *ops.BudgetError unless the budget has room for so many numbers.
func (s *spoiling) hold(numbers int64) error {
	if least, budget := 8*numbers, s.opt.MemoryBudget; budget > 0 && least > budget {
		return &ops.BudgetError{Job: "noise " + s.noise.kind.name, Budget: budget, Least: least}
	}
	return nil
}

// shuffle puts the labelled nodes into a random order.
func (s *spoiling) shuffle() {
	s.random.Shuffle(len(s.nodes), func(a, b int) { s.nodes[a], s.nodes[b] = s.nodes[b], s.nodes[a] })
}

// bySteps gives nodes drawn with equal chance the next class, or any other.
func (s *spoiling) bySteps(any bool) error {
	s.shuffle()
	for _, v := range s.nodes[:s.count] {
		step := 1
		if any {
			step += s.random.IntN(s.Classes - 1)
		}
		s.noisy[v] = kv.Class((int(s.Labels[v]) + step) % s.Classes)
	}
	return nil
}

// A nearness says how near a node is to each class.
type nearness struct {
	source ops.Source // [n×any]

	// shares fills shares [c] from the node's row: numbers from 0 on, zero for a class that no node has.
	shares func(v kv.NodeID, row []float32, shares []float64)
}

// bySharesOfOthers draws nodes one after the other, in proportion to what the other classes have of their shares, and
// gives each another class in proportion to its share, as BeGIN (arXiv:2506.12468) does for noise of all three kinds.
func (s *spoiling) bySharesOfOthers(ctx context.Context, near nearness) error {
	keys := make([]float64, len(s.Labels))
	err := s.eachShares(ctx, near, func(kv.NodeID) bool { return true }, func(v kv.NodeID, shares []float64) {
		for j, share := range shares {
			if kv.Class(j) != s.Labels[v] {
				keys[v] += share
			}
		}
	})
	if err != nil {
		return err
	}
	// Whoever rings first of clocks with these rates is who is drawn first (Efraimidis and Spirakis, 2006).
	for _, v := range s.nodes {
		keys[v] = (s.random.ExpFloat64() + math.SmallestNonzeroFloat64) / keys[v]
	}
	if err := s.chooseLeast(keys); err != nil {
		return err
	}
	return s.relabelByShares(ctx, near, keys)
}

// chooseLeast leaves in s.nodes the s.count nodes with the least keys [n], in ascending order of keys. The key of a
// node that cannot go wrong is +Inf.
func (s *spoiling) chooseLeast(keys []float64) error {
	slices.SortStableFunc(s.nodes, func(a, b kv.NodeID) int { return cmp.Compare(keys[a], keys[b]) })
	able := 0
	for able < len(s.nodes) && !math.IsInf(keys[s.nodes[able]], 1) {
		able++
	}
	if able < s.count {
		return s.unable(able)
	}
	s.nodes = s.nodes[:s.count]
	return nil
}

// paretoKey draws a key for chooseLeast, of a node that is to go wrong with a chance from 0 to 1. The nodes with the
// least keys are then a sample of a fixed size, in which each node is with about its chance if the chances add up to
// s.count (Pareto sampling: Rosén, 1997).
func (s *spoiling) paretoKey(chance float64) float64 {
	u := float64(s.random.Float64())
	return u / (1 - u) * ((1 - chance) / chance)
}

// unable says that only so many labels can be made wrong.
func (s *spoiling) unable(able int) error {
	const digits = 1e4
	return fmt.Errorf("noise %s:%v: only %d of %d labelled nodes can go wrong like this, want a rate of %v at most: %w",
		s.noise.kind.name, s.noise.rate, able, len(s.nodes), math.Floor(digits*float64(able)/float64(len(s.nodes)))/digits,
		cleaner.ErrOptions)
}

// relabelByShares draws another class for the nodes that are left, in proportion to its share. Their order is that of
// the draws; draws [n] is room for them.
func (s *spoiling) relabelByShares(ctx context.Context, near nearness, draws []float64) error {
	for v := range draws {
		draws[v] = -1
	}
	for _, v := range s.nodes {
		draws[v] = s.random.Float64()
	}
	return s.eachShares(ctx, near, func(v kv.NodeID) bool { return draws[v] >= 0 }, func(v kv.NodeID, shares []float64) {
		shares[s.Labels[v]] = 0
		var sum float64
		for _, share := range shares {
			sum += share
		}
		if sum == 0 { // all others have underflowed
			for k := range shares {
				if kv.Class(k) != s.Labels[v] && s.present[k] {
					shares[k] = 1
					sum++
				}
			}
		}
		s.noisy[v] = confident.Draw(shares, draws[v]*sum)
	})
}

// eachShares calls use for labelled nodes that are wanted, on all workers; shares is borrowed.
func (s *spoiling) eachShares(
	ctx context.Context, near nearness, wanted func(v kv.NodeID) bool, use func(v kv.NodeID, shares []float64),
) error {
	return rowstore.Each(ctx, near.source, len(s.Labels), s.opt.Workers, func(rows kv.Range, values []float32) error {
		shares, width := make([]float64, s.Classes), near.source.Width()
		for v := rows.First; v < rows.End; v++ {
			if s.Labels[v] != kv.NoClass && wanted(v) {
				clear(shares)
				near.shares(v, values[int(v-rows.First)*width:][:width], shares)
				use(v, shares)
			}
		}
		return nil
	})
}

// noiseTemperature divides the logits of softmax, in BeGIN.
const noiseTemperature = 0.01

// softmax turns logits [c] into shares of the classes that nodes have.
func (s *spoiling) softmax(logits []float64, temperature float64) {
	most := math.Inf(-1)
	for j, logit := range logits {
		if s.present[j] {
			most = max(most, logit)
		}
	}
	var sum float64
	for j, logit := range logits {
		if logits[j] = 0; s.present[j] {
			logits[j] = elementary.Exp((logit - most) / temperature)
		}
		sum += logits[j]
	}
	for j := range logits {
		logits[j] /= sum
	}
}

// single says whether all nodes have one class, so that no label can become another.
func (s *spoiling) single() bool {
	classes := 0
	for _, present := range s.present {
		if present {
			classes++
		}
	}
	return classes < 2
}

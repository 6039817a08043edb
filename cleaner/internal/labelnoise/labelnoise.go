// Package labelnoise makes labels of a graph wrong on purpose, in one of several ways. Graph, labels and seed go in, noisy
// labels come out. It knows nothing of how mislabels are found.
//
// A new kind of noise is a function in a file of its own, and a line in the table kinds.
package labelnoise

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ErrOptions is returned for unknown noise, and for noise that a graph does not permit.
var ErrOptions = errors.New("cleaner: bad options")

// A Graph is what labels go wrong in. Labels are true.
type Graph struct {
	Adjacency ops.Graph  // arcs are walked both ways (kv.Both)
	Features  ops.Source // [n×d]; nil, or of width 0, where there are none
	Labels    []kv.Class // [n]; NoClass stays as it is
	Classes   int
	Order     iter.Seq2[kv.NodeID, error] // every node, in file order, in which noise is drawn
	Scratch   *scratch.Dir                // of long arrays

	// Predict trains a classifier on Labels, and returns its prediction of every node [n×Classes], which the caller closes. No
	// prediction has learned from the label of its node.
	Predict func(ctx context.Context, seed uint64) (*rowstore.Store, error)

	// LeastToPredict and LeastToPropagate are what Predict and ops.Propagate need of memory.
	LeastToPredict, LeastToPropagate func(ctx context.Context) (int64, error)
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

	// least returns how many bytes of s.opt.MemoryBudget spoil needs at least. This budget is what a repeat leaves. The arrays of
	// the repeat are still empty, so s.nodes, s.noisy and one array of numbers [n] do not count. Set least if spoil holds more, or
	// calls Predict or ops.Propagate.
	least func(ctx context.Context, p *Graph) (int64, error)

	// spoil gives exactly s.count of s.nodes a wrong label in s.noisy: a class of s.present (sym and asym: any class). It may give
	// each node a key and call s.chooseLeast, which leaves in s.nodes the s.count nodes with the least keys, in ascending order
	// of keys, or fails if too few keys are finite. s.paretoKey makes a key of a chance. s.relabelByShares draws the new classes.
	// Draw from s.random in the order of s.nodes, or seed by s.seed and the node: then the labels depend on the seed alone.
	spoil func(ctx context.Context, s *spoiling) error
}

// kinds are all that there are, in the order in which they are listed.
var kinds = []kind{
	{name: "sym", spoil: func(_ context.Context, s *spoiling) error { return s.bySteps(true) }},
	{name: "asym", spoil: func(_ context.Context, s *spoiling) error { return s.bySteps(false) }},
	{name: "feature", features: true, least: leastForPrototypes, spoil: spoilByFeature},
	{name: "topology", least: leastForDiffusion, spoil: spoilByTopology},
	{name: "confidence", least: func(ctx context.Context, p *Graph) (int64, error) { return p.LeastToPredict(ctx) }, spoil: spoilByConfidence},
	{name: "cluster", features: true, least: leastForClusters, spoil: spoilByCluster},
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
			text, strings.Join(Kinds(), ", "), ErrOptions)
	}
	return Noise{kind: &kinds[at], rate: rate}, nil
}

// Check returns ErrOptions if the noise needs features and the graph has none.
func (n Noise) Check(g *Graph) error {
	if n.kind != nil && n.kind.features && (g.Features == nil || g.Features.Width() == 0) {
		return fmt.Errorf("noise %s goes by features, and the graph has none, or only of few nodes: import some: %w", n.kind.name, ErrOptions)
	}
	return nil
}

// Least returns how many bytes of Options.MemoryBudget Inject needs at least: see kind.least.
func (n Noise) Least(ctx context.Context, g *Graph) (int64, error) {
	if n.kind == nil || n.kind.least == nil {
		return 0, nil
	}
	return n.kind.least(ctx, g)
}

// stream is the second word of the seed, so that what else is drawn with the seed is independent.
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
	opt     ops.Options // whose budget is what is left
}

// Inject returns labels [n] that are wrong in part, drawn in file order over all splits; those of p, the true ones, are
// left as they are. If too few nodes can go wrong, it returns an ErrOptions with the largest possible rate.
func (n Noise) Inject(ctx context.Context, p *Graph, seed uint64, opt ops.Options) ([]kv.Class, error) {
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

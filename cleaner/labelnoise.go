package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/confident"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A labelNoise is a way to corrupt labels on purpose.
type labelNoise struct {
	kind *noiseKind
	rate float64 // share of the labelled nodes

	// flip, where not nil, is used instead [c×c]: row j is the distribution of the label given to a node of class j. A
	// row of NaN leaves the class as it is.
	flip [][]float64
}

// A noiseKind is a way in which a share of the labels goes wrong.
type noiseKind struct {
	name     string
	features bool // it goes by the features

	// least, where not nil, is what it needs of memory beside what a repeat holds.
	least func(ctx context.Context, p *baseProblem) (int64, error)

	// spoil makes as many labels wrong as are wanted.
	spoil func(ctx context.Context, s *spoiling) error
}

// noiseKinds are all that there are, in the order in which they are listed.
var noiseKinds = []noiseKind{
	{name: "sym", spoil: func(_ context.Context, s *spoiling) error { return s.bySteps(true) }},
	{name: "asym", spoil: func(_ context.Context, s *spoiling) error { return s.bySteps(false) }},
	{name: "feature", features: true, least: leastForPrototypes, spoil: spoilByFeature},
	{name: "topology", least: leastForDiffusion, spoil: spoilByTopology},
	{name: "confidence", least: leastForConfidence, spoil: spoilByConfidence},
	{name: "cluster", features: true, least: leastForClusters, spoil: spoilByCluster},
	{name: "instance", features: true, spoil: spoilByInstance},
}

// NoiseKinds are the kinds of EvalOptions.Noise. Of each, a share of the labelled nodes, rounded to whole nodes, gets a wrong
// label:
//
//   - sym: any other class with equal chance;
//   - asym: class i becomes class i+1, the last the first;
//   - feature: a class that the features look like (Kim and others, BeGIN, arXiv:2506.12468);
//   - topology: a class that the nodes around it have (BeGIN);
//   - confidence: a class that a classifier takes it for (BeGIN), here the built-in base classifier, trained on the true
//     labels, that has not seen that of the node;
//   - cluster: at a high rate in some clusters of the features of a class, one other class in each, and at none in others:
//     reliability that differs by region (Thapaliya and others, CANE, arXiv:2605.27913), as where each is the work of one
//     annotator, and few are careless;
//   - instance: by a chance of the node's own, and a class that depends on its features (Xia and others, part-dependent label
//     noise, arXiv:2006.07836).
//
// feature, cluster and instance want features.
func NoiseKinds() []string {
	var names []string
	for _, kind := range noiseKinds {
		names = append(names, kind.name)
	}
	return names
}

// parseLabelNoise reads KIND:RATE.
func parseLabelNoise(text string) (labelNoise, error) {
	name, number, _ := strings.Cut(text, ":")
	rate, err := strconv.ParseFloat(number, 64)
	at := slices.IndexFunc(noiseKinds, func(k noiseKind) bool { return k.name == name })
	if at < 0 || err != nil || !(rate > 0 && rate < 1) {
		return labelNoise{}, fmt.Errorf("noise %q: want KIND:RATE with one of %s and a rate between 0 and 1: %w",
			text, strings.Join(NoiseKinds(), ", "), ErrOptions)
	}
	return labelNoise{kind: &noiseKinds[at], rate: rate}, nil
}

// noiseSumTolerance is how far from 1 a column of a transition matrix may add up: what it lost where it was printed.
const noiseSumTolerance = 1e-3

// matrixNoise is the noise of a transition matrix Q[i][j] = P(ỹ = i | y* = j) [c×c], such as Run.Transition. A column
// of NaN or zeros, a class without mass, leaves its class as it is.
func matrixNoise(transition [][]float64, classes []string) (labelNoise, error) {
	c := len(classes)
	if len(transition) != c {
		return labelNoise{}, fmt.Errorf("transition matrix: got %d rows, want %d, one a class: %w",
			len(transition), c, ErrShape)
	}
	for i, row := range transition {
		if len(row) != c {
			return labelNoise{}, fmt.Errorf("transition matrix: row %d has %d numbers, want %d, one a class: %w",
				i+1, len(row), c, ErrShape)
		}
	}
	flip := classmatrix.Dense(c)
	for j, row := range flip {
		var mass float64
		empty := true
		for i := range c {
			q := transition[i][j]
			row[i] = q
			if q != 0 && !math.IsNaN(q) {
				empty = false
			}
			mass += q
		}
		if empty {
			for i := range row {
				row[i] = math.NaN()
			}
			continue
		}
		for i, q := range row {
			if !(q >= 0 && q <= 1+noiseSumTolerance) {
				return labelNoise{}, fmt.Errorf(
					"transition matrix: the chance that class %s is given label %s is %v, want 0 to 1: %w",
					classes[j], classes[i], q, ErrOptions)
			}
			row[i] /= mass
		}
		if math.Abs(mass-1) > noiseSumTolerance {
			return labelNoise{}, fmt.Errorf("transition matrix: the column of class %s adds up to %.6g, want 1: %w",
				classes[j], mass, ErrOptions)
		}
	}
	return labelNoise{flip: flip}, nil
}

// A spoiling is labels that are to go wrong.
type spoiling struct {
	*baseProblem             // of the true labels
	noise        labelNoise  // of a kind
	nodes        []kv.NodeID // the labelled ones, in file order until something is drawn
	count        int         // labels that are to be wrong
	noisy        []kv.Class  // [n] by NodeID, true until they are not
	present      []bool      // [c] classes that nodes have
	random       *rand.Rand
	seed         uint64
	opt          Options // whose budget is what is left
}

// inject returns labels [n] that are wrong in part, drawn in file order over all splits; those of p, the true ones, are left
// as they are. Where fewer nodes can go wrong than are to, it fails with an ErrOptions that says the most.
//
// Of a matrix, every node is given a label drawn from the distribution of its class, which may be its own.
func (n labelNoise) inject(ctx context.Context, p *baseProblem, seed uint64, opt Options) ([]kv.Class, error) {
	random := rand.New(rand.NewPCG(seed, streamLabelNoise))
	if n.flip != nil {
		return n.flipAll(p, random)
	}
	s := &spoiling{baseProblem: p, noise: n, noisy: slices.Clone(p.labels), random: random, seed: seed, opt: opt}
	s.present = make([]bool, p.classes)
	for v, err := range p.order {
		if err != nil {
			return nil, err
		}
		if y := p.labels[v]; y != kv.NoClass {
			s.nodes, s.present[y] = append(s.nodes, v), true
		}
	}
	s.count = int(float64(n.rate*float64(len(s.nodes))) + 0.5)
	err := n.kind.spoil(ctx, s)
	return s.noisy, err
}

// flipAll draws the label of every node from the row of its class.
func (n labelNoise) flipAll(p *baseProblem, random *rand.Rand) ([]kv.Class, error) {
	noisy := slices.Clone(p.labels)
	for v, err := range p.order {
		if err != nil {
			return nil, err
		}
		if y := p.labels[v]; y != kv.NoClass {
			u := random.Float64() // also where nothing is drawn, so that classes do not depend on each other
			if !math.IsNaN(n.flip[y][y]) {
				noisy[v] = confident.Draw(n.flip[y], u)
			}
		}
	}
	return noisy, nil
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
			step += s.random.IntN(s.classes - 1)
		}
		s.noisy[v] = kv.Class((int(s.labels[v]) + step) % s.classes)
	}
	return nil
}

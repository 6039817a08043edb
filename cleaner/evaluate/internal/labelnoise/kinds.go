package labelnoise

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// noiseSeed is the bit of the seed that tells the classifier whose mistakes are made from those that are measured.
const noiseSeed = 62

// spoilByConfidence gives labels that a classifier takes nodes for, as BeGIN's noise of that name (Kim and others,
// arXiv:2506.12468): the shares of bySharesOfOthers are its predictions. BeGIN has those of a GraphSAGE; here they are
// of Graph.Predict.
func spoilByConfidence(ctx context.Context, s *spoiling) (err error) {
	predictions, err := s.Predict(ctx, s.seed^1<<noiseSeed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, predictions.Close()) }()
	return s.bySharesOfOthers(ctx, nearness{predictions, func(_ kv.NodeID, row []float32, shares []float64) {
		for j, p := range row {
			if s.present[j] {
				shares[j] = float64(p)
			}
		}
	}})
}

// spoilByFeature gives labels that the features look like, as BeGIN's noise of that name (Kim and others,
// arXiv:2506.12468): the prototype of a class is the sum of its nodes' features, and the softmax of the cosines with
// the prototypes, divided by 0.01, are the shares of bySharesOfOthers. A node without features keeps its label.
func spoilByFeature(ctx context.Context, s *spoiling) error {
	width := s.Features.Width()
	if err := s.hold(int64(s.Classes) * int64(width)); err != nil {
		return err
	}
	prototypes := make([]float64, s.Classes*width)
	of := func(y kv.Class) []float64 { return prototypes[int(y)*width:][:width] }
	err := rowstore.EachRow(ctx, s.Features, len(s.Labels), 1, func(v kv.NodeID, row []float32) error {
		if y := s.Labels[v]; y != kv.NoClass {
			sum := of(y)
			for f, x := range row {
				sum[f] += float64(x)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for y := range kv.Class(s.Classes) {
		prototype := of(y)
		var square float64
		for _, x := range prototype {
			square += float64(x * x)
		}
		if length := math.Sqrt(square); length > 0 {
			for f := range prototype {
				prototype[f] /= length
			}
		}
	}
	return s.bySharesOfOthers(ctx, nearness{s.Features, func(_ kv.NodeID, row []float32, shares []float64) {
		length := lengthOf(row)
		if length == 0 {
			return
		}
		for j := range shares {
			shares[j] = product(row, of(kv.Class(j))) / length
		}
		s.softmax(shares, noiseTemperature)
	}})
}

// instanceSpread is the standard deviation of the chances that labels are wrong.
const instanceSpread = 0.1

// spoilByInstance is part-dependent noise (Xia and others, arXiv:2006.07836, as NoisyGL, arXiv:2406.04299, has it for
// graphs): each node has a chance q to go wrong, from a normal distribution around the rate, of deviation 0.1, cut off
// at 0 and 1; and in place of y it gets class j ≠ y in proportion to exp(x·W_y[·][j]), where W_y [d×c] are standard
// normal numbers of its class, and x its features, scaled to the length √d that standardised ones have. So nodes of a
// class that share features tend to be taken for the same other class.
//
// In the paper each node is drawn by itself. Here the number of drawn nodes follows from the rate, with chances close
// to q: see paretoKey.
func spoilByInstance(ctx context.Context, s *spoiling) error {
	keys, single := make([]float64, len(s.Labels)), s.single()
	for _, v := range s.nodes {
		chance := s.noise.rate + float64(instanceSpread*s.random.NormFloat64())
		for !(chance >= 0 && chance <= 1) {
			chance = s.noise.rate + float64(instanceSpread*s.random.NormFloat64())
		}
		if keys[v] = s.paretoKey(chance); single {
			keys[v] = math.Inf(1)
		}
	}
	if err := s.chooseLeast(keys); err != nil {
		return err
	}
	root := math.Sqrt(float64(s.Features.Width()))
	return s.relabelByShares(ctx, nearness{s.Features, func(v kv.NodeID, row []float32, shares []float64) {
		length := lengthOf(row)
		normal := rand.NewPCG(0, 0)
		numbers := rand.New(normal)
		for f, x := range row {
			if x == 0 {
				continue
			}
			// A row of W, which is never whole.
			normal.Seed(s.seed^streamInstance, uint64(s.Labels[v])<<32|uint64(f))
			for j := range shares {
				shares[j] += float64(float64(x) / length * root * numbers.NormFloat64())
			}
		}
		s.softmax(shares, 1)
	}}, keys)
}

// streamInstance tells the numbers of W from others of a seed.
const streamInstance uint64 = 0x696e7374 // "inst"

// roundingShare of what a node has of its own is more than roundings to float32 change it by.
const roundingShare = 1e-6

// The diffusion of BeGIN's topology noise.
const (
	diffusionStay = 0.9 // the chance to end at each step
	diffusionHops = 2
)

// spoilByTopology gives labels that the nodes around have, as BeGIN's noise of that name (Kim and others,
// arXiv:2506.12468). With T = (D+I)^(-1) (A+I), the walk that may rest, and α = 0.9, the personalised PageRank of a
// node is Σ_k α (1−α)^k T^k; what other nodes have of it is added up by their class, and the softmax of these masses,
// divided by 0.01, are the shares of bySharesOfOthers. A node without labelled nodes around it keeps its label. A graph
// with directions is walked both ways.
//
// The sum ends with k = 2. What is left out is (1−α)³ = 0.001 of the PageRank, by which a share changes by a tenth of
// itself at most.
func spoilByTopology(ctx context.Context, s *spoiling) (err error) {
	d, err := s.diffuse(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.masses.Close()) }()
	return s.bySharesOfOthers(ctx, s.around(d))
}

// around is the nearness of the nodes around a node.
func (s *spoiling) around(d *diffusion) nearness {
	return nearness{d.masses, func(v kv.NodeID, row []float32, shares []float64) {
		root, around := math.Sqrt(d.strengths[v]), -d.returns[v]
		for j := range shares {
			shares[j] = float64(row[j]) / root
			around += shares[j]
		}
		if around <= roundingShare*d.returns[v] {
			clear(shares)
			return
		}
		shares[s.Labels[v]] -= d.returns[v]
		s.softmax(shares, noiseTemperature)
	}}
}

// A diffusion is where walks end.
type diffusion struct {
	strengths []float64       // [n] of A+I
	returns   []float64       // [n] each node's share of its own PageRank, except for the walk of no step
	masses    *rowstore.Store // [n×c] the shares of all classes, except for that, times √strength
}

// diffuse does so. The caller closes the masses.
func (s *spoiling) diffuse(ctx context.Context) (*diffusion, error) {
	n := len(s.Labels)
	d := &diffusion{strengths: make([]float64, n), returns: make([]float64, n)}
	if err := d.walk(ctx, s.Adjacency); err != nil {
		return nil, err
	}
	var err error
	if d.masses, err = rowstore.New(s.Scratch, n, s.Classes); err != nil {
		return nil, err
	}
	// T^k = (D+I)^(-1/2) S^k (D+I)^(1/2), where S is the propagation matrix of ops.
	op := ops.Operator{Hops: diffusionHops, SelfLoops: true}
	opt := ops.Options{
		MemoryBudget: s.opt.MemoryBudget - diffusionBytes*int64(n), Workers: s.opt.Workers, Scratch: s.Scratch,
		Progress: s.opt.Progress,
	}
	roots := rootedLabels{ops.OneHot(s.Labels, s.Classes), d.strengths}
	err = ops.Propagate(ctx, s.Adjacency, roots, op, opt, func(t ops.Tile) error {
		return d.masses.Add(t.Rows, t.Lo, t.Hi-t.Lo, float32(ending(t.Hop)), t.Values)
	})
	d.masses, err = d.masses.OrClose(err)
	return d, err
}

// ending is α (1−α)^k, the weight of walks of so many steps.
func ending(hop int) float64 { return diffusionStay * elementary.Pow(1-diffusionStay, hop) }

// diffusionBytes a node are those of a diffusion.
const diffusionBytes = 8 + 8

// walk reads the adjacency for the strengths, and once more for the returns of one step and two: 1/s_v, and
// Σ_u a_vu² / (s_v s_u).
func (d *diffusion) walk(ctx context.Context, g ops.Graph) error {
	blocks, err := g.AdjacencyBlocks()
	if err != nil {
		return err
	}
	var lists kv.Adjacency
	for pass := range 2 {
		for _, block := range blocks {
			if err := errors.Join(ctx.Err(), g.ReadAdjacency(block, &lists)); err != nil {
				return err
			}
			for v := block.First; v < block.End; v++ {
				from, to := lists.Offsets[v-block.First], lists.Offsets[v-block.First+1]
				strength, two := 1.0, 1/d.strengths[v]
				for i, u := range lists.Neighbors[from:to] {
					weight := 1.0
					if lists.Weights != nil {
						weight = float64(lists.Weights[from+int64(i)])
					}
					strength += weight
					two += float64(weight*weight) / d.strengths[u]
				}
				if d.strengths[v] = strength; pass == 1 {
					d.returns[v] = (float64(ending(1)) + float64(ending(2)*two)) / strength
				}
			}
		}
	}
	return nil
}

// rootedLabels are rows of labels, each times the root of the node's strength.
type rootedLabels struct {
	ops.Source
	strengths []float64
}

func (r rootedLabels) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if err := r.Source.Read(rows, lo, hi, dst); err != nil {
		return err
	}
	for i := range dst[:rows.Len()*(hi-lo)] {
		if dst[i] != 0 {
			dst[i] = float32(math.Sqrt(r.strengths[int(rows.First)+i/(hi-lo)]))
		}
	}
	return nil
}

// Clusters of the features of a class.
const (
	mostClusters = 10
	leastCluster = 5 // nodes on average
)

// spoilByCluster is noise whose rate differs by region: reliability of annotators does, within a class, by cluster of
// the features (Thapaliya and others, CANE, arXiv:2605.27913, who measure it of language models). Ten nodes of each
// class are drawn, fewer of a small class. The nodes whose features have the largest cosine with one of them are its
// cluster, as if each were the work of one annotator. Annotators drawn at random are careless, as many as the rate
// wants: (1+rate)/2 of their labels are wrong, of the last one fewer. Each of them takes the class for one other, drawn
// with equal chance.
func spoilByCluster(ctx context.Context, s *spoiling) error {
	if s.single() {
		return s.unable(0)
	}
	if err := s.hold(mostClusters * int64(s.Classes) * int64(s.Features.Width())); err != nil {
		return err
	}
	s.shuffle()
	clusters, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	careless := s.carelessness(clusters)
	for _, v := range s.nodes {
		if c := &careless[s.Labels[v]][clusters[v]]; c.quota > 0 {
			c.quota--
			s.noisy[v] = c.becomes
		}
	}
	return nil
}

// A careless annotator has some labels left to make wrong, and one class to make of them.
type careless struct {
	quota   int
	becomes kv.Class
}

// carelessness is that of the annotator of each class and cluster.
func (s *spoiling) carelessness(clusters []uint8) [][mostClusters]careless {
	sizes, all := make([][mostClusters]int, s.Classes), make([][mostClusters]careless, s.Classes)
	for _, v := range s.nodes {
		sizes[s.Labels[v]][clusters[v]]++
	}
	type annotator struct{ class, cluster int }
	var annotators []annotator
	for y, sizes := range sizes {
		for k, size := range sizes {
			if size > 0 {
				annotators = append(annotators, annotator{y, k})
			}
		}
	}
	s.random.Shuffle(len(annotators), func(a, b int) { annotators[a], annotators[b] = annotators[b], annotators[a] })
	rest, rate := s.count, (1+s.noise.rate)/2
	for _, a := range annotators {
		// Rounded up, so that they suffice.
		c := &all[a.class][a.cluster]
		c.quota, c.becomes = min(int(math.Ceil(rate*float64(sizes[a.class][a.cluster]))), rest), kv.Class(a.class)
		rest -= c.quota
		for int(c.becomes) == a.class || !s.present[c.becomes] {
			c.becomes = kv.Class(s.random.IntN(s.Classes))
		}
	}
	return all
}

// cluster parts the nodes of each class: the cluster of every labelled node within its class [n]. The nodes that make
// clusters are the first of the class as they were drawn.
func (s *spoiling) cluster(ctx context.Context) ([]uint8, error) {
	sizes, first := make([]int, s.Classes), make([][]kv.NodeID, s.Classes)
	for _, v := range s.nodes {
		sizes[s.Labels[v]]++
	}
	var drawn []kv.NodeID
	for _, v := range s.nodes {
		y := s.Labels[v]
		if len(first[y]) < min(max(sizes[y]/leastCluster, 1), mostClusters) {
			first[y], drawn = append(first[y], v), append(drawn, v)
		}
	}
	slices.Sort(drawn)
	centres := make(map[kv.NodeID][]float64, len(drawn)) // of length 1, or 0
	err := rowstore.EachOf(ctx, s.Features, drawn, func(v kv.NodeID, row []float32) error {
		centre := make([]float64, len(row))
		if length := lengthOf(row); length > 0 {
			for f, x := range row {
				centre[f] = float64(x) / length
			}
		}
		centres[v] = centre
		return nil
	})
	if err != nil {
		return nil, err
	}
	n, clusters := len(s.Labels), make([]uint8, len(s.Labels))
	return clusters, rowstore.EachRow(ctx, s.Features, n, s.opt.Workers, func(v kv.NodeID, row []float32) error {
		if y := s.Labels[v]; y != kv.NoClass {
			most := math.Inf(-1)
			for k, u := range first[y] {
				if like := product(row, centres[u]); like > most {
					most, clusters[v] = like, uint8(k)
				}
			}
		}
		return nil
	})
}

// lengthOf is the Euclidean length of a row.
func lengthOf(row []float32) float64 {
	var square float64
	for _, x := range row {
		square += float64(float64(x) * float64(x))
	}
	return math.Sqrt(square)
}

// product is the inner product of a row and a vector.
func product(row []float32, with []float64) (sum float64) {
	for f, x := range row {
		if x != 0 {
			sum += float64(float64(x) * with[f])
		}
	}
	return sum
}

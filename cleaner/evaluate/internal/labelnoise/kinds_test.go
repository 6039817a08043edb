package labelnoise

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// noiseProblem has a graph with a hub and isolated nodes, unlabelled nodes, classes that no node has, and nodes without
// features.
func noiseProblem(t *testing.T, r *rand.Rand, n, c, width int) *Graph {
	p := &Graph{Labels: kvtest.AwkwardLabels(r, n, c), Classes: c, Order: identityOrder(n)}
	p.inMemory(t)
	features := make([]float32, n*width)
	for v, y := range p.Labels {
		for f := range width {
			if v%11 > 0 {
				features[v*width+f] = float32(r.IntN(3))
			}
		}
		if y != kv.NoClass && v%11 > 0 {
			features[v*width+int(y)%width] += 2
		}
	}
	p.Features = ops.Dense(features, width)
	var edges [][2]kv.NodeID
	for v := range n {
		if v%3 == 0 {
			edges = append(edges, [2]kv.NodeID{0, kv.NodeID(v)})
		}
		if v%7 > 0 {
			edges = append(edges, [2]kv.NodeID{kv.NodeID(v), kv.NodeID(r.IntN(n))})
		}
	}
	p.Adjacency = kvtest.NewMemoryGraph(n, edges)
	return p
}

// renumbered is a problem whose node at each place of the file has another number.
func renumbered(t *testing.T, p *Graph, r *rand.Rand) (other *Graph, order []kv.NodeID) {
	n, width := len(p.Labels), p.Features.Width()
	numbers := make([]kv.NodeID, n)
	for v, at := range r.Perm(n) {
		numbers[v] = kv.NodeID(at)
	}
	copied := *p
	other = &copied
	other.inMemory(t)
	other.Labels, other.Order = make([]kv.Class, n), listOrder(numbers)
	features, all := make([]float32, n*width), make([]float32, n*width)
	must.Do(t, p.Features.Read(kv.Range{End: kv.NodeID(n)}, 0, width, all))
	var edges [][2]kv.NodeID
	for v, at := range numbers {
		other.Labels[at] = p.Labels[v]
		copy(features[int(at)*width:][:width], all[v*width:])
		for _, u := range p.Adjacency.(kvtest.MemoryGraph)[v] {
			edges = append(edges, [2]kv.NodeID{at, numbers[u]})
		}
	}
	other.Features, other.Adjacency = ops.Dense(features, width), kvtest.NewMemoryGraph(n, edges)
	return other, numbers
}

// TestNoiseOfEveryKind wants the rate, to whole nodes, wrong labels that nodes have, and unlabelled nodes left alone;
// the same at any number of workers and numbering of nodes; or an error that says how much there can be, which there
// then is.
func TestNoiseOfEveryKind(t *testing.T) {
	for _, kind := range kinds {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 9))
			n, c := 20+r.IntN(100), 2+r.IntN(4)
			p := noiseProblem(t, r, n, c, 6)
			noise := Noise{kind: &kind, rate: 0.05 + 0.45*r.Float64()}
			if seed%5 == 4 {
				noise.rate = 0.95
			}
			before := slices.Clone(p.Labels)
			noisy, err := noise.Inject(t.Context(), p, seed, ops.Options{Workers: 1})
			if !slices.Equal(p.Labels, before) {
				t.Fatalf("%s, seed %d: the labels given were changed", kind.name, seed)
			}
			if err != nil {
				var able, of int
				if !errors.Is(err, cleaner.ErrOptions) || !scan(err, "noise "+kind.name, "only ", &able, " of ", &of) ||
					of != labelled(p.Labels) {
					t.Fatalf("%s, seed %d: %v", kind.name, seed, err)
				}
				if able == 0 && spoilingOf(t, p, kind.name, 0).single() {
					continue
				}
				if noise.rate <= 0.5 && kind.name != "topology" {
					t.Errorf("%s, seed %d: %v, want to have up to a half", kind.name, seed, err)
				}
				noise.rate = (float64(able) - 0.25) / float64(of)
				if noisy, err = noise.Inject(t.Context(), p, seed, ops.Options{Workers: 1}); err != nil {
					t.Fatalf("%s, seed %d: %d of %d can go wrong, and then %v", kind.name, seed, able, of, err)
				}
			}
			checkNoise(t, kind.name, p, noisy, int(noise.rate*float64(labelled(p.Labels))+0.5))
			again, err := noise.Inject(t.Context(), p, seed, ops.Options{Workers: 3})
			if err != nil || !slices.Equal(again, noisy) {
				t.Errorf("%s, seed %d: with three workers it differs (%v)", kind.name, seed, err)
			}
			other, numbers := renumbered(t, p, r)
			there := must.Get(noise.Inject(t.Context(), other, seed, ops.Options{}))(t)
			for place, at := range numbers {
				if there[at] != noisy[place] {
					t.Fatalf("%s, seed %d: the node at place %d becomes %d or %d, by its number",
						kind.name, seed, place, noisy[place], there[at])
				}
			}
		}
	}
}

// checkNoise wants so many wrong labels, each of a class that nodes have.
func checkNoise(t *testing.T, name string, p *Graph, noisy []kv.Class, want int) {
	t.Helper()
	labels, changed := p.Labels, 0
	for v, y := range noisy {
		switch {
		case y == labels[v]:
			continue
		case y < 0 || int(y) >= p.Classes || name == "asym" && int(y) != (int(labels[v])+1)%p.Classes:
			t.Fatalf("%s: node %d became %d, of %d classes", name, v, y, p.Classes)
		case labels[v] == kv.NoClass:
			t.Fatalf("%s: node %d was unlabelled and became %d", name, v, y)
		case name != "sym" && name != "asym" && !slices.Contains(labels, y):
			t.Fatalf("%s: node %d became %d, which no node is", name, v, y)
		}
		changed++
	}
	if changed != want {
		t.Errorf("%s: %d of %d labels are wrong, want %d", name, changed, labelled(labels), want)
	}
}

// scan reads numbers after texts of an error, one after the other.
func scan(err error, parts ...any) bool {
	text := err.Error()
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			_, rest, found := strings.Cut(text, part)
			if !found {
				return false
			}
			text = rest
		case *int:
			for text != "" && text[0] >= '0' && text[0] <= '9' {
				*part, text = *part*10+int(text[0]-'0'), text[1:]
			}
		}
	}
	return true
}

// spoilingOf makes the spoiling of a problem, as inject does before it spoils.
func spoilingOf(t *testing.T, p *Graph, name string, count int) *spoiling {
	t.Helper()
	s := &spoiling{
		Graph: p, noise: mustParse(t, name+":0.5"), count: count, noisy: slices.Clone(p.Labels),
		present: make([]bool, p.Classes), random: rand.New(rand.NewPCG(1, 2)),
	}
	for v, y := range p.Labels {
		if y != kv.NoClass {
			s.nodes, s.present[y] = append(s.nodes, kv.NodeID(v)), true
		}
	}
	s.opt.MemoryBudget = 1 << 30
	return s
}

// TestNodesAreDrawnByTheirShares draws one node of two, of which the second has three times the share of other classes.
func TestNodesAreDrawnByTheirShares(t *testing.T) {
	const draws = 20000
	p := &Graph{Labels: []kv.Class{0, 0, 1, 2}, Classes: 3, Order: identityOrder(4)}
	rows := []float32{0.8, 0.2, 0, 0.4, 0.45, 0.15, 0, 1, 0, 0, 0, 1}
	near := nearness{ops.Dense(rows, 3), func(_ kv.NodeID, row []float32, shares []float64) {
		for j, x := range row {
			shares[j] = float64(x)
		}
	}}
	s := spoilingOf(t, p, "confidence", 1)
	second, first := 0, 0
	for range draws {
		s.nodes, s.noisy = []kv.NodeID{0, 1, 2, 3}, slices.Clone(p.Labels)
		must.Do(t, s.bySharesOfOthers(t.Context(), near))
		if s.noisy[1] != 0 {
			second++
			first += int(2 - s.noisy[1])
		}
		if s.noisy[0] == 2 || s.noisy[2] != 1 || s.noisy[3] != 2 {
			t.Fatalf("got %v, want a class with a share for a node with doubt", s.noisy)
		}
	}
	if share := float64(second) / draws; math.Abs(share-0.75) > 0.015 {
		t.Errorf("the second node was drawn in %.3f, want 0.75", share)
	}
	if share := float64(first) / float64(second); math.Abs(share-0.75) > 0.015 {
		t.Errorf("the second node became the first other class in %.3f, want 0.75", share)
	}
	s.nodes, s.count = []kv.NodeID{0, 1, 2, 3}, 3
	if err := s.bySharesOfOthers(t.Context(), near); err == nil ||
		!strings.Contains(err.Error(), "only 2 of 4 labelled nodes can go wrong like this, want a rate of 0.5 at most") {
		t.Errorf("three of two nodes: got %v", err)
	}
}

// TestFeatureNoiseGoesByLikeness has nodes of class 0 that look like class 1, and others that look like their own.
func TestFeatureNoiseGoesByLikeness(t *testing.T) {
	var features []float32
	p := &Graph{Classes: 3, Order: identityOrder(60)}
	for v := range 60 {
		y := v % 3
		p.Labels = append(p.Labels, kv.Class(y))
		row := []float32{0, 0, 0}
		if row[y] = 1; y == 0 && v%4 == 0 {
			row[1] = 1.5
		}
		features = append(features, row...)
	}
	p.Features = ops.Dense(features, 3)
	noise := mustParse(t, "feature:0.05")
	noisy := must.Get(noise.Inject(t.Context(), p, 1, ops.Options{}))(t)
	for v, y := range noisy {
		if y != p.Labels[v] && (v%12 != 0 || y != 1) {
			t.Errorf("node %d of class %d became %d, want nodes that look like class 1 to become that", v, p.Labels[v], y)
		}
	}
}

// TestDiffusionIsItsDefinition compares the shares of topology noise with those of dense matrices.
func TestDiffusionIsItsDefinition(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, c := 5+r.IntN(30), 2+r.IntN(3)
		p := noiseProblem(t, r, n, c, 2)
		g := p.Adjacency.(kvtest.MemoryGraph)
		walk, power := classmatrix.Dense(n), classmatrix.Dense(n)
		for v := range n {
			power[v][v] = 1
			walk[v][v] = 1 / float64(len(g[v])+1)
			for _, u := range g[v] {
				walk[v][u] = 1 / float64(len(g[v])+1)
			}
		}
		rank := classmatrix.Dense(n)
		for k := 1; k <= diffusionHops; k++ {
			next := classmatrix.Dense(n)
			for v := range n {
				for u := range n {
					for w := range n {
						next[v][u] += power[v][w] * walk[w][u]
					}
					rank[v][u] += 0.9 * math.Pow(0.1, float64(k)) * next[v][u]
				}
			}
			power = next
		}
		s := spoilingOf(t, p, "topology", 1)
		got := classmatrix.Dense(n)
		d := must.Get(s.diffuse(t.Context()))(t)
		err := s.eachShares(t.Context(), s.around(d), func(kv.NodeID) bool { return true },
			func(v kv.NodeID, shares []float64) {
				got[v] = slices.Clone(shares)
			})
		must.Do(t, errors.Join(err, d.masses.Close()))
		for v, y := range p.Labels {
			if y == kv.NoClass {
				continue
			}
			mass, want, sum, all := make([]float64, c), make([]float64, c), 0.0, 0.0
			for u, x := range p.Labels {
				if u != v && x != kv.NoClass {
					mass[x] += rank[v][u]
					all += rank[v][u]
				}
			}
			for j := range c {
				if slices.Contains(p.Labels, kv.Class(j)) && all > 0 {
					want[j] = math.Exp(mass[j] / 0.01)
					sum += want[j]
				}
			}
			for j := range c {
				if sum > 0 {
					want[j] /= sum
				}
				if math.Abs(got[v][j]-want[j]) > 1e-5 {
					t.Fatalf("seed %d, node %d: got the shares %v, want %v", seed, v, got[v], want)
				}
			}
		}
	}
}

// TestClustersAreAlike has nodes whose features point into three directions, one of which no drawn node of class 1 has.
func TestClustersAreAlike(t *testing.T) {
	var features []float32
	p := &Graph{Classes: 2, Order: identityOrder(30)}
	for v := range 30 {
		p.Labels = append(p.Labels, kv.Class(v%2))
		length := float32(1 + v)
		features = append(features, [][]float32{{length, 0}, {0, length}, {length, length / 2}}[v%3]...)
	}
	p.Features = ops.Dense(features, 2)
	s := spoilingOf(t, p, "cluster", 1) // each class is parted in three
	s.nodes = append([]kv.NodeID{4, 3, 2, 12, 1, 7}, s.nodes...)
	clusters := must.Get(s.cluster(t.Context()))(t)
	for v, got := range clusters {
		if want := [2][3]uint8{{2, 0, 1}, {0, 1, 0}}[v%2][v%3]; got != want {
			t.Errorf("node %d: got cluster %d, want %d", v, got, want)
		}
	}
}

// TestClusterNoiseIsLocal wants of every cluster a large share wrong or none, except for one.
func TestClusterNoiseIsLocal(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		n, c := 30+r.IntN(300), 2+r.IntN(4)
		p := noiseProblem(t, r, n, c, 4)
		p.Labels[0], p.Labels[1] = 0, 1
		s := spoilingOf(t, p, "cluster", 0)
		s.noise.rate = 0.05 + 0.45*r.Float64()
		s.count = int(s.noise.rate*float64(len(s.nodes)) + 0.5)
		clusters := make([]uint8, n)
		sizes := make([][mostClusters]int, c)
		for v := range clusters {
			clusters[v] = uint8(r.IntN(mostClusters))
			if y := p.Labels[v]; y != kv.NoClass {
				sizes[y][clusters[v]]++
			}
		}
		between, all := 0, 0
		for y, wrong := range s.carelessness(clusters) {
			for k, careless := range wrong {
				wrong := careless.quota
				all += wrong
				if wrong > 0 && (careless.becomes == kv.Class(y) || !s.present[careless.becomes]) {
					t.Fatalf("seed %d: class %d becomes %d", seed, y, careless.becomes)
				}
				high := int(math.Ceil((1 + s.noise.rate) / 2 * float64(sizes[y][k])))
				if wrong > high {
					t.Fatalf("seed %d: %d of %d are wrong in a cluster, want %d at most", seed, wrong, sizes[y][k], high)
				}
				if wrong > 0 && wrong < high {
					between++
				}
			}
		}
		if all != s.count || between > 1 {
			t.Errorf("seed %d: %d labels are to be wrong, want %d; %d clusters have some, want one", seed, all, s.count, between)
		}
	}
}

// TestInstanceNoiseGoesByParts has nodes with the same features: of a class they become the same, most of them.
func TestInstanceNoiseGoesByParts(t *testing.T) {
	const n, width = 400, 30
	p := &Graph{Classes: 6, Order: identityOrder(n)}
	features := make([]float32, n*width)
	for v := range n {
		p.Labels = append(p.Labels, kv.Class(v%2))
		for f := range 3 {
			features[v*width+f+v/2%4*3] = 1
		}
	}
	p.Labels[0], p.Labels[2], p.Labels[4], p.Labels[6] = 2, 3, 4, 5
	p.Features = ops.Dense(features, width)
	noise := mustParse(t, "instance:0.5")
	noisy := must.Get(noise.Inject(t.Context(), p, 3, ops.Options{}))(t)
	kinds, most := make(map[[3]int]int), make(map[[2]int]int)
	for v, y := range noisy {
		if y != p.Labels[v] && p.Labels[v] < 2 {
			of := [2]int{v % 2, v / 2 % 4}
			kinds[[3]int{of[0], of[1], int(y)}]++
			most[of] = max(most[of], kinds[[3]int{of[0], of[1], int(y)}])
		}
	}
	same, targets := 0, make(map[kv.Class]bool)
	for of, count := range most {
		same += count
		for y := range kv.Class(6) {
			if kinds[[3]int{of[0], of[1], int(y)}] == count {
				targets[y] = true
			}
		}
	}
	if same < n/2*7/10 || len(targets) < 3 {
		t.Errorf("%d of %d wrong labels are the most frequent of their kind, of %d classes; want most of them, of three "+
			"classes", same, n/2, len(targets))
	}
}

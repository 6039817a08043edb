package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// newBaseProblem has n nodes in c classes, joined mostly to their own. Three in five are for training, one in five each
// for validation and test. Where width is not zero, features are of that width: noise, and a hint of the class.
func newBaseProblem(t testing.TB, seed uint64, n, c, width int) problem {
	r := rand.New(rand.NewPCG(seed, 0))
	p := problem{order: identityOrder(n), classes: c, place: newPlace(t)}
	features := normals(r, n*width)
	for v := range n {
		y := r.IntN(c)
		p.labels = append(p.labels, kv.Class(y))
		p.splits = append(p.splits, []Split{SplitTrain, SplitTrain, SplitTrain, SplitValidation, SplitTest}[v%5])
		if width > 0 {
			features[v*width+y%width] += 2
		}
	}
	var edges [][2]kv.NodeID
	for len(edges) < 5*n && n > 1 {
		u, v := r.IntN(n), r.IntN(n)
		if p.labels[u] == p.labels[v] || r.IntN(12) == 0 {
			edges = append(edges, [2]kv.NodeID{kv.NodeID(u), kv.NodeID(v)})
		}
	}
	p.graph = kvtest.NewMemoryGraph(n, edges)
	if width > 0 {
		p.features = ops.Dense(features, width)
	}
	return p
}

// amongOthers is a newBaseProblem whose edges join each class to the next, the last to the first.
func amongOthers(t testing.TB, seed uint64, n, c, width int) problem {
	p := newBaseProblem(t, seed, n, c, width)
	r := rand.New(rand.NewPCG(seed, 1))
	var edges [][2]kv.NodeID
	for len(edges) < 5*n {
		if u, v := r.IntN(n), r.IntN(n); int(p.labels[v]) == (int(p.labels[u])+1)%c {
			edges = append(edges, [2]kv.NodeID{kv.NodeID(u), kv.NodeID(v)})
		}
	}
	p.graph = kvtest.NewMemoryGraph(n, edges)
	return p
}

// newPlace keeps nothing, and has its arrays in files of a directory of the test.
func newPlace(t testing.TB) *workplace.Place {
	return workplace.Temporary(scratch.Temporary(t.TempDir()))
}

// train returns the predictions [n×c].
func train(t *testing.T, p problem, opt Options) ([]float32, *PredictReport) {
	t.Helper()
	predictions, trained, err := p.trainAndPredict(context.Background(), must.Get(opt.withDefaults())(t))
	if err != nil {
		t.Fatalf("training with %+v: %v", opt, err)
	}
	closeStore(t, predictions)
	return allRows(t, predictions), trained.report
}

// checkPredictions wants rows of probabilities.
func checkPredictions(t *testing.T, values []float32, c int) {
	t.Helper()
	for at := 0; at < len(values); at += c {
		var sum float64
		for _, p := range values[at : at+c] {
			if !(p >= 0 && p <= 1) {
				t.Fatalf("row %d: got %v, want probabilities", at/c, values[at:at+c])
			}
			sum += float64(p)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("row %d: adds up to %v, want 1", at/c, sum)
		}
	}
}

func TestBaseClassifierLearns(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(t testing.TB, seed uint64, n, c, width int) problem
		width  int
		inputs string
	}{
		{"features", newBaseProblem, 8, InputFeatures},
		{"structure", newBaseProblem, 0, InputStructure},
		{"mixed", amongOthers, 8, InputMixed},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.make(t, 1, 300, 4, c.width)
			p.labels[7] = kv.NoClass
			values, report := train(t, p, Options{Seed: 1})
			checkPredictions(t, values, 4)
			if report.Inputs != c.inputs || report.Seconds <= 0 {
				t.Errorf("report: got %+v, want inputs %s and seconds", report, c.inputs)
			}
			if report.Accuracy < 0.9 {
				t.Errorf("accuracy: got %.3f, want 0.9 or more", report.Accuracy)
			}
			// The report against the predictions.
			var nodes, right int64
			for v, y := range p.labels {
				if y == kv.NoClass {
					continue
				}
				nodes++
				row := values[4*v : 4*v+4]
				if slices.Max(row) == row[y] {
					right++
				}
			}
			if want := float64(right) / float64(nodes); report.Labelled != nodes || report.Accuracy != want {
				t.Errorf("got %d nodes and accuracy %v, want %d and %v", report.Labelled, report.Accuracy, nodes, want)
			}
		})
	}
}

// TestPredictionsAreTheSameBits has budgets under which tiles are narrow and wide, and arrays in files and in memory.
func TestPredictionsAreTheSameBits(t *testing.T) {
	for i, c := range []struct {
		name    string
		make    func(t testing.TB, seed uint64, n, c, width int) problem
		classes int
		width   int
	}{
		{"features", newBaseProblem, 70, 140}, {"structure", newBaseProblem, 70, 0}, {"mixed", amongOthers, 7, 140},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i == 0 { // mixed inputs have features too
				longtest.Only(t)
			}
			p := c.make(t, 2, 70, c.classes, c.width)
			fit := p.heldInTraining()
			want, wantReport := train(t, p, Options{Seed: 3, Workers: 1})
			for _, opt := range []Options{{Workers: 2, MemoryBudget: 70<<10 + fit}, {Workers: 4, MemoryBudget: 16 << 20}} {
				if !longtest.Asked() && (i == 1) == (opt.Workers == 4) {
					continue
				}
				opt.Seed = 3
				other := p
				if opt.Workers == 4 {
					other.place = nil
				}
				got, report := train(t, other, opt)
				if !slices.Equal(got, want) {
					t.Errorf("%d workers, %d bytes: the predictions differ from those of 1 worker", opt.Workers, opt.MemoryBudget)
				}
				report.Seconds = wantReport.Seconds
				if *report != *wantReport {
					t.Errorf("%d workers, %d bytes: got report %+v, want %+v", opt.Workers, opt.MemoryBudget, report, wantReport)
				}
			}
			if left, err := os.ReadDir(p.place.Scratch().Path()); err != nil || len(left) != 0 {
				t.Errorf("scratch directory: got %v and error %v, want it empty", left, err)
			}
		})
	}
}

func TestBaseClassifierOnAwkwardGraphs(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, c, d int
		change  func(p *problem)
		want    string // of the inputs
	}{
		{"one node", 1, 1, 2, nil, InputFeatures},
		{"one node without features", 1, 1, 0, nil, InputStructure},
		{"one class", 20, 1, 3, nil, InputFeatures},
		{"one class in training", 40, 3, 3, func(p *problem) {
			for v, y := range p.labels {
				if p.splits[v] == SplitTrain && y != 1 {
					p.labels[v] = kv.NoClass
				}
			}
		}, InputFeatures},
		{"a class missing from training", 40, 3, 0, func(p *problem) {
			for v, y := range p.labels {
				if p.splits[v] == SplitTrain && y == 2 {
					p.labels[v] = 0
				}
			}
		}, InputStructure},
		{"no edges", 30, 3, 0, func(p *problem) { p.graph = kvtest.NewMemoryGraph(30, nil) }, InputStructure},
		{"features without edges", 30, 3, 4, func(p *problem) { p.graph = kvtest.NewMemoryGraph(30, nil) }, InputFeatures},
		{"features of width zero", 30, 3, 0, func(p *problem) { p.features = ops.Dense(nil, 0) }, InputStructure},
		{"features all zero", 30, 3, 0, func(p *problem) { p.features = ops.Dense(make([]float32, 60), 2) }, InputFeatures},
		{"huge features", 30, 3, 0, func(p *problem) {
			features := normals(rand.New(rand.NewPCG(1, 0)), 60)
			for i := range features {
				features[i] *= mostFeature / 8
			}
			p.features = ops.Dense(features, 2)
		}, InputFeatures},
		{"a training and a validation node", 10, 2, 2, func(p *problem) {
			for v := range p.splits {
				p.splits[v] = []Split{SplitTrain, SplitValidation, SplitTest, SplitNone}[min(v, 3)]
			}
		}, InputFeatures},
		{"a thousand classes", 60, 1000, 4, nil, InputFeatures},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newBaseProblem(t, 5, c.n, c.c, c.d)
			if c.change != nil {
				c.change(&p)
			}
			values, report := train(t, p, Options{Seed: 1})
			checkPredictions(t, values, c.c)
			if report.Inputs != c.want {
				t.Errorf("inputs: got %s, want %s", report.Inputs, c.want)
			}
		})
	}
	p := newBaseProblem(t, 5, 20, 2, 0)
	for v := range p.splits {
		p.splits[v] = SplitTest
	}
	if _, _, err := p.trainAndPredict(context.Background(), Options{}); !errors.Is(err, ErrNoLabels) ||
		!strings.Contains(err.Error(), "training split") {
		t.Errorf("no training nodes: got %v, want ErrNoLabels of the training split", err)
	}
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

// TestPredictionDoesNotSeeOwnLabel gives one node of many another label: its own prediction hardly changes, though that
// of its classifier does.
func TestPredictionDoesNotSeeOwnLabel(t *testing.T) {
	ctx := context.Background()
	p := newBaseProblem(t, 6, 600, 2, 40)
	v := kv.NodeID(slices.IndexFunc(p.splits, func(s Split) bool { return s == SplitTrain }))
	row := func() (own, all float64) {
		fit := must.Get(p.trainOn(ctx, InputFeatures, Options{MemoryBudget: 64 << 20}))(t)
		inputs := fit.inputs
		closeStore(t, inputs)
		out := must.Get(p.predictAll(ctx, fit, Options{}))(t)
		closeStore(t, out)
		predicted, x := make([]float32, 2), make([]float32, inputs.Width())
		must.Do(t, errors.Join(out.Read(kv.Range{First: v, End: v + 1}, 0, 2, predicted),
			inputs.Read(kv.Range{First: v, End: v + 1}, 0, len(x), x)))
		logits := new(nn.Activations).Outputs(fit.Net, x, 1)
		nn.Softmaxes(logits, len(logits))
		return float64(predicted[0]), float64(logits[0])
	}
	own, all := row()
	p.labels[v] = 1 - p.labels[v]
	ownThen, allThen := row()
	if change, seen := math.Abs(own-ownThen), math.Abs(all-allThen); change > 0.001 || seen < 2*change {
		t.Errorf("another label: the prediction changes by %v, that of the classifier by %v", change, seen)
	}
}

// TestStructureDoesNotSeeOwnLabel changes labels of training nodes one at a time.
func TestStructureDoesNotSeeOwnLabel(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(longtest.Of(50, 200)) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, c := 2+r.IntN(20), 3
		p := problem{graph: awkwardGraph(r, n), order: identityOrder(n), labels: kvtest.AwkwardLabels(r, n, c), classes: c,
			place: newPlace(t)}
		p.splits = make([]Split, n)
		for v := range p.splits {
			p.splits[v] = Split(r.IntN(4))
		}
		row := func(v kv.NodeID) []float32 {
			s := must.Get(p.structure(ctx, Options{}, 64<<20))(t)
			closeStore(t, s)
			got := make([]float32, s.Width())
			must.Do(t, s.Read(kv.Range{First: v, End: v + 1}, 0, s.Width(), got))
			return got
		}
		v := kv.NodeID(r.IntN(n))
		p.splits[v] = SplitTrain
		p.labels[v] = 0
		before := row(v)
		for k := range (len(before) - 1) / c {
			var sum float64
			for _, x := range before[k*c : (k+1)*c] {
				sum += float64(x)
			}
			degree := math.Exp(degreeScale*float64(before[len(before)-1])) - 1
			if want := labelShare * degree / (1 + degree); sum != 0 && math.Abs(sum-want) > 1e-5 {
				t.Errorf("seed %d, node %d, hop %d: adds up to %v, want 0 or %v", seed, v, k+1, sum, want)
			}
		}
		p.labels[v] = 1
		for j, x := range row(v) {
			if math.Abs(float64(x-before[j])) > 1e-3 {
				t.Errorf("seed %d, node %d: input %d goes from %v to %v with the node's own label", seed, v, j, before[j], x)
			}
		}
	}
}

// TestMixedInputs has own features, those of the neighbours, their training labels and the degree, by hand.
func TestMixedInputs(t *testing.T) {
	const n, c, d = 60, 3, 4
	p := amongOthers(t, 6, n, c, d)
	p.labels[5] = kv.NoClass
	graph := p.graph.(kvtest.MemoryGraph)
	graph[9] = nil
	for v := range graph {
		graph[v] = slices.DeleteFunc(graph[v], func(u kv.NodeID) bool { return u == 9 })
	}
	features := make([]float32, n*d)
	must.Do(t, p.features.Read(kv.Range{End: n}, 0, d, features))
	s := must.Get(p.inputs(context.Background(), InputMixed, Options{}, 64<<20))(t)
	closeStore(t, s)
	got := allRows(t, s)
	scaled := func(row []float64, length float64) (out []float64) {
		var sum float64
		for _, x := range row {
			sum += math.Pow(x, length)
		}
		for _, x := range row {
			if sum > 0 {
				x /= math.Pow(sum, 1/length)
			}
			out = append(out, x)
		}
		return out
	}
	for v, neighbors := range graph {
		own, around, shares := make([]float64, d), make([]float64, d), make([]float64, c)
		for j := range d {
			own[j] = float64(features[v*d+j])
		}
		for _, u := range neighbors {
			weight := 1 / math.Sqrt(float64(len(graph[u])))
			for j := range d {
				around[j] += weight * float64(features[int(u)*d+j])
			}
			if p.teachesBase(u) {
				shares[p.labels[u]] += weight
			}
		}
		want := slices.Concat(scaled(own, 2), scaled(around, 2), scaled(shares, 1),
			[]float64{math.Log(float64(1+len(neighbors))) / 10})
		for j, x := range want {
			if y := float64(got[v*len(want)+j]); !golden.Near(y, x, 1e-5) {
				t.Fatalf("node %d, input %d: got %v, want %v", v, j, y, x)
			}
		}
	}
}

// withFeatures makes a store of four nodes and an edge, with features of the nodes given.
func withFeatures(t *testing.T, width int, rows map[string][]float32) *kv.Store {
	t.Helper()
	s := kvtest.Load(t, kvtest.NumberedGraph([]string{"x", "y", "x", "y"}, [2]int{0, 1}))
	putFeatures(t, s, width, rows)
	return s
}

// putFeatures gives a store features of the nodes given, by id.
func putFeatures(t *testing.T, s *kv.Store, width int, rows map[string][]float32) {
	t.Helper()
	var columns []string
	for j := range width {
		columns = append(columns, fmt.Sprintf("f%d", j))
	}
	kvtest.MakeMatrix(t, s, FeaturesMatrix, columns)
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for id, row := range rows {
			v := must.Get(tx.Node(id))(t)
			must.Do(t, tx.SetRow(FeaturesMatrix, v, row))
		}
		return nil
	}))
}

func TestBaseFeatures(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		width  int
		rows   map[string][]float32
		used   bool
		notice string
		says   string // ErrFeatures, that says so
	}{
		{"of half of the nodes", 2, map[string][]float32{"0": {1, 0}, "3": {0, -2}}, true, "", ""},
		{"of one node", 2, map[string][]float32{"0": {1, 0}, "1": {0, 0}}, false, "only 1 of 4 nodes", ""},
		{"of no node", 2, nil, false, "only 0 of 4 nodes", ""},
		{"of width zero", 0, nil, false, "only 0 of 4 nodes", ""},
		{"a NaN among numbers", 2, map[string][]float32{"2": {1, nan}}, false, "", "node 2: feature f1 is NaN"},
		{"infinite", 2, map[string][]float32{"1": {-inf, 0}}, false, "", "node 1: feature f0 is -Inf"},
		{"too large to add up", 1, map[string][]float32{"3": {3e38}}, false, "", "node 3: feature f0 is 3e+38"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withFeatures(t, c.width, c.rows)
			view(t, s, func(tx *kv.Tx) error {
				features, notice, err := baseFeatures(context.Background(), tx)
				if c.says != "" {
					if !errors.Is(err, ErrFeatures) || !strings.Contains(err.Error(), c.says) {
						t.Errorf("got %v, want ErrFeatures that says %q", err, c.says)
					}
					return nil
				}
				must.Do(t, err)
				if (features != nil) != c.used || (notice == "") != c.used || !strings.Contains(notice, c.notice) {
					t.Errorf("got features %v and notice %q, want them used: %v, and a notice with %q", features, notice,
						c.used, c.notice)
				}
				if features == nil {
					return nil
				}
				values := make([]float32, tx.NumNodes()*c.width)
				must.Do(t, features.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, c.width, values))
				if slices.ContainsFunc(values, func(x float32) bool { return x != x }) {
					t.Errorf("features as read: got %v, want zeros where there is no row", values)
				}
				return nil
			})
		})
	}
}

func TestPredictRefuses(t *testing.T) {
	_, err := Predict(context.Background(), nil, Options{Workers: -2, MemoryBudget: -3})
	for _, field := range []string{"workers -2", "memory budget -3"} {
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), field) {
			t.Errorf("two bad options: got %v, want ErrOptions that names %s", err, field)
		}
	}
	dir := kvtest.LoadDir(t, kvtest.NumberedGraph([]string{"x", "y"}))
	s := kvtest.Open(t, dir, kv.Options{ReadOnly: true})
	if _, err := Predict(context.Background(), s, Options{}); !errors.Is(err, kv.ErrReadOnly) {
		t.Errorf("a store open for reading: got %v, want kv.ErrReadOnly", err)
	}
	if _, err := Predict(context.Background(), kvtest.Load(t, kvtest.NumberedGraph([]string{"", ""})),
		Options{}); !errors.Is(err, ErrNoLabels) {
		t.Errorf("no labels: got %v, want ErrNoLabels", err)
	}
	if _, err := Predict(context.Background(), kvtest.Create(t, kv.Options{}), Options{}); !errors.Is(err, ErrNoLabels) {
		t.Errorf("an empty store: got %v, want ErrNoLabels", err)
	}
	bad := withFeatures(t, 1, map[string][]float32{"1": {float32(math.Inf(1))}})
	if _, err := Predict(context.Background(), bad, Options{}); !errors.Is(err, ErrFeatures) {
		t.Errorf("an infinite feature: got %v, want ErrFeatures", err)
	}
}

// TestPredictWhileTheStoreChanges adds a node, and then cancels, in the midst of training.
func TestPredictWhileTheStoreChanges(t *testing.T) {
	s := newPlanted(9, 120).load(t, true)
	unchanged := func(when string) {
		view(t, s, func(tx *kv.Tx) error {
			if _, err := tx.Matrix(PredictionsMatrix); !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("predictions after %s: got error %v, want kv.ErrNotFound", when, err)
			}
			return nil
		})
	}
	_, err := Predict(context.Background(), s, Options{Progress: func(stage string, done, total int64) {
		if stage != "train" || done == total {
			return
		}
		err := s.Update(func(tx *kv.Tx) error {
			_, err := tx.AddNode(kv.Node{ID: "newcomer", Label: "alpha"})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}})
	if !errors.Is(err, ErrMissingRows) || !strings.Contains(err.Error(), "newcomer") {
		t.Errorf("a node added in training: got %v, want ErrMissingRows that names it", err)
	}
	unchanged("a node was added")
	if _, err := Predict(context.Background(), s, Options{}); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestSplitsOfAStore(t *testing.T) {
	p := newPlanted(11, 40)
	for i, name := range []string{"train", "VAL", "validation", "Test", "none"} {
		p.nodes[i].Values = []kv.Value{kv.ValueOf(name)}
	}
	p.nodes[5].Values = nil
	s := p.load(t, true)
	view(t, s, func(tx *kv.Tx) error {
		labels := must.Get(readLabels(tx))(t)
		splits, drawn, err := Splits(tx, labels, 1)
		must.Do(t, err)
		if drawn {
			t.Error("split column in the store: got a drawn split")
		}
		for position, want := range []Split{SplitTrain, SplitValidation, SplitValidation, SplitTest, SplitNone, SplitNone} {
			v := must.Get(nodeAt(tx, position))(t)
			if splits[v] != want {
				t.Errorf("node %s: got split %v, want %v", p.nodes[position].ID, splits[v], want)
			}
		}
		return nil
	})

	p.nodes[7].Values = []kv.Value{kv.ValueOf("holdout")}
	s = p.load(t, true)
	view(t, s, func(tx *kv.Tx) error {
		_, _, err := Splits(tx, make([]kv.Class, tx.NumNodes()), 1)
		want := `node n7: split "holdout": want train, val, test or none`
		if !errors.Is(err, ErrSplit) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("split holdout: got %v, want ErrSplit saying %q", err, want)
		}
		return nil
	})
}

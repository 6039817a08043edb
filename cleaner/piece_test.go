package cleaner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A pieceGraph is a random graph with planted classes of which some labels are wrong.
type pieceGraph struct {
	seed           uint64
	nodes, classes int
	hops           int
	split          string // given, useless (no validation nodes), or none
	cycle          bool   // neighbours are of the next class: they disagree
	weighted       bool
	untaught       bool    // the last class has one training node, the one before none
	unpredicted    int     // one node in so many has no predictions; 0: all have some
	wrong          float64 // share of wrong labels
	verdicts       int     // nodes that people decide on after a first run
	expect         float64
}

// store makes a store of the graph, with predictions.
func (g pieceGraph) store(t *testing.T) *kv.Store {
	t.Helper()
	r := rand.New(rand.NewPCG(g.seed, 1))
	dir := filepath.Join(t.TempDir(), "store")
	opt := kv.LoadOptions{Weighted: g.weighted}
	if g.split != "none" {
		opt.Properties = []kv.Column{{Name: "split", Kind: kv.KindString}}
	}
	l := must.Get(kv.NewLoader(t.Context(), dir, opt))(t)
	names := make([]string, g.classes)
	for k := range names {
		names[k] = fmt.Sprintf("class %03d", g.classes-k)
	}
	truth := make([]int, g.nodes)
	taught := false
	for v := range truth {
		truth[v] = int(float64(g.classes) * r.Float64() * r.Float64()) // small classes, too
		first := v < g.classes                                         // every class is given
		if first {
			truth[v] = v
		}
		given := truth[v]
		if !first && r.Float64() < g.wrong {
			given = (given + 1 + r.IntN(g.classes-1)) % g.classes
		}
		n := kv.Node{ID: fmt.Sprintf("n%d", v), Label: names[given]}
		split := []string{"train", "train", "train", "val", "test"}[r.IntN(5)]
		if last := given == g.classes-1; g.untaught && last && split == "train" {
			if taught {
				split = "val"
			}
			taught = true
		}
		if g.untaught && given == g.classes-2 && split == "train" {
			split = "test"
		}
		if g.split == "useless" && split == "val" {
			split = "test"
		}
		if !first && r.IntN(20) == 0 {
			n.Label = ""
		}
		if g.split != "none" {
			n.Values = []kv.Value{kv.ValueOf(split)}
		}
		must.Do(t, l.AddNode(n))
	}
	edges := l.EdgeWriter()
	for range 5 * g.nodes {
		u, v := r.IntN(g.nodes), r.IntN(g.nodes)
		near := truth[u] == truth[v]
		if g.cycle {
			near = (truth[u]+1)%g.classes == truth[v]
		}
		if !near && r.IntN(8) > 0 {
			continue
		}
		from, to := fmt.Sprintf("n%d", u), fmt.Sprintf("n%d", v)
		if weight := float32(1+r.IntN(7)) / 4; g.weighted {
			must.Do(t, edges.AddWeighted(from, to, weight, 0))
		} else {
			must.Do(t, edges.Add(from, to, 0))
		}
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	s := must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
	endSound(t, s)
	err := importPredictions(s, names, PredictionOptions{Partial: true}, func(w *PredictionWriter, tx *kv.Tx) error {
		row := make([]float64, g.classes)
		for position := range truth {
			if g.unpredicted > 0 && position%g.unpredicted == 1 {
				continue
			}
			clear(row)
			row[truth[position]] = 0.5
			if r.IntN(6) == 0 { // of two classes, as much of both
				row[r.IntN(g.classes)] += 0.5
			} else {
				row[r.IntN(g.classes)] += 0.3
				row[r.IntN(g.classes)] += 0.2
			}
			var sum float64
			for _, x := range row {
				sum += x
			}
			for k := range row {
				row[k] /= sum
			}
			must.Do(t, w.Put(must.Get(nodeAt(tx, position))(t), row))
		}
		return nil
	})
	must.Do(t, err)
	return s
}

// positioned has the data of a store, by position.
type positioned struct {
	census      CensusInput
	predictions []float32   // [n×c]
	around      [][]float32 // S_k Y [K][n×c]
	votes       [][]float64
	neighbors   [][]float64 // [n][c]: numbers of neighbours by label
}

func byPosition(t *testing.T, tx *kv.Tx, seed uint64, hops int) (p positioned, nodes []kv.NodeID) {
	t.Helper()
	n, c := tx.NumNodes(), len(tx.Classes())
	place := make([]int, n)
	for v, err := range tx.InFileOrder() {
		must.Do(t, err)
		place[v] = len(nodes)
		nodes = append(nodes, v)
	}
	labels := must.Get(readLabels(tx))(t)
	splits, drawn, err := Splits(tx, labels, seed)
	must.Do(t, err)
	p.census = CensusInput{Names: tx.Classes(), Labels: make([]kv.Class, n), Unpredicted: bitset.New[kv.NodeID](n),
		Seed: seed}
	if !drawn {
		p.census.Splits = make([]Split, n)
	}
	rows := make([]float32, n*c)
	matrix := must.Get(tx.Matrix(PredictionsMatrix))(t)
	must.Do(t, inClassOrder(tx, matrix).Read(kv.Range{End: kv.NodeID(n)}, 0, c, rows))
	p.predictions = make([]float32, n*c)
	p.votes, p.neighbors = make([][]float64, n), make([][]float64, n)
	for v, i := range place {
		p.census.Labels[i] = labels[v]
		if !drawn {
			p.census.Splits[i] = splits[v]
		}
		copy(p.predictions[i*c:], rows[v*c:][:c])
		if hasNaN(rows[v*c:][:c]) {
			p.census.Unpredicted.Add(kv.NodeID(i))
		}
	}
	verdicts := must.Get(decide.Verdicts(t.Context(), tx, labels))(t)
	for _, verdict := range verdicts {
		verdict.Node = kv.NodeID(place[verdict.Node])
		p.census.Verdicts = append(p.census.Verdicts, verdict)
	}
	slices.SortFunc(p.census.Verdicts, func(a, b Verdict) int { return int(a.Node) - int(b.Node) })
	var lists kv.Adjacency
	graph := graphOf(tx)
	must.Do(t, graph.ReadAdjacency(kv.Range{End: kv.NodeID(n)}, &lists))
	for v, i := range place {
		p.votes[i], p.neighbors[i] = make([]float64, c), make([]float64, c)
		for at := lists.Offsets[v]; at < lists.Offsets[v+1]; at++ {
			weight := 1.0
			if lists.Weights != nil {
				weight = float64(lists.Weights[at])
			}
			if y := labels[lists.Neighbors[at]]; y != kv.NoClass {
				p.votes[i][y] += weight
				p.neighbors[i][y]++
			}
		}
	}
	diagonals := must.Get(ops.ComputeDiagonals(t.Context(), graph, ops.Powers{Hops: hops}, ops.Options{}))(t)
	for range hops {
		p.around = append(p.around, make([]float32, n*c))
	}
	must.Do(t, ops.Propagate(t.Context(), graph, ops.OneHot(labels, c), ops.Operator{Hops: hops, Diagonals: diagonals},
		ops.Options{}, func(tile ops.Tile) error {
			for v := tile.Rows.First; v < tile.Rows.End; v++ {
				copy(p.around[tile.Hop-1][place[v]*c+tile.Lo:][:tile.Hi-tile.Lo],
					tile.Values[int(v-tile.Rows.First)*(tile.Hi-tile.Lo):])
			}
			return nil
		}))
	return p, nodes
}

// viaJSON is a value as it is after it was written and read.
func viaJSON[T any](t *testing.T, value *T) *T {
	t.Helper()
	text := must.Get(json.Marshal(value))(t)
	read := new(T)
	must.Do(t, json.Unmarshal(text, read))
	if !reflect.DeepEqual(read, value) {
		t.Errorf("%T: it is another one after it was written and read", value)
	}
	return read
}

// A pieceOutcome has the results of pieces for all nodes, by position.
type pieceOutcome struct {
	model      *PieceModel
	notices    []string
	fitting    int64
	scores     []float32
	suggested  []kv.Class
	confidence []float32
}

// inPieces cleans a graph in so many pieces, node i in piece i modulo their number.
func (p positioned) inPieces(t *testing.T, count, hops int, expect float64) (out pieceOutcome) {
	t.Helper()
	census, splits, members, err := TakeCensus(p.census)
	must.Do(t, err)
	census = viaJSON(t, census)
	n, c, width := len(p.census.Labels), len(census.Names), hops+1
	pieces, of := make([]*Piece, count), make([][]int, count)
	for i := range pieces {
		pieces[i] = &Piece{Census: census}
	}
	for i := range n {
		piece := pieces[i%count]
		of[i%count] = append(of[i%count], i)
		piece.Labels, piece.Splits = append(piece.Labels, p.census.Labels[i]), append(piece.Splits, splits[i])
		piece.Predictions = append(piece.Predictions, p.predictions[i*c:][:c]...)
		piece.Votes = append(piece.Votes, p.votes[i]...)
	}
	neighbors := NewNeighborCounts(c)
	for b, piece := range pieces {
		for row, i := range of[b] {
			neighbors.Add(piece.Labels[row], p.neighbors[i])
		}
	}
	neighbors = viaJSON(t, neighbors)
	in := FitInput{Census: census, Hops: hops, Neighbors: neighbors, Expect: expect}
	for b := range pieces { // members in the order of the pieces
		for _, m := range members {
			i := int(m.Node)
			if i%count != b {
				continue
			}
			in.Members = append(in.Members, m)
			for k := range c {
				z := make([]float32, width)
				z[0] = p.predictions[i*c+k]
				for hop := range hops {
					z[1+hop] = p.around[hop][i*c+k]
				}
				in.Z = append(in.Z, z...)
			}
		}
	}
	out.model = must.Get(FitModel(t.Context(), in))(t)
	out.model = viaJSON(t, out.model)
	out.notices, out.fitting = census.Notices, census.Fitting
	out.scores, out.suggested, out.confidence = make([]float32, n), make([]kv.Class, n), make([]float32, n)
	scorer := must.Get(out.model.Scorer())(t)
	labels := 1 + CountRivals(c)
	for b, piece := range pieces {
		rows := len(piece.Labels)
		tested := make([]kv.Class, rows*labels)
		piece.Tested(tested)
		features := make([][]float32, width)
		features[0] = make([]float32, len(tested))
		PickFeatures(piece.Predictions, c, tested, features[0])
		for k := range out.model.Reach() {
			var around []float32
			for _, i := range of[b] {
				around = append(around, p.around[k][i*c:][:c]...)
			}
			features[1+k] = make([]float32, len(tested))
			PickFeatures(around, c, tested, features[1+k])
		}
		scores, suggested, confidence := make([]float32, rows), make([]kv.Class, rows), make([]float32, rows)
		piece.Suggest(suggested, confidence)
		must.Do(t, scorer.Score(piece, tested, features, scores, suggested, confidence))
		for row, i := range of[b] {
			out.scores[i], out.suggested[i], out.confidence[i] = scores[row], suggested[row], confidence[row]
		}
	}
	return out
}

// TestPieces wants a cleaning in pieces to come to what Clean comes to.
func TestPieces(t *testing.T) {
	untaught := 0
	for i, g := range []pieceGraph{
		{nodes: 500, classes: 4, hops: 3, split: "given", wrong: 0.1},
		{nodes: 600, classes: 7, hops: 3, split: "none", wrong: 0.15},
		{nodes: 500, classes: 5, hops: 2, split: "useless", wrong: 0.1, unpredicted: 9},
		{nodes: 700, classes: 4, hops: 3, split: "given", wrong: 0.1, cycle: true, unpredicted: 11},
		{nodes: 600, classes: 4, hops: 3, split: "given", wrong: 0.1, cycle: true, weighted: true, verdicts: 40},
		{nodes: 600, classes: 6, hops: 3, split: "given", wrong: 0.1, untaught: true, verdicts: 30, unpredicted: 7},
		{nodes: 400, classes: 2, hops: 1, split: "given", wrong: 0.001},
		{nodes: 120, classes: 3, hops: 3, split: "none", wrong: 0.01},
		{nodes: 500, classes: 3, hops: 3, split: "none", wrong: 0.2, weighted: true, expect: 0.25},
		{nodes: 900, classes: 260, hops: 2, split: "none", wrong: 0.1}, // more classes than neighbours are counted by
	} {
		if i < 2 && !longtest.Asked() {
			continue // the others have all that is new in these
		}
		g.seed = uint64(i + 1)
		t.Run(fmt.Sprintf("%+v", g), func(t *testing.T) {
			s := g.store(t)
			var notices []string
			opt := Options{Hops: g.hops, Seed: 7, Imported: AsGiven, Expect: g.expect}
			if g.verdicts > 0 {
				first := mustClean(t, s, opt)
				mustDecide(t, s, decide.Options{}, decisions(t, s, first.Classes, index.Query{
					Where: ScoreAbove(math.Inf(-1)), Order: []index.Order{{Property: ScoreColumn, Descending: true}},
					Limit: g.verdicts,
				})...)
			}
			opt.Notice = func(text string) { notices = append(notices, text) }
			run := mustClean(t, s, opt)
			view(t, s, func(tx *kv.Tx) error {
				p, nodes := byPosition(t, tx, opt.Seed, g.hops)
				for _, count := range []int{1, 7} {
					out := p.inPieces(t, count, g.hops, g.expect)
					untaught += len(run.Model.Untaught)
					out.mustBe(t, tx, run, notices, nodes)
				}
				return nil
			})
		})
	}
	if untaught == 0 {
		t.Error("no untaught classes, want some")
	}
}

// decisions are of all kinds, on the nodes of a query.
func decisions(t *testing.T, s *kv.Store, classes []string, query index.Query) (requests []decide.Request) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		plan := must.Get(index.NewPlan(tx, query))(t)
		for v, err := range plan.Rows(t.Context()) {
			if err != nil {
				return err
			}
			label := must.Get(tx.Value(v, kv.LabelColumn))(t)
			request := decide.Request{Node: v,
				Kind: []decide.Kind{decide.Reject, decide.Unlabel, decide.Relabel}[len(requests)%3]}
			if request.Kind == decide.Relabel {
				if request.To = classes[0]; label.Str() == request.To {
					request.To = classes[1]
				}
			}
			requests = append(requests, request)
		}
		return nil
	})
	return requests
}

// mustBe compares with a run. nodes are those by position.
func (out pieceOutcome) mustBe(t *testing.T, tx *kv.Tx, run *Run, notices []string, nodes []kv.NodeID) {
	t.Helper()
	const tolerance = 1e-6
	suspects, scored, worst := int64(0), int64(0), 0.0
	for i, v := range nodes {
		var values [5]kv.Value
		for j, name := range []string{ScoreColumn, SuggestedColumn, ConfidenceColumn, kv.LabelColumn, decide.Column} {
			values[j] = must.Get(valueOrNull(tx, v, name))(t)
		}
		if values[0].IsNull() != math.IsNaN(float64(out.scores[i])) {
			t.Fatalf("position %d: got score %v, want %v", i, out.scores[i], values[0])
		}
		if !values[0].IsNull() {
			scored++
			worst = max(worst, math.Abs(float64(out.scores[i])-values[0].Float()))
		}
		if values[1].IsNull() != (out.suggested[i] == kv.NoClass) || !values[1].IsNull() &&
			values[1].Str() != run.Classes[out.suggested[i]] {
			t.Fatalf("position %d: got suggestion %d, want %v", i, out.suggested[i], values[1])
		}
		if confidence := float64(out.confidence[i]); values[2].IsNull() != math.IsNaN(confidence) || !values[2].IsNull() &&
			values[2].Float() != confidence {
			t.Fatalf("position %d: got confidence %v, want %v", i, confidence, values[2])
		}
		label := kv.NoClass
		if !values[3].IsNull() {
			label = kv.Class(slices.Index(run.Classes, values[3].Str()))
		}
		other := label != kv.NoClass && out.suggested[i] != kv.NoClass && label != out.suggested[i]
		if values[4].IsNull() && other && float64(out.scores[i]) > out.model.Model.Threshold {
			suspects++
		}
	}
	if worst > tolerance {
		t.Errorf("scores differ by %g, want at most %g", worst, tolerance)
	}
	if suspects != run.Suspects || out.fitting != run.FittingNodes || scored != run.Scored {
		t.Errorf("got %d suspects, %d fitting nodes, %d scored, want %d, %d, %d",
			suspects, out.fitting, scored, run.Suspects, run.FittingNodes, run.Scored)
	}
	for name, pair := range map[string][2]float64{
		"rate":      {out.model.Model.Told, run.MislabelRate},
		"threshold": {out.model.Model.Threshold, run.Threshold},
	} {
		if !near(pair[0], pair[1], tolerance) {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
	if got := out.model.Model; !slices.Equal(got.Untaught, run.Model.Untaught) || got.Alike != run.Model.Alike ||
		got.Unsettled != run.Model.Unsettled {
		t.Errorf("got a model with %v untaught, alike %v, unsettled %v, want %v, %v, %v",
			got.Untaught, got.Alike, got.Unsettled, run.Model.Untaught, run.Model.Alike, run.Model.Unsettled)
	}
	if !slices.Equal(out.model.Warnings, run.Warnings) {
		t.Errorf("got warnings %q, want %q", out.model.Warnings, run.Warnings)
	}
	for _, warning := range run.Warnings {
		notices = slices.DeleteFunc(slices.Clone(notices), func(text string) bool { return text == warning })
	}
	if !slices.Equal(out.notices, notices) {
		t.Errorf("got notices %q, want %q", out.notices, notices)
	}
}

// TestCensusDraws wants the census to draw the sample that Clean draws, of more nodes than a model is fitted to, and of
// more verdicts than are taken.
func TestCensusDraws(t *testing.T) {
	for _, split := range []string{"given", "none"} {
		g := pieceGraph{seed: 20, nodes: 6000, classes: 700, split: split, wrong: 0.1, verdicts: 2000, unpredicted: 8}
		s := g.store(t)
		var classes []string
		view(t, s, func(tx *kv.Tx) error { classes = slices.Clone(tx.Classes()); return nil })
		labelled := index.Not{Term: index.IsNull{Property: kv.LabelColumn}}
		mustDecide(t, s, decide.Options{}, decisions(t, s, classes, index.Query{Where: labelled, Limit: g.verdicts})...)
		view(t, s, func(tx *kv.Tx) error {
			opt := Options{Seed: 5, Imported: AsGiven}
			p := must.Get(readProblem(tx, opt))(t)
			p.verdicts = must.Get(decide.Verdicts(t.Context(), tx, p.labels))(t)
			in := &inputs{problem: p, tx: tx, run: new(Run)}
			must.Do(t, in.readPredictions(t.Context(), opt))
			want := must.Get(in.drawUnseen(opt.Seed))(t)
			of, nodes := byPosition(t, tx, opt.Seed, 1)
			census, splits, members, err := TakeCensus(of.census)
			must.Do(t, err)
			verdicts := 0
			for _, m := range members {
				rank, ok := want.nodes.has(nodes[m.Node])
				if !ok || want.labels[rank] != m.Label || want.truth[rank] != m.Truth || want.added[rank] != m.Added {
					t.Fatalf("split %s: got member %+v, want it to be one of the sample, and the same there", split, m)
				}
				if m.Truth != kv.NoClass {
					verdicts++
				}
			}
			if len(members) != len(want.labels) || census.Share != want.share || want.share > 0.9 {
				t.Errorf("split %s: got %d members, a share of %v, want %d, %v, fewer than all", split, len(members), census.Share,
					len(want.labels), want.share)
			}
			if most := mostModelNodes(g.classes) / verdictShare; verdicts != most {
				t.Errorf("split %s: got %d verdicts, want %d", split, verdicts, most)
			}
			for i, v := range nodes {
				if splits[i] != p.splits[v] {
					t.Fatalf("split %s: position %d: got split %v, want %v", split, i, splits[i], p.splits[v])
				}
			}
			return nil
		})
	}
}

// TestCensusRefuses wants errors of Clean for labels that are too few.
func TestCensusRefuses(t *testing.T) {
	two := []string{"a", "b"}
	for _, c := range []struct {
		name string
		in   CensusInput
		want error
	}{
		{"no labels", CensusInput{Names: two, Labels: []kv.Class{kv.NoClass, kv.NoClass}}, ErrNoLabels},
		{"one class", CensusInput{Names: two, Labels: []kv.Class{1, 1, kv.NoClass}}, ErrOneClass},
		{"few", CensusInput{Names: two, Labels: []kv.Class{0, 1, 0, 1}}, ErrFewLabels},
	} {
		if _, _, _, err := TakeCensus(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// TestModelsRefuse wants ErrShape, and no panic, for models whose parts do not fit together.
func TestModelsRefuse(t *testing.T) {
	s := pieceGraph{seed: 30, nodes: 300, classes: 3, hops: 2, split: "given", wrong: 0.1, cycle: true}.store(t)
	var p positioned
	view(t, s, func(tx *kv.Tx) error {
		p, _ = byPosition(t, tx, 1, 2)
		return nil
	})
	model := p.inPieces(t, 1, 2, 0).model
	for name, change := range map[string]func(m *PieceModel){
		"classes":       func(m *PieceModel) { m.Census.Names = m.Census.Names[1:] },
		"hops":          func(m *PieceModel) { m.Hops = 3 },
		"weights":       func(m *PieceModel) { m.Model.Weights = nil },
		"flips":         func(m *PieceModel) { m.Model.Flips = []classmatrix.Cell{{Row: 1, Column: 3}} },
		"flips of none": func(m *PieceModel) { m.Model.Flips = []classmatrix.Cell{{Row: -1}} },
		"untaught":      func(m *PieceModel) { m.Model.Untaught = []kv.Class{7} },
		"intercepts":    func(m *PieceModel) { m.Model.Intercepts = nil },
		"right labels":  func(m *PieceModel) { m.Model.Right = nil },
	} {
		broken := viaJSON(t, model)
		change(broken)
		if _, err := broken.Scorer(); !errors.Is(err, ErrShape) {
			t.Errorf("model, %s: got %v, want ErrShape", name, err)
		}
	}
	if _, err := new(PieceModel).Scorer(); !errors.Is(err, ErrShape) {
		t.Errorf("no model: got %v, want ErrShape", err)
	}
}

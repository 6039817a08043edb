package worker

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

// A planted graph has nodes that are mostly joined to their own class. Some labels are wrong, some labels and predictions are missing, some
// nodes are isolated, and there are loops and repeats of edges.
type planted struct {
	names       []string
	labels      []int // by position; -1: none
	splits      []string
	edges       [][2]int
	weights     []float32
	predictions [][]float64 // nil: none
	given       bool        // splits are given
}

// A form is what kind of graph is planted.
type form struct {
	weighted, directed, given bool
	lowHomophily              bool
	classes                   int
}

func newPlanted(seed uint64, n int, f form) planted {
	r := rand.New(rand.NewPCG(seed, 7))
	p := planted{given: f.given}
	c := f.classes
	for k := range c {
		p.names = append(p.names, fmt.Sprintf("class %c", 'a'+k))
	}
	of := make([]int, n)
	for v := range n {
		of[v] = r.IntN(c)
		given, predicted := of[v], of[v]
		if r.Float64() < 0.1 {
			given = (given + 1 + r.IntN(c-1)) % c
		}
		if r.Float64() < 0.2 {
			predicted = r.IntN(c)
		}
		if r.IntN(30) == 0 {
			given = -1
		}
		p.labels = append(p.labels, given)
		p.splits = append(p.splits, []string{"train", "train", "val", "test", ""}[r.IntN(5)])
		row, sum := make([]float64, c), 0.0
		for j := range row {
			if row[j] = r.ExpFloat64(); j == predicted {
				row[j] += 6
			}
			sum += row[j]
		}
		for j := range row {
			row[j] = float64(float32(row[j] / sum))
		}
		if v >= p.later(n) {
			row = nil
		}
		p.predictions = append(p.predictions, row)
	}
	hub := r.IntN(n)
	for range 6 * n {
		u, v := n/20+r.IntN(n-n/20), n/20+r.IntN(n-n/20) // the first nodes are isolated
		if r.IntN(12) == 0 && hub >= n/20 {
			u = hub
		}
		if f.lowHomophily && (of[u]+1)%c == of[v] || !f.lowHomophily && of[u] == of[v] || r.IntN(8) == 0 {
			if max(u, v) >= p.later(n) {
				p.addLater(u, v)
				continue
			}
			p.edges = append(p.edges, [2]int{u, v})
			if r.IntN(10) == 0 {
				p.edges = append(p.edges, [2]int{v, u})
			}
		}
	}
	if f.weighted {
		for _, e := range p.edges {
			w := float32(1)
			if max(e[0], e[1]) < p.later(n) {
				w = float32(1+r.IntN(8)) / 4
			}
			p.weights = append(p.weights, w)
		}
	}
	return p
}

// node is the node at a position, but for its split.
func (p planted) node(v int) kv.Node {
	n := kv.Node{ID: fmt.Sprintf("n%d", v), Source: int64(v)}
	if p.labels[v] >= 0 {
		n.Label = p.names[p.labels[v]]
	}
	return n
}

// addLater adds an edge of a node that comes later. Such edges are there once, with weight 1.
func (p *planted) addLater(u, v int) {
	if u != v && !slices.Contains(p.edges, [2]int{u, v}) && !slices.Contains(p.edges, [2]int{v, u}) {
		p.edges = append(p.edges, [2]int{u, v})
	}
}

// later is the first of n positions whose nodes come when there are predictions, and have none.
func (p planted) later(n int) int { return n - n/25 }

// store is the graph in a store.
func (p planted) store(t *testing.T, f form) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	opt := kv.LoadOptions{Classes: p.names, Directed: f.directed, Weighted: f.weighted}
	if p.given {
		opt.Properties = []kv.Column{{Name: "split", Kind: kv.KindString}}
	}
	l, err := kv.NewLoader(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	later := p.later(len(p.labels))
	for v := range later {
		n := p.node(v)
		if p.given {
			n.Values = []kv.Value{kv.StringValue(p.splits[v])}
		}
		if err := l.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	edges := l.EdgeWriter()
	for i, e := range p.edges {
		if max(e[0], e[1]) >= later {
			continue
		}
		w := float32(1)
		if f.weighted {
			w = p.weights[i]
		}
		if err := edges.AddWeighted(fmt.Sprintf("n%d", e[0]), fmt.Sprintf("n%d", e[1]), w, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := edges.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	s, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := s.Bulk()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	w, err := cleaner.NewPredictionWriter(b, p.names, cleaner.PredictionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for v, row := range p.predictions[:later] {
		node, err := b.Tx().NodeAt(v)
		if err == nil {
			err = w.Put(node, row)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(w.Mark); err != nil {
		t.Fatal(err)
	}
	err = s.Update(func(tx *kv.Tx) error {
		var nodes []kv.NodeID
		for v := range p.labels {
			var node kv.NodeID
			var err error
			if v < later {
				node, err = tx.NodeAt(v)
			} else if node, err = tx.AddNode(p.node(v)); err == nil && p.given {
				err = tx.SetValue(node, "split", kv.StringValue(p.splits[v]))
			}
			if err != nil {
				return err
			}
			nodes = append(nodes, node)
		}
		for _, e := range p.edges {
			if e[0] == e[1] || max(e[0], e[1]) < later {
				continue
			}
			if err := tx.AddEdge(nodes[e[0]], nodes[e[1]]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A cluster does what a program around workers does: it numbers nodes, sorts frames in groups, and starts a worker for each task.
type cluster struct {
	t        *testing.T
	planted  planted
	job      Job
	position []int // by number
	number   []uint64
}

func newCluster(t *testing.T, p planted, f form, ranges []uint64, hops int) *cluster {
	n := len(p.labels)
	degrees := make([]int, n)
	for _, e := range p.edges {
		degrees[e[0]]++
		degrees[e[1]]++
	}
	c := &cluster{t: t, planted: p, number: make([]uint64, n)}
	for v := range n {
		c.position = append(c.position, v)
	}
	slices.SortStableFunc(c.position, func(a, b int) int { return cmp.Compare(degrees[b], degrees[a]) })
	for number, v := range c.position {
		c.number[v] = uint64(number)
	}
	c.job = Job{Memory: 64 << 20, Chunk: 64, Ranges: ranges, Classes: len(p.names), Hops: hops, Weighted: f.weighted, Names: p.names, Seed: 3, Stretch: 9}
	return c
}

// run runs a worker on groups of frames, which are sorted by group and then by order. It returns frames and reports.
func (c *cluster) run(op Operation, change func(*Job), frames []Frame, group, order func(f *Frame) []uint32) (made, reports []Frame) {
	c.t.Helper()
	job := c.job
	if change != nil {
		change(&job)
	}
	all := []Frame{jobFrame(c.t, op, job)}
	if group != nil {
		slices.SortStableFunc(frames, func(a, b Frame) int {
			return cmp.Or(slices.Compare(group(&a), group(&b)), slices.Compare(order(&a), order(&b)))
		})
	}
	var last []uint32
	for _, f := range frames {
		if group != nil {
			if g := group(&f); last == nil || !slices.Equal(g, last) {
				last = g
				all = append(all, Frame{Kind: KindGroup, Row: g[0], Column: g[1], Part: g[2]})
			}
		}
		all = append(all, f)
	}
	for _, f := range output(c.t, stream(c.t, all...)) {
		if f.Kind == KindReport {
			reports = append(reports, f)
		} else {
			made = append(made, f)
		}
	}
	return made, reports
}

// byChunk calls visit for the numbers of each chunk.
func (c *cluster) byChunk(visit func(f Frame, positions []int)) {
	for r := range len(c.job.Ranges) - 1 {
		rows := uint32(c.job.Ranges[r+1] - c.job.Ranges[r])
		for first := uint32(0); first < rows; first += c.job.Chunk {
			count := min(c.job.Chunk, rows-first)
			from := c.job.Ranges[r] + uint64(first)
			visit(Frame{Row: uint32(r), First: first, Count: count}, c.position[from:from+uint64(count)])
		}
	}
}

func ofKind(kind Kind, frames []Frame) (some []Frame) {
	for _, f := range frames {
		if f.Kind == kind && (f.Column != ofMembers || kind != KindLabels && kind != KindBallots) {
			some = append(some, f)
		}
	}
	return some
}

func ofPart(part int, frames []Frame) (some []Frame) {
	for _, f := range frames {
		if int(f.Part) == part {
			some = append(some, f)
		}
	}
	return some
}

func join(frames ...[]Frame) []Frame { return slices.Concat(frames...) }

// Groups and orders of frames.

func (c *cluster) chunkGroup(f *Frame) []uint32 { return []uint32{f.Row, 0, f.First / c.job.Chunk} }

func blockGroup(f *Frame) []uint32 { return []uint32{f.Row, f.Column, 0} }

func rangeGroup(f *Frame) []uint32 {
	if f.Kind == KindArcs {
		return []uint32{f.Column, 0, 0}
	}
	return []uint32{f.Row, 0, 0}
}

// inOrder is the order of frames in a chunk or a block: sums last, by their place.
func inOrder(f *Frame) []uint32 {
	kind := uint32(f.Kind)
	if f.Kind == KindSums {
		kind = math.MaxUint32
	}
	return []uint32{kind, f.Column, f.Part, f.First}
}

// rangeOrder is the order of frames in the group of a column range: rows before arcs.
func rangeOrder(f *Frame) []uint32 {
	rank := map[Kind]uint32{KindStrength: 0, KindLabels: 1, KindArcs: 3}
	of, ok := rank[f.Kind]
	if !ok {
		of = 2
	}
	return []uint32{of, f.Row, f.First}
}

// blocks are the arcs of the blocks, and their row sums. Edges come in two tasks.
func (c *cluster) blocks() (arcs, sums []Frame) {
	p := c.planted
	var runs []Frame
	for task, part := range [][]int{evens(len(p.edges)), odds(len(p.edges))} {
		var sources, targets []uint64
		var weights []float32
		for _, i := range part {
			sources, targets = append(sources, c.number[p.edges[i][0]]), append(targets, c.number[p.edges[i][1]])
			if c.job.Weighted {
				weights = append(weights, p.weights[i])
			}
		}
		f := Frame{Kind: KindEdges, Count: uint32(len(part)), Payload: appendVector(appendVector(appendVector(nil, sources), targets), weights)}
		if c.job.Weighted {
			f.Width = 1
		}
		made, _ := c.run(Arcs, func(j *Job) { j.Task = uint32(task) }, []Frame{f}, nil, nil)
		runs = append(runs, made...)
	}
	merged, _ := c.run(Merge, nil, runs, blockGroup, inOrder)
	return ofKind(KindArcs, merged), ofKind(KindSums, merged)
}

// clean runs all operations and returns scores, suggestions and features by position, and the model's report.
func (c *cluster) clean() (scores []float32, suggested []int32, z [][]float32, fitted fitReport) {
	t, p := c.t, c.planted
	t.Helper()
	arcs, sums := c.blocks()

	var labels, splits, predictions, byPosition []Frame
	var raw []byte
	var all []int32
	for v, row := range p.predictions {
		s, err := cleaner.ParseSplit(p.splits[v])
		if err != nil {
			t.Fatal(err)
		}
		b := byte(s)
		if row == nil {
			b |= unpredicted
		}
		raw, all = append(raw, b), append(all, int32(p.labels[v]))
	}
	byPosition = []Frame{
		{Kind: KindLabels, Count: uint32(len(all)), Payload: appendVector(nil, all)}, {Kind: KindSplits, Count: uint32(len(all)), Payload: raw},
	}
	made, reports := c.run(Census, func(j *Job) { j.Drawn = !p.given }, byPosition, nil, nil)
	c.job.Census = reports[0].Payload
	raw = ofKind(KindSplits, made)[0].Payload
	sampled := map[uint32]bool{}
	for _, f := range ofKind(KindMembers, made) {
		positions, _ := vector[uint32](nil, f.Payload, int(f.Count))
		for _, at := range positions {
			sampled[at] = true
		}
	}
	var members []Frame
	c.byChunk(func(f Frame, positions []int) {
		var numbers []int32
		var bytes []byte
		var rows []float32
		var locals []uint32
		for i, v := range positions {
			numbers, bytes = append(numbers, all[v]), append(bytes, raw[v])
			for k := range p.names {
				if p.predictions[v] == nil {
					rows = append(rows, float32(math.NaN()))
				} else {
					rows = append(rows, float32(p.predictions[v][k]))
				}
			}
			if sampled[uint32(v)] {
				locals = append(locals, f.First+uint32(i))
			}
		}
		add := func(to *[]Frame, kind Kind, width int, payload []byte) {
			g := f
			g.Kind, g.Width, g.Payload = kind, uint32(width), payload
			*to = append(*to, g)
		}
		add(&labels, KindLabels, 0, appendVector(nil, numbers))
		add(&splits, KindSplits, 0, bytes)
		add(&predictions, KindPredictions, len(p.names), appendVector(nil, rows))
		if len(locals) > 0 {
			f.Count = uint32(len(locals))
			add(&members, KindMembers, 0, appendVector(nil, locals))
		}
	})

	strengths, _ := c.run(Strength, nil, join(labels, sums), c.chunkGroup, inOrder)
	facts := join(labels, splits, predictions)
	_, reports = c.run(Noise, func(j *Job) { j.Mode = modeThresholds }, slices.Clone(facts), c.chunkGroup, inOrder)
	thresholds := reports[0].Payload
	_, reports = c.run(Noise, func(j *Job) { j.Mode, j.Thresholds = modeJoint, thresholds }, slices.Clone(facts), c.chunkGroup, inOrder)
	noise := mergeJSON(t, thresholds, reports[0].Payload)

	partial, _ := c.run(Multiply, func(j *Job) { j.Mode = modeFirst }, join(labels, strengths, arcs), rangeGroup, rangeOrder)
	first, reports := c.run(Add, func(j *Job) { j.Mode = modeFirst }, join(facts, strengths, members, partial), c.chunkGroup, inOrder)
	neighbors := reports[0].Payload
	tested, ballots := ofKind(KindTested, first), ofKind(KindBallots, first)
	diagonals := map[int][]Frame{2: ofPart(2, ofKind(KindDiagonal, first))}
	if c.job.Hops >= 3 {
		diagonals[3] = c.triangles(arcs, strengths, labels)
	}
	features, sample, slice := ofKind(KindFeatures, first), ofKind(KindSample, first), ofKind(KindSlice, first)
	for _, of := range []string{ofLabels, ofPredictions} {
		hop := 2
		if of == ofPredictions {
			hop = 1
		}
		for ; hop <= c.job.Hops; hop++ {
			mode, input := modeSlice, slice
			if of == ofPredictions && hop == 1 {
				mode, input = modePredictions, join(predictions, strengths)
			}
			partial, _ := c.run(Multiply, func(j *Job) { j.Mode = mode }, join(input, arcs), rangeGroup, rangeOrder)
			in := join(labels, strengths, members, tested, partial, diagonals[hop])
			if of == ofPredictions {
				in = join(in, predictions)
			}
			made, _ := c.run(Add, func(j *Job) { j.Mode, j.Hop, j.Of = modeHop, hop, of }, in, c.chunkGroup, inOrder)
			slice = ofKind(KindSlice, made)
			features = append(features, ofKind(KindFeatures, made)...)
			if of == ofLabels {
				sample = append(sample, ofKind(KindSample, made)...)
			}
		}
	}
	var ofSample []Frame
	for _, f := range first {
		if f.Column == ofMembers && (f.Kind == KindLabels || f.Kind == KindBallots) {
			ofSample = append(ofSample, f)
		}
	}
	model, reports := c.run(Fit, func(j *Job) { j.Noise, j.Neighbors = noise, neighbors }, join(ofSample, sample), nil, nil)
	if err := json.Unmarshal(reports[0].Payload, &fitted); err != nil {
		t.Fatal(err)
	}
	in := join(facts, tested, ballots)
	for _, f := range features {
		if f.Part == 0 || int(f.Part) > c.job.Hops {
			in = append(in, f)
		}
	}
	scored, reports := c.run(Score, func(j *Job) { j.Model = model[0].Payload }, in, c.chunkGroup, inOrder)
	if fitted.Bins {
		var report scoreReport
		if err := json.Unmarshal(reports[0].Payload, &report); err != nil {
			t.Fatal(err)
		}
		_, reports = c.run(Fit, func(j *Job) { j.Mode, j.Model, j.Bins = modeRebin, model[0].Payload, report.Bins }, nil, nil, nil)
		if err := json.Unmarshal(reports[0].Payload, &fitted); err != nil {
			t.Fatal(err)
		}
	}

	n := len(p.labels)
	scores, suggested, z = make([]float32, n), make([]int32, n), make([][]float32, n)
	for i := range z {
		z[i] = make([]float32, 2*c.job.Hops+1)
	}
	for _, f := range scored {
		for i := range int(f.Count) {
			v := c.position[c.job.Ranges[f.Row]+uint64(f.First)+uint64(i)]
			scores[v] = math.Float32frombits(binary.LittleEndian.Uint32(f.Payload[12*i:]))
			suggested[v] = int32(binary.LittleEndian.Uint32(f.Payload[12*i+4:]))
		}
	}
	for _, f := range features {
		values, _ := vector[float32](nil, f.Payload, int(f.Count*f.Width))
		for i := range int(f.Count) {
			v := c.position[c.job.Ranges[f.Row]+uint64(f.First)+uint64(i)]
			z[v][f.Part] = values[i*int(f.Width)]
		}
	}
	return scores, suggested, z, fitted
}

// triangles runs the operation for all descending triples of ranges, in two tasks.
func (c *cluster) triangles(arcs, strengths, labels []Frame) []Frame {
	var tasks [2][]Frame
	ranges, stretch, task := uint32(len(c.job.Ranges)-1), c.job.Stretch, 0
	for i := range ranges {
		for j := range i + 1 {
			step := stretch
			if i == j {
				step = 1
			}
			for first := uint32(0); first <= j; first += step {
				tasks[task] = append(tasks[task], stretchFrames(i, j, first, step, slices.Concat(strengths, arcs))...)
				task = 1 - task
			}
		}
	}
	var sums []Frame
	for _, frames := range tasks {
		made, _ := c.run(Triangles, nil, frames, nil, nil)
		sums = append(sums, made...)
	}
	made, _ := c.run(Add, func(j *Job) { j.Mode, j.Hop = modeDiagonal, 3 }, join(labels, strengths, sums), c.chunkGroup, inOrder)
	return made
}

// stretchFrames are the groups of a stretch with their frames, each once.
func stretchFrames(i, j, first, stretch uint32, all []Frame) (frames []Frame) {
	has := map[[3]uint32]bool{}
	for k := first; k <= min(j, first+stretch-1); k++ {
		begin := len(frames)
		for _, f := range all {
			isOf := slices.Contains([]uint32{i, j, k}, f.Row)
			if f.Kind == KindArcs {
				isOf = slices.Contains([][2]uint32{{i, j}, {i, k}, {j, k}}, [2]uint32{f.Row, f.Column})
			}
			if isOf && !has[[3]uint32{uint32(f.Kind), f.Row, f.Column}] {
				if len(frames) == begin {
					frames = append(frames, Frame{Kind: KindGroup, Row: i, Column: j, Part: k})
				}
				frames = append(frames, f)
			}
		}
		for _, f := range frames[begin:] {
			has[[3]uint32{uint32(f.Kind), f.Row, f.Column}] = true
		}
	}
	return frames
}

func evens(n int) (all []int) {
	for i := 0; i < n; i += 2 {
		all = append(all, i)
	}
	return all
}

func odds(n int) (all []int) {
	for i := 1; i < n; i += 2 {
		all = append(all, i)
	}
	return all
}

// mergeJSON makes one object of several.
func mergeJSON(t *testing.T, texts ...[]byte) []byte {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, text := range texts {
		var one map[string]json.RawMessage
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, one)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// embedded is what Clean makes of the graph, by position.
func embedded(t *testing.T, p planted, f form, hops int) (run *cleaner.Run, scores []float32, suggested []int32, z [][]float32) {
	t.Helper()
	s := p.store(t, f)
	run, err := cleaner.Clean(context.Background(), s, cleaner.Options{Hops: hops, Seed: 3, AsGiven: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(func(tx *kv.Tx) error {
		values, err := tx.Reader(cleaner.ScoreColumn)
		if err != nil {
			return err
		}
		suggestions, err := tx.Reader(cleaner.SuggestedColumn)
		if err != nil {
			return err
		}
		matrix, err := tx.Matrix(cleaner.AgreementMatrix)
		if err != nil {
			return err
		}
		for position := range p.labels {
			v, err := tx.NodeAt(position)
			if err != nil {
				return err
			}
			score, err := values.At(v)
			if err != nil {
				return err
			}
			suggestion, err := suggestions.At(v)
			if err != nil {
				return err
			}
			row := make([]float32, matrix.Width())
			if err := matrix.Read(kv.Range{First: v, End: v + 1}, 0, matrix.Width(), row); err != nil {
				return err
			}
			if z = append(z, row); score.IsNull() {
				scores = append(scores, float32(math.NaN()))
			} else {
				scores = append(scores, float32(score.Float()))
			}
			suggested = append(suggested, int32(slices.Index(p.names, suggestion.Str())))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return run, scores, suggested, z
}

// TestPipelineEqualsClean runs all operations as a cluster would, and compares with Clean on a store of the same graph.
func TestPipelineEqualsClean(t *testing.T) {
	const n = 700
	for name, c := range map[string]struct {
		form   form
		hops   int
		ranges []uint64
	}{
		"one range":       {form{classes: 4, given: true}, 3, []uint64{0, n}},
		"three ranges":    {form{classes: 4, given: true}, 3, []uint64{0, 1, 200, n}},
		"an empty range":  {form{classes: 4}, 2, []uint64{0, 100, 100, n}},
		"drawn splits":    {form{classes: 4}, 3, []uint64{0, 64, 400, n}},
		"one hop":         {form{classes: 3}, 1, []uint64{0, 300, n}},
		"two hops":        {form{classes: 3, given: true}, 2, []uint64{0, 300, n}},
		"weighted":        {form{classes: 4, weighted: true, given: true}, 3, []uint64{0, 20, 300, n}},
		"directed":        {form{classes: 4, directed: true}, 3, []uint64{0, 20, 300, n}},
		"weighted arcs":   {form{classes: 4, directed: true, weighted: true}, 3, []uint64{0, 100, n}},
		"low homophily":   {form{classes: 4, lowHomophily: true, given: true}, 3, []uint64{0, 100, n}},
		"two classes":     {form{classes: 2}, 3, []uint64{0, 100, n}},
		"votes by weight": {form{classes: 5, lowHomophily: true, weighted: true}, 2, []uint64{0, 100, n}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanted(uint64(len(name)), n, c.form)
			run, scores, suggested, z := embedded(t, p, c.form, c.hops)
			gotScores, gotSuggested, gotZ, fitted := newCluster(t, p, c.form, c.ranges, c.hops).clean()
			wrong := 0
			for v := range n {
				if !near(scores[v], gotScores[v], 1e-5) || suggested[v] != gotSuggested[v] {
					if wrong++; wrong < 4 {
						t.Errorf("node %d: score %v, suggestion %d, want %v, %d", v, gotScores[v], gotSuggested[v], scores[v], suggested[v])
					}
				}
				if math.IsNaN(float64(scores[v])) {
					continue
				}
				for f := range z[v] {
					if !near(z[v][f], gotZ[v][f], 1e-6) {
						if wrong++; wrong < 4 {
							t.Errorf("node %d: feature %d is %v, want %v", v, f, gotZ[v][f], z[v][f])
						}
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%d differences", wrong)
			}
			if math.Abs(fitted.Rate-run.MislabelRate) > 1e-6 || math.Abs(fitted.Threshold-run.Threshold) > 1e-6 {
				t.Errorf("rate %v and threshold %v, want %v and %v", fitted.Rate, fitted.Threshold, run.MislabelRate, run.Threshold)
			}
		})
	}
}

// TestSmoothEqualsPropagate smooths features over two hops, and compares with Propagate on a store of the same graph.
func TestSmoothEqualsPropagate(t *testing.T) {
	const n, width = 500, 5
	for name, f := range map[string]form{"plain": {classes: 3}, "weighted": {classes: 3, weighted: true}} {
		t.Run(name, func(t *testing.T) {
			p := newPlanted(11, n, f)
			s := p.store(t, f)
			c := newCluster(t, p, f, []uint64{0, 30, n}, 2)
			r := rand.New(rand.NewPCG(5, 5))
			x := make([]float32, n*width) // by position
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			arcs, sums := c.blocks()
			var labels, inputs []Frame
			c.byChunk(func(f Frame, positions []int) {
				var classes []int32
				var rows []float32
				for _, v := range positions {
					classes, rows = append(classes, int32(p.labels[v])), append(rows, x[v*width:][:width]...)
				}
				f.Kind, f.Payload = KindLabels, appendVector(nil, classes)
				labels = append(labels, f)
				f.Kind, f.Width, f.Payload = KindInputs, width, appendVector(nil, rows)
				inputs = append(inputs, f)
			})
			strengths, _ := c.run(Strength, nil, join(labels, sums), c.chunkGroup, inOrder)
			c.job.Width = width
			got := map[[2]int][]float32{} // by hop and position
			rows := inputs
			for hop := 1; hop <= 2; hop++ {
				mode, in := modeSlice, rows
				if hop == 1 {
					mode, in = modeInputs, join(rows, strengths)
				}
				partial, _ := c.run(Multiply, func(j *Job) { j.Mode = mode }, join(in, arcs), rangeGroup, rangeOrder)
				made, _ := c.run(Add, func(j *Job) { j.Mode, j.Hop = modeSmooth, hop }, join(labels, strengths, rows, partial), c.chunkGroup, inOrder)
				rows = ofKind(KindSlice, made)
				for _, f := range ofKind(KindInputs, made) {
					values, _ := vector[float32](nil, f.Payload, int(f.Count*f.Width))
					for i := range int(f.Count) {
						got[[2]int{hop, c.position[c.job.Ranges[f.Row]+uint64(f.First)+uint64(i)]}] = values[i*width:][:width]
					}
				}
			}
			err := s.View(func(tx *kv.Tx) error {
				graph := tx.Along(kv.Both)
				position, byNode := map[kv.NodeID]int{}, make([]float32, n*width)
				for v := range n {
					node, err := tx.NodeAt(v)
					if err != nil {
						return err
					}
					position[node] = v
					copy(byNode[int(node)*width:][:width], x[v*width:][:width])
				}
				return ops.Propagate(context.Background(), graph, ops.Dense(byNode, width), ops.Operator{Hops: 2, SelfLoops: true}, ops.Options{Workers: 1}, func(tile ops.Tile) error {
					columns := tile.Hi - tile.Lo
					for v := tile.Rows.First; v < tile.Rows.End; v++ {
						for j := range columns {
							want := tile.Values[int(v-tile.Rows.First)*columns+j]
							if row := got[[2]int{tile.Hop, position[v]}]; len(row) != width || !near(row[tile.Lo+j], want, 1e-6) {
								t.Fatalf("hop %d, node %d, column %d: got %v, want %v", tile.Hop, position[v], tile.Lo+j, row, want)
							}
						}
					}
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// near says whether two numbers are the same but for a difference, or both NaN.
func near(a, b float32, difference float64) bool {
	if math.IsNaN(float64(a)) || math.IsNaN(float64(b)) {
		return math.IsNaN(float64(a)) && math.IsNaN(float64(b))
	}
	return math.Abs(float64(a)-float64(b)) <= difference
}

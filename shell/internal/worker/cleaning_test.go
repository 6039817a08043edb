package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A cluster does the jobs of a cleaning, and keeps all frames that came and were written.
type cluster struct {
	t      *testing.T
	job    Job
	frames []Frame
}

// run does a job on groups of frames, and returns the report. It wants an error where the payload of a frame lacks a
// byte, and where a frame is missing whose kind has to be there.
func (c *cluster) run(op, mode string, groups ...[]Frame) []byte {
	c.t.Helper()
	job := c.job
	job.Mode = mode
	frames := slices.Concat(append([][]Frame{{jobFrame(c.t, op, job)}}, groups...)...)
	fails := func(frames []Frame) bool {
		return Run(context.Background(), testVersion, bytes.NewReader(stream(c.t, frames...)), io.Discard) != nil
	}
	tried := map[Kind]bool{KindGroup: true}
	for i, f := range frames {
		if tried[f.Kind] || len(f.Payload) == 0 {
			continue
		}
		tried[f.Kind] = true
		short := slices.Clone(frames)
		short[i].Payload = f.Payload[:len(f.Payload)-1]
		if !fails(short) {
			c.t.Errorf("%s %s: %s lacks a byte, and there is no error", op, mode, f.Place())
		}
		mayMiss := []Kind{KindEdges, KindArcs, KindSums, KindMembers}
		if !slices.Contains(mayMiss, f.Kind) && !fails(slices.Delete(slices.Clone(frames), i, i+1)) {
			c.t.Errorf("%s %s: without %s there is no error", op, mode, f.Place())
		}
	}
	var report []byte
	for _, f := range output(c.t, stream(c.t, frames...)) {
		if f.Kind == KindReport {
			report = f.Payload
		}
		c.frames = append(c.frames, f)
	}
	return report
}

// of are the frames of a kind that a condition is true of.
func (c *cluster) of(kind Kind, is func(f *Frame) bool) (frames []Frame) {
	for _, f := range c.frames {
		if f.Kind == kind && is(&f) {
			frames = append(frames, f)
		}
	}
	return frames
}

// take takes the sums out that were written.
func (c *cluster) take() []Frame {
	sums := c.of(KindSums, func(*Frame) bool { return true })
	c.frames = slices.DeleteFunc(c.frames, func(f Frame) bool { return f.Kind == KindSums })
	slices.SortStableFunc(sums, func(a, b Frame) int {
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Part, b.Part))
	})
	return sums
}

// chunks are the groups of chunks, with frames of some kinds about the nodes, and sums. Diagonals are of a hop.
func (c *cluster) chunks(sums []Frame, hop int, kinds ...Kind) (groups [][]Frame) {
	for r := range uint32(len(c.job.Ranges) - 1) {
		for first := uint32(0); first < must.Get(c.job.rangeRows(r))(c.t); first += c.job.Chunk {
			here := func(f *Frame) bool {
				return f.Row == r && f.First/c.job.Chunk*c.job.Chunk == first && (f.Kind != KindLabels || f.Column != ofMembers) &&
					(f.Kind != KindDiagonal || f.Part == uint32(hop))
			}
			group := []Frame{{Kind: KindGroup, Row: r, Part: first}}
			for _, kind := range kinds {
				group = append(group, c.of(kind, here)...)
			}
			for _, f := range sums {
				if here(&f) {
					group = append(group, f)
				}
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// columns are the groups of the columns of blocks: frames of some kinds about their nodes, then the arcs.
func (c *cluster) columns(hop int, kinds ...Kind) (groups [][]Frame) {
	for column := range uint32(len(c.job.Ranges) - 1) {
		group := []Frame{{Kind: KindGroup, Row: column}}
		for _, kind := range kinds {
			group = append(group, c.of(kind, func(f *Frame) bool {
				return f.Row == column && f.Column == 0 && (f.Kind != KindSlice || f.Part == uint32(hop))
			})...)
		}
		groups = append(groups, append(group, c.of(KindArcs, func(f *Frame) bool { return f.Column == column })...))
	}
	return groups
}

// triples are the groups of the ranges between which there are triangles.
func (c *cluster) triples() (groups [][]Frame) {
	n := uint32(len(c.job.Ranges) - 1)
	for i := range n {
		for j := range i + 1 {
			for k := range j + 1 {
				group := [3]uint32{i, j, k}
				blocks := blocksOf(group)
				frames := []Frame{{Kind: KindGroup, Row: i, Column: j, Part: k}}
				frames = append(frames, c.of(KindStrength, func(f *Frame) bool { return slices.Contains(group[:], f.Row) })...)
				groups = append(groups, append(frames, c.of(KindArcs, func(f *Frame) bool {
					return slices.Contains(blocks[:], [2]uint32{f.Row, f.Column})
				})...))
			}
		}
	}
	return groups
}

// clean does all jobs of a cleaning, of nodes in their order.
func (c *cluster) clean(edges [][2]uint32, labels []kv.Class, splits []byte, predictions []float32) {
	ranges, classes := c.job.Ranges, c.job.Classes
	place := func(v uint32) (r, row uint32) {
		r = uint32(slices.IndexFunc(ranges, func(end uint64) bool { return end > uint64(v) }) - 1)
		return r, v - uint32(ranges[r])
	}
	blocks := map[[2]uint32][][2]uint32{}
	for _, e := range edges {
		for _, of := range [][2]uint32{e, {e[1], e[0]}} {
			i, row := place(of[0])
			j, column := place(of[1])
			blocks[[2]uint32{i, j}] = append(blocks[[2]uint32{i, j}], [2]uint32{row, column})
		}
	}
	var groups [][]Frame
	for i := range uint32(len(ranges) - 1) {
		for j := range uint32(len(ranges) - 1) {
			of := blocks[[2]uint32{i, j}]
			slices.SortFunc(of, func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) })
			groups = append(groups, []Frame{{Kind: KindGroup, Row: i, Column: j}, edgesFrame(of...)})
		}
	}
	c.run("arcs", "", groups...)
	sums := c.take()

	var all []Frame
	for first := range len(labels) / 100 {
		part := Frame{Kind: KindLabels, First: uint32(100 * first), Count: 100}
		part.Payload = appendClasses(nil, labels[100*first:][:100]...)
		all = append(all, part)
		part.Kind, part.Payload = KindSplits, splits[100*first:][:100]
		all = append(all, part)
	}
	c.job.Census = c.run("census", "", all)
	drawn := c.of(KindSplits, func(*Frame) bool { return true })[0].Payload
	positions := rowsOf[uint32](nil, &c.of(KindMembers, func(*Frame) bool { return true })[0])
	c.frames = slices.DeleteFunc(c.frames, func(f Frame) bool { return f.Kind == KindSplits || f.Kind == KindMembers })
	for _, chunk := range c.chunks(nil, 0) {
		f := Frame{Row: chunk[0].Row, First: chunk[0].Part}
		f.Count = min(c.job.Chunk, must.Get(c.job.rangeRows(f.Row))(c.t)-f.First)
		from := uint32(ranges[f.Row]) + f.First
		add := func(kind Kind, width int, payload []byte) {
			f.Kind, f.Width, f.Payload = kind, uint32(width), payload
			c.frames = append(c.frames, f)
		}
		end := from + f.Count
		add(KindLabels, 0, appendClasses(nil, labels[from:end]...))
		add(KindSplits, 0, drawn[from:end])
		add(KindPredictions, classes, appendVector(nil, predictions[int(from)*classes:int(end)*classes]))
		var members []uint32
		for _, v := range positions {
			if v >= from && v < end {
				members = append(members, v-uint32(ranges[f.Row]))
			}
		}
		f.Count = uint32(len(members))
		add(KindMembers, 0, appendVector(nil, members))
	}

	c.run("add", modeStrength, c.chunks(sums, 0, KindLabels)...)
	c.run("triangles", "", c.triples()...)
	c.run("add", modeDiagonal, c.chunks(c.take(), 0, KindLabels, KindStrength)...)
	c.run("multiply", modeFirst, c.columns(0, KindLabels, KindStrength)...)
	c.job.Neighbors = c.run("add", modeFirst,
		c.chunks(c.take(), 0, KindLabels, KindSplits, KindPredictions, KindStrength, KindMembers)...)
	for hop := 2; hop <= c.job.Hops; hop++ {
		c.run("multiply", modeSlice, c.columns(hop-1, KindSlice)...)
		c.job.Hop = hop
		c.run("add", modeHop, c.chunks(c.take(), hop, KindLabels, KindStrength, KindTested, KindDiagonal, KindMembers)...)
	}
	ofSample := c.of(KindLabels, func(f *Frame) bool { return f.Column == ofMembers })
	c.run("fit", "", append(ofSample, c.of(KindSample, func(*Frame) bool { return true })...))
	c.job.Model = c.of(KindModel, func(*Frame) bool { return true })[0].Payload
	c.run("score", "",
		c.chunks(nil, 0, KindLabels, KindSplits, KindPredictions, KindTested, KindBallots, KindFeatures)...)
}

// TestCleaning does every operation on a graph in four ranges, and wants the scores that Clean gives the same graph.
func TestCleaning(t *testing.T) {
	const nodes, classes, seed = 300, 3, 7
	names, missing := []string{"a", "b", "c"}, float32(math.NaN())
	r := rand.New(rand.NewPCG(1, 1))
	labels, splits, predictions := make([]kv.Class, nodes), make([]byte, nodes), make([]float32, nodes*classes)
	dir := filepath.Join(t.TempDir(), "store")
	loader := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	for v := range nodes {
		truth := v % classes
		labels[v] = kv.Class(truth)
		if v > 10 && r.IntN(8) == 0 {
			labels[v] = kv.Class((truth + 1 + r.IntN(classes-1)) % classes)
		}
		row := predictions[v*classes:][:classes]
		row[truth], row[(truth+1)%classes], row[(truth+2)%classes] = 0.5, 0.25, 0.25
		if v%5 == 4 { // as much of two classes
			row[truth], row[(truth+1)%classes] = 0.375, 0.375
		}
		if v%17 == 5 {
			labels[v] = kv.NoClass
		}
		if v%23 == 3 {
			splits[v] = unpredicted
			copy(row, []float32{missing, missing, missing})
		}
		node := kv.Node{ID: fmt.Sprint("n", v)}
		if labels[v] != kv.NoClass {
			node.Label = names[labels[v]]
		}
		must.Do(t, loader.AddNode(node))
	}
	var edges [][2]uint32
	for writer := loader.EdgeWriter(); len(edges) < 900; {
		u, v := r.IntN(nodes), r.IntN(nodes)
		if u != v && (u%classes == v%classes || r.IntN(6) == 0) {
			edges = append(edges, [2]uint32{uint32(u), uint32(v)})
			must.Do(t, writer.Add(fmt.Sprint("n", u), fmt.Sprint("n", v), 0))
		}
	}
	must.Get(loader.Commit(t.Context(), nil))(t)
	store := must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
	defer store.Close()
	bulk := must.Get(store.Bulk(t.Context()))(t)
	defer bulk.Abort()
	w := must.Get(cleaner.NewPredictionWriter(bulk, names, cleaner.PredictionOptions{Partial: true}))(t)
	for v := range nodes {
		if splits[v] == unpredicted {
			continue
		}
		row := make([]float64, classes)
		for k := range row {
			row[k] = float64(predictions[v*classes+k])
		}
		must.Do(t, w.Put(must.Get(bulk.Tx().Node(fmt.Sprint("n", v)))(t), row))
	}
	must.Do(t, w.Finish())
	must.Do(t, bulk.Commit(w.Mark))
	must.Get(cleaner.Clean(t.Context(), store, cleaner.Options{Hops: 3, Seed: seed, Imported: cleaner.AsGiven}))(t)

	c := &cluster{t: t, job: Job{
		Version: testVersion, Memory: leastMemory, Chunk: 64, Ranges: []uint64{0, 70, 71, 200, nodes}, Classes: classes,
		Hops: 3, Names: names, Seed: seed, Drawn: true,
	}}
	c.clean(edges, labels, splits, predictions)
	scored := 0
	must.Do(t, store.View(func(tx *kv.Tx) error {
		for _, f := range c.of(KindScores, func(*Frame) bool { return true }) {
			for i := range f.Count {
				v := c.job.Ranges[f.Row] + uint64(f.First+i)
				var got struct {
					Score      float32
					Suggested  int32
					Confidence float32
				}
				must.Get(binary.Decode(f.Payload[12*i:], binary.LittleEndian, &got))(t)
				node := must.Get(tx.Node(fmt.Sprint("n", v)))(t)
				for name, x := range map[string]float32{"score": got.Score, "confidence": got.Confidence} {
					want := must.Get(tx.Value(node, name))(t)
					if want.IsNull() != math.IsNaN(float64(x)) || !want.IsNull() && math.Abs(want.Float()-float64(x)) > 1e-6 {
						t.Errorf("n%d: got the %s %v, want %v", v, name, x, want)
					}
				}
				want := must.Get(tx.Value(node, "suggested"))(t)
				if want.IsNull() != (got.Suggested < 0) || !want.IsNull() && want.Str() != names[got.Suggested] {
					t.Errorf("n%d: got the suggestion %d, want %v", v, got.Suggested, want)
				}
				scored++
			}
		}
		return nil
	}))
	if scored != nodes {
		t.Errorf("got scores of %d nodes, want %d", scored, nodes)
	}
}

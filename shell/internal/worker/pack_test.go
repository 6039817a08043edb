package worker

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A weighted pair of node numbers.
type pair struct {
	source, target uint64
	weight         float32
}

// adjacency is the symmetric graph by number, without loops, the weights of repeats added.
func (c *cluster) adjacency() []map[uint64]float64 {
	lists := make([]map[uint64]float64, len(c.number))
	for u := range lists {
		lists[u] = map[uint64]float64{}
	}
	for i, e := range c.planted.edges {
		u, v := c.number[e[0]], c.number[e[1]]
		switch {
		case u == v:
		case c.job.Weighted:
			lists[u][v] += float64(c.planted.weights[i])
			lists[v][u] = lists[u][v]
		default:
			lists[u][v], lists[v][u] = 1, 1
		}
	}
	return lists
}

// members are frames of node numbers, ascending.
func (c *cluster) members(numbers []uint64) (frames []Frame) {
	c.byChunk(func(f Frame, positions []int) {
		var rows []uint32
		from := c.job.Ranges[f.Row] + uint64(f.First)
		for _, u := range numbers {
			if u >= from && u < from+uint64(len(positions)) {
				rows = append(rows, uint32(u-c.job.Ranges[f.Row]))
			}
		}
		if len(rows) > 0 {
			f.Kind, f.Count, f.Payload = KindMembers, uint32(len(rows)), appendVector(nil, rows)
			frames = append(frames, f)
		}
	})
	return frames
}

// pairsOf decodes frames of edges or pairs, and checks their places.
func pairsOf(t *testing.T, job Job, frames []Frame, kind Kind) (pairs []pair) {
	t.Helper()
	for _, f := range frames {
		if f.Kind != kind || f.Operation != Pack {
			t.Fatalf("got %s of operation %s, want %s of pack", f.Kind, f.Operation, kind)
		}
		sources, rest := vector[uint64](nil, f.Payload, int(f.Count))
		targets, rest := vector[uint64](nil, rest, int(f.Count))
		weights := make([]float32, f.Count)
		if f.Width == 1 {
			weights, rest = vector(weights, rest, int(f.Count))
		}
		if len(rest) > 0 {
			t.Fatalf("%s: %d bytes too many", f.Place(), len(rest))
		}
		in := func(u uint64, r uint32) bool { return u >= job.Ranges[r] && u < job.Ranges[r+1] }
		for i := range sources {
			if !in(sources[i], f.Row) || !in(targets[i], f.Column) || sources[0] != job.Ranges[f.Row]+uint64(f.First) {
				t.Fatalf("%s has a pair of %d and %d", f.Place(), sources[i], targets[i])
			}
			pairs = append(pairs, pair{sources[i], targets[i], weights[i]})
		}
	}
	return pairs
}

// reach asks for the neighbours of some nodes in each range of columns.
func (c *cluster) reach(most int, arcs, strengths []Frame, numbers []uint64) (pairs []pair) {
	for j := range uint32(len(c.job.Ranges) - 1) {
		in := c.members(numbers)
		for _, f := range join(strengths, arcs) {
			if f.Kind == KindStrength && f.Row == j || f.Kind == KindArcs && f.Column == j {
				in = append(in, f)
			}
		}
		made, _ := c.run(Pack, func(job *Job) { job.Mode, job.Most = modeReach, most }, in, func(*Frame) []uint32 { return []uint32{j, 7, 0} },
			func(f *Frame) []uint32 {
				return []uint32{map[Kind]uint32{KindStrength: 0, KindMembers: 1, KindArcs: 2}[f.Kind], f.Row, f.First}
			})
		pairs = append(pairs, pairsOf(c.t, c.job, made, KindPairs)...)
	}
	return pairs
}

// edges asks for the edges among some nodes, block by block.
func (c *cluster) edges(arcs []Frame, numbers []uint64) (pairs []pair) {
	for i := range uint32(len(c.job.Ranges) - 1) {
		for j := range uint32(len(c.job.Ranges) - 1) {
			var in []Frame
			for _, f := range join(c.members(numbers), arcs) {
				if f.Kind == KindMembers && (f.Row == i || f.Row == j) || f.Kind == KindArcs && f.Row == i && f.Column == j {
					in = append(in, f)
				}
			}
			made, _ := c.run(Pack, func(job *Job) { job.Mode = modeEdges }, in, func(*Frame) []uint32 { return []uint32{i, j, 0} },
				func(f *Frame) []uint32 {
					return []uint32{map[Kind]uint32{KindMembers: 0, KindArcs: 1}[f.Kind], f.Row, f.First}
				})
			pairs = append(pairs, pairsOf(c.t, c.job, made, KindEdges)...)
		}
	}
	return pairs
}

func TestPack(t *testing.T) {
	const n = 700
	for name, c := range map[string]struct {
		form   form
		ranges []uint64
		most   int
	}{
		"one range":      {form{classes: 4}, []uint64{0, n}, 5},
		"three ranges":   {form{classes: 4}, []uint64{0, 1, 200, n}, 3},
		"an empty range": {form{classes: 4}, []uint64{0, 100, 100, n}, 1},
		"weighted":       {form{classes: 4, weighted: true}, []uint64{0, 20, 300, n}, 4},
		"all":            {form{classes: 3, weighted: true}, []uint64{0, 300, n}, mostReach},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanted(uint64(len(name)), n, c.form)
			cluster := newCluster(t, p, c.form, c.ranges, 3)
			arcs, sums := cluster.blocks()
			var labels []Frame
			cluster.byChunk(func(f Frame, positions []int) {
				f.Kind, f.Payload = KindLabels, appendVector(nil, make([]int32, len(positions)))
				labels = append(labels, f)
			})
			strengths, _ := cluster.run(Strength, nil, join(labels, sums), cluster.chunkGroup, inOrder)
			lists := cluster.adjacency()
			strength := make([]float64, n)
			for u, list := range lists {
				for _, w := range list {
					strength[u] += w // of quarters: exact
				}
			}

			r := rand.New(rand.NewPCG(2, 3))
			var frontier []uint64
			for u := range uint64(n) {
				if u == 0 || r.IntN(4) == 0 { // the hub is among them
					frontier = append(frontier, u)
				}
			}
			var want []pair
			for _, u := range frontier {
				for j := range len(c.ranges) - 1 {
					var own []pair
					for v, w := range lists[u] {
						if v >= c.ranges[j] && v < c.ranges[j+1] {
							own = append(own, pair{u, v, float32(w / math.Sqrt(strength[v]))})
						}
					}
					slices.SortFunc(own, func(a, b pair) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.target, b.target)) })
					want = append(want, own[:min(c.most, len(own))]...)
				}
			}
			samePairs(t, "reach", cluster.reach(c.most, arcs, strengths, frontier), want, 1e-6)

			want = want[:0]
			for _, u := range frontier {
				for _, v := range frontier {
					if w, ok := lists[u][v]; ok && u < v {
						if !c.form.weighted {
							w = 0 // no weights are written
						}
						want = append(want, pair{u, v, float32(w)})
					}
				}
			}
			samePairs(t, "edges", cluster.edges(arcs, frontier), want, 0)
		})
	}
}

// samePairs compares pairs, whatever their order.
func samePairs(t *testing.T, what string, got, want []pair, difference float64) {
	t.Helper()
	weights := func(pairs []pair) map[[2]uint64]float32 {
		all := map[[2]uint64]float32{}
		for _, p := range pairs {
			all[[2]uint64{p.source, p.target}] = p.weight
		}
		return all
	}
	g, w := weights(got), weights(want)
	if len(g) != len(got) || len(w) < 100 || len(g) != len(w) {
		t.Fatalf("%s: got %d pairs, %d different ones, want %d", what, len(got), len(g), len(w))
	}
	for key := range maps.Keys(w) {
		if weight, ok := g[key]; !ok || !near(weight, w[key], difference) {
			t.Fatalf("%s: pair %v has weight %v, want %v", what, key, weight, w[key])
		}
	}
}

// TestPackSplitsFrames wants more pairs than a frame has in several.
func TestPackSplitsFrames(t *testing.T) {
	const n = 2*mostPairs + 2 // a star
	job := Job{Memory: 64 << 20, Chunk: 1 << 20, Ranges: []uint64{0, n}, Classes: 2, Hops: 1}
	var sources, targets []uint64
	for v := uint64(1); v < n; v++ {
		sources, targets = append(sources, 0), append(targets, v)
	}
	frames := []Frame{jobFrame(t, Arcs, job), {Kind: KindEdges, Count: n - 1, Payload: appendVector(appendVector(nil, sources), targets)}}
	arcs := ofKind(KindArcs, output(t, stream(t, frames...)))
	all := make([]uint32, n)
	for v := range all {
		all[v] = uint32(v)
	}
	job.Mode = modeEdges
	frames = append([]Frame{
		jobFrame(t, Pack, job), {Kind: KindGroup}, {Kind: KindMembers, Count: n, Payload: appendVector(nil, all)},
	}, arcs...)
	for i := range frames {
		if frames[i].Kind == KindArcs {
			frames[i].Operation = Merge
		}
	}
	made := output(t, stream(t, frames...))
	if pairs := pairsOf(t, job, made, KindEdges); len(made) != 3 || len(pairs) != n-1 || made[0].Count != mostPairs {
		t.Errorf("got %d edges in %d frames, want %d in 3", len(pairs), len(made), n-1)
	}
}

func TestPackRefuses(t *testing.T) {
	job := smallJob()
	arcs := ofKind(KindArcs, output(t, stream(t, jobFrame(t, Arcs, job), edgesFrame([2]uint64{2, 5}))))
	group := Frame{Kind: KindGroup, Row: 1, Column: 1}
	strengths := Frame{Kind: KindStrength, Row: 1, Count: 4, Payload: appendVector(nil, make([]float64, 4))}
	members := func(row, first uint32, rows ...uint32) Frame {
		return Frame{Kind: KindMembers, Row: row, First: first, Count: uint32(len(rows)), Payload: appendVector(nil, rows)}
	}
	for want, c := range map[string]struct {
		change func(*Job)
		frames []Frame
	}{
		`mode "", want reach or edges`:         {func(j *Job) { j.Mode = "" }, nil},
		"most 0, want 1 to":                    {func(j *Job) { j.Most = 0 }, nil},
		"most 65537, want 1 to":                {func(j *Job) { j.Most = mostReach + 1 }, nil},
		"before a group":                       {nil, []Frame{members(1, 0, 1)}},
		"range 2, want one of 2":               {nil, []Frame{{Kind: KindGroup, Row: 2}}},
		"range 3, want one of 2":               {func(j *Job) { j.Mode = modeEdges }, []Frame{{Kind: KindGroup, Row: 1, Column: 3}}},
		"labels of range 1":                    {nil, []Frame{group, {Kind: KindLabels, Row: 1, Count: 4}}},
		"which pack does not take":             {func(j *Job) { j.Mode = modeEdges }, []Frame{group, strengths}},
		"strength of range 0 from row 0":       {nil, []Frame{group, {Kind: KindStrength, Count: 2, Payload: make([]byte, 16)}}},
		"comes after the strengths of 0 of":    {nil, append([]Frame{group}, arcs...)},
		"member 1 after 3":                     {nil, []Frame{group, members(1, 0, 3, 1)}},
		"member 4 after":                       {nil, []Frame{group, members(1, 0, 4)}},
		"after member 2":                       {nil, []Frame{group, members(1, 0, 2), members(1, 0, 3)}},
		"members of range 1 from row 0 on aft": {nil, append(append([]Frame{group, strengths}, arcs...), members(1, 0, 1))},
		"members of range 0 from row 0 on in":  {func(j *Job) { j.Mode = modeEdges }, []Frame{group, members(0, 0, 1)}},
		"arcs of block 1,1 from row 0 on in":   {func(j *Job) { j.Mode = modeEdges }, append([]Frame{{Kind: KindGroup, Row: 1, Column: 0}}, arcs...)},
		"take 32000000 bytes, more than the":   {func(j *Job) { j.Ranges = []uint64{0, 2, 4000002} }, []Frame{group}},
	} {
		t.Run(want, func(t *testing.T) {
			job := job
			job.Mode, job.Most = modeReach, 3
			if c.change != nil {
				c.change(&job)
			}
			err := Run(context.Background(), testVersion, bytes.NewReader(stream(t, append([]Frame{jobFrame(t, Pack, job)}, c.frames...)...)), io.Discard)
			if err == nil || !strings.Contains(err.Error(), "pack: ") || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want an error with %q", err, want)
			}
		})
	}
}

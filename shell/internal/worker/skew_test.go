package worker

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// lattice is a ring of n nodes, each joined to the k nodes on either side. All have one degree, so their numbers keep its order, and nearly
// all arcs lie between the nodes of one range.
func lattice(t *testing.T, job Job, n, k uint64) (edges []Frame) {
	t.Helper()
	const most = 1 << 18
	for first := uint64(0); first < n*k; first += most {
		var sources, targets []uint64
		var weights []float32
		for e := first; e < min(first+most, n*k); e++ {
			sources, targets = append(sources, e/k), append(targets, (e/k+e%k+1)%n)
			weights = append(weights, 3)
		}
		f := Frame{Kind: KindEdges, Count: uint32(len(sources)), Payload: appendVector(appendVector(nil, sources), targets)}
		if job.Weighted {
			f.Width, f.Payload = 1, appendVector(f.Payload, weights)
		}
		edges = append(edges, f)
	}
	return edges
}

// TestFullBlocks merges blocks that memory does not hold, and finds their triangles.
func TestFullBlocks(t *testing.T) {
	const n, k = 1 << 14, 48
	for name, test := range map[string]struct {
		ranges   []uint64
		weighted bool
	}{
		"one range":       {[]uint64{0, n}, false},
		"weighted":        {[]uint64{0, n}, true},
		"a narrow range":  {[]uint64{0, 20, n / 2, n}, false},
		"weighted ranges": {[]uint64{0, n - 100, n}, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			t.Setenv("TMPDIR", folder)
			job := smallJob()
			job.Chunk, job.Ranges, job.Weighted = 1<<12, test.ranges, test.weighted
			job.Stretch = uint32(len(test.ranges))
			c := &cluster{t: t, job: job}
			runs, _ := c.run(Arcs, nil, lattice(t, job, n, k), nil, nil)
			merged, reports := c.run(Merge, nil, runs, blockGroup, inOrder)
			counts := struct{ Arcs, Repeats int }{}
			if err := json.Unmarshal(reports[0].Payload, &counts); err != nil || counts.Arcs != 2*n*k || counts.Repeats != 0 {
				t.Fatalf("got %+v (%v), want %d arcs once", counts, err, 2*n*k)
			}
			wantTriangles(t, c, merged, 2*k, 3*k*(k-1)/2)
			if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
				t.Errorf("left: %v (%v), want nothing", names, err)
			}
		})
	}
}

// wantTriangles finds the triangles of merged blocks, of which all nodes have so many, as they have neighbours.
func wantTriangles(t *testing.T, c *cluster, merged []Frame, degree, triangles int) {
	t.Helper()
	strength := float64(degree)
	if c.job.Weighted {
		strength *= 3
	}
	// Every triple of ranges gets its blocks and strengths: in a task, those that it has kept do not come again.
	ranges := uint32(len(c.job.Ranges) - 1)
	got := make([]float64, c.job.nodes())
	for i := range ranges {
		for j := range i + 1 {
			for k := range j + 1 {
				for _, f := range output(t, stream(t, triple(t, c, merged, [3]uint32{i, j, k}, strength)...)) {
					err := sparseRows(&f, func(row, _ int, x float64) { got[c.job.Ranges[f.Row]+uint64(f.First)+uint64(row)] += x })
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	want := float64(triangles) / math.Pow(float64(degree), 3)
	for v, x := range got {
		if math.Abs(x-want) > 1e-12 {
			t.Fatalf("node %d: got %v, want %v", v, x, want)
		}
	}
}

// triple is a job of the triangles of three ranges, all of whose nodes have one strength.
func triple(t *testing.T, c *cluster, merged []Frame, group [3]uint32, strength float64) []Frame {
	t.Helper()
	frames := []Frame{jobFrame(t, Triangles, c.job), {Kind: KindGroup, Row: group[0], Column: group[1], Part: group[2]}}
	done := map[uint32]bool{}
	for _, r := range group {
		rows := uint32(c.job.Ranges[r+1] - c.job.Ranges[r])
		for first := uint32(0); first < rows && !done[r]; first += c.job.Chunk {
			count := min(c.job.Chunk, rows-first)
			payload, width := appendStrengths(nil, slices.Repeat([]float64{strength}, int(count)))
			frames = append(frames, Frame{Kind: KindStrength, Row: r, First: first, Count: count, Width: uint32(width), Payload: payload})
		}
		done[r] = true
	}
	var arcs []Frame
	for _, f := range ofKind(KindArcs, merged) {
		if names := blocksOf(group); slices.Contains(names[:], [2]uint32{f.Row, f.Column}) {
			arcs = append(arcs, f)
		}
	}
	slices.SortFunc(arcs, func(a, b Frame) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column), cmp.Compare(a.First, b.First))
	})
	return append(frames, arcs...)
}

// TestRunsTwice wants an error for a run that comes again: its weights would count twice.
func TestRunsTwice(t *testing.T) {
	job := smallJob()
	job.Weighted = true
	edges := Frame{Kind: KindEdges, Count: 1, Width: 1, Payload: appendVector(appendVector(nil, []uint64{2, 3}), []float32{1})}
	job.Task = 7
	runs := output(t, stream(t, jobFrame(t, Arcs, job), edges))
	group := Frame{Kind: KindGroup, Row: 1, Column: 1}
	wantError(t, runHostile(t, jobFrame(t, Merge, job), group, runs[0], runs[0]), "arcs of block 1,1 from row 0 on of task 7, after those up to row 2: want every run once")

	merged := output(t, stream(t, jobFrame(t, Merge, job), group, runs[0]))
	multiply := job
	multiply.Mode = modeFirst
	labels, strengths := rightFrames(job)[0], rightFrames(job)[1]
	wantError(t, runHostile(t, jobFrame(t, Multiply, multiply), group, labels, strengths, merged[0], merged[0]), "arcs of block 1,1 from row 0 on, after those")
}

// TestWeightsBeyondFloat32 wants the nodes of edges whose weights add up to more than a weight can be.
func TestWeightsBeyondFloat32(t *testing.T) {
	job := smallJob()
	job.Weighted = true
	edges := Frame{Kind: KindEdges, Count: 2, Width: 1, Payload: appendVector(appendVector(nil, []uint64{1, 5, 5, 1}), []float32{3e38, 3e38})}
	runs := output(t, stream(t, jobFrame(t, Arcs, job), edges))
	err := runHostile(t, jobFrame(t, Merge, job), Frame{Kind: KindGroup, Row: runs[0].Row, Column: runs[0].Column}, runs[0])
	wantError(t, err, "edges between nodes number 1 and 5: the weights add up to 6e+38, want at most 3.4028235e+38")
}

// TestSumsOfWeights adds weights of tasks as those of one: in the digits of float64.
func TestSumsOfWeights(t *testing.T) {
	job := smallJob()
	job.Weighted = true
	var runs []Frame
	want := 0.0
	for task := range uint32(40) {
		weights := []float32{1 << 24, 1 + float32(task)/64}
		for _, w := range weights {
			want += float64(w)
		}
		job.Task = task
		edges := Frame{Kind: KindEdges, Count: 2, Width: 1, Payload: appendVector(appendVector(nil, []uint64{0, 1, 1, 0}), weights)}
		runs = append(runs, output(t, stream(t, jobFrame(t, Arcs, job), edges))[0])
	}
	frames := append([]Frame{jobFrame(t, Merge, job), {Kind: KindGroup}}, runs...)
	for _, f := range ofKind(KindSums, output(t, stream(t, frames...))) {
		err := sparseRows(&f, func(row, _ int, x float64) {
			if x != float64(float32(want)) {
				t.Errorf("row %d: got %v, want %v", row, x, float32(want))
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestGroupsOfNoRange wants an error where a group is of a range that there is not.
func TestGroupsOfNoRange(t *testing.T) {
	for op, mode := range map[Operation]string{Merge: "", Multiply: modeFirst, Add: modeDiagonal, Strength: "", Triangles: "", Pack: modeReach} {
		t.Run(op.String(), func(t *testing.T) {
			job := smallJob()
			job.Mode, job.Hop, job.Most = mode, 3, 2
			wantError(t, runHostile(t, jobFrame(t, op, job), Frame{Kind: KindGroup, Row: 9, Column: 9, Part: 9}), "range 9, want one of 2")
		})
	}
}

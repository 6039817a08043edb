package worker

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// triangleFrames are group, strengths and arcs of three ranges of two nodes each: a graph in which all are neighbours.
func triangleFrames(t *testing.T) (job Job, group func(i, j, k uint32) Frame, strengths func(r uint32) Frame, block func(i, j uint32) Frame) {
	t.Helper()
	job = smallJob()
	job.Ranges, job.Stretch = []uint64{0, 2, 4, 6}, 3
	var edges [][2]uint64
	for u := range uint64(6) {
		for v := range u {
			edges = append(edges, [2]uint64{u, v})
		}
	}
	arcs := output(t, stream(t, jobFrame(t, Arcs, job), edgesFrame(edges...)))
	var all []Frame
	for _, f := range ofKind(KindArcs, arcs) {
		made := output(t, stream(t, jobFrame(t, Merge, job), Frame{Kind: KindGroup, Row: f.Row, Column: f.Column}, f))
		all = append(all, ofKind(KindArcs, made)...)
	}
	group = func(i, j, k uint32) Frame { return Frame{Kind: KindGroup, Row: i, Column: j, Part: k} }
	strengths = func(r uint32) Frame {
		payload, width := appendStrengths(nil, []float64{5, 5})
		return Frame{Kind: KindStrength, Row: r, Count: 2, Width: uint32(width), Payload: payload}
	}
	block = func(i, j uint32) Frame {
		return all[slices.IndexFunc(all, func(f Frame) bool { return f.Row == i && f.Column == j })]
	}
	return job, group, strengths, block
}

// TestTrianglesOfStretch sums the triangles of ranges 2 and 1 with 0 and with 1 in one task.
func TestTrianglesOfStretch(t *testing.T) {
	job, group, strengths, block := triangleFrames(t)
	frames := []Frame{
		jobFrame(t, Triangles, job),
		group(2, 1, 0), strengths(0), strengths(1), strengths(2), block(1, 0), block(2, 0), block(2, 1),
		group(2, 1, 1), block(1, 1),
	}
	// Triangles at a node of range 2: with 1 and 0 there are 4, within 1 there is one. At one of range 1: 4 with 0, and 2 with the other node of
	// its range. At one of range 0: 4.
	want := map[uint32]float64{0: 4, 1: 6, 2: 5}
	made := output(t, stream(t, frames...))
	if len(made) != 3 {
		t.Fatalf("got %d frames, want the sums of 3 ranges", len(made))
	}
	for _, f := range made {
		err := sparseRows(&f, func(row, _ int, x float64) {
			if wanted := want[f.Row] / 125; math.Abs(x-wanted) > 1e-15 {
				t.Errorf("node %d of range %d: got %v, want %v", row, f.Row, x, wanted)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestTrianglesRefuse(t *testing.T) {
	job, group, strengths, block := triangleFrames(t)
	first := []Frame{group(2, 1, 0), strengths(0), strengths(1), strengths(2), block(1, 0), block(2, 0), block(2, 1)}
	none, large := job, job
	none.Stretch = 0
	large.Ranges = []uint64{0, 1 << 31}
	short := strengths(1)
	short.Payload = short.Payload[:1]
	long := strengths(1)
	long.Payload = append(slices.Clone(long.Payload), 2)
	negative := strengths(1)
	negative.Payload = []byte{1, 0}
	wide := strengths(1)
	wide.Width = 2
	for name, test := range map[string]struct {
		job    Job
		frames []Frame
		want   string
	}{
		"too many nodes":     {large, []Frame{group(0, 0, 0)}, "take 34359738368 bytes, too much for the memory of 16777216"},
		"no stretch":         {none, nil, "stretches of 0 ranges"},
		"ascending":          {job, []Frame{group(1, 2, 0)}, "want them descending"},
		"again":              {job, append(slices.Clone(first), group(2, 1, 0)), "want the last ascending"},
		"a kept block":       {job, append(slices.Clone(first), group(2, 1, 1), block(2, 1)), "after rows up to 2"},
		"kept strengths":     {job, append(slices.Clone(first), group(2, 1, 1), strengths(1)), "want every row once"},
		"a dropped block":    {job, append(slices.Clone(first), group(2, 1, 1), block(2, 0)), "in the group of ranges [2 1 1]"},
		"no strengths":       {job, []Frame{group(2, 1, 0), strengths(0), strengths(1)}, "has the strengths of 0 of the 2 nodes of range 2"},
		"short strengths":    {job, []Frame{group(2, 1, 0), short}, "strength 2 of 2 is no number"},
		"long strengths":     {job, []Frame{group(2, 1, 0), long}, "1 bytes behind 2 strengths"},
		"negative strengths": {job, []Frame{group(2, 1, 0), negative}, "strength -1"},
		"wide strengths":     {job, []Frame{group(2, 1, 0), wide}, "width 2, want 0"},
	} {
		t.Run(name, func(t *testing.T) {
			in := stream(t, append([]Frame{jobFrame(t, Triangles, test.job)}, test.frames...)...)
			err := Run(context.Background(), testVersion, bytes.NewReader(in), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestStrengths(t *testing.T) {
	for name, test := range map[string]struct {
		strengths []float64
		width     int
		bytes     int
	}{
		"whole, falling": {[]float64{1 << 40, 900, 899, 899, 0}, wholeStrengths, 6 + 6 + 1 + 1 + 2},
		"none":           {nil, wholeStrengths, 0},
		"with parts":     {[]float64{3, 2.5}, anyStrengths, 16},
		"too great":      {[]float64{1e300, 2}, anyStrengths, 16},
	} {
		payload, width := appendStrengths(nil, test.strengths)
		got, err := strengthsOf(nil, &Frame{Kind: KindStrength, Count: uint32(len(test.strengths)), Width: uint32(width), Payload: payload})
		if err != nil || width != test.width || len(payload) != test.bytes || !slices.Equal(got, test.strengths) {
			t.Errorf("%s: got %v, width %d, %d bytes, %v", name, got, width, len(payload), err)
		}
	}
}

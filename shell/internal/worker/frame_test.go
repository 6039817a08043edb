package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// stream is the bytes of frames and an end frame.
func stream(t testing.TB, frames ...Frame) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for i := range frames {
		must.Do(t, w.Write(&frames[i]))
	}
	must.Do(t, w.End())
	return out.Bytes()
}

// jobFrame is the frame of a job.
func jobFrame(t testing.TB, op string, job Job) Frame {
	t.Helper()
	job.Op = op
	return Frame{Kind: KindJob, Payload: must.Get(json.Marshal(job))(t)}
}

const testVersion = "graphcleaner v1"

// smallJob is a job on six nodes in two ranges.
func smallJob() Job {
	return Job{Version: testVersion, Memory: leastMemory, Chunk: 4, Ranges: []uint64{0, 2, 6}, Classes: 2, Hops: 3,
		Names: []string{"a", "b"}}
}

// edgesFrame has edges by row and column of a block.
func edgesFrame(ends ...[2]uint32) Frame {
	var keys []uint64
	for _, of := range ends {
		keys = append(keys, uint64(of[0])<<32|uint64(of[1]))
	}
	return Frame{Kind: KindEdges, Count: uint32(len(ends)), Payload: appendVector(nil, keys)}
}

// groupFrame begins the block of the second range with itself.
func groupFrame() Frame { return Frame{Kind: KindGroup, Row: 1, Column: 1} }

// output runs a worker and returns the frames that it writes except for the end frame.
func output(t testing.TB, in []byte) []Frame {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, Run(context.Background(), testVersion, bytes.NewReader(in), &out))
	return framesOf(t, out.Bytes())
}

func framesOf(t testing.TB, stream []byte) (frames []Frame) {
	t.Helper()
	r := NewReader(bytes.NewReader(stream))
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("the output has no end frame")
		}
		must.Do(t, err)
		if f.Kind == KindEnd {
			if int(f.Count) != len(frames) {
				t.Fatalf("the end frame has %d frames, %d were written", f.Count, len(frames))
			}
			return frames
		}
		copied := *f
		copied.Payload = bytes.Clone(f.Payload)
		frames = append(frames, copied)
	}
}

func TestDamagedStreams(t *testing.T) {
	job := jobFrame(t, "arcs", smallJob())
	good := stream(t, job, groupFrame(), edgesFrame([2]uint32{0, 1}, [2]uint32{1, 0}))
	output(t, good)
	before := headerBytes + len(job.Payload) + headerBytes
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":         {nil, "ends without an end frame"},
		"no end frame":    {good[:len(good)-headerBytes], "arcs: bad frame: the input ends without an end frame"},
		"torn header":     {good[:before+10], "arcs: bad frame: frame 3 breaks off after 10 bytes"},
		"torn payload":    {good[:before+headerBytes+9], "arcs: bad frame: edges (frame 3) breaks off"},
		"not a frame":     {change(before, 'x'), `arcs: bad frame: frame 3 begins with "xCwk"`},
		"another version": {change(before+4, 9), "frame 3 is of version 9, this program has version 1"},
		"a flipped bit":   {change(before+headerBytes+3, 1), "edges (frame 3): its checksum is"},
		"a huge payload":  {change(before+35, 0x7f), "bytes, want at most 67108864"},
		"a missing frame": {append(bytes.Clone(good[:before]), stream(t, edgesFrame(), edgesFrame())[2*headerBytes:]...),
			"the end frame has 2 frames, 1 have come"},
		"no job":          {stream(t, edgesFrame([2]uint32{0, 1})), "edges comes first, want a job"},
		"a node too many": {stream(t, job, groupFrame(), edgesFrame([2]uint32{0, 4})), "from row 0 to 4 of block [1 1]"},
		"not ascending": {stream(t, job, groupFrame(), edgesFrame([2]uint32{1, 0}, [2]uint32{0, 1})),
			"want them ascending"},
		"another operation": {stream(t, job, Frame{Kind: KindLabels, Count: 2, Payload: make([]byte, 8)}),
			"labels of range 0 from row 0 on, which arcs does not take"},
		"a wrong length": {stream(t, job, groupFrame(), Frame{Kind: KindEdges, Count: 2, Payload: make([]byte, 31)}),
			"31 bytes for 2 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(context.Background(), testVersion, bytes.NewReader(c.in), io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestBadJobs(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"memory of 5 bytes":   func(j *Job) { j.Memory = 5 },
		"chunks of 3 rows":    func(j *Job) { j.Chunk = 3 },
		"1 ranges, want 1 to": func(j *Job) { j.Ranges = []uint64{1, 2} },
		"2 ranges, want 1 to": func(j *Job) { j.Ranges = []uint64{0, 4, 3} },
		"4 hops, want 1 to 3": func(j *Job) { j.Hops = 4 },
		"-1 classes":          func(j *Job) { j.Classes = -1 },
		"arcs: the job is of graphcleaner v9, this program is graphcleaner v1: use one version": func(j *Job) {
			j.Version = "graphcleaner v9"
		},
		"3 ranges, want 1 to 65535, from 0, ascending, and at most 2^32 nodes": func(j *Job) {
			j.Ranges = []uint64{0, 1 << 31, 1 << 32, 1<<32 + 1}
		},
	} {
		t.Run(want, func(t *testing.T) {
			job := smallJob()
			change(&job)
			err := Run(context.Background(), testVersion, bytes.NewReader(stream(t, jobFrame(t, "arcs", job))), io.Discard)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want an error with %q", err, want)
			}
		})
	}
}

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// stream is the bytes of frames and an end frame.
func stream(t testing.TB, frames ...Frame) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for i := range frames {
		if err := w.Write(&frames[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(Source); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// jobFrame is the frame of a job.
func jobFrame(t testing.TB, op Operation, job Job) Frame {
	t.Helper()
	job.Op = op.String()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return Frame{Operation: op, Kind: KindJob, Payload: text}
}

const testVersion = "graphcleaner v1"

// smallJob is a job on six nodes in two ranges.
func smallJob() Job {
	return Job{Version: testVersion, Memory: leastMemory, Chunk: 4, Ranges: []uint64{0, 2, 6}, Classes: 2, Hops: 3, Stretch: 2, Names: []string{"a", "b"}}
}

func edgesFrame(pairs ...[2]uint64) Frame {
	var sources, targets []uint64
	for _, pair := range pairs {
		sources, targets = append(sources, pair[0]), append(targets, pair[1])
	}
	return Frame{Kind: KindEdges, Count: uint32(len(pairs)), Payload: appendVector(appendVector(nil, sources), targets)}
}

// output runs a worker and returns the frames that it writes but for the end frame.
func output(t testing.TB, in []byte) []Frame {
	t.Helper()
	var out bytes.Buffer
	if err := Run(context.Background(), testVersion, bytes.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
	job := jobFrame(t, Arcs, smallJob())
	good := stream(t, job, edgesFrame([2]uint64{0, 5}, [2]uint64{3, 3}))
	output(t, good)
	jobBytes := headerBytes + len(job.Payload)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":           {nil, "ends without an end frame"},
		"no end frame":      {good[:len(good)-headerBytes], "arcs: bad frame: the input ends without an end frame"},
		"torn header":       {good[:jobBytes+10], "arcs: bad frame: frame 2 breaks off after 10 bytes"},
		"torn payload":      {good[:jobBytes+headerBytes+9], "arcs: bad frame: edges (frame 2) breaks off"},
		"not a frame":       {change(jobBytes, 'x'), `arcs: bad frame: frame 2 begins with "xCwk"`},
		"another version":   {change(jobBytes+4, 9), "frame 2 is of version 9, this program has version 1"},
		"a flipped bit":     {change(jobBytes+headerBytes+3, 1), "edges (frame 2), made by operation source: its checksum is"},
		"a huge payload":    {change(jobBytes+35, 0x7f), "bytes, want at most 67108864"},
		"a missing frame":   {append(bytes.Clone(good[:jobBytes]), stream(t, edgesFrame())[headerBytes:]...), "the end frame has 1 frames, 0 have come"},
		"no job":            {stream(t, edgesFrame([2]uint64{0, 1})), "edges comes first, want a job"},
		"a node too many":   {stream(t, job, edgesFrame([2]uint64{0, 6})), "leads from node 0 to 6 of 6"},
		"another operation": {stream(t, job, Frame{Kind: KindLabels, Count: 2}), "labels of range 0 from row 0 on, which arcs does not take"},
		"a wrong length":    {stream(t, job, Frame{Kind: KindEdges, Count: 2, Payload: make([]byte, 31)}), "31 bytes for 2 rows"},
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
		"memory of 5 bytes": func(j *Job) { j.Memory = 5 },
		"memory of 4611686018427387904 bytes, want 16777216 to ": func(j *Job) { j.Memory = 1 << 62 },
		"chunks of 3 rows":    func(j *Job) { j.Chunk = 3 },
		"ranges [1 2]":        func(j *Job) { j.Ranges = []uint64{1, 2} },
		"range 1 from 4 to 3": func(j *Job) { j.Ranges = []uint64{0, 4, 3} },
		"4 hops, want 1 to 3": func(j *Job) { j.Hops = 4 },
		"-1 classes":          func(j *Job) { j.Classes = -1 },
		"arcs: the job is of graphcleaner v9, this program is graphcleaner v1: use one version": func(j *Job) { j.Version = "graphcleaner v9" },
		"4294967297 nodes, want at most 2^":                                                     func(j *Job) { j.Ranges = []uint64{0, 1 << 31, 1 << 32, 1<<32 + 1} },
	} {
		t.Run(want, func(t *testing.T) {
			job := smallJob()
			change(&job)
			err := Run(context.Background(), testVersion, bytes.NewReader(stream(t, jobFrame(t, Arcs, job))), io.Discard)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want an error with %q", err, want)
			}
		})
	}
}

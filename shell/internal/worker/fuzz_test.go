package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// FuzzReader reads any bytes: frames, or an error.
func FuzzReader(f *testing.F) {
	good := stream(f, jobFrame(f, "arcs", smallJob()), edgesFrame([2]uint32{0, 1}))
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			frame, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, errFrame) {
					t.Fatalf("got %v, want a bad frame or the end", err)
				}
				break
			}
			if err := w.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Fatal("frames written again are other bytes")
		}
	})
}

// modes are those of the operations that have some.
var modes = map[string][]string{
	"multiply": {modeFirst, modeSlice}, "add": {modeStrength, modeFirst, modeHop, modeDiagonal}, "fit": {""},
}

// rightFrames are frames about the second range of a small job.
func rightFrames(job Job) []Frame {
	c := job.Classes
	number := func(kind Kind, width int, payload []byte) Frame {
		return Frame{Kind: kind, Row: 1, Count: 4, Width: uint32(width), Payload: payload}
	}
	tested := job.testedLabels()
	return []Frame{
		number(KindLabels, 0, appendVector(nil, []int32{0, 1, -1, 0})),
		number(KindStrength, 0, appendVector(nil, []float64{1, 2, 0, 1})),
		number(KindSplits, 0, []byte{1, 2, 3, 2 | unpredicted}),
		number(KindPredictions, c, appendVector(nil, make([]float32, 4*c))),
		number(KindSlice, c, appendVector(nil, make([]float32, 4*c))),
		number(KindDiagonal, 0, appendVector(nil, make([]float64, 4))),
		number(KindTested, tested, appendVector(nil, make([]int32, 4*tested))),
		number(KindFeatures, tested, appendVector(nil, make([]float32, 4*tested))),
		number(KindBallots, c, appendSparse(nil, make([]float64, 4*c), c)),
		number(KindSums, 1, appendSparse(nil, []float64{1, 0, 2, 3}, 1)),
		{Kind: KindMembers, Row: 1, Count: 2, Payload: appendVector(nil, []uint32{1, 3})},
		{Kind: KindSample, Row: 1, Count: 1, Width: uint32(c),
			Payload: appendVector(appendVector(nil, []uint32{1}), make([]float32, c))},
		{Kind: KindVerdicts, Payload: []byte(`[{"node":1,"before":0,"now":1}]`)},
	}
}

// FuzzOperations gives every operation a frame with any numbers and payload, but a right checksum, after frames that
// are right.
func FuzzOperations(f *testing.F) {
	job := smallJob()
	census, err := json.Marshal(censusReport{Census: &cleaner.Census{Names: job.Names, Counts: []float64{3, 2}}})
	if err != nil {
		f.Fatal(err)
	}
	job.Census = census
	job.Neighbors = []byte(`{}`)
	job.Model = []byte(`{}`)
	arcs := output(f, stream(f, jobFrame(f, "arcs", job), groupFrame(),
		edgesFrame([2]uint32{0, 1}, [2]uint32{1, 0}, [2]uint32{1, 3})))
	operations := slices.Sorted(maps.Keys(steps))
	for op := range operations {
		for _, frame := range append(rightFrames(job), arcs...) {
			f.Add(byte(op), byte(op)%3, byte(frame.Kind), frame.Row, frame.Column, frame.Part, frame.First, frame.Count,
				frame.Width, frame.Payload)
		}
	}
	for op, name := range operations {
		text := jobFrame(f, name, job).Payload
		f.Add(byte(op), byte(0), byte(KindJob), uint32(0), uint32(0), uint32(0), uint32(0), uint32(0), uint32(0), text)
	}
	f.Fuzz(func(t *testing.T, op, mode, kind byte, row, column, part, first, count, width uint32, payload []byte) {
		if len(payload) > 1<<16 {
			return
		}
		o := operations[int(op)%len(operations)]
		job := job
		if names := modes[o]; names != nil {
			job.Mode = names[int(mode)%len(names)]
		}
		job.Hop = 2
		frames := []Frame{jobFrame(t, o, job), {Kind: KindGroup, Row: 1, Column: 1, Part: 0}}
		for _, frame := range rightFrames(job) {
			isBackbone := frame.Kind == KindLabels || frame.Kind == KindStrength
			if o != "arcs" && o != "census" && o != "fit" && isBackbone {
				frames = append(frames, frame)
			}
		}
		if Kind(kind) == KindJob { // any text is the job
			var of Job
			if json.Unmarshal(payload, &of) == nil && of.Memory > 2*leastMemory {
				return // it may ask for that much
			}
			frames[0].Payload, kind = payload, byte(KindGroup)
		}
		frames = append(frames, Frame{
			Kind: Kind(kind), Row: row, Column: column, Part: part, First: first, Count: count, Width: width, Payload: payload,
		})
		var out bytes.Buffer
		if err := Run(context.Background(), testVersion, bytes.NewReader(stream(t, frames...)), &out); err == nil {
			framesOf(t, out.Bytes())
		}
	})
}

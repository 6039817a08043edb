package worker

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestCensusKeepsToItsMemory gives census just the memory that it asks for, and counts all that it takes.
func TestCensusKeepsToItsMemory(t *testing.T) {
	const nodes, rows = 1 << 22, 1 << 16
	for _, test := range []struct{ drawn, lacks bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		drawn := test.drawn
		job := Job{Chunk: rows, Ranges: []uint64{0, nodes}, Classes: 2, Hops: 1, Names: []string{"a", "b"}, Seed: 1,
			Drawn: drawn}
		labels, splits := make([]int32, rows), make([]uint8, rows)
		for i := range rows {
			labels[i] = int32(i % 2)
			if !drawn {
				splits[i] = uint8(1 + i%3)
			}
			if test.lacks && i%100 == 0 {
				splits[i] |= unpredicted
			}
		}
		numbers := appendVector(nil, labels)
		need := censusBytes(nodes, drawn, test.lacks)
		all := func(memory int64) []byte {
			job.Memory = memory
			frames := []Frame{jobFrame(t, "census", job)}
			for first := uint32(0); first < nodes; first += rows {
				frames = append(frames, Frame{Kind: KindLabels, First: first, Count: rows, Payload: numbers},
					Frame{Kind: KindSplits, First: first, Count: rows, Payload: splits})
			}
			return stream(t, frames...)
		}
		err := Run(context.Background(), "", bytes.NewReader(all(need-1)), io.Discard)
		if err == nil || !strings.Contains(err.Error(), "this one task needs more") {
			t.Errorf("%+v: with a byte less than it needs: %v", test, err)
		}
		enough := all(need)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must.Do(t, Run(context.Background(), "", bytes.NewReader(enough), io.Discard))
		runtime.ReadMemStats(&after)
		// What is read and written at once, and the sample, come beside it.
		if taken := int64(after.TotalAlloc - before.TotalAlloc); taken > need+32<<20 {
			t.Errorf("%+v: %d bytes were taken, want %d and some", test, taken, need)
		}
	}
}

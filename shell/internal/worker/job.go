package worker

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// A Job tells a worker its work. All operations have the first group of fields.
type Job struct {
	Op      string   `json:"op"`
	Memory  int64    `json:"memory"`  // bytes that the worker may hold
	Chunk   uint32   `json:"chunk"`   // rows of a chunk, a power of two
	Ranges  []uint64 `json:"ranges"`  // where each range begins, and the number of nodes
	Classes int      `json:"classes"` // c
	Hops    int      `json:"hops"`    // K
	Version string   `json:"version"` // of the program that the job was made for; empty: any

	// Mode says what multiply, add and fit do.
	Mode string `json:"mode"`

	Hop int `json:"hop"` // of add

	Names     []string         `json:"names"`     // of the classes
	Seed      uint64           `json:"seed"`      // of census
	Drawn     bool             `json:"drawn"`     // of census: no splits are given
	Census    json.RawMessage  `json:"census"`    // the report of census
	Neighbors json.RawMessage  `json:"neighbors"` // the report of add in mode first
	Expect    float64          `json:"expect"`    // of fit: see cleaner.Options
	Model     json.RawMessage  `json:"model"`     // the result of fit
	Verdicts  []cleaner.Member `json:"verdicts"`  // of fit: members of whom people said something, by number
}

// Bounds on a job.
const (
	leastMemory = 16 << 20
	mostChunk   = 1 << 20
	mostClasses = 1 << 20
	mostHops    = 3
	mostRanges  = 1<<16 - 1
)

// readJob reads and checks a job frame.
func readJob(f *Frame) (*Job, error) {
	if f.Kind != KindJob {
		return nil, fmt.Errorf("%w: %s comes first, want a job", errFrame, f.Place())
	}
	job := &Job{}
	if err := decode(f.Place(), f.Payload, job); err != nil {
		return nil, err
	}
	if steps[job.Op] == nil {
		return nil, fmt.Errorf("%w: job %q, want one of the operations %v", errFrame, job.Op, slices.Sorted(maps.Keys(steps)))
	}
	if err := job.check(); err != nil {
		return nil, fmt.Errorf("job %s: %w", job.Op, err)
	}
	return job, nil
}

func (j *Job) check() error {
	switch n := len(j.Ranges) - 1; {
	case j.Memory < leastMemory:
		return fmt.Errorf("memory of %d bytes, want at least %d", j.Memory, leastMemory)
	case bits.OnesCount32(j.Chunk) != 1 || j.Chunk > mostChunk:
		return fmt.Errorf("chunks of %d rows, want a power of two, at most %d", j.Chunk, mostChunk)
	case n < 1 || n > mostRanges || j.Ranges[0] != 0 || !slices.IsSorted(j.Ranges) || j.Ranges[n] > 1<<32:
		return fmt.Errorf("%d ranges, want 1 to %d, from 0, ascending, and at most 2^32 nodes", n, mostRanges)
	case j.Classes < 1 || j.Classes > mostClasses:
		return fmt.Errorf("%d classes, want 1 to %d", j.Classes, mostClasses)
	case j.Hops < 1 || j.Hops > mostHops:
		return fmt.Errorf("%d hops, want 1 to %d", j.Hops, mostHops)
	}
	return nil
}

// nodes is the number of all nodes.
func (j *Job) nodes() uint64 { return j.Ranges[len(j.Ranges)-1] }

// rangeRows is the number of nodes of a range; an error for a range that the job does not have.
func (j *Job) rangeRows(r uint32) (uint32, error) {
	if int64(r) >= int64(len(j.Ranges)-1) {
		return 0, fmt.Errorf("%w: range %d, want one of %d", errFrame, r, len(j.Ranges)-1)
	}
	return uint32(j.Ranges[r+1] - j.Ranges[r]), nil
}

// checkRows says whether the rows of a frame are rows of its range, and in one chunk.
func (j *Job) checkRows(f *Frame) error {
	rows, err := j.rangeRows(f.Row)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Place(), err)
	}
	if f.Count == 0 || uint64(f.First)+uint64(f.Count) > uint64(rows) {
		return fmt.Errorf("%w: %s: %d rows, the range has %d", errFrame, f.Place(), f.Count, rows)
	}
	if f.First/j.Chunk != (f.First+f.Count-1)/j.Chunk {
		return fmt.Errorf("%w: %s: %d rows are not in one chunk of %d", errFrame, f.Place(), f.Count, j.Chunk)
	}
	return nil
}

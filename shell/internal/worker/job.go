package worker

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"runtime"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// An Operation is a step of a cleaning; its number is in the frames that it makes.
type Operation byte

// The operations. See the package.
const (
	Source Operation = iota // no operation: a frame that the other program has made
	Arcs
	Merge
	Strength
	Multiply
	Add
	Triangles
	Census
	Noise
	Fit
	Score
	Pack
)

var operationNames = [...]string{"source", "arcs", "merge", "strength", "multiply", "add", "triangles", "census", "noise", "fit", "score", "pack"}

// String is the name that a job has for the operation.
func (o Operation) String() string {
	if int(o) < len(operationNames) {
		return operationNames[o]
	}
	return fmt.Sprintf("operation %d", byte(o))
}

// A Job is what a worker shall do. All operations have the first group of fields.
type Job struct {
	Op      string   `json:"op"`
	Memory  int64    `json:"memory"`  // bytes that the worker may hold
	Chunk   uint32   `json:"chunk"`   // rows of a chunk, a power of two
	Ranges  []uint64 `json:"ranges"`  // where each range begins, and the number of nodes
	Classes int      `json:"classes"` // c
	Hops    int      `json:"hops"`    // K
	Version string   `json:"version"` // of the program that the job was made for; empty: any
	Task    uint32   `json:"task"`    // the number of the task that the worker is for

	Weighted bool `json:"weighted"` // arcs have weights

	// Mode says what multiply, add, noise, fit and pack do.
	Mode string `json:"mode"`

	Hop int    `json:"hop"` // of add
	Of  string `json:"of"`  // of add by hops: labels or predictions

	Stretch uint32 `json:"stretch"` // of triangles: ranges K, from a multiple of it on, whose groups with the same I and J follow each other

	Most  int `json:"most"`  // of pack in mode reach: neighbours of a node
	Width int `json:"width"` // columns of rows of features, for multiply and add; 0: rows have a column a class

	Names     []string        `json:"names"`     // of the classes
	Seed      uint64          `json:"seed"`      // of census
	Drawn     bool            `json:"drawn"`     // of census: no splits are given
	Census    json.RawMessage `json:"census"`    // what census has reported
	Noise     json.RawMessage `json:"noise"`     // what both modes of noise have reported, together
	Neighbors json.RawMessage `json:"neighbors"` // what add has reported in mode first
	Expect    float64         `json:"expect"`    // of fit: see cleaner.Options
	Threshold float64         `json:"threshold"` // of fit: see cleaner.Options
	Model     json.RawMessage `json:"model"`     // what fit has made
	Verdicts  []memberVerdict `json:"verdicts"`  // of fit: what people said of the labels of members
	Bins      []uint64        `json:"bins"`      // of fit in mode rebin: what score has reported

	// Thresholds is what noise has reported in mode thresholds, for its mode joint.
	Thresholds json.RawMessage `json:"thresholds"`
}

// Bounds on a job.
const (
	leastMemory = 16 << 20
	mostChunk   = 1 << 20
	mostClasses = 1 << 20
	mostHops    = 3
	mostWidth   = 1 << 16
	mostRanges  = 1<<16 - 1
)

// mostMemory is the memory of the machine where it is known, so that no allocation within it ends the process.
func mostMemory() int64 {
	if runtime.GOOS == "linux" {
		return 4 * kv.DefaultMemoryBudget()
	}
	return 1 << 40
}

// readJob reads and checks a job frame.
func readJob(f *Frame) (*Job, Operation, error) {
	if f.Kind != KindJob {
		return nil, 0, fmt.Errorf("%w: %s comes first, want a job", errFrame, f.Place())
	}
	var bound struct{ Memory int64 }
	if err := decode(f, mostMemory(), &bound); err != nil {
		return nil, 0, err
	}
	job := &Job{}
	if err := decode(f, bound.Memory, job); err != nil {
		return nil, 0, err
	}
	for _, text := range []*string{&job.Op, &job.Mode, &job.Of} { // errors quote them, and none of them is long
		*text = wording.Short(*text)
	}
	op := Source
	for i, name := range operationNames {
		if name == job.Op {
			op = Operation(i)
		}
	}
	if op == Source || op != f.Operation {
		return nil, 0, fmt.Errorf("%w: job %q in a frame of operation %s: want one of the operations %v in a frame of its own", errFrame, job.Op, f.Operation,
			operationNames[1:])
	}
	if err := job.check(); err != nil {
		return nil, 0, fmt.Errorf("job %s: %w", job.Op, err)
	}
	return job, op, nil
}

func (j *Job) check() error {
	switch {
	case j.Memory < leastMemory || j.Memory > mostMemory():
		return fmt.Errorf("memory of %d bytes, want %d to %d", j.Memory, leastMemory, mostMemory())
	case j.Chunk == 0 || bits.OnesCount32(j.Chunk) != 1:
		return fmt.Errorf("chunks of %d rows, want a power of two", j.Chunk)
	case j.Chunk > mostChunk:
		return fmt.Errorf("chunks of %d rows, want at most %d", j.Chunk, mostChunk)
	case len(j.Ranges) < 2 || j.Ranges[0] != 0:
		return fmt.Errorf("ranges %s, want 0, where the others begin, and the number of nodes",
			wording.Short(fmt.Sprint(j.Ranges)))
	case j.Classes < 0 || j.Classes > mostClasses:
		return fmt.Errorf("%d classes, want 0 to %d", j.Classes, mostClasses)
	case j.Hops < 1 || j.Hops > mostHops:
		return fmt.Errorf("%d hops, want 1 to %d", j.Hops, mostHops)
	}
	if j.Width < 0 || j.Width > mostWidth {
		return fmt.Errorf("features of %d columns, want at most %d", j.Width, mostWidth)
	}
	if len(j.Ranges)-1 > mostRanges {
		return fmt.Errorf("%d ranges, want at most %d", len(j.Ranges)-1, mostRanges)
	}
	for i := range len(j.Ranges) - 1 {
		if j.Ranges[i+1] < j.Ranges[i] || j.Ranges[i+1]-j.Ranges[i] > 1<<31 {
			return fmt.Errorf("range %d from %d to %d, want at most 2^31 nodes, ascending", i, j.Ranges[i], j.Ranges[i+1])
		}
	}
	if j.Ranges[len(j.Ranges)-1] > 1<<32 {
		return fmt.Errorf("%d nodes, want at most 2^32", j.Ranges[len(j.Ranges)-1])
	}
	return nil
}

// columns is the number of columns of rows that are multiplied.
func (j *Job) columns() int {
	if j.Width > 0 {
		return j.Width
	}
	return j.Classes
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
	if f.Kind == KindArcs { // a run may have more
		return nil
	}
	return j.checkChunk(f)
}

// checkChunk says whether the rows of a frame, of which there are some, are in one chunk.
func (j *Job) checkChunk(f *Frame) error {
	if f.First/j.Chunk != (f.First+f.Count-1)/j.Chunk {
		return fmt.Errorf("%w: %s: %d rows are not in one chunk of %d", errFrame, f.Place(), f.Count, j.Chunk)
	}
	return nil
}

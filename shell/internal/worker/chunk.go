package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A chunk collects the frames about the nodes of a chunk. What has not come is empty. Labels always come: they say
// which nodes there are.
type chunk struct {
	job *Job

	begun             bool
	came              uint64 // kinds of frames that have come, a bit each
	row, first, count uint32
	labels            []kv.Class
	splits            []cleaner.Split
	strengths         []float64
	diagonal          []float64
	predictions       []float32 // [count×c]; a row of NaN: none
	tested            []kv.Class
	features          [][]float32 // [K+1], each [count×width of tested]
	members           []uint32    // local rows
	ballots, sums     denseRows
}

// denseRows are rows of float64 of a chunk [count×width], from where its chunk begins.
type denseRows struct {
	width  int
	values []float64
}

// of are the values of a row.
func (r *denseRows) of(i int) []float64 { return r.values[i*r.width:][:r.width] }

// reset forgets the frames.
func (c *chunk) reset() {
	c.begun, c.came = false, 0
	c.labels, c.splits, c.strengths, c.diagonal = c.labels[:0], c.splits[:0], c.strengths[:0], c.diagonal[:0]
	c.predictions, c.tested, c.members = c.predictions[:0], c.tested[:0], c.members[:0]
	c.features = make([][]float32, c.job.Hops+1)
}

// testedLabels is how many labels of a node are tested.
func (j *Job) testedLabels() int { return 1 + cleaner.CountRivals(j.Classes) }

// place checks that a frame is about nodes of the chunk. The first one begins it, with sums of zero of a width.
func (c *chunk) place(f *Frame, width int) error {
	if f.Kind != KindMembers { // whose rows are not those from First on
		if err := c.job.checkRows(f); err != nil {
			return err
		}
	}
	if !c.begun {
		rows, err := c.job.rangeRows(f.Row)
		if err != nil {
			return err
		}
		if f.First >= rows {
			return fmt.Errorf("%w: %s: the range has %d rows", errFrame, f.Place(), rows)
		}
		c.begun, c.row, c.first = true, f.Row, f.First/c.job.Chunk*c.job.Chunk
		c.count = min(c.job.Chunk, rows-c.first)
		if err := c.begin(&c.sums, width); err != nil {
			return err
		}
	}
	if f.Row != c.row || f.First/c.job.Chunk*c.job.Chunk != c.first {
		return fmt.Errorf("%w: %s in the group of range %d from row %d on", errFrame, f.Place(), c.row, c.first)
	}
	if f.Kind != KindSums && f.Kind != KindMembers && (f.First != c.first || f.Count != c.count) {
		return fmt.Errorf("%w: %s: %d rows, want all %d of the chunk from row %d on", errFrame, f.Place(), f.Count,
			c.count, c.first)
	}
	return nil
}

// take takes a frame in whose kind is one of those that are due. width is that of sums.
func (c *chunk) take(f *Frame, width int) (err error) {
	if err := c.place(f, width); err != nil {
		return err
	}
	c.came |= 1 << f.Kind
	classes := c.job.Classes
	switch f.Kind {
	case KindMembers:
		c.members = rowsOf(c.members, f)
		for _, row := range c.members {
			if row < c.first || row-c.first >= c.count {
				return fmt.Errorf("%w: %s: member %d, want rows of the chunk", errFrame, f.Place(), row)
			}
		}
	case KindLabels:
		c.labels, err = classesOf(c.labels[:0], f, classes)
	case KindSplits:
		c.splits, err = splitsOf(c.splits[:0], f, func(int) {})
	case KindStrength:
		c.strengths = rowsOf(c.strengths, f)
	case KindDiagonal:
		c.diagonal = rowsOf(c.diagonal, f)
	case KindPredictions:
		c.predictions = rowsOf(c.predictions, f)
	case KindTested:
		c.tested, err = classesOf(c.tested[:0], f, classes)
	case KindFeatures:
		if int64(f.Part) >= int64(len(c.features)) {
			return fmt.Errorf("%w: %s: feature %d of %d", errFrame, f.Place(), f.Part, len(c.features))
		}
		c.features[f.Part] = rowsOf(c.features[f.Part], f)
	case KindBallots:
		if err = c.begin(&c.ballots, classes); err == nil {
			err = sparseRows(f, classes, func(row, column int, x float64) { c.ballots.of(row)[column] = x })
		}
	case KindSums:
		from := int(f.First - c.first)
		err = sparseRows(f, width, func(row, column int, x float64) { c.sums.of(from + row)[column] += x })
	default:
		return fmt.Errorf("%w: %s, which is not about the nodes of a chunk", errFrame, f.Place())
	}
	return err
}

// rowBytes is the memory of a column of a row: a sum, and the numbers that add makes of it for this hop and the next.
const rowBytes = 8 + 4 + 4

// begin makes all rows of the chunk zero. Those of a small chunk fit beside the memory of the job.
func (c *chunk) begin(rows *denseRows, width int) error {
	if need := rowBytes * int64(c.count) * int64(width); need > max(c.job.Memory, mostPayload) {
		return fmt.Errorf("the chunk of range %d from row %d on has %d rows of %d columns, which take %d bytes, more than "+
			"the memory of %d: use smaller chunks or more memory",
			c.row, c.first, c.count, width, need, c.job.Memory)
	}
	rows.width, rows.values = width, resize(rows.values, int(c.count)*width)
	clear(rows.values)
	return nil
}

// need returns an error if frames of a chunk are missing.
func (c *chunk) need(kinds ...Kind) error {
	for _, kind := range kinds {
		if c.came&(1<<kind) == 0 {
			return fmt.Errorf("%w: the group of range %d from row %d on has no %s", errFrame, c.row, c.first, kind)
		}
	}
	return nil
}

// frame is a frame about the nodes of the chunk.
func (c *chunk) frame(kind Kind, width int) Frame {
	return Frame{Kind: kind, Row: c.row, First: c.first, Count: c.count, Width: uint32(width)}
}

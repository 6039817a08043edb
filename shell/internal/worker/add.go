package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
)

// ofMembers is the column of frames whose rows are the members of the sample in a chunk, in their order.
const ofMembers = 1

// addStep adds partial sums of rows of S_k X, and makes of them what the mode says.
type addStep struct {
	base
	chunk     chunk
	width     int
	census    *cleaner.Census
	neighbors *cleaner.NeighborCounts

	row, next []float32 // [count×c]
	input     []float32 // [c]
	taken     []float32 // features of tested labels
	tested    []kv.Class
	votes     []float64
}

func newAdd(b base) (step, error) {
	s := &addStep{base: b, chunk: chunk{job: b.Job}, width: b.Classes}
	s.chunk.reset()
	switch b.Mode {
	case modeFirst:
		s.width = b.firstWidth()
		s.neighbors = cleaner.NewNeighborCounts(b.Classes)
		report, err := b.readCensus()
		if err != nil {
			return nil, err
		}
		s.census = report.Census
	case modeHop:
		if b.Hop < 2 || b.Hop > b.Hops {
			return nil, fmt.Errorf("%w: hop %d, want 2 to %d", errFrame, b.Hop, b.Hops)
		}
	case modeStrength, modeDiagonal:
		s.width = 1
	default:
		return nil, fmt.Errorf("%w: mode %q, want %s, %s, %s or %s", errFrame, b.Mode, modeStrength, modeFirst, modeHop,
			modeDiagonal)
	}
	return s, nil
}

func (s *addStep) take(f *Frame) error { return s.chunk.take(f, s.width) }

func (s *addStep) endGroup() (err error) {
	c := &s.chunk
	if !c.begun {
		return nil
	}
	defer c.reset()
	if err := c.need(KindLabels); err != nil {
		return err
	}
	if s.Mode == modeStrength {
		s.memory = appendVector(s.memory[:0], c.sums.values)
		return s.write(c.frame(KindStrength, 1))
	}
	if err := c.need(KindStrength); err != nil {
		return err
	}
	switch s.Mode {
	case modeFirst:
		return s.first()
	case modeHop:
		return s.hop()
	}
	for i, sum := range c.sums.values {
		c.sums.values[i] = 2 * sum
	}
	return s.writeDiagonal(3, c.sums.values)
}

func (s *addStep) end() error {
	if s.Mode == modeFirst {
		return s.report(s.neighbors)
	}
	return nil
}

// first makes the votes, the labels under test, hop 1 of the labels and the diagonal of the second power.
func (s *addStep) first() error {
	c, k := &s.chunk, s.Classes
	if err := c.need(KindSplits, KindPredictions); err != nil {
		return err
	}
	back := make([]float64, c.count)
	s.votes = s.votes[:0]
	for i := range int(c.count) {
		sums := c.sums.of(i)
		s.votes = append(s.votes, sums[:k]...)
		back[i] = block.ReturnAfterTwo(c.strengths[i], sums[2*k+1])
		s.neighbors.Add(c.labels[i], sums[:k])
	}
	s.memory = appendSparse(s.memory[:0], s.votes, k)
	if err := s.write(c.frame(KindBallots, k)); err != nil {
		return err
	}
	if err := s.members(); err != nil {
		return err
	}
	piece := &cleaner.Piece{Census: s.census, Labels: c.labels, Splits: c.splits, Predictions: c.predictions,
		Votes: s.votes}
	s.tested = resize(s.tested, int(c.count)*s.testedLabels())
	piece.Tested(s.tested)
	s.memory = appendClasses(s.memory[:0], s.tested...)
	if err := s.write(c.frame(KindTested, s.testedLabels())); err != nil {
		return err
	}
	if err := s.features(0, c.predictions, s.tested); err != nil {
		return err
	}
	if s.Hops > 1 {
		if err := s.writeDiagonal(2, back); err != nil {
			return err
		}
	}
	return s.finish(1, func(i int) ([]float64, []float32, float64) { return c.sums.of(i)[k : 2*k], nil, 0 }, s.tested)
}

// members writes the labels of the members of the sample.
func (s *addStep) members() error {
	c := &s.chunk
	if len(c.members) == 0 {
		return nil
	}
	s.memory = s.memory[:0]
	for _, row := range c.members {
		s.memory = appendClasses(s.memory, c.labels[row-c.first])
	}
	return s.write(Frame{Kind: KindLabels, Row: c.row, Column: ofMembers, First: c.first, Count: uint32(len(c.members))})
}

// hop makes the rows of a later hop.
func (s *addStep) hop() error {
	c := &s.chunk
	if err := c.need(KindTested, KindDiagonal); err != nil {
		return err
	}
	s.input = resize(s.input, s.Classes)
	return s.finish(s.Hop, func(i int) ([]float64, []float32, float64) {
		if clear(s.input); c.labels[i] != kv.NoClass {
			s.input[c.labels[i]] = 1
		}
		return c.sums.of(i), s.input, c.diagonal[i]
	}, c.tested)
}

// finish makes the rows of a hop, the features of the tested labels and of the sample, and the rows for the next hop.
// sums returns those of a row, the row's own X, and its diagonal.
func (s *addStep) finish(hop int, sums func(i int) ([]float64, []float32, float64), tested []kv.Class) error {
	c, k := &s.chunk, s.Classes
	s.row, s.next = resize(s.row, int(c.count)*k), resize(s.next, int(c.count)*k)
	for i := range int(c.count) {
		sums, input, diagonal := sums(i)
		var next []float32
		if hop < s.Hops {
			next = s.next[i*k:][:k]
		}
		block.FinishRow(s.row[i*k:][:k], next, input, sums, c.strengths[i], diagonal)
	}
	if err := s.features(hop, s.row, tested); err != nil {
		return err
	}
	if hop == s.Hops {
		return nil
	}
	s.memory = appendVector(s.memory[:0], s.next)
	f := c.frame(KindSlice, k)
	f.Part = uint32(hop)
	return s.write(f)
}

// features writes a feature of the tested labels, and under every label of the members, from rows [count×c].
func (s *addStep) features(feature int, rows []float32, tested []kv.Class) error {
	c, k := &s.chunk, s.Classes
	s.taken = resize(s.taken, int(c.count)*s.testedLabels())
	cleaner.PickFeatures(rows, k, tested, s.taken)
	s.memory = appendVector(s.memory[:0], s.taken)
	f := c.frame(KindFeatures, s.testedLabels())
	f.Part = uint32(feature)
	if err := s.write(f); err != nil || len(c.members) == 0 {
		return err
	}
	s.memory = appendVector(s.memory[:0], c.members)
	for _, row := range c.members {
		s.memory = appendVector(s.memory, rows[int(row-c.first)*k:][:k])
	}
	return s.write(Frame{
		Kind: KindSample, Row: c.row, Part: uint32(feature), First: c.first, Count: uint32(len(c.members)), Width: uint32(k),
	})
}

func (s *addStep) writeDiagonal(hop int, values []float64) error {
	s.memory = appendVector(s.memory[:0], values)
	f := s.chunk.frame(KindDiagonal, 0)
	f.Part = uint32(hop)
	return s.write(f)
}

// resize returns memory of a length, whose values are any.
func resize[T any](memory []T, length int) []T {
	if cap(memory) < length {
		return make([]T, length)
	}
	return memory[:length]
}

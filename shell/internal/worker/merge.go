package worker

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/graphcleaner/graphcleaner/kv"
)

// mergeStep makes the arcs of a block of its runs.
type mergeStep struct {
	base
	block         [2]uint32
	columns       uint32
	width         int               // bits of a column
	sorter        arcSorter         // nil: between groups
	next          map[uint32]uint32 // by the task that made a run: the row behind those that have come
	list          arcList
	encoder       arcEncoder
	adjacency     kv.Adjacency
	sums          []float64
	came          int64 // arcs of the group
	arcs, repeats int64
}

func newMerge(b base) (step, error) { return &mergeStep{base: b}, nil }

func (s *mergeStep) beginGroup(f *Frame) error {
	rows, err := s.rangeRows(f.Row)
	if err != nil {
		return err
	}
	if s.columns, err = s.rangeRows(f.Column); err != nil {
		return err
	}
	s.block, s.width, s.next = [2]uint32{f.Row, f.Column}, bits.Len32(s.columns), map[uint32]uint32{}
	s.sorter = s.newArcSorter(max(1, bits.Len32(rows)+s.width))
	return nil
}

func (s *mergeStep) take(f *Frame) error {
	if f.Kind != KindArcs {
		return s.unexpected(f)
	}
	if err := s.checkRows(f); err != nil {
		return err
	}
	if s.sorter == nil {
		return fmt.Errorf("%w: %s before a group", errFrame, f.Place())
	}
	if s.block != [2]uint32{f.Row, f.Column} {
		return fmt.Errorf("%w: %s in the group of block %d,%d", errFrame, f.Place(), s.block[0], s.block[1])
	}
	// The weights of a run that comes again would count twice.
	if next := s.next[f.Part]; f.First < next {
		return fmt.Errorf("%w: %s of task %d, after those up to row %d: want every run once, ascending", errFrame, f.Place(), f.Part, next)
	}
	s.next[f.Part] = f.First + f.Count
	if err := s.list.read(f, s.columns, s.runWeightBytes()); err != nil {
		return err
	}
	s.came += int64(len(s.list.columns))
	at, weight := 0, 1.0
	for i, row := range s.list.rows {
		for _, column := range s.list.list(i) {
			if s.Weighted {
				weight = s.list.weights[at]
				at++
			}
			if err := s.sorter.add(uint64(row)<<s.width|uint64(column), weight); err != nil {
				return err
			}
		}
	}
	return nil
}

// endGroup writes the arcs of the block and its row sums.
func (s *mergeStep) endGroup() error {
	if s.sorter == nil {
		return nil
	}
	s.list.reset()
	s.repeats += s.came
	s.came = 0
	err := s.sorter.each(func(key uint64, weight float64) error {
		row, column := uint32(key>>s.width), uint32(key&(1<<s.width-1))
		if n := len(s.list.rows); n > 0 && s.list.rows[n-1] != row && (len(s.list.columns) >= mostRun || s.list.rows[0]/s.Chunk != row/s.Chunk) {
			if err := s.flush(); err != nil {
				return err
			}
		}
		s.arcs++
		s.repeats--
		s.list.add(row, column)
		if s.Weighted {
			if weight > math.MaxFloat32 {
				return fmt.Errorf("edges between nodes number %d and %d: the weights add up to %.4g, want at most %v",
					s.Ranges[s.block[0]]+uint64(row), s.Ranges[s.block[1]]+uint64(column), weight, float32(math.MaxFloat32))
			}
			s.list.weights = append(s.list.weights, float64(float32(weight)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.close()
}

func (s *mergeStep) close() error {
	if s.sorter == nil {
		return nil
	}
	sorter := s.sorter
	s.sorter = nil
	return sorter.close()
}

// flush writes the arcs that are in the list, all in one chunk, and their row sums.
func (s *mergeStep) flush() error {
	if len(s.list.rows) == 0 {
		return nil
	}
	f := s.encoder.frame(s.op, s.block[0], s.block[1], &s.list, s.weightBytes(), s.memory[:0])
	s.memory = f.Payload
	if err := s.out.Write(&f); err != nil {
		return err
	}
	block, err := s.list.block(f.First, f.Count, s.columns, s.Weighted, &s.adjacency)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Place(), err)
	}
	s.sums = append(s.sums[:0], make([]float64, f.Count)...)
	if err := block.AddStrengths(s.sums, block.Rows()); err != nil {
		return err
	}
	s.memory = appendSparse(s.memory[:0], s.sums, 1)
	s.list.reset()
	return s.write(Frame{Kind: KindSums, Row: f.Row, Column: f.Column, First: f.First, Count: f.Count, Width: 1})
}

func (s *mergeStep) end() error {
	return s.report(struct {
		Arcs    int64 `json:"arcs"`
		Repeats int64 `json:"repeats"`
	}{s.arcs, s.repeats})
}

package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A run has arcs of a block, ascending, each once.
type run struct {
	keys    []uint64  // row << 32 | column
	weights []float64 // nil: 1 each
}

// mergeStep makes the arcs of a block of its runs. Runs are merged when the next to last is not much longer than the last, so that each arc
// is merged a few times only.
type mergeStep struct {
	base
	block         [2]uint32
	some          bool // the group has a frame
	runs          []run
	held          int64 // arcs in runs
	list          arcList
	encoder       arcEncoder
	adjacency     kv.Adjacency
	sums          []float64
	arcs, repeats int64
}

func newMerge(b base) (step, error) { return &mergeStep{base: b}, nil }

// mergeBytes is what an arc takes while runs are merged: twice a key and a weight.
const mergeBytes = 32

func (s *mergeStep) take(f *Frame) error {
	if f.Kind != KindArcs {
		return s.unexpected(f)
	}
	if err := s.checkRows(f); err != nil {
		return err
	}
	columns, err := s.rows(f.Column)
	if err != nil {
		return err
	}
	if block := [2]uint32{f.Row, f.Column}; !s.some {
		s.block, s.some = block, true
	} else if block != s.block {
		return fmt.Errorf("%w: %s in the group of block %d,%d", errFrame, f.Place(), s.block[0], s.block[1])
	}
	weight := 0
	if s.Weighted {
		weight = runWeight
	}
	if err := s.list.read(f, columns, weight); err != nil {
		return err
	}
	next := run{keys: make([]uint64, 0, len(s.list.columns))}
	for i, row := range s.list.rows {
		for _, column := range s.list.list(i) {
			next.keys = append(next.keys, uint64(row)<<32|uint64(column))
		}
	}
	if s.Weighted {
		next.weights = append(make([]float64, 0, len(s.list.weights)), s.list.weights...)
	}
	s.runs = append(s.runs, next)
	s.held += int64(len(next.keys))
	for n := len(s.runs); n > 1 && len(s.runs[n-2].keys) <= 2*len(s.runs[n-1].keys); n = len(s.runs) {
		s.mergeLast()
	}
	if s.held*mergeBytes > s.Memory {
		for len(s.runs) > 1 {
			s.mergeLast()
		}
		if s.held*mergeBytes > s.Memory {
			return fmt.Errorf("block %d,%d has more than %d arcs, which do not fit in %d bytes of memory: use more blocks or more memory", f.Row, f.Column, s.held, s.Memory)
		}
	}
	return nil
}

// mergeLast makes one run of the last two.
func (s *mergeStep) mergeLast() {
	n := len(s.runs)
	a, b := s.runs[n-2], s.runs[n-1]
	merged := run{keys: make([]uint64, 0, len(a.keys)+len(b.keys))}
	if s.Weighted {
		merged.weights = make([]float64, 0, len(a.keys)+len(b.keys))
	}
	i, j := 0, 0
	for i < len(a.keys) || j < len(b.keys) {
		fromA := j == len(b.keys) || i < len(a.keys) && a.keys[i] <= b.keys[j]
		fromB := i == len(a.keys) || j < len(b.keys) && b.keys[j] <= a.keys[i]
		var key uint64
		var weight float64
		if fromA {
			key = a.keys[i]
			if s.Weighted {
				weight = a.weights[i]
			}
			i++
		}
		if fromB {
			key = b.keys[j]
			if s.Weighted {
				weight += b.weights[j]
			}
			j++
		}
		if fromA && fromB {
			s.repeats++
		}
		merged.keys = append(merged.keys, key)
		if s.Weighted {
			merged.weights = append(merged.weights, weight)
		}
	}
	s.runs = append(s.runs[:n-2], merged)
	s.held += int64(len(merged.keys) - len(a.keys) - len(b.keys))
}

// endGroup writes the arcs of the block and its row sums.
func (s *mergeStep) endGroup() error {
	if !s.some {
		return nil
	}
	for len(s.runs) > 1 {
		s.mergeLast()
	}
	all := s.runs[0]
	s.runs, s.held, s.some = s.runs[:0], 0, false
	s.arcs += int64(len(all.keys))
	s.list.reset()
	for at, key := range all.keys {
		row := uint32(key >> 32)
		if n := len(s.list.rows); n > 0 && s.list.rows[n-1] != row && (len(s.list.columns) >= mostRun || s.list.rows[0]/s.Chunk != row/s.Chunk) {
			if err := s.flush(); err != nil {
				return err
			}
		}
		s.list.add(row, uint32(key))
		if s.Weighted {
			s.list.weights = append(s.list.weights, float64(float32(all.weights[at])))
		}
	}
	return s.flush()
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
	columns, err := s.rows(f.Column)
	if err != nil {
		return err
	}
	block, err := s.list.block(f.First, f.Count, columns, s.Weighted, &s.adjacency)
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

package worker

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// arcsStep makes the arcs of blocks of their sorted edges, with the row sums. Repeats of an edge without weights count
// once. Weights of repeats are added.
type arcsStep struct {
	base
	block     [2]uint32
	columns   uint32
	key       uint64 // of the last edge: the places of its ends, 32 bits each
	weight    float64
	some      bool // there is a last edge
	list      arcList
	encoder   arcEncoder
	adjacency kv.Adjacency
	sums      []float64
	arcs      int64
}

func newArcs(b base) (step, error) { return &arcsStep{base: b}, nil }

func (s *arcsStep) beginGroup(f *Frame) (err error) {
	s.block, s.some = [2]uint32{f.Row, f.Column}, false
	s.list.reset()
	if _, err := s.rangeRows(f.Row); err != nil {
		return err
	}
	s.columns, err = s.rangeRows(f.Column)
	return err
}

func (s *arcsStep) take(f *Frame) error {
	if f.Kind != KindEdges {
		return s.unexpected(f)
	}
	weight := 0
	if s.Weighted {
		weight = 1
	}
	if err := f.wantWidth(weight); err != nil {
		return err
	}
	if err := f.want(int64(f.Count) * int64(8+4*weight)); err != nil {
		return err
	}
	rows, err := s.rangeRows(s.block[0])
	if err != nil {
		return err
	}
	for i := range int(f.Count) {
		key, w := binary.LittleEndian.Uint64(f.Payload[8*i:]), float32(1)
		if row, column := uint32(key>>32), uint32(key); row >= rows || column >= s.columns || s.some && key < s.key {
			return fmt.Errorf("%w: edge %d of a frame, from row %d to %d of block %d: want them ascending", errFrame, i, row, column, s.block)
		}
		if s.Weighted {
			w = math.Float32frombits(binary.LittleEndian.Uint32(f.Payload[8*int(f.Count)+4*i:]))
		}
		if s.some && key == s.key {
			s.weight += float64(w)
			continue
		}
		if err := s.add(); err != nil {
			return err
		}
		s.key, s.weight, s.some = key, float64(w), true
	}
	return nil
}

// mostRun is how many arcs a frame of arcs has, unless one row has more.
const mostRun = 1 << 20

// add adds the last edge to the list. A frame has whole rows of one chunk.
func (s *arcsStep) add() error {
	if !s.some {
		return nil
	}
	row := uint32(s.key >> 32)
	if n := len(s.list.rows); n > 0 && s.list.rows[n-1] != row && (len(s.list.columns) >= mostRun || s.list.rows[0]/s.Chunk != row/s.Chunk) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.arcs++
	s.list.add(row, uint32(s.key))
	if !s.Weighted {
		return nil
	}
	if s.weight > math.MaxFloat32 {
		return fmt.Errorf("edges between nodes number %d and %d: the weights add up to %.4g, want at most %v",
			s.Ranges[s.block[0]]+uint64(row), s.Ranges[s.block[1]]+uint64(uint32(s.key)), s.weight, float32(math.MaxFloat32))
	}
	s.list.weights = append(s.list.weights, float32(s.weight))
	return nil
}

func (s *arcsStep) endGroup() error {
	if err := s.add(); err != nil {
		return err
	}
	s.some = false
	return s.flush()
}

// flush writes the arcs that are in the list, and their row sums.
func (s *arcsStep) flush() error {
	if len(s.list.rows) == 0 {
		return nil
	}
	f := s.encoder.frame(s.block[0], s.block[1], &s.list, s.weightBytes(), s.memory[:0])
	s.memory = f.Payload
	if err := s.write(f); err != nil {
		return err
	}
	block, err := s.list.block(f.First, f.Count, s.columns, &s.adjacency)
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

func (s *arcsStep) end() error {
	return s.report(struct {
		Arcs int64 `json:"arcs"`
	}{s.arcs})
}

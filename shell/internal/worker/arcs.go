package worker

import (
	"encoding/binary"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
)

// arcsStep makes the arcs of blocks of their sorted edges, with the row sums. Repeats of an edge count once.
type arcsStep struct {
	base
	block   [2]uint32
	rows    uint32
	columns uint32
	key     uint64       // of the last edge: the places of its ends, 32 bits each
	some    bool         // there is a last edge
	list    kv.Adjacency // of rows of one chunk that are to be written, the last one without its end
	row     uint32       // the last one
	codec   arcCodec
	sums    []float64
	arcs    int64
}

func newArcs(b base) (step, error) { return &arcsStep{base: b}, nil }

func (s *arcsStep) beginGroup(f *Frame) (err error) {
	s.block, s.some = [2]uint32{f.Row, f.Column}, false
	if s.rows, err = s.rangeRows(f.Row); err != nil {
		return err
	}
	s.columns, err = s.rangeRows(f.Column)
	return err
}

func (s *arcsStep) take(f *Frame) error {
	if f.Kind != KindEdges {
		return s.unexpected(f)
	}
	for i := range int(f.Count) {
		key := binary.LittleEndian.Uint64(f.Payload[8*i:])
		if row, column := uint32(key>>32), uint32(key); row >= s.rows || column >= s.columns || s.some && key < s.key {
			return fmt.Errorf("%w: edge %d of a frame, from row %d to %d of block %d: want them ascending", errFrame, i, row,
				column, s.block)
		}
		if s.some && key == s.key {
			continue
		}
		s.key, s.some = key, true
		if err := s.add(key); err != nil {
			return err
		}
	}
	return nil
}

// mostRun is how many arcs a frame of arcs has, unless one row has more.
const mostRun = 1 << 20

// add adds an edge to the list. A frame has whole rows of one chunk.
func (s *arcsStep) add(key uint64) error {
	row := uint32(key >> 32)
	if row != s.row && (len(s.list.Neighbors) >= mostRun || uint32(s.list.First)/s.Chunk != row/s.Chunk) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if len(s.list.Neighbors) == 0 {
		s.list.Reset(kv.Range{First: kv.NodeID(row), End: kv.NodeID(row)})
	}
	fill(&s.list, row)
	s.list.Neighbors = append(s.list.Neighbors, kv.NodeID(key))
	s.row = row
	s.arcs++
	return nil
}

func (s *arcsStep) endGroup() error {
	s.some = false
	return s.flush()
}

// flush writes the arcs that are in the list, and their row sums.
func (s *arcsStep) flush() error {
	if len(s.list.Neighbors) == 0 {
		return nil
	}
	fill(&s.list, s.row+1)
	f := s.codec.frame(s.block[0], s.block[1], &s.list, s.memory[:0])
	s.memory = f.Payload
	if err := s.write(f); err != nil {
		return err
	}
	arcs, err := block.New(int(s.columns), s.list)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Place(), err)
	}
	s.sums = append(s.sums[:0], make([]float64, f.Count)...)
	if err := arcs.AddStrengths(s.sums, arcs.Rows()); err != nil {
		return err
	}
	s.memory = appendSparse(s.memory[:0], s.sums, 1)
	s.list.Reset(kv.Range{})
	return s.write(Frame{Kind: KindSums, Row: f.Row, Column: f.Column, First: f.First, Count: f.Count, Width: 1})
}

func (s *arcsStep) end() error {
	return s.report(struct {
		Arcs int64 `json:"arcs"`
	}{s.arcs})
}

package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// trianglesStep finds the triangles of three blocks, and sums them at their nodes.
type trianglesStep struct {
	base
	group  [3]uint32 // ranges I ≥ J ≥ K
	begun  bool
	ranges map[uint32]*triangleRange
	blocks map[[2]uint32]*blockArcs
	vector []float64
	arcs   arcList
	held   int64 // bytes
}

// A triangleRange has the strengths of a range, and the sums that are added at its nodes.
type triangleRange struct {
	strengths, sums []float64
	has             uint32
}

// blockArcs are all arcs of a block, as they come.
type blockArcs struct {
	rows, columns uint32
	list          kv.Adjacency
}

func newTriangles(b base) (step, error) {
	s := &trianglesStep{base: b}
	s.reset()
	return s, nil
}

func (s *trianglesStep) reset() {
	s.begun, s.held = false, 0
	s.ranges, s.blocks = map[uint32]*triangleRange{}, map[[2]uint32]*blockArcs{}
}

// beginGroup is told of the ranges of the group.
func (s *trianglesStep) beginGroup(f *Frame) error {
	s.group, s.begun = [3]uint32{f.Row, f.Column, f.Part}, true
	if f.Row < f.Column || f.Column < f.Part {
		return fmt.Errorf("%w: group of the ranges %d, want them descending", errFrame, s.group)
	}
	for _, r := range s.group {
		nodes, err := s.rows(r)
		if err != nil {
			return err
		}
		if s.ranges[r] == nil {
			s.ranges[r] = &triangleRange{strengths: make([]float64, nodes), sums: make([]float64, nodes)}
			s.held += 16 * int64(nodes)
		}
	}
	i, j, k := s.group[0], s.group[1], s.group[2]
	for _, block := range [][2]uint32{{i, j}, {i, k}, {j, k}} {
		if s.blocks[block] == nil {
			rows, columns := uint32(len(s.ranges[block[0]].sums)), uint32(len(s.ranges[block[1]].sums))
			s.blocks[block] = &blockArcs{rows: rows, columns: columns, list: kv.Adjacency{Range: kv.Range{End: kv.NodeID(rows)}, Offsets: []int64{0}}}
			s.held += 8 * int64(rows)
		}
	}
	return s.checkMemory()
}

func (s *trianglesStep) checkMemory() error {
	if s.held <= s.Memory {
		return nil
	}
	return fmt.Errorf("the blocks of ranges %d take %d bytes, more than the memory of %d: use more blocks or more memory", s.group, s.held, s.Memory)
}

func (s *trianglesStep) take(f *Frame) error {
	if f.Kind != KindArcs && f.Kind != KindStrength {
		return s.unexpected(f)
	}
	if err := s.checkRows(f); err != nil {
		return err
	}
	if !s.begun {
		return fmt.Errorf("%w: %s before a group", errFrame, f.Place())
	}
	if f.Kind == KindStrength {
		return s.takeStrengths(f)
	}
	b := s.blocks[[2]uint32{f.Row, f.Column}]
	if b == nil {
		return fmt.Errorf("%w: %s in the group of ranges %d", errFrame, f.Place(), s.group)
	}
	if err := s.arcs.read(f, b.columns, s.weightBytes()); err != nil {
		return err
	}
	if next := uint32(len(b.list.Offsets) - 1); f.First < next {
		return fmt.Errorf("%w: %s, after rows up to %d", errFrame, f.Place(), next)
	}
	s.held += int64(len(s.arcs.columns)) * int64(4+s.weightBytes())
	if err := s.checkMemory(); err != nil {
		return err
	}
	for i, row := range s.arcs.rows {
		b.fill(row)
		for _, column := range s.arcs.list(i) {
			b.list.Neighbors = append(b.list.Neighbors, kv.NodeID(column))
		}
		b.list.Offsets = append(b.list.Offsets, int64(len(b.list.Neighbors)))
	}
	for _, w := range s.arcs.weights {
		b.list.Weights = append(b.list.Weights, float32(w))
	}
	return nil
}

// fill adds empty lists up to a row.
func (b *blockArcs) fill(row uint32) {
	for uint32(len(b.list.Offsets)-1) < row {
		b.list.Offsets = append(b.list.Offsets, int64(len(b.list.Neighbors)))
	}
}

func (s *trianglesStep) takeStrengths(f *Frame) (err error) {
	r := s.ranges[f.Row]
	if r == nil {
		return fmt.Errorf("%w: %s in the group of ranges %d", errFrame, f.Place(), s.group)
	}
	if s.vector, err = rowsOf(s.vector, f); err != nil {
		return err
	}
	if err := due(f, &r.has); err != nil {
		return err
	}
	copy(r.strengths[f.First:], s.vector)
	return nil
}

func (s *trianglesStep) endGroup() error {
	if !s.begun {
		return nil
	}
	defer s.reset()
	corner := func(r uint32) ops.Corner {
		return ops.Corner{Range: int(r), Strengths: s.ranges[r].strengths, Sums: s.ranges[r].sums}
	}
	for r, of := range s.ranges {
		if of.has != uint32(len(of.strengths)) {
			return fmt.Errorf("%w: the group of ranges %d has the strengths of %d of the %d nodes of range %d", errFrame, s.group, of.has, len(of.strengths), r)
		}
	}
	blocks := map[[2]uint32]*ops.Block{}
	for name, b := range s.blocks {
		b.fill(b.rows)
		if s.Weighted && b.list.Weights == nil {
			b.list.Weights = []float32{}
		}
		block, err := ops.NewBlock(int(b.columns), b.list)
		if err != nil {
			return fmt.Errorf("block %d: %w", name, err)
		}
		blocks[name] = block
	}
	i, j, k := s.group[0], s.group[1], s.group[2]
	err := ops.AddTriangles(s.ctx, corner(i), corner(j), corner(k), blocks[[2]uint32{i, j}], blocks[[2]uint32{i, k}], blocks[[2]uint32{j, k}])
	if err != nil {
		return err
	}
	// Each range once, placed by the other two, descending, so that no two groups give sums of one place in the order.
	others := map[uint32][2]uint32{k: {i, j}, j: {i, k}, i: {j, k}}
	for r, place := range others {
		if err := s.writeSums(r, place, s.ranges[r].sums); err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes sums that are not zero, chunk by chunk.
func (s *trianglesStep) writeSums(r uint32, place [2]uint32, sums []float64) error {
	for first := 0; first < len(sums); first += int(s.Chunk) {
		part := sums[first:min(first+int(s.Chunk), len(sums))]
		if !some(part) {
			continue
		}
		s.memory = appendSparse(s.memory[:0], part, 1)
		err := s.write(Frame{Kind: KindSums, Row: r, Column: place[0], Part: place[1], First: uint32(first), Count: uint32(len(part)), Width: 1})
		if err != nil {
			return err
		}
	}
	return nil
}

// some says whether any number is not zero.
func some(values []float64) bool {
	for _, x := range values {
		if x != 0 {
			return true
		}
	}
	return false
}

package worker

import (
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// trianglesStep finds the triangles of three blocks, and sums them at their nodes. Groups of a stretch follow each other. They have the
// ranges I > J in common, whose strengths, sums and block stay. A group with I = J is a stretch of its own, as its last K brings no frames.
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
	whole         *ops.Block // when they all have come
	held          int64      // bytes
}

func newTriangles(b base) (step, error) {
	if b.Stretch == 0 {
		return nil, fmt.Errorf("stretches of 0 ranges, want 1 or more")
	}
	return &trianglesStep{base: b, ranges: map[uint32]*triangleRange{}, blocks: map[[2]uint32]*blockArcs{}}, nil
}

// stretch numbers the stretches of I and J.
func (s *trianglesStep) stretch(group [3]uint32) uint32 {
	if group[0] == group[1] {
		return group[2]
	}
	return group[2] / s.Stretch
}

// beginGroup is told of the ranges of the group.
func (s *trianglesStep) beginGroup(f *Frame) error {
	next := [3]uint32{f.Row, f.Column, f.Part}
	if next[0] < next[1] || next[1] < next[2] {
		return fmt.Errorf("%w: group of the ranges %d, want them descending", errFrame, next)
	}
	goesOn := s.begun && next[0] == s.group[0] && next[1] == s.group[1] && s.stretch(next) == s.stretch(s.group)
	if goesOn && next[2] <= s.group[2] {
		return fmt.Errorf("%w: group of the ranges %d after %d, want the last ascending", errFrame, next, s.group)
	}
	var kept []uint32
	if goesOn {
		kept = next[:]
	}
	if err := s.leave(kept); err != nil {
		return err
	}
	s.group, s.begun = next, true
	for _, r := range next {
		nodes, err := s.rows(r)
		if err != nil {
			return err
		}
		if s.ranges[r] == nil {
			s.held += 16 * int64(nodes)
			if err := s.checkMemory(); err != nil {
				return err
			}
			s.ranges[r] = &triangleRange{strengths: make([]float64, nodes), sums: make([]float64, nodes)}
		}
	}
	for _, block := range blocksOf(next) {
		if s.blocks[block] == nil {
			rows, columns := uint32(len(s.ranges[block[0]].sums)), uint32(len(s.ranges[block[1]].sums))
			b := &blockArcs{rows: rows, columns: columns, list: kv.Adjacency{Range: kv.Range{End: kv.NodeID(rows)}, Offsets: []int64{0}}}
			s.blocks[block] = b
			s.hold(b, 8*int64(rows))
		}
	}
	return s.checkMemory()
}

// blocksOf are the blocks between the ranges of a group.
func blocksOf(group [3]uint32) [3][2]uint32 {
	i, j, k := group[0], group[1], group[2]
	return [3][2]uint32{{i, j}, {i, k}, {j, k}}
}

// hold counts bytes of a block.
func (s *trianglesStep) hold(b *blockArcs, bytes int64) { b.held, s.held = b.held+bytes, s.held+bytes }

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
	if next := uint32(len(b.list.Offsets) - 1); f.First < next || b.whole != nil {
		return fmt.Errorf("%w: %s, after rows up to %d", errFrame, f.Place(), next)
	}
	s.hold(b, int64(len(s.arcs.columns))*int64(4+s.weightBytes()))
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
	if s.vector, err = strengthsOf(s.vector, f); err != nil {
		return err
	}
	if err := due(f, &r.has); err != nil {
		return err
	}
	copy(r.strengths[f.First:], s.vector)
	return nil
}

// endGroup finds the triangles of the group.
func (s *trianglesStep) endGroup() error {
	if !s.begun {
		return nil
	}
	corner := func(r uint32) ops.Corner {
		return ops.Corner{Range: int(r), Strengths: s.ranges[r].strengths, Sums: s.ranges[r].sums}
	}
	for _, r := range s.group {
		if of := s.ranges[r]; of.has != uint32(len(of.strengths)) {
			return fmt.Errorf("%w: the group of ranges %d has the strengths of %d of the %d nodes of range %d", errFrame, s.group, of.has, len(of.strengths), r)
		}
	}
	var blocks [3]*ops.Block
	for at, name := range blocksOf(s.group) {
		block, err := s.blocks[name].block(s.Weighted)
		if err != nil {
			return fmt.Errorf("block %d: %w", name, err)
		}
		blocks[at] = block
	}
	return ops.AddTriangles(s.ctx, corner(s.group[0]), corner(s.group[1]), corner(s.group[2]), blocks[0], blocks[1], blocks[2])
}

// block is the block, of which all arcs have come.
func (b *blockArcs) block(weighted bool) (_ *ops.Block, err error) {
	if b.whole == nil {
		b.fill(b.rows)
		if weighted && b.list.Weights == nil {
			b.list.Weights = []float32{}
		}
		b.whole, err = ops.NewBlock(int(b.columns), b.list)
	}
	return b.whole, err
}

func (s *trianglesStep) end() error { return s.leave(nil) }

// leave writes the sums of the ranges that are not kept, and forgets these and their blocks.
func (s *trianglesStep) leave(kept []uint32) error {
	for _, r := range s.group {
		of := s.ranges[r]
		if of == nil || slices.Contains(kept, r) {
			continue
		}
		if err := s.writeSums(r, of.sums); err != nil {
			return err
		}
		delete(s.ranges, r)
		s.held -= 16 * int64(len(of.sums))
	}
	for name, b := range s.blocks {
		if s.ranges[name[0]] == nil || s.ranges[name[1]] == nil {
			delete(s.blocks, name)
			s.held -= b.held
		}
	}
	return nil
}

// writeSums writes sums that are not zero, chunk by chunk. I, J and the stretch place them: no two frames about a row have one place.
func (s *trianglesStep) writeSums(r uint32, sums []float64) error {
	stretches := uint32(len(s.Ranges)-1)/s.Stretch + 1
	part := s.group[1]*stretches + s.stretch(s.group)
	for first := 0; first < len(sums); first += int(s.Chunk) {
		rows := sums[first:min(first+int(s.Chunk), len(sums))]
		if !some(rows) {
			continue
		}
		s.memory = appendSparse(s.memory[:0], rows, 1)
		err := s.write(Frame{Kind: KindSums, Row: r, Column: s.group[0], Part: part, First: uint32(first), Count: uint32(len(rows)), Width: 1})
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

package worker

import (
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
)

// trianglesStep finds the triangles of the three blocks between the ranges of a group, and sums them at their nodes.
type trianglesStep struct {
	base
	group  [3]uint32 // ranges I ≥ J ≥ K
	ranges map[uint32]*triangleRange
	blocks map[[2]uint32]*kv.Adjacency // all rows that have come
	arcs   arcCodec
	held   int64 // bytes
}

// What the search takes in memory, beside blocks, strengths and sums: see block.AddTriangles.
const (
	searchNodeBytes  = 16 + 16 + 25
	searchEntryBytes = 16
)

// A triangleRange has the strengths of a range, and the sums that are added at its nodes.
type triangleRange struct {
	strengths, sums []float64
	has             uint32
}

func newTriangles(b base) (step, error) { return &trianglesStep{base: b}, nil }

func (s *trianglesStep) beginGroup(f *Frame) error {
	s.group, s.held = [3]uint32{f.Row, f.Column, f.Part}, 0
	s.ranges, s.blocks = map[uint32]*triangleRange{}, map[[2]uint32]*kv.Adjacency{}
	for _, r := range s.group {
		nodes, err := s.rangeRows(r)
		if err != nil {
			return err
		}
		if s.ranges[r] != nil {
			continue
		}
		if err := s.hold((16 + 8 + searchNodeBytes) * int64(nodes)); err != nil {
			return err
		}
		s.ranges[r] = &triangleRange{strengths: make([]float64, nodes), sums: make([]float64, nodes)}
	}
	for _, name := range blocksOf(s.group) {
		s.blocks[name] = &kv.Adjacency{Offsets: []int64{0}}
	}
	return nil
}

// hold counts bytes that are held until the group ends.
func (s *trianglesStep) hold(bytes int64) error {
	if s.held += bytes; s.held > s.Memory {
		return fmt.Errorf("the nodes and arcs of ranges %d take more than the memory of %d bytes: use more blocks or more "+
			"memory", s.group, s.Memory)
	}
	return nil
}

// blocksOf are the blocks between the ranges of a group.
func blocksOf(group [3]uint32) [3][2]uint32 {
	i, j, k := group[0], group[1], group[2]
	return [3][2]uint32{{i, j}, {i, k}, {j, k}}
}

func (s *trianglesStep) take(f *Frame) error {
	if f.Kind != KindArcs && f.Kind != KindStrength {
		return s.unexpected(f)
	}
	if err := s.checkRows(f); err != nil {
		return err
	}
	if f.Kind == KindArcs {
		return s.takeArcs(f)
	}
	r := s.ranges[f.Row]
	if r == nil {
		return fmt.Errorf("%w: %s in the group of ranges %d", errFrame, f.Place(), s.group)
	}
	if err := due(f, &r.has); err != nil {
		return err
	}
	rowsOf(r.strengths[f.First:], f)
	return nil
}

func (s *trianglesStep) takeArcs(f *Frame) error {
	list := s.blocks[[2]uint32{f.Row, f.Column}]
	if list == nil || f.First < uint32(list.End) {
		return fmt.Errorf("%w: %s in the group of ranges %d: want those of its blocks, ascending", errFrame,
			f.Place(), s.group)
	}
	before := len(list.Neighbors)
	if err := s.arcs.read(f, uint32(len(s.ranges[f.Column].sums)), list); err != nil {
		return err
	}
	return s.hold(int64(len(list.Neighbors)-before) * (4 + searchEntryBytes))
}

// endGroup finds the triangles of the group.
func (s *trianglesStep) endGroup() error {
	if s.ranges == nil {
		return nil
	}
	for _, r := range s.group {
		if of := s.ranges[r]; of.has != uint32(len(of.strengths)) {
			return fmt.Errorf("%w: the group of ranges %d has the strengths of %d of the %d nodes of range %d", errFrame,
				s.group, of.has, len(of.strengths), r)
		}
	}
	var blocks [3]*block.Block
	for at, name := range blocksOf(s.group) {
		list := s.blocks[name]
		fill(list, uint32(len(s.ranges[name[0]].sums)))
		block, err := block.New(len(s.ranges[name[1]].sums), *list)
		if err != nil {
			return fmt.Errorf("block %d: %w", name, err)
		}
		blocks[at] = block
	}
	var corners [3]block.Corner
	for at, r := range s.group {
		corners[at] = block.Corner{Range: int(r), Strengths: s.ranges[r].strengths, Sums: s.ranges[r].sums}
	}
	if err := block.AddTriangles(s.ctx, corners[0], corners[1], corners[2], blocks[0], blocks[1], blocks[2]); err != nil {
		return err
	}
	for at, r := range s.group {
		if at > 0 && r == s.group[at-1] {
			continue
		}
		if err := s.writeSums(r, s.ranges[r].sums); err != nil {
			return err
		}
	}
	s.ranges = nil
	return nil
}

// writeSums writes sums that are not zero, chunk by chunk. The group places them: no two frames about a row have one
// place.
func (s *trianglesStep) writeSums(r uint32, sums []float64) error {
	part := s.group[1]*uint32(len(s.Ranges)) + s.group[2]
	for first := 0; first < len(sums); first += int(s.Chunk) {
		rows := sums[first:min(first+int(s.Chunk), len(sums))]
		if !slices.ContainsFunc(rows, func(x float64) bool { return x != 0 }) {
			continue
		}
		s.memory = appendSparse(s.memory[:0], rows, 1)
		err := s.write(Frame{Kind: KindSums, Row: r, Column: s.group[0], Part: part, First: uint32(first),
			Count: uint32(len(rows)), Width: 1})
		if err != nil {
			return err
		}
	}
	return nil
}

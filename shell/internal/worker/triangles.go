package worker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/ops"
)

// trianglesStep finds the triangles of three blocks, and sums them at their nodes. Groups of a stretch follow each other. They have the
// ranges I > J in common, whose strengths, sums and block stay. A group with I = J is a stretch of its own, as its last K brings no frames.
// Blocks that are too full for the memory lie on the disk, and are searched in parts.
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

// What the search takes in memory, beside blocks, strengths and sums: see ops.AddTriangles.
const (
	searchNodeBytes  = 16 + 16 + 25
	searchEntryBytes = 16
)

// A triangleRange has the strengths of a range, and the sums that are added at its nodes.
type triangleRange struct {
	strengths, sums []float64
	has             uint32
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
		nodes, err := s.rangeRows(r)
		if err != nil {
			return err
		}
		if s.ranges[r] == nil {
			s.held += 16 * int64(nodes)
			if err := s.checkNodes(); err != nil {
				return err
			}
			s.ranges[r] = &triangleRange{strengths: make([]float64, nodes), sums: make([]float64, nodes)}
		}
	}
	for _, block := range blocksOf(next) {
		if s.blocks[block] == nil {
			b := newBlockArcs(len(s.ranges[block[0]].sums), len(s.ranges[block[1]].sums), s.weightBytes())
			s.blocks[block] = b
			s.held += b.offsetBytes()
		}
	}
	return s.checkNodes()
}

// blocksOf are the blocks between the ranges of a group.
func blocksOf(group [3]uint32) [3][2]uint32 {
	i, j, k := group[0], group[1], group[2]
	return [3][2]uint32{{i, j}, {i, k}, {j, k}}
}

// searchBytes is what the search takes for the nodes of the group.
func (s *trianglesStep) searchBytes() (bytes int64) {
	for _, r := range s.ranges {
		bytes = max(bytes, searchNodeBytes*int64(len(r.sums)))
	}
	return bytes
}

// leastRoom is which part of the memory is left for arcs.
const leastRoom = 4

// checkNodes returns an error if the nodes of the ranges leave no room for arcs, which might be on the disk.
func (s *trianglesStep) checkNodes() error {
	need := s.held + s.searchBytes()
	for _, b := range s.blocks {
		need -= b.arcBytes()
	}
	if need <= s.Memory-s.Memory/leastRoom {
		return nil
	}
	return fmt.Errorf("the nodes of ranges %d take %d bytes, too much for the memory of %d: use more blocks or more memory", s.group, need, s.Memory)
}

// makeRoom brings blocks to the disk, the largest first, until so many bytes of memory are free, or none has arcs in memory.
func (s *trianglesStep) makeRoom(bytes int64) error {
	for s.held+bytes > s.Memory {
		var largest *blockArcs
		for _, b := range s.blocks {
			if b.arcBytes() > 0 && (largest == nil || b.arcBytes() > largest.arcBytes()) {
				largest = b
			}
		}
		if largest == nil {
			return nil
		}
		s.held -= largest.arcBytes()
		if err := largest.spill(); err != nil {
			return err
		}
	}
	return nil
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
	if next := b.filled(); f.First < next || b.complete {
		return fmt.Errorf("%w: %s, after rows up to %d", errFrame, f.Place(), next)
	}
	before := b.arcBytes()
	if err := b.add(&s.arcs); err != nil {
		return err
	}
	s.held += b.arcBytes() - before
	return s.makeRoom(0)
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
	for _, r := range s.group {
		if of := s.ranges[r]; of.has != uint32(len(of.strengths)) {
			return fmt.Errorf("%w: the group of ranges %d has the strengths of %d of the %d nodes of range %d", errFrame, s.group, of.has, len(of.strengths), r)
		}
	}
	names := blocksOf(s.group)
	inMemory := true
	for _, name := range names {
		b := s.blocks[name]
		b.fill(b.rows)
		b.complete, inMemory = true, inMemory && b.file == nil
	}
	if work := s.searchBytes() + searchEntryBytes*s.blocks[names[2]].arcs(); !inMemory || s.held+work > s.Memory {
		return s.searchParts()
	}
	var blocks [3]*ops.Block
	for at, name := range names {
		block, err := s.blocks[name].block()
		if err != nil {
			return fmt.Errorf("block %d: %w", name, err)
		}
		blocks[at] = block
	}
	corner := func(r uint32) ops.Corner {
		return ops.Corner{Range: int(r), Strengths: s.ranges[r].strengths, Sums: s.ranges[r].sums}
	}
	return ops.AddTriangles(s.ctx, corner(s.group[0]), corner(s.group[1]), corner(s.group[2]), blocks[0], blocks[1], blocks[2])
}

// searchParts finds the triangles u > v > w of the group for some rows v of the block JK after the other, and for each of these for some
// rows u of the blocks IJ and IK. Lists end before the node of their row, so all corners count as different ranges.
func (s *trianglesStep) searchParts() error {
	if err := s.makeRoom(s.searchBytes() + s.Memory/leastRoom); err != nil {
		return err
	}
	names := blocksOf(s.group)
	ij, ik, jk := s.blocks[names[0]], s.blocks[names[1]], s.blocks[names[2]]
	sameIJ, sameIK, sameJK := s.group[0] == s.group[1], s.group[0] == s.group[2], s.group[1] == s.group[2]
	all := span{0, jk.columns}
	// Half of the room is for arcs of JK, with what the search takes for them, half for those of IJ and IK.
	room, each := (s.Memory-s.held-s.searchBytes())/2, int64(8+s.weightBytes())
	for v := (span{}); v.from < jk.rows; v.from = v.end {
		v.end = rowsWithin(v.from, room/(each+searchEntryBytes), jk)
		last, arcs, err := jk.part(v, all, sameJK)
		if err != nil {
			return err
		}
		if arcs == 0 {
			continue
		}
		u := span{}
		if sameIJ {
			u.from = v.from
		}
		for ; u.from < ij.rows; u.from = u.end {
			u.end = rowsWithin(u.from, room/each, ij, ik)
			first, arcs, err := ij.part(u, v, sameIJ)
			if err != nil {
				return err
			}
			if arcs == 0 {
				continue
			}
			middle, _, err := ik.part(u, all, sameIK)
			if err != nil {
				return err
			}
			if err := ops.AddTriangles(s.ctx, s.corner(0, u), s.corner(1, v), s.corner(2, all), first, middle, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// corner is that of some nodes of the range at a place in the group, as if the three were different ranges.
func (s *trianglesStep) corner(place int, nodes span) ops.Corner {
	r := s.ranges[s.group[place]]
	return ops.Corner{Range: 2 - place, Strengths: r.strengths[nodes.from:nodes.end], Sums: r.sums[nodes.from:nodes.end]}
}

func (s *trianglesStep) end() error { return s.leave(nil) }

func (s *trianglesStep) close() (err error) {
	for _, b := range s.blocks {
		err = errors.Join(err, b.close())
	}
	return err
}

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
			s.held -= b.offsetBytes() + b.arcBytes()
			if err := b.close(); err != nil {
				return err
			}
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

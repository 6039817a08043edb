package worker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/ops"
)

// Modes of pack.
const (
	modeReach = "reach"
	modeEdges = "edges"
)

// packStep finds what a small graph around some nodes consists of: their neighbours, or the edges among the nodes chosen so far.
type packStep struct {
	base
	begun     bool
	group     [2]uint32 // the range of the strengths, or the block
	ready     bool      // arcs have come
	members   map[uint32][]uint32
	strengths []float64 // of mode reach
	has       uint32    // strengths that have come
	held      int64     // bytes

	rows   []uint32
	vector []float64
	arcs   arcList
	best   []neighbor
	found  pairList
}

// A neighbor is a column of a row, with its weight in the vote about the row.
type neighbor struct {
	column uint32
	weight float32
}

// A pairList has pairs of node numbers, with weights or without.
type pairList struct {
	sources, targets []uint64
	weights          []float32
}

// mostPairs is how many pairs a frame has.
const mostPairs = 1 << 17

// mostReach is the most neighbours that are asked for of a node.
const mostReach = 1 << 16

func newPack(b base) (step, error) {
	switch {
	case b.Mode != modeReach && b.Mode != modeEdges:
		return nil, fmt.Errorf("mode %q, want %s or %s", b.Mode, modeReach, modeEdges)
	case b.Mode == modeReach && (b.Most < 1 || b.Most > mostReach):
		return nil, fmt.Errorf("most %d, want 1 to %d neighbours of a node", b.Most, mostReach)
	}
	return &packStep{base: b}, nil
}

// beginGroup is told of the column range of mode reach, and of the block of mode edges.
func (s *packStep) beginGroup(f *Frame) error {
	s.begun, s.ready, s.group = true, false, [2]uint32{f.Row, f.Column}
	s.members, s.has, s.held = map[uint32][]uint32{}, 0, 0
	nodes, err := s.rangeRows(f.Row)
	if err != nil {
		return err
	}
	if s.Mode == modeEdges {
		_, err := s.rangeRows(f.Column)
		return err
	}
	if err := s.hold(8 * int64(nodes)); err != nil {
		return err
	}
	s.strengths = make([]float64, nodes)
	return nil
}

// hold counts bytes that are held until the group ends.
func (s *packStep) hold(bytes int64) error {
	if s.held += bytes; s.held > s.Memory {
		return fmt.Errorf("members and strengths of group %d take %d bytes, more than the memory of %d: use more blocks or more memory", s.group, s.held, s.Memory)
	}
	return nil
}

func (s *packStep) take(f *Frame) error {
	isStrength := f.Kind == KindStrength && s.Mode == modeReach
	if f.Kind != KindArcs && f.Kind != KindMembers && !isStrength {
		return s.unexpected(f)
	}
	if !s.begun {
		return fmt.Errorf("%w: %s before a group", errFrame, f.Place())
	}
	if f.Kind == KindArcs {
		return s.takeArcs(f)
	}
	if s.ready {
		return fmt.Errorf("%w: %s after arcs of its group", errFrame, f.Place())
	}
	if isStrength {
		return s.takeStrengths(f)
	}
	return s.takeMembers(f)
}

// takeMembers takes the nodes that are asked about, or that were chosen, in ascending chunks of each range.
func (s *packStep) takeMembers(f *Frame) (err error) {
	if s.Mode == modeEdges && f.Row != s.group[0] && f.Row != s.group[1] {
		return fmt.Errorf("%w: %s in the group of block %d,%d", errFrame, f.Place(), s.group[0], s.group[1])
	}
	if s.rows, err = s.membersOf(s.rows, f); err != nil {
		return err
	}
	known := s.members[f.Row]
	if n := len(known); n > 0 && known[n-1] >= f.First {
		return fmt.Errorf("%w: %s after member %d", errFrame, f.Place(), known[n-1])
	}
	if err := s.hold(4 * int64(len(s.rows))); err != nil {
		return err
	}
	s.members[f.Row] = append(known, s.rows...)
	return nil
}

func (s *packStep) takeStrengths(f *Frame) (err error) {
	if err := s.checkRows(f); err != nil {
		return err
	}
	if f.Row != s.group[0] {
		return fmt.Errorf("%w: %s in the group of range %d", errFrame, f.Place(), s.group[0])
	}
	if s.vector, err = strengthsOf(s.vector, f); err != nil {
		return err
	}
	if err := due(f, &s.has); err != nil {
		return err
	}
	copy(s.strengths[f.First:], s.vector)
	return nil
}

func (s *packStep) takeArcs(f *Frame) error {
	if err := s.checkRows(f); err != nil {
		return err
	}
	columns, err := s.rangeRows(f.Column)
	if err != nil {
		return err
	}
	inGroup := f.Column == s.group[0]
	if s.Mode == modeEdges {
		inGroup = f.Row == s.group[0] && f.Column == s.group[1]
	} else if s.has != uint32(len(s.strengths)) {
		return fmt.Errorf("%w: %s comes after the strengths of %d of the %d nodes of range %d", errFrame, f.Place(), s.has, len(s.strengths), s.group[0])
	}
	if !inGroup {
		return fmt.Errorf("%w: %s in the group of %d", errFrame, f.Place(), s.group)
	}
	s.ready = true
	if err := s.arcs.read(f, columns, s.weightBytes()); err != nil {
		return err
	}
	members := s.members[f.Row]
	for i, row := range s.arcs.rows {
		if _, ok := slices.BinarySearch(members, row); !ok {
			continue
		}
		if s.Mode == modeEdges {
			err = s.findEdges(f, i, row)
		} else {
			err = s.findNeighbors(f, i, row)
		}
		if err != nil {
			return err
		}
	}
	return s.flush(f)
}

// weight is the weight of an arc by its place among all of the frame.
func (s *packStep) weight(at int64) float64 {
	if s.Weighted {
		return s.arcs.weights[at]
	}
	return 1
}

// findNeighbors finds the neighbours with the largest weights in the vote about a row, which is number i of the rows with arcs. Weights are
// compared as they are written, so that the best of several blocks are the best of all.
func (s *packStep) findNeighbors(f *Frame, i int, row uint32) error {
	s.best = s.best[:0]
	for k, column := range s.arcs.list(i) {
		w := float64(s.weight(s.arcs.offsets[i]+int64(k)) * ops.Scale(s.strengths[column]))
		if s.best = append(s.best, neighbor{column, float32(w)}); len(s.best) == 2*s.Most {
			s.keepBest()
		}
	}
	s.keepBest()
	for _, u := range s.best {
		if err := s.add(f, row, u.column, u.weight); err != nil {
			return err
		}
	}
	return nil
}

// keepBest sorts the neighbours and forgets all but the most that are asked for.
func (s *packStep) keepBest() {
	slices.SortFunc(s.best, func(a, b neighbor) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.column, b.column))
	})
	s.best = s.best[:min(s.Most, len(s.best))]
}

// findEdges finds the members among the neighbours of a row that have higher numbers.
func (s *packStep) findEdges(f *Frame, i int, row uint32) error {
	others := s.members[f.Column]
	for k, column := range s.arcs.list(i) {
		if f.Row > f.Column || f.Row == f.Column && row >= column {
			continue
		}
		if _, ok := slices.BinarySearch(others, column); !ok {
			continue
		}
		if err := s.add(f, row, column, float32(s.weight(s.arcs.offsets[i]+int64(k)))); err != nil {
			return err
		}
	}
	return nil
}

// add adds a pair of a row and a column of the block.
func (s *packStep) add(f *Frame, row, column uint32, weight float32) error {
	s.found.sources = append(s.found.sources, s.Ranges[f.Row]+uint64(row))
	s.found.targets = append(s.found.targets, s.Ranges[f.Column]+uint64(column))
	if s.Mode == modeReach || s.Weighted {
		s.found.weights = append(s.found.weights, weight)
	}
	if len(s.found.sources) < mostPairs {
		return nil
	}
	return s.flush(f)
}

// flush writes the pairs that were found in a frame of arcs.
func (s *packStep) flush(f *Frame) error {
	found := s.found
	if len(found.sources) == 0 {
		return nil
	}
	pairs := Frame{
		Kind: KindEdges, Row: f.Row, Column: f.Column, First: uint32(found.sources[0] - s.Ranges[f.Row]), Count: uint32(len(found.sources)),
	}
	if s.Mode == modeReach {
		pairs.Kind = KindPairs
	}
	if found.weights != nil {
		pairs.Width = 1
	}
	s.memory = appendVector(appendVector(appendVector(s.memory[:0], found.sources), found.targets), found.weights)
	s.found.sources, s.found.targets, s.found.weights = found.sources[:0], found.targets[:0], found.weights[:0]
	return s.write(pairs)
}

package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
)

// Modes of multiply and add.
const (
	modeFirst    = "first"
	modeSlice    = "slice"    // of multiply
	modeStrength = "strength" // of add
	modeHop      = "hop"      // of add
	modeDiagonal = "diagonal" // of add
)

// firstWidth is the number of columns of the sums of mode first: votes and hop 1 of the labels, labelled neighbours,
// the way back.
func (j *Job) firstWidth() int { return 2*j.Classes + 2 }

// multiplyStep multiplies blocks of one column range with the rows of that range.
type multiplyStep struct {
	base
	column uint32 // the range of the rows
	nodes  uint32 // in it
	ready  bool   // all rows are there, arcs follow

	has       map[Kind]uint32 // how many rows have come
	labels    []kv.Class
	strengths []float64
	values    []float32
	rows      *block.Rows
	scaled    *block.Labels

	arcs arcCodec
	list kv.Adjacency
	sums []float64
}

func newMultiply(b base) (step, error) {
	if b.Mode != modeFirst && b.Mode != modeSlice {
		return nil, fmt.Errorf("%w: mode %q, want %s or %s", errFrame, b.Mode, modeFirst, modeSlice)
	}
	return &multiplyStep{base: b}, nil
}

// multiplyBytes is the memory of labels, strengths and scaled labels, a node.
const multiplyBytes = 28

// beginGroup makes room for the rows of a range.
func (s *multiplyStep) beginGroup(f *Frame) error {
	nodes, err := s.rangeRows(f.Row)
	if err != nil {
		return err
	}
	bytes := int64(nodes) * multiplyBytes
	if s.Mode == modeSlice {
		bytes = 4 * int64(nodes) * int64(s.Classes+3) // padded to groups of four
	}
	if bytes > s.Memory {
		return fmt.Errorf("range %d has %d nodes, whose rows take %d bytes, more than the memory of %d: use more blocks "+
			"or more memory",
			f.Row, nodes, bytes, s.Memory)
	}
	s.ready, s.column, s.nodes = false, f.Row, nodes
	if s.Mode == modeFirst {
		s.has = map[Kind]uint32{KindLabels: 0, KindStrength: 0}
		s.labels, s.strengths = make([]kv.Class, nodes), make([]float64, nodes)
	} else {
		s.has = map[Kind]uint32{KindSlice: 0}
		s.rows = block.NewRows(int(nodes), s.Classes)
	}
	return nil
}

func (s *multiplyStep) take(f *Frame) (err error) {
	if err := s.checkRows(f); err != nil {
		return err
	}
	if f.Kind == KindArcs {
		return s.multiply(f)
	}
	if s.has == nil || f.Row != s.column || s.ready {
		return fmt.Errorf("%w: %s in the group of range %d: want rows of that range, before arcs", errFrame,
			f.Place(), s.column)
	}
	has, ok := s.has[f.Kind]
	if !ok {
		return s.unexpected(f)
	}
	if err := due(f, &has); err != nil {
		return err
	}
	s.has[f.Kind] = has
	switch f.Kind {
	case KindLabels:
		_, err = classesOf(s.labels[f.First:f.First], f, s.Classes)
	case KindStrength:
		rowsOf(s.strengths[f.First:], f)
	case KindSlice:
		s.values = rowsOf(s.values, f)
		err = s.rows.Set(int(f.First), s.values)
	}
	return err
}

// due returns an error if a frame does not follow those of its kind, of which so many rows have come.
func due(f *Frame, has *uint32) error {
	if f.First != *has {
		return fmt.Errorf("%w: %s after %d rows: want every row once, ascending", errFrame, f.Place(), *has)
	}
	*has += f.Count
	return nil
}

// complete returns an error if rows are missing where arcs begin.
func (s *multiplyStep) complete(f *Frame) (err error) {
	for kind, has := range s.has {
		if has != s.nodes {
			return fmt.Errorf("%w: %s comes after %d of the %d %s of range %d", errFrame, f.Place(), has, s.nodes,
				kind, s.column)
		}
	}
	if s.has == nil {
		return fmt.Errorf("%w: %s comes before a group", errFrame, f.Place())
	}
	if s.Mode == modeFirst {
		s.scaled, err = block.NewLabels(s.labels, s.strengths, s.Classes)
	}
	s.ready = err == nil
	return err
}

// sumBytes is how many bytes of sums are made at once.
const sumBytes = 4 << 20

// multiply multiplies some rows of a block.
func (s *multiplyStep) multiply(f *Frame) error {
	if !s.ready {
		if err := s.complete(f); err != nil {
			return err
		}
	}
	if f.Column != s.column {
		return fmt.Errorf("%w: %s in the group of range %d", errFrame, f.Place(), s.column)
	}
	s.list.Reset(kv.Range{First: kv.NodeID(f.First), End: kv.NodeID(f.First)})
	if err := s.arcs.read(f, s.nodes, &s.list); err != nil {
		return err
	}
	block, err := block.New(int(s.nodes), s.list)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Place(), err)
	}
	width := s.Classes
	if s.Mode == modeFirst {
		width = s.firstWidth()
	}
	step := uint32(max(1, sumBytes/(8*width)))
	for first := f.First; first < f.First+f.Count; first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, f.First+f.Count))}
		s.sums = append(s.sums[:0], make([]float64, rows.Len()*width)...)
		if s.Mode == modeSlice {
			err = block.AddRows(s.sums, rows, s.rows)
		} else {
			err = block.AddLabels(s.sums, rows, s.scaled)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Place(), err)
		}
		s.memory = appendSparse(s.memory[:0], s.sums, width)
		err := s.write(Frame{
			Kind: KindSums, Row: f.Row, Column: f.Column, First: first, Count: uint32(rows.Len()), Width: uint32(width),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

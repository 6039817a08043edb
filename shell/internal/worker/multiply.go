package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Modes of multiply and add.
const (
	modeFirst       = "first"
	modePredictions = "predictions" // of multiply
	modeSlice       = "slice"       // of multiply
	modeHop         = "hop"         // of add
	modeDiagonal    = "diagonal"    // of add
	modeInputs      = "inputs"      // of multiply
	modeSmooth      = "smooth"      // of add
)

// firstWidth is the number of columns of the sums of mode first: votes and hop 1 of the labels, labelled neighbours, the way back; and of a
// weighted graph the numbers of neighbours by label.
func (j *Job) firstWidth() int {
	if j.Weighted {
		return 3*j.Classes + 2
	}
	return 2*j.Classes + 2
}

// multiplyStep multiplies blocks of one column range with the rows of that range.
type multiplyStep struct {
	base
	begun  bool
	column uint32 // the range of the rows
	nodes  uint32 // in it
	ready  bool   // all rows are there, arcs follow

	labels                           []kv.Class
	strengths                        []float64
	hasLabels, hasStrengths, hasRows uint32 // how many have come
	numbers                          []int32
	vector, looped                   []float64
	values                           []float32
	rows                             *ops.BlockRows
	scaled                           *ops.BlockLabels

	arcs    arcList
	arcsEnd uint64 // range and row behind the last arcs
	list    kv.Adjacency
	sums    []float64
}

// rowKey orders the rows of all ranges.
func rowKey(r, row uint32) uint64 { return uint64(r)<<32 | uint64(row) }

func newMultiply(b base) (step, error) {
	switch b.Mode {
	case modeFirst, modePredictions, modeInputs, modeSlice:
		return &multiplyStep{base: b}, nil
	}
	return nil, fmt.Errorf("%w: mode %q, want %s, %s, %s or %s", errFrame, b.Mode, modeFirst, modePredictions, modeInputs, modeSlice)
}

func (s *multiplyStep) endGroup() error {
	s.begun, s.ready, s.arcsEnd = false, false, 0
	s.hasLabels, s.hasStrengths, s.hasRows = 0, 0, 0
	return nil
}

// begin makes room for the rows of a range.
func (s *multiplyStep) begin(column uint32) error {
	nodes, err := s.rangeRows(column)
	if err != nil {
		return err
	}
	s.begun, s.column, s.nodes = true, column, nodes
	bytes := int64(nodes) * multiplyBytes
	if s.Mode != modeFirst {
		bytes += 4 * int64(nodes) * int64(s.columns()+3) // padded to groups of four
	}
	if bytes > s.Memory {
		return fmt.Errorf("range %d has %d nodes, whose rows take %d bytes, more than the memory of %d: use more blocks or more memory", column, nodes, bytes, s.Memory)
	}
	if s.Mode != modeSlice {
		s.strengths = make([]float64, nodes)
	}
	if s.Mode == modeFirst {
		s.labels = make([]kv.Class, nodes)
	} else {
		s.rows = ops.NewBlockRows(int(nodes), s.columns())
	}
	return nil
}

// multiplyBytes is what labels, strengths and scaled labels of a node take.
const multiplyBytes = 28

func (s *multiplyStep) take(f *Frame) error {
	if f.Kind == KindArcs {
		return s.multiply(f)
	}
	if err := s.checkRows(f); err != nil {
		return err
	}
	if !s.begun {
		if err := s.begin(f.Row); err != nil {
			return err
		}
	}
	if f.Row != s.column {
		return fmt.Errorf("%w: %s in the group of range %d", errFrame, f.Place(), s.column)
	}
	if s.ready {
		return fmt.Errorf("%w: %s after arcs of its group", errFrame, f.Place())
	}
	var err error
	switch {
	case f.Kind == KindLabels && s.Mode == modeFirst:
		if err = due(f, &s.hasLabels); err != nil {
			return err
		}
		if s.numbers, err = rowsOf(s.numbers, f); err != nil {
			return err
		}
		_, err = classesOf(s.labels[f.First:f.First], s.numbers, f, s.Classes)
	case f.Kind == KindStrength && s.Mode != modeSlice:
		if err = due(f, &s.hasStrengths); err != nil {
			return err
		}
		if s.vector, err = strengthsOf(s.vector, f); err != nil {
			return err
		}
		copy(s.strengths[f.First:], s.vector)
	case f.Kind == KindSlice && s.Mode == modeSlice, f.Kind == KindPredictions && s.Mode == modePredictions, f.Kind == KindInputs && s.Mode == modeInputs:
		err = s.takeRows(f)
	default:
		return s.unexpected(f)
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

// takeRows takes rows of predictions, of features or for a later hop.
func (s *multiplyStep) takeRows(f *Frame) (err error) {
	if err = due(f, &s.hasRows); err != nil {
		return err
	}
	if s.Mode == modePredictions {
		s.values, err = predictionsOf(s.values, f, s.columns())
	} else if err = f.wantWidth(s.columns()); err == nil {
		s.values, err = rowsOf(s.values, f)
	}
	if err != nil {
		return err
	}
	if s.Mode == modeSlice {
		return s.rows.Set(int(f.First), s.values)
	}
	if s.hasStrengths != s.nodes {
		return fmt.Errorf("%w: %s before the strengths of its range", errFrame, f.Place())
	}
	strengths := s.strengths[f.First:][:f.Count]
	if s.Mode == modePredictions {
		return s.rows.SetScaled(int(f.First), known(s.values), strengths)
	}
	if s.looped, err = withLoops(s.looped, strengths, s.values, f); err != nil {
		return err
	}
	return s.rows.SetScaled(int(f.First), s.values, s.looped)
}

// withLoops are strengths with a loop of weight 1 at each node, as features are smoothed. Features that are no numbers are an error.
func withLoops(memory, strengths []float64, features []float32, f *Frame) ([]float64, error) {
	if !float32s.AllFinite(features) {
		return memory, fmt.Errorf("%s: a feature is not finite", f.Place())
	}
	memory = memory[:0]
	for _, strength := range strengths {
		memory = append(memory, strength+1)
	}
	return memory, nil
}

// complete returns an error if rows are missing where arcs begin.
func (s *multiplyStep) complete(f *Frame) (err error) {
	if !s.begun {
		if err := s.begin(f.Column); err != nil {
			return err
		}
	}
	short := func(kind Kind, has uint32) error {
		if has == s.nodes {
			return nil
		}
		return fmt.Errorf("%w: %s comes after %s of %d of the %d nodes of range %d", errFrame, f.Place(), kind, has, s.nodes, s.column)
	}
	switch s.Mode {
	case modeFirst:
		if err := short(KindLabels, s.hasLabels); err != nil {
			return err
		}
		if err := short(KindStrength, s.hasStrengths); err != nil {
			return err
		}
		s.scaled, err = ops.NewBlockLabels(s.labels, s.strengths, s.Classes)
	case modePredictions:
		err = short(KindPredictions, s.hasRows)
	case modeInputs:
		err = short(KindInputs, s.hasRows)
	case modeSlice:
		err = short(KindSlice, s.hasRows)
	}
	s.ready = err == nil
	return err
}

// sumBytes is how many bytes of sums are made at once.
const sumBytes = 4 << 20

// multiply multiplies some rows of a block.
func (s *multiplyStep) multiply(f *Frame) error {
	if err := s.checkRows(f); err != nil {
		return err
	}
	if !s.ready {
		if err := s.complete(f); err != nil {
			return err
		}
	}
	if f.Column != s.column {
		return fmt.Errorf("%w: %s in the group of range %d", errFrame, f.Place(), s.column)
	}
	if rowKey(f.Row, f.First) < s.arcsEnd {
		return fmt.Errorf("%w: %s, after those of range %d up to row %d: want every row once, ascending", errFrame, f.Place(), s.arcsEnd>>32, uint32(s.arcsEnd))
	}
	s.arcsEnd = rowKey(f.Row, f.First+f.Count)
	block, err := s.block(f, &s.arcs, &s.list)
	if err != nil {
		return err
	}
	width := s.columns()
	if s.Mode == modeFirst {
		width = s.firstWidth()
	}
	step := uint32(max(1, sumBytes/(8*width)))
	for first := f.First; first < f.First+f.Count; first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, f.First+f.Count))}
		s.sums = append(s.sums[:0], make([]float64, rows.Len()*width)...)
		switch {
		case s.Mode != modeFirst:
			err = block.AddRows(s.sums, rows, s.rows)
		case s.Weighted:
			err = s.addWeighted(block, rows, width)
		default:
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

// addWeighted is AddLabels with the numbers of neighbours by label behind it.
func (s *multiplyStep) addWeighted(block *ops.Block, rows kv.Range, width int) error {
	inner := 2*s.Classes + 2
	sums := make([]float64, rows.Len()*inner)
	if err := block.AddLabels(sums, rows, s.scaled); err != nil {
		return err
	}
	for v := rows.First; v < rows.End; v++ {
		i := int(v - rows.First)
		copy(s.sums[i*width:], sums[i*inner:][:inner])
		at := v - s.list.First
		for _, u := range s.list.Neighbors[s.list.Offsets[at]:s.list.Offsets[at+1]] {
			if k := s.labels[u]; k != kv.NoClass {
				s.sums[i*width+inner+int(k)]++
			}
		}
	}
	return nil
}

// block decodes the rows of a frame of arcs into memory.
func (b *base) block(f *Frame, arcs *arcList, list *kv.Adjacency) (*ops.Block, error) {
	columns, err := b.rangeRows(f.Column)
	if err != nil {
		return nil, err
	}
	if err := b.checkChunk(f); err != nil {
		return nil, err
	}
	if err := arcs.read(f, columns, b.weightBytes()); err != nil {
		return nil, err
	}
	block, err := arcs.block(f.First, f.Count, columns, b.Weighted, list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Place(), err)
	}
	return block, nil
}

// block is the block of the arcs, with so many rows from first on. Its lists are in memory that the caller keeps.
func (l *arcList) block(first, count, columns uint32, weighted bool, list *kv.Adjacency) (*ops.Block, error) {
	list.Range = kv.Range{First: kv.NodeID(first), End: kv.NodeID(first + count)}
	list.Offsets, list.Neighbors, list.Weights = append(list.Offsets[:0], 0), list.Neighbors[:0], nil
	for _, column := range l.columns {
		list.Neighbors = append(list.Neighbors, kv.NodeID(column))
	}
	if weighted {
		list.Weights = make([]float32, len(l.weights))
		for i, w := range l.weights {
			list.Weights[i] = float32(w)
		}
	}
	at := 0
	for row := first; row < first+count; row++ {
		if at < len(l.rows) && l.rows[at] == row {
			at++
		}
		list.Offsets = append(list.Offsets, l.offsets[at])
	}
	return ops.NewBlock(int(columns), *list)
}

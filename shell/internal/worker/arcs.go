package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// arcsStep sorts the arcs of edges, both directions of each, and cuts them in runs of blocks. Loops are left out, and repeats of an
// unweighted arc. Weights of repeats are added.
type arcsStep struct {
	base
	sorter       arcSorter
	width        int // bits of a number
	edges, loops int64
}

func newArcs(b base) (step, error) {
	s := &arcsStep{base: b, width: max(1, bits.Len64(b.nodes()-1))}
	s.sorter = b.newArcSorter(2 * s.width)
	return s, nil
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
	if err := f.want(int64(f.Count) * int64(16+4*weight)); err != nil {
		return err
	}
	count := int(f.Count)
	for i := range count {
		u, v := binary.LittleEndian.Uint64(f.Payload[8*i:]), binary.LittleEndian.Uint64(f.Payload[8*(count+i):])
		if u >= s.nodes() || v >= s.nodes() {
			return fmt.Errorf("%w: edge %d of a frame leads from node %d to %d of %d", errFrame, i, u, v, s.nodes())
		}
		w := float32(1)
		if s.Weighted {
			w = math.Float32frombits(binary.LittleEndian.Uint32(f.Payload[16*count+4*i:]))
			if !(w > 0) || math.IsInf(float64(w), 0) {
				return fmt.Errorf("edge %d of a frame, from node %d to %d, has weight %v, want a positive number", i, u, v, w)
			}
		}
		s.edges++
		if u == v {
			s.loops++
			continue
		}
		if err := errors.Join(s.sorter.add(u<<s.width|v, float64(w)), s.sorter.add(v<<s.width|u, float64(w))); err != nil {
			return err
		}
	}
	return nil
}

func (s *arcsStep) close() error { return s.sorter.close() }

// mostRun is how many arcs a frame of arcs has, unless one row has more.
const mostRun = 1 << 20

// end writes the runs. All arcs of the rows of a range come one after the other; those of each column range collect in a list.
func (s *arcsStep) end() error {
	var (
		runs    = make([]arcList, len(s.Ranges)-1)
		encoder arcEncoder
		row     = 0
		held    int
		most    = int(s.Memory / 64)
	)
	flush := func(least int) error {
		for j := range runs {
			run := &runs[j]
			if len(run.columns) < least {
				continue
			}
			held -= len(run.columns)
			f := encoder.frame(s.op, uint32(row), uint32(j), run, s.runWeightBytes(), s.memory[:0])
			f.Part = s.Task
			s.memory = f.Payload
			if err := s.out.Write(&f); err != nil {
				return err
			}
			run.reset()
		}
		return nil
	}
	for j := range runs {
		runs[j].reset()
	}
	last := uint64(math.MaxUint64)
	err := s.sorter.each(func(key uint64, w float64) error {
		u, v := key>>s.width, key&(1<<s.width-1)
		if u >= s.Ranges[row+1] {
			if err := flush(1); err != nil {
				return err
			}
			for u >= s.Ranges[row+1] {
				row++
			}
		}
		// A frame has whole rows.
		if u != last && held > most {
			if err := flush(1); err != nil {
				return err
			}
		}
		last = u
		j := sort.Search(len(runs), func(j int) bool { return s.Ranges[j+1] > v })
		run := &runs[j]
		if len(run.columns) >= mostRun && uint64(run.rows[len(run.rows)-1])+s.Ranges[row] != u {
			if err := flush(mostRun); err != nil {
				return err
			}
		}
		run.add(uint32(u-s.Ranges[row]), uint32(v-s.Ranges[j]))
		if s.Weighted {
			run.weights = append(run.weights, w)
		}
		held++
		return nil
	})
	if err == nil {
		err = flush(1)
	}
	if err != nil {
		return err
	}
	return s.report(struct {
		Edges int64 `json:"edges"`
		Loops int64 `json:"loops"`
	}{s.edges, s.loops})
}

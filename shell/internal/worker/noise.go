package worker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Modes of noise.
const (
	modeThresholds = "thresholds"
	modeJoint      = "joint"
)

// noiseStep sums what the fitting nodes say of how labels go wrong.
type noiseStep struct {
	base
	chunk      chunk
	census     *cleaner.Census
	sums       *cleaner.ThresholdSums
	thresholds []float64
	joint      cleaner.JointCounts
}

// jointReport are counts of the confident joint: given class, confident class, count.
type jointReport struct {
	Cells [][3]int64 `json:"cells"`
}

func newNoise(b base) (step, error) {
	s := &noiseStep{base: b, chunk: chunk{job: b.Job}}
	s.chunk.reset()
	report, err := b.readCensus()
	if err != nil {
		return nil, err
	}
	s.census = report.Census
	switch b.Mode {
	case modeThresholds:
		s.sums = cleaner.NewThresholdSums(b.Classes)
	case modeJoint:
		var sums cleaner.ThresholdSums
		if err := json.Unmarshal(b.Noise, &sums); err != nil {
			return nil, fmt.Errorf("%w: the thresholds of the job: %w", errFrame, err)
		}
		if len(sums.Sum) != b.Classes || len(sums.Count) != b.Classes {
			return nil, fmt.Errorf("%w: thresholds: sums of %d classes and counts of %d, want %d", errFrame, len(sums.Sum), len(sums.Count), b.Classes)
		}
		s.thresholds, s.joint = sums.Thresholds(), cleaner.JointCounts{}
	default:
		return nil, fmt.Errorf("%w: mode %q, want %s or %s", errFrame, b.Mode, modeThresholds, modeJoint)
	}
	return s, nil
}

func (s *noiseStep) take(f *Frame) error { return s.chunk.take(f, 0) }

func (s *noiseStep) endGroup() error {
	c := &s.chunk
	if !c.begun {
		return nil
	}
	defer c.reset()
	if err := c.need(KindLabels, KindSplits, KindPredictions); err != nil {
		return err
	}
	piece := &cleaner.Piece{Census: s.census, Labels: c.labels, Splits: c.splits, Predictions: c.predictions}
	piece.Prepare()
	if s.Mode == modeThresholds {
		piece.AddThresholds(s.sums)
	} else {
		piece.AddJoint(s.thresholds, s.joint)
	}
	return nil
}

func (s *noiseStep) end() error {
	if s.Mode == modeThresholds {
		return s.report(s.sums)
	}
	report := jointReport{Cells: [][3]int64{}}
	for pair, count := range s.joint {
		report.Cells = append(report.Cells, [3]int64{int64(pair[0]), int64(pair[1]), int64(count)})
	}
	slices.SortFunc(report.Cells, func(a, b [3]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return s.report(report)
}

// counts are the counts that a report has.
func (r jointReport) counts(classes int) (cleaner.JointCounts, error) {
	counts := cleaner.JointCounts{}
	for _, cell := range r.Cells {
		if cell[0] < 0 || cell[0] >= int64(classes) || cell[1] < 0 || cell[1] >= int64(classes) || cell[2] < 0 || cell[2] >= 1<<32 {
			return nil, fmt.Errorf("%w: confident joint: cell %d of %d classes", errFrame, cell, classes)
		}
		counts[[2]kv.Class{kv.Class(cell[0]), kv.Class(cell[1])}] += uint32(cell[2])
	}
	return counts, nil
}

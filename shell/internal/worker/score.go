package worker

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// scoreStep scores the given labels of nodes.
type scoreStep struct {
	base
	chunk              chunk
	model              *cleaner.PieceModel
	scorer             *cleaner.PieceScorer
	scores, confidence []float32
	suggested          []kv.Class
	counts             struct {
		Scored int64 `json:"scored"`
	}
}

func newScore(b base) (step, error) {
	s := &scoreStep{base: b, chunk: chunk{job: b.Job}, model: &cleaner.PieceModel{}}
	s.chunk.reset()
	if err := decode("model", b.Model, s.model); err != nil {
		return nil, err
	}
	scorer, err := s.model.Scorer()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	if len(s.model.Census.Names) != b.Classes || s.model.Hops != b.Hops {
		return nil, fmt.Errorf("%w: a model of %d classes and %d hops, the job has %d and %d", errFrame,
			len(s.model.Census.Names), s.model.Hops, b.Classes, b.Hops)
	}
	s.scorer = scorer
	return s, nil
}

func (s *scoreStep) take(f *Frame) error { return s.chunk.take(f, 0) }

func (s *scoreStep) endGroup() error {
	c := &s.chunk
	if !c.begun {
		return nil
	}
	defer c.reset()
	if err := c.need(KindLabels, KindSplits, KindPredictions, KindTested, KindBallots); err != nil {
		return err
	}
	for feature := range c.features {
		if feature <= s.model.Reach() && c.features[feature] == nil {
			return fmt.Errorf("%w: the group of range %d from row %d on has no feature %d", errFrame, c.row, c.first, feature)
		}
	}
	piece := &cleaner.Piece{Census: s.model.Census, Labels: c.labels, Splits: c.splits, Predictions: c.predictions,
		Votes: c.ballots.values}
	rows := int(c.count)
	s.scores, s.confidence, s.suggested = resize(s.scores, rows), resize(s.confidence, rows), resize(s.suggested, rows)
	piece.Suggest(s.suggested, s.confidence)
	if err := s.scorer.Score(piece, c.tested, c.features, s.scores, s.suggested, s.confidence); err != nil {
		return err
	}
	s.memory = s.memory[:0]
	for i, score := range s.scores {
		if !math.IsNaN(float64(score)) {
			s.counts.Scored++
		}
		s.memory = binary.LittleEndian.AppendUint32(s.memory, math.Float32bits(score))
		s.memory = binary.LittleEndian.AppendUint32(s.memory, uint32(s.suggested[i]))
		s.memory = binary.LittleEndian.AppendUint32(s.memory, math.Float32bits(s.confidence[i]))
	}
	return s.write(c.frame(KindScores, 0))
}

func (s *scoreStep) end() error { return s.report(s.counts) }

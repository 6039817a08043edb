package cleaner

import (
	"errors"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// passedScores are what a pass over the graph has made of some nodes.
type passedScores struct {
	scores      map[kv.NodeID]float32   // of those with predictions
	suggested   map[kv.NodeID]kv.Class  // of those with a score by a label model,
	confidence  map[kv.NodeID]float32   // and how surely
	predictions map[kv.NodeID][]float32 // of those that the kept classifier has predicted, by the classes of the run
}

// passOver scores nodes in one pass over the graph. Those without stored predictions are predicted in another. Arrays
// of its own are temporary ones, since a transaction that writes cannot wait for the workplace of the store: whoever
// has that may wait for it.
func (s *scorer) passOver(nodes []kv.NodeID) (err error) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(v kv.NodeID) bool { return int(v) >= s.tx.NumNodes() })
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	p, err := s.run.problem(s.tx)
	if err != nil {
		return err
	}
	if p.place, err = readingPlace(s.tx); err != nil {
		return err
	}
	p.tested = make([]kv.Class, len(p.labels))
	for v := range p.tested {
		p.tested[v] = kv.NoClass
	}
	var missing []kv.NodeID
	err = rowstore.EachOf(s.ctx, p.predictions, nodes, func(v kv.NodeID, row []float32) error {
		switch {
		case hasNaN(row):
			missing = append(missing, v)
		case !s.isStored(v):
			p.tested[v] = p.labels[v]
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := s.predictByPass(missing, p.place)
	if err != nil {
		return err
	}
	s.passed = &passedScores{
		scores: make(map[kv.NodeID]float32, len(nodes)), predictions: make(map[kv.NodeID][]float32, len(rows)),
		suggested: make(map[kv.NodeID]kv.Class), confidence: make(map[kv.NodeID]float32),
	}
	for i, row := range rows {
		v := missing[i]
		s.passed.predictions[v], p.tested[v] = row, p.labels[v]
	}
	p.predictions = withRows{p.predictions, missing[:len(rows)], rows}
	result, err := p.rescore(s.ctx, s.run, s.run.options(RescoreOptions{
		Workers: s.opt.Workers, MemoryBudget: s.opt.MemoryBudget, Progress: s.opt.Progress, OnStage: s.opt.OnStage,
	}))
	if err != nil {
		return err
	}
	for _, v := range nodes {
		s.passed.scores[v] = result.scores.Data[v]
		if o := result.suggestions; o.classes.Data[v] != kv.NoClass {
			s.passed.suggested[v], s.passed.confidence[v] = o.classes.Data[v], o.chances.Data[v]
		}
	}
	return result.Close()
}

// predictByPass is what the kept classifier predicts of ascending nodes, by the classes of the run; nil if it cannot.
func (s *scorer) predictByPass(nodes []kv.NodeID, place *workplace) ([][]float32, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	f, err := s.predictor()
	if err != nil {
		return nil, ignoreNoClassifier(err)
	}
	rows, err := f.rowsByPass(s.ctx, place, nodes, PredictOptions{
		Workers: s.opt.Workers, MemoryBudget: s.opt.MemoryBudget, Progress: s.opt.Progress,
	})
	if errors.Is(err, errNoClassifier) {
		return nil, nil
	}
	for i, row := range rows {
		rows[i] = make([]float32, len(s.run.Classes))
		inClasses(s.run.Classes, f.Columns(), row, rows[i])
	}
	return rows, err
}

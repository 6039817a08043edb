package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// scoreRows is how many rows are scored at once.
const scoreRows = 4096

// posterior is the pipeline of the label model: that of a run, if s.only has one, else one that is fitted. If the
// problem has a look, the model follows it.
func (s *stages) posterior(ctx context.Context, result *scoring) (err error) {
	var unseen *sample
	if s.only == nil {
		if unseen, err = s.drawUnseen(s.opt.Seed); err != nil {
			return err
		}
		s.opt.stage("sample")
	}
	n := len(s.labels)
	rivals, err := scratch.New[kv.Class](s.place.Scratch(), "rivals", labelmodel.CountRivals(s.classes)*n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rivals.Close()) }()
	if err := s.suggest(ctx, rivals.Data, result); err != nil {
		return err
	}
	s.opt.stage("rivals")
	labellings := []labelling{{labels: s.underTest()}}
	for r := range labelmodel.CountRivals(s.classes) {
		labellings = append(labellings, labelling{labels: rivals.Data[r*n : (r+1)*n]})
	}
	tests := len(labellings)
	var looked *sample
	if s.look != nil {
		if looked, err = s.drawLook(s.opt.Seed); err != nil {
			return err
		}
	}
	for _, sample := range []*sample{unseen, looked} {
		if sample != nil {
			labellings = append(labellings, labelling{nodes: sample.nodes, every: s.classes})
		}
	}
	z, err := s.agreement(ctx, labellings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(z)) }()
	if result.model = s.only; s.only == nil {
		if result.model, err = s.fitLabelModel(ctx, unseen, unseen.rows(z[tests], s.classes), s.opt); err != nil {
			return err
		}
		s.opt.stage("label model")
	}
	if looked != nil {
		result.model.Follow(s.look.rate, s.look.draws, looked.rows(z[len(z)-1], s.classes), looked.added)
		s.opt.stage("look")
	}
	if err := s.posteriorScores(ctx, z[:tests], labellings[:tests], result); err != nil {
		return err
	}
	s.opt.stage("score")
	result.rate, result.threshold = result.model.Told, result.model.Threshold
	return nil
}

// suggest writes the class with the largest prediction of every node, and the rivals [CountRivals×n] that the labels
// under test are compared with, NoClass if there is no label; nil: nobody asks for them.
func (s *stages) suggest(ctx context.Context, rivals []kv.Class, result *scoring) error {
	n, ranks, tested := len(s.labels), s.rankClasses(), s.underTest()
	var polls sync.Pool
	return rowstore.Each(ctx, s.predictions, n, s.opt.Workers, func(rows kv.Range, values []float32) (err error) {
		around, _ := polls.Get().(*poll)
		if around == nil {
			if around, err = newPoll(s.problem); err != nil {
				return err
			}
		}
		defer polls.Put(around)
		own := make([]kv.Class, len(rivals)/max(n, 1))
		for v := rows.First; v < rows.End; v++ {
			by := labelmodel.Evidence{Predictions: values[int(v-rows.First)*s.classes:][:s.classes], Ranks: ranks}
			class, most, tied := largest(by.Predictions)
			isTested := tested[v] != kv.NoClass && rivals != nil
			if tied || isTested {
				if by.Votes, err = around.of(v); err != nil {
					return err
				}
			}
			if tied {
				class = by.Suggest(s.labels[v])
			}
			result.suggested.Data[v], result.confidence.Data[v] = class, most
			for r := range own {
				own[r] = kv.NoClass
			}
			if isTested {
				by.ChooseRivals(tested[v], own)
			}
			for r, k := range own {
				rivals[r*n+int(v)] = k
			}
		}
		return nil
	})
}

// fitLabelModel fits a model to the rows of a sample.
func (p *problem) fitLabelModel(
	ctx context.Context, sample *sample, rows labelmodel.Rows, opt Options,
) (*labelmodel.Model, error) {
	model, err := labelmodel.Fit(ctx, p.place.Scratch(), rows, opt.Workers,
		func(sweeps, of int) { opt.progress("label model", int64(sweeps), int64(of)) })
	if err != nil {
		return nil, fmt.Errorf("label model: %w", err)
	}
	model.Calibrate(rows, labelmodel.Sampling{Added: sample.added, Expect: opt.Expect, Threshold: opt.Threshold})
	model.Untaught = p.untaughtClasses()
	return model, nil
}

// A nodeScorer scores a node by a label model: its given label, against its rivals. One goroutine.
type nodeScorer struct {
	model   *labelmodel.Scorer
	classes []kv.Class // the label under test, then its rivals
	z       []float32  // their features [len(classes)×(K+1)]
	numbers []float64
}

func newNodeScorer(model *labelmodel.Scorer, classes, width int) *nodeScorer {
	labels := 1 + labelmodel.CountRivals(classes)
	return &nodeScorer{
		model: model, classes: make([]kv.Class, labels), z: make([]float32, labels*width),
		numbers: make([]float64, labels+labels*width),
	}
}

// score is that of classes and z, with the likeliest other class and its chance.
func (s *nodeScorer) score(untaught bool) (score float32, suggestion kv.Class, confidence float32) {
	j := s.model.Judge(s.classes, s.z, untaught, s.numbers)
	return float32(j.Score), s.classes[j.Rival], float32(j.Chance)
}

// judgeAs is score of a node with a label, by what is around it. by is of the classes of the model.
func (s *nodeScorer) judgeAs(
	label kv.Class, by labelmodel.Evidence, around *surroundings, untaught bool,
) (score float32, suggestion kv.Class, confidence float32) {
	s.classes[0] = label
	by.ChooseRivals(label, s.classes[1:])
	width := len(s.z) / len(s.classes)
	for i, class := range s.classes {
		around.features(class, s.z[i*width:][:width])
	}
	return s.score(untaught)
}

// posteriorScores writes the scores of labellings[0], from the features z[i] of labellings[i]: the given labels, and
// their rivals. Nodes with a score get another suggestion.
func (s *stages) posteriorScores(
	ctx context.Context, z []*rowstore.Store, labellings []labelling, result *scoring,
) error {
	model, width, scores := result.model.Scorer(), z[0].Width(), result.scores.Data
	type memory struct {
		*nodeScorer
		rows [][]float32 // of each labelling [scoreRows×width]
	}
	workers := make([]memory, parallel.Workers(s.opt.Workers))
	blocks := (len(scores) + scoreRows - 1) / scoreRows
	return parallel.Do(ctx, len(workers), blocks, func(_ context.Context, worker, b int) error {
		w := &workers[worker]
		if w.rows == nil {
			for range z {
				w.rows = append(w.rows, make([]float32, scoreRows*width))
			}
			w.nodeScorer = newNodeScorer(model, s.classes, width)
		}
		rows := kv.Range{First: kv.NodeID(b * scoreRows), End: kv.NodeID(min((b+1)*scoreRows, len(scores)))}
		for i := range z {
			if err := z[i].Read(rows, 0, width, w.rows[i]); err != nil {
				return err
			}
		}
		for v := rows.First; v < rows.End; v++ {
			if labellings[0].labels[v] == kv.NoClass {
				scores[v] = float32(math.NaN())
				continue
			}
			for i := range z {
				w.classes[i] = labellings[i].labels[v]
				copy(w.z[i*width:], w.rows[i][int(v-rows.First)*width:][:width])
			}
			score, class, chance := w.score(s.isUntaught(v))
			if scores[v] = score; score == score {
				result.suggested.Data[v], result.confidence.Data[v] = class, chance
			}
		}
		return nil
	})
}

// A look is the newest look of the audit, with the labels as they came, before decisions. The scores of PresetDefault
// follow it.
type look struct {
	name  string // changes with the answers
	draws int
	rate  float64   // share of wrong labels among those of the first nodes
	nodes kv.NodeID // how many
	drawn map[kv.NodeID]drawnLabel
	given map[kv.NodeID]kv.Class // labels that decisions have changed
}

// lastLook is the newest look of the audit of a store, for a run with these classes; nil if it tells no rate, or
// before the first.
func lastLook(ctx context.Context, tx *kv.Tx, classes []string) (*look, error) {
	a, err := ReadAudit(ctx, tx)
	if err != nil || a == nil || a.look == "" {
		return nil, err
	}
	l := &look{
		name: a.look, draws: a.Look, rate: a.Rate, nodes: a.nodes,
		drawn: make(map[kv.NodeID]drawnLabel, a.Look), given: make(map[kv.NodeID]kv.Class),
	}
	for _, d := range a.Draws[:a.Look] {
		label := kv.Class(slices.Index(classes, d.Label))
		switch {
		case label == kv.NoClass: // first used after the run
		case d.Judgement == decide.Right:
			l.drawn[d.Node] = drawnLabel{label, label}
		case d.Judgement == decide.Wrong:
			l.drawn[d.Node] = drawnLabel{label, labelmodel.AnotherClass}
		}
	}
	return l, nil
}

// nameOf is the name of a look, "" of none.
func (l *look) nameOf() string {
	if l == nil {
		return ""
	}
	return l.name
}

// takeLook notes which look the scores follow; nil: none.
func (r *Run) takeLook(l *look) {
	if r.Look, r.LookAt = 0, l.nameOf(); l != nil {
		r.Look = l.draws
	}
}

// labelAsCame is the label of a node as it came, NoClass if the rate is not of it.
func (p *problem) labelAsCame(v kv.NodeID) kv.Class {
	if v >= p.look.nodes {
		return kv.NoClass
	}
	if label, ok := p.look.given[v]; ok {
		return label
	}
	return p.underTest()[v]
}

// drawLook takes all labels that the rate of the look is of, or as many of them, uniformly, as a label model is fitted
// on; and those that people have looked at.
func (p *problem) drawLook(seed uint64) (*sample, error) {
	for _, verdict := range p.verdicts {
		p.look.given[verdict.Node] = kv.NoClass
		if isClass(verdict.Before, p.classes) { // else it was first used after the run
			p.look.given[verdict.Node] = verdict.Before
		}
	}
	n, count := len(p.labels), 0
	isOfRate := func(v kv.NodeID) bool { return p.labelAsCame(v) != kv.NoClass }
	for v := range kv.NodeID(n) {
		if isOfRate(v) {
			count++
		}
	}
	random, _, err := drawNodes(p.order, n, count, mostModelNodes(p.classes), seed, isOfRate)
	if err != nil {
		return nil, err
	}
	return sampleOf(random, maps.Keys(p.look.drawn), n, func(v kv.NodeID) drawnLabel {
		if drawn, looked := p.look.drawn[v]; looked {
			return drawn
		}
		return drawnLabel{p.labelAsCame(v), kv.NoClass}
	}), nil
}

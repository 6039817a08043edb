package cleaner

import (
	"cmp"
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// stages runs the pipeline of score one stage after the other.
type stages struct {
	problem
	opt       Options
	operators ops.Options // their memory is what the stages leave

	// only is the label model of a run that scores anew: of the agreement features, those over walks are computed that
	// have a weight in it. nil: all are.
	only *labelmodel.Model

	ownDiagonals *heldDiagonals // where they are not the problem's
}

// run is score, once it is known that it can be done.
func (s *stages) run(ctx context.Context, fitting int) (_ *scoring, err error) {
	result := &scoring{fitting: fitting}
	defer func() { err = errors.Join(err, s.ownDiagonals.Close()) }()
	if s.method == nil {
		err = s.posterior(ctx, result)
	} else {
		err = s.byMethod(ctx, result)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// byMethod is the pipeline of opt.Method.
func (s *stages) byMethod(ctx context.Context, result *scoring) (err error) {
	var sample *sample
	var z []*agreement
	defer func() { err = errors.Join(err, closeAll(z)) }()
	c := method.Case{
		Labels: s.underTest(), Classes: s.classes, Predictions: s.predictions, Hops: s.opt.Hops,
		IsFitting: s.isFitting, IsUntaught: s.isUntaught, Seed: s.opt.Seed, Workers: s.opt.Workers, Stage: s.opt.stage,
		Sample: func() (labels []kv.Class, order []uint32, err error) {
			sample, err = s.drawSample(s.method.SampleSize(result.fitting), result.fitting, s.opt.Seed)
			if err != nil {
				return nil, nil, err
			}
			return sample.labels, sample.order, nil
		},
		Features: func(ctx context.Context, sampled []kv.Class) (tested ops.Source, rows []float32, err error) {
			z, err = s.agreement(ctx, []labelling{{labels: s.underTest()}, {nodes: sample.nodes, labels: sampled}})
			if err != nil {
				return nil, nil, err
			}
			return z[0], z[1].values.Data, nil
		},
	}
	if result.scores, err = scratch.New[float32](s.place.temporary(), "score", len(s.labels)); err != nil {
		return err
	}
	found, err := s.method.Score(ctx, &c, result.scores.Data)
	if err != nil {
		return errors.Join(err, result.scores.Detach())
	}
	result.joint, result.rate, result.threshold = found.Joint, found.Rate, cmp.Or(s.opt.Threshold, found.Threshold)
	return nil
}

// agreement computes the agreement features of labels under test, the given ones first.
func (s *stages) agreement(ctx context.Context, labellings []labelling) (z []*agreement, err error) {
	g := gathering{problem: s.problem, labellings: labellings, hops: s.opt.Hops, reach: s.reach()}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(g.z))
		}
	}()
	for _, t := range labellings {
		one := s.layout(t)
		if one.values, err = scratch.New[float32](s.place.temporary(), "agreement", one.rows*one.width); err != nil {
			return nil, err
		}
		g.z = append(g.z, one)
	}
	graph, free := inSeries(s.graph)
	defer func() { err = errors.Join(err, free()) }()
	if err := s.needDiagonals(ctx, graph); err != nil {
		return nil, err
	}
	g.graph, g.diagonals = graph, s.diagonals
	if err := g.run(ctx, s.operators); err != nil {
		return nil, err
	}
	s.opt.stage("features")
	return g.z, limitSeries(graph, 0)
}

// reach is the most hops of the features that are computed.
func (s *stages) reach() int {
	if s.only != nil {
		return s.only.Reach()
	}
	return s.opt.Hops
}

// needDiagonals computes them where that was not done.
func (s *stages) needDiagonals(ctx context.Context, g ops.Graph) (err error) {
	if s.diagonals != nil {
		return nil
	}
	if s.ownDiagonals, err = s.place.diagonals(ctx, g, s.reach(), s.operators); err != nil {
		return err
	}
	s.opt.stage("keep")
	s.diagonals = s.ownDiagonals.Diagonals
	return nil
}

// layout is what the features of one of the labellings lie in, but for the array: of all nodes column after column, of
// a sample, which is read in no order, row after row.
func (s *stages) layout(t labelling) *agreement {
	if t.nodes == nil {
		return byColumn(nil, len(t.labels), width(s.method, s.opt.Hops))
	}
	return byRow(nil, len(t.labels), width(s.method, s.opt.Hops))
}

// scores are what compute writes [n].
func (s *stages) scores(compute func(scores []float32) error) (*scratch.Array[float32], error) {
	scores, err := scratch.New[float32](s.place.temporary(), "score", len(s.labels))
	if err != nil {
		return nil, err
	}
	if err := compute(scores.Data); err != nil {
		return nil, errors.Join(err, scores.Detach())
	}
	s.opt.stage("score")
	return scores, nil
}

package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// stages runs the pipeline of score one stage after the other. If the problem has a workplace with a run, a stage
// that was finished before is not done again.
type stages struct {
	problem
	opt       Options
	operators ops.Options // their memory is what the stages leave

	// only is the label model of a run that scores anew: of the agreement features, those over walks are computed that
	// have a weight in it. nil: all are.
	only *labelmodel.Model

	ownDiagonals *heldDiagonals // where they are not the problem's
}

// agreementStage names what is kept of a run, beside what it has combined: the rest takes little time.
const agreementStage = "agreement"

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
	defer func() { err = errors.Join(err, detachAll(z)) }()
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

// dir is where the run is kept; nil if it is not.
func (s *stages) dir() *scratch.Dir {
	dir, keeps := s.place.ofRun()
	if !keeps {
		return nil
	}
	return dir
}

// An agreementMark says how far the agreement features are computed: those of the columns of [P | Y] before End, and
// those of hop 0. Sums has a checksum for each labelling.
type agreementMark struct {
	End  int
	Sums []uint32
}

// agreement computes the agreement features of labels under test, the given ones first.
func (s *stages) agreement(ctx context.Context, labellings []labelling) (z []*agreement, err error) {
	g := gathering{problem: s.problem, labellings: labellings, hops: s.opt.Hops, reach: s.reach()}
	defer func() {
		if err != nil {
			err = errors.Join(err, detachAll(g.z))
		}
	}()
	if g.z, g.first, err = s.keptAgreement(ctx, labellings); err != nil {
		return nil, err
	}
	if g.done = g.z != nil; !g.done {
		if g.z, err = s.newAgreement(labellings); err != nil {
			return nil, err
		}
	}
	if g.first == 2*s.classes {
		return g.z, nil
	}
	if _, keeps := s.place.ofRun(); keeps {
		last := time.Now()
		g.onTile = func(end int) error {
			if end < 2*s.classes && time.Since(last) < checkpointInterval {
				return nil
			}
			err := s.keepAgreement(ctx, g.z, labellings, end)
			last = time.Now()
			s.opt.stage("keep")
			return err
		}
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
func (s *stages) layout(i int, t labelling) (name string, z *agreement) {
	name = "agreement"
	if i > 0 {
		name = fmt.Sprintf("agreement-%d", i)
	}
	if t.nodes == nil {
		return name, byColumn(nil, len(t.labels), width(s.method, s.opt.Hops))
	}
	return name, byRow(nil, len(t.labels), width(s.method, s.opt.Hops))
}

func (s *stages) newAgreement(labellings []labelling) (all []*agreement, err error) {
	dir, _ := s.place.ofRun()
	for i, t := range labellings {
		name, z := s.layout(i, t)
		if z.values, err = scratch.New[float32](dir, name, z.rows*z.width); err != nil {
			return nil, errors.Join(err, detachAll(all))
		}
		all = append(all, z)
	}
	return all, nil
}

// keptAgreement returns the agreement features that an earlier run kept, and before which column they are done; nil if
// there are none, or they are damaged.
func (s *stages) keptAgreement(ctx context.Context, labellings []labelling) (z []*agreement, end int, err error) {
	mark, ok := loadMark[agreementMark](s.dir(), agreementStage)
	if !ok || len(mark.Sums) != len(labellings) {
		return nil, 0, nil
	}
	for i, t := range labellings {
		name, one := s.layout(i, t)
		one.values, err = scratch.Keep[float32](s.dir(), name, one.rows*one.width, true)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, detachAll(z)
		}
		if err != nil {
			return nil, 0, errors.Join(err, detachAll(z))
		}
		z = append(z, one)
		sum, err := z[i].sum(ctx, t.labels, s.opt.Hops, s.classes, mark.End, s.opt.Workers)
		if err != nil || sum != mark.Sums[i] {
			return nil, 0, errors.Join(err, detachAll(z))
		}
	}
	s.opt.notice("went on where an earlier run of the same was interrupted, after agreement of %d of %d columns", mark.End, 2*s.classes)
	return z, mark.End, nil
}

// keepAgreement notes that the columns before end are done.
func (s *stages) keepAgreement(ctx context.Context, z []*agreement, labellings []labelling, end int) error {
	m := agreementMark{End: end}
	for i := range z {
		sum, err := z[i].sum(ctx, labellings[i].labels, s.opt.Hops, s.classes, end, s.opt.Workers)
		if err != nil {
			return err
		}
		if err := z[i].values.Sync(); err != nil {
			return err
		}
		m.Sums = append(m.Sums, sum)
	}
	return saveMark(s.dir(), agreementStage, m)
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

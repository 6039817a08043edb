package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// CombinedMatrix has the predictions that the last run used, a column for each class, if they are not the stored ones
// alone; see Clean.
const CombinedMatrix = "combined_predictions"

const (
	// With predictions that have seen the labels, the label model finds less than this share of the mislabel rate that it
	// finds without them. So it may with predictions that are far better than B, but those agree that labels are wrong which
	// B has found wrong.
	leastRateShare = 0.5

	// A classifier that stopped early has half seen the labels. The rate falls less with it, but it drives the built-in one
	// out: b is far above a. One that knows more, and has not seen them, leaves a what only B knows. With one that has seen a
	// part of the labels, or hardly learned them, the rate falls less too, and U prefers wrong labels to other classes.
	mostRateFallen = 0.96
	drivenOut      = 0.9 // of a + b
	// One that is weaker than the built-in one does not lower the rate unless it has seen labels: less proves it of that one.
	weakErrors, strongErrors = -0.5, 2

	noWeight = 0.005 // of predictions, and less, is none

	// Of more nodes × classes the built-in classifier is not trained beside predictions from outside: its own would take
	// as many numbers on disk.
	mostMixture = 1 << 30
)

// joins says whether the built-in classifier is trained beside predictions from outside.
func joins(nodes, classes int) bool { return int64(nodes)*int64(classes) <= mostMixture }

// A combination joins predictions from outside, U [n×c], with those of the built-in classifier, B [n×c], which has not
// seen the label of any node that it predicts:
//
//	P[v][k] ∝ (ε + B[v][k])^a · (ε + U[v][k])^b      a, b ≥ 0 by the likelihood of the given labels; ε that of labelmodel.Model
//	P[v]    = B[v]                                   where U has seen the label of v, or lacks v
//
// Who brings predictions need not know, or say, whether they have seen the labels. Predictions that have seen them repeat
// the wrong ones, which then look right: the mislabel rate that the label model finds with P falls far below the rate that
// it finds with B, and labels that B has found wrong are right by U. If a split is given, the nodes of the validation and
// test splits are told apart from the others, because the classifier was likely trained on these alone.
type combination struct {
	*problem // with U
	base     *baseProblem
	opt      Options

	own     *rowstore.Store // B
	by      *classifier     // that has predicted it
	lacking int             // nodes that U lacks
	rate    float64         // mislabel rate with B
	logOdds []float64       // of the scores of the sample with B
	groups  []group
}

// A group is some of the nodes, and the mixture of their predictions.
type group struct {
	name    string    // of the nodes; "" of all
	rows    []int     // of the sample
	weights []float64 // a, b
	rate    float64   // mislabel rate with P for them
	seen    bool      // U has seen their labels

	agreement Agreement // of U with their labels, where b is 0
}

// combine makes the predictions of p, which come from outside, better by what the built-in classifier knows, and says in
// one sentence what was done. The mixture takes their place, until the caller detaches it; it is nil if nothing can be
// joined: too few nodes to learn from, or too many nodes and classes.
func combine(
	ctx context.Context, p *problem, base *baseProblem, opt Options,
) (mixture *rowstore.Store, mark joinMark, err error) {
	p.fits = labelmodel.Fits{}
	mixture, mark, err = join(ctx, p, base, opt)
	if err == nil && mixture != nil {
		p.predictions, p.crossFitted, p.joined = mixture, true, mark.classifier()
	}
	return mixture, mark, err
}

// A joinMark is what is said and kept of a mixture.
type joinMark struct {
	Said   string
	Unused bool // predictions of some nodes were not used
	Kept   keptClassifier
	Nets   []nn.Network
}

func (m joinMark) classifier() *classifier {
	k := &classifier{keptClassifier: m.Kept}
	for i := range m.Nets {
		k.nets = append(k.nets, &m.Nets[i])
	}
	return k
}

// mark is what is said and kept of what was joined.
func (c *combination) mark() joinMark {
	m := joinMark{Said: c.String(), Kept: c.by.keptClassifier}
	for _, g := range c.groups {
		m.Kept.Weights = append(m.Kept.Weights, g.weights)
		m.Unused = m.Unused || len(g.rows) > 0 && g.weights[1] == 0
	}
	for _, net := range c.by.nets {
		m.Nets = append(m.Nets, *net)
	}
	return m
}

// join is combine that leaves the problem as it is.
func join(ctx context.Context, p *problem, base *baseProblem, opt Options) (mixture *rowstore.Store, mark joinMark, err error) {
	if base, err = base.crossFitting(opt.Seed); err != nil {
		return nil, mark, err
	}
	if !base.crossFits() {
		mark.Said = "Your predictions are taken as they are: there are too few labels to tell whether the classifier " +
			"was trained on them"
		return nil, mark, nil
	}
	if !joins(len(p.labels), p.classes) {
		mark.Said = "Your predictions are taken as they are: there are too many nodes and classes to tell whether " +
			"the classifier was trained on these labels"
		return nil, mark, nil
	}
	dir, keeps := p.place.ofRun()
	if keeps {
		mark, ok := loadMark[joinMark](dir, combinedStage+"-said")
		if ok && mark.Kept.check() == nil {
			values, err := keptArray[float32](ctx, dir, combinedStage, len(p.labels)*p.classes, opt.Workers)
			if err != nil || values != nil {
				opt.stage("keep")
				return rowstore.Of(values, len(p.labels), p.classes), mark, err
			}
		}
	}
	c := &combination{problem: p, base: base, opt: opt}
	if err := c.train(ctx); err != nil {
		return nil, mark, err
	}
	defer func() { err = errors.Join(err, c.own.Close()) }()
	if err := c.judge(ctx); err != nil {
		return nil, mark, err
	}
	values, err := scratch.New[float32](dir, combinedStage, len(p.labels)*p.classes)
	if err != nil {
		return nil, mark, err
	}
	mixture = rowstore.Of(values, len(p.labels), p.classes)
	err = c.join(ctx, mixture)
	mark = c.mark()
	if err == nil && keeps {
		err = errors.Join(saveMark(dir, combinedStage+"-said", mark), keepArray(ctx, dir, combinedStage, values, opt.Workers))
	}
	if err != nil {
		return nil, mark, errors.Join(err, mixture.Detach())
	}
	opt.stage("combine")
	return mixture, mark, nil
}

// combinedStage names the files of the mixture.
const combinedStage = "combined"

// scoredFrom are the predictions that the last run worked with, or the stored ones where nothing was joined, or all were written
// anew since.
func scoredFrom(tx *kv.Tx) (*kv.Matrix, error) {
	mixture, err := mixtureInForce(tx)
	if err != nil || mixture != nil {
		return mixture, err
	}
	return tx.Matrix(PredictionsMatrix)
}

// mixtureInForce are the joined predictions of the last run, nil if there are none, or predictions were written since.
func mixtureInForce(tx *kv.Tx) (*kv.Matrix, error) {
	mixture, err := tx.Matrix(CombinedMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run, err := lastRun(tx)
	if err != nil {
		return nil, err
	}
	writes, err := predictionWrites(tx)
	if err != nil || writes != run.PredictionWrites {
		return nil, err
	}
	return mixture, nil
}

// train trains the built-in classifier.
func (c *combination) train(ctx context.Context) error {
	predictions, trained, err := c.base.trainAndPredict(ctx, PredictOptions{
		Seed: c.opt.Seed, Workers: c.opt.Workers, MemoryBudget: c.opt.MemoryBudget, Progress: c.opt.Progress,
		OnStage: c.opt.OnStage, Direction: c.opt.Direction,
	})
	if err == nil {
		c.own, c.by = predictions, trained.keep(c.base, c.names)
	}
	return err
}

// group is the place of a node's group.
func (c *combination) group(v kv.NodeID) int {
	if len(c.groups) > 1 && !c.storeSplits[v].teaches() {
		return 1
	}
	return 0
}

// judge finds out, on a sample, what to do with each group.
func (c *combination) judge(ctx context.Context) (err error) {
	own := *c.problem
	own.predictions, own.crossFitted, own.splits = c.own, true, c.base.splits
	if c.place != nil {
		own.place = &workplace{scratch: c.place.scratch, graph: c.place.graph, work: c.place.work}
	}
	own.taught = own.countTaught()
	opt := c.opt
	opt.Notice, opt.Warn = nil, nil
	s := &stages{
		problem: own, variant: variant{preset: PresetDefault}, opt: opt, keepsLists: true,
		operators: opt.ops(scoringBytes(PresetDefault, len(c.labels), 0, c.classes)),
	}
	if err := limitSeries(s.graph, s.operators.MemoryBudget); err != nil {
		return err
	}
	sample, err := s.drawUnseen(opt.Seed)
	if err != nil {
		return err
	}
	every, err := s.everyLabel(sample)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, every.Close()) }()
	opt.stage("combine")
	z, err := s.agreement(ctx, []labelling{{nodes: sample.nodes, labels: every.Data, fold: c.classes}})
	defer func() { err = errors.Join(err, detachAll(z), s.ownDiagonals.Close()) }()
	if err != nil {
		return err
	}
	if c.rate, c.logOdds, err = c.rateOf(ctx, sample, z[0]); err != nil {
		return err
	}
	both, err := c.readSample(ctx, sample, z[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.Close()) }()
	c.divide(sample, both.Data)
	for i := range c.groups {
		if err := c.weigh(ctx, &c.groups[i], sample, z[0], both.Data); err != nil {
			return err
		}
	}
	opt.stage("combine")
	return nil
}

// readSample reads B and U of a sample [rows×classes×2].
func (c *combination) readSample(ctx context.Context, sample *sample, z *agreement) (*scratch.Array[float32], error) {
	both, err := scratch.New[float32](c.place.temporary(), "both", len(sample.labels)*c.classes*2)
	if err != nil {
		return nil, err
	}
	err = rowstore.Each(ctx, c.predictions, len(c.labels), c.opt.Workers, func(rows kv.Range, values []float32) error {
		sample.nodes.each(rows, func(rank int, v kv.NodeID) {
			for k := range c.classes {
				at := rank*c.classes + k
				both.Data[2*at] = z.values.Data[at*z.width]
				both.Data[2*at+1] = values[int(v-rows.First)*c.classes+k]
			}
		})
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, both.Close())
	}
	return both, nil
}

// rateOf is the mislabel rate that a label model finds in a sample, and the log-odds of its scores [rows].
func (c *combination) rateOf(
	ctx context.Context, sample *sample, z *agreement,
) (rate float64, logOdds []float64, err error) {
	rows := sample.rows(z, c.classes)
	rows.Fits = c.fits
	model, err := labelmodel.Fit(ctx, c.place.temporary(), rows, c.opt.Workers, func(sweeps, of int) {
		c.opt.progress("combine", int64(sweeps), int64(of))
	})
	if err != nil {
		return 0, nil, fmt.Errorf("label model: %w", err)
	}
	return model.Rate, model.Scorer().LogOdds(rows), nil
}

// divide makes the groups, of the nodes that U has.
func (c *combination) divide(sample *sample, both []float32) {
	c.groups = []group{{}}
	if c.storeSplits != nil {
		c.groups = []group{{name: "training nodes"}, {name: "other nodes"}}
	}
	sample.nodes.each(kv.Range{End: kv.NodeID(len(c.labels))}, func(rank int, v kv.NodeID) {
		if row := both[2*rank*c.classes : 2*(rank+1)*c.classes]; !hasNaN(row) {
			g := &c.groups[c.group(v)]
			g.rows = append(g.rows, rank)
		}
	})
}

// weigh finds a and b of a group, from B and U of the sample [rows×classes×2], and whether its labels were seen.
func (c *combination) weigh(ctx context.Context, g *group, sample *sample, z *agreement, both []float32) error {
	alone := []float64{1, 0}
	if g.weights = alone; len(g.rows) == 0 {
		return nil
	}
	rows := labelmodel.Rows{Classes: c.classes, Width: 2}
	for _, row := range g.rows {
		right := sample.labels[row]
		switch truth := sample.truth[row]; truth {
		case kv.NoClass:
		case labelmodel.AnotherClass:
			right = kv.NoClass
		default:
			right = truth
		}
		rows.Labels = append(rows.Labels, right)
		rows.Z = append(rows.Z, both[2*row*c.classes:2*(row+1)*c.classes]...)
	}
	weights, err := labelmodel.Weigh(ctx, c.place.temporary(), rows, c.opt.Workers)
	if err != nil {
		return err
	}
	g.weights = weights
	if g.weights[1] < noWeight {
		g.weights, g.agreement = alone, c.agreement(g, sample, both)
		return nil
	}
	own, from := make([]float32, c.classes), make([]float32, c.classes)
	each := func(change func()) {
		for _, row := range g.rows {
			for k := range own {
				own[k], from[k] = both[2*(row*c.classes+k)], both[2*(row*c.classes+k)+1]
			}
			change()
			for k, p := range own {
				z.values.Data[(row*c.classes+k)*z.width] = p
			}
		}
	}
	each(func() { mix(g.weights, own, from) })
	g.rate, _, err = c.rateOf(ctx, sample, z)
	each(func() {}) // B again, for the next group
	ratio, drives := g.rate/c.rate, g.weights[1] > drivenOut*(g.weights[0]+g.weights[1])
	first, preferred := c.repeats(g, sample, both)
	if g.seen = ratio < leastRateShare && first || ratio < mostRateFallen && (drives || preferred); g.seen {
		g.weights = alone
	}
	return err
}

// agreement is how far U agrees with the labels of a group.
func (c *combination) agreement(g *group, sample *sample, both []float32) Agreement {
	var pairs []uint64
	from := make([]float32, c.classes)
	for _, row := range g.rows {
		for k := range from {
			from[k] = both[2*(row*c.classes+k)+1]
		}
		if top, _, tied := largest(from); !tied {
			pairs = append(pairs, uint64(sample.labels[row])*uint64(c.classes)+uint64(top))
		}
	}
	return newContingency(pairs, c.classes).agreement()
}

// repeats says of the labels of a group that are wrong by B and neighbours with a chance of a half and more whether U takes
// more of them for right than these chances leave, and whether it prefers the others to more of the remaining classes than
// it would had it seen none: to half of them those that are wrong, to all of them those that are right by these chances.
func (c *combination) repeats(g *group, sample *sample, both []float32) (first, preferred bool) {
	var agree, right, above, expectation, rows float64
	from := make([]float32, c.classes)
	for _, row := range g.rows {
		if !(c.logOdds[row] > 0) {
			continue
		}
		chance := 1 - elementary.Sigmoid(c.logOdds[row])
		right += chance
		for k := range from {
			from[k] = both[2*(row*c.classes+k)+1]
		}
		label := sample.labels[row]
		top, _, _ := largest(from)
		if top == label {
			agree++
			continue
		}
		if c.classes == 2 {
			continue
		}
		var below float64
		for k, p := range from {
			switch {
			case kv.Class(k) == top || kv.Class(k) == label:
			case p < from[label]:
				below++
			case p == from[label]:
				below += 0.5
			}
		}
		rows++
		above += below / float64(c.classes-2)
		expectation += float64((1 + chance) / 2)
	}
	deviation, least := math.Sqrt(rows/12), float64(strongErrors) // of a sum of uniform shares
	if g.weights[1] < g.weights[0] {
		least = weakErrors
	}
	return agree > right, above > expectation+float64(least*deviation)
}

// join writes P.
func (c *combination) join(ctx context.Context, mixture *rowstore.Store) error {
	width := c.classes
	var lacking atomic.Int64
	err := rowstore.Each(ctx, c.predictions, len(c.labels), c.opt.Workers, func(rows kv.Range, values []float32) error {
		own := make([]float32, len(values))
		if err := c.own.Read(rows, 0, width, own); err != nil {
			return err
		}
		for v := rows.First; v < rows.End; v++ {
			at := int(v-rows.First) * width
			if row := values[at : at+width]; hasNaN(row) {
				lacking.Add(1)
			} else if g := &c.groups[c.group(v)]; g.weights[1] > 0 {
				mix(g.weights, own[at:at+width], row)
			}
		}
		return mixture.Write(rows, 0, width, own)
	})
	c.lacking = int(lacking.Load())
	return err
}

// mix turns a row of B into one of P.
func mix(weights []float64, own, from []float32) {
	c := len(own)
	var few [64]float64
	numbers := few[:]
	if 2*c > len(few) {
		numbers = make([]float64, 2*c)
	}
	logs, fromLogs := numbers[:c], numbers[c:2*c]
	labelmodel.LogFeatures(own, logs)
	labelmodel.LogFeatures(from, fromLogs)
	most := float32(math.Inf(-1))
	for k := range own {
		own[k] = float32(float64(weights[0]*logs[k]) + float64(weights[1]*fromLogs[k]))
		most = max(most, own[k])
	}
	for k := range own {
		logs[k] = float64(own[k] - most)
	}
	elementary.Exps(logs)
	var sum float32
	for k, e := range logs {
		own[k] = float32(e)
		sum += own[k]
	}
	for k := range own {
		own[k] /= sum
	}
}

// String says what was done, and why.
func (c *combination) String() string {
	var parts []string
	for _, g := range c.groups {
		if len(g.rows) > 0 {
			parts = append(parts, g.say(c.rate))
		}
	}
	if c.lacking > 0 {
		parts = append(parts, fmt.Sprintf("The built-in classifier's are used for %s without predictions of yours",
			plural(c.lacking, "node")))
	}
	return strings.Join(parts, ". ")
}

func (g *group) say(rate float64) string {
	of := "Your predictions"
	if g.name != "" {
		of += " of the " + g.name
	}
	switch {
	case g.seen:
		return fmt.Sprintf("%s were not used: they look as if the classifier was trained on these labels (they "+
			"question %.1f%% of them, the built-in "+
			"classifier %.1f%%). If they are out-of-fold, clean with the option as-given", of, 100*g.rate, 100*rate)
	case g.weights[1] == 0:
		text := of + " add nothing to the built-in classifier's and were not used"
		if g.agreement.IsLittle() {
			text += fmt.Sprintf(". They match only %.0f%% of the labels, and would match %.0f%% by chance: check the "+
				"order of the rows",
				100*float64(g.agreement.Matches)/float64(g.agreement.Nodes), 100*g.agreement.Chance/float64(g.agreement.Nodes))
		}
		return text
	}
	return fmt.Sprintf("%s are joined with the built-in classifier's, with weights of %.2f and %.2f", of, g.weights[1], g.weights[0])
}

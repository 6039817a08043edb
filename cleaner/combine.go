package cleaner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// CombinedMatrix has the predictions that the last run used, a column for each class, if they are not the stored ones
// alone; see Clean.
const CombinedMatrix = "combined_predictions"

const (
	noWeight = 0.005 // of predictions, and less, is none

	// Of more nodes × classes the built-in classifier is not trained beside predictions from outside: its own would
	// take as many numbers on disk.
	mostMixture = 1 << 30
)

// lacksToJoin says why the built-in classifier cannot be trained beside predictions from outside; "": it can.
func (p *problem) lacksToJoin() string {
	switch {
	case !p.crossFits():
		return "there are too few labels"
	case p.isTooLargeToJoin():
		return "there are too many nodes and classes"
	}
	return ""
}

func (p *problem) isTooLargeToJoin() bool { return int64(len(p.labels))*int64(p.classes) > mostMixture }

// A combination joins predictions from outside, U [n×c], with those of the built-in classifier, B [n×c], which has not
// seen the label of any node that it predicts:
//
//	P[v][k] ∝ (ε + B[v][k])^a · (ε + U[v][k])^b   a, b ≥ 0 by the likelihood of the labels; ε that of labelmodel.Model
//	P[v]    = B[v]                                where U may have seen the label of v, or lacks v
//
// Who brings predictions may say whether they have seen the labels: Options.Imported. Else told compares both, and U
// is left out where it may have seen them: that costs less than a join would if it has. If a split is given, the
// nodes of the validation and test splits are told apart from the others, because the classifier was likely trained
// on these alone.
type combination struct {
	*problem // with U
	opt      Options

	own     *rowstore.Store // B
	by      *classifier     // that has predicted it
	lacking int             // nodes that U lacks
	groups  []group
}

// A group is some of the nodes, and the mixture of their predictions.
type group struct {
	name    string    // of the nodes; "" of all
	rows    []int     // of the sample
	weights []float64 // a, b
	told    float64   // see told
}

// combine makes the predictions of p, which come from outside, better by what the built-in classifier knows. The
// mixture takes their place, until the caller closes it; it is nil if nothing can be joined: too few nodes to learn
// from, or too many nodes and classes. said tells the outcome in one sentence. It warns if predictions of some nodes
// are left out, unasked, or may have seen the labels and are joined.
func combine(
	ctx context.Context, p *problem, opt Options,
) (mixture *rowstore.Store, said string, warns bool, err error) {
	lacks := p.lacksToJoin()
	if lacks != "" && opt.Imported == InSample {
		return nil, "", false, fmt.Errorf("predictions that have seen the labels: %s to train the built-in classifier "+
			"beside them: run predict, whose own take their place", lacks)
	}
	if lacks != "" {
		return nil, "Your predictions are taken as they are: " + lacks +
			" to train the built-in classifier beside them", false, nil
	}
	c := &combination{problem: p, opt: opt}
	if mixture, err = c.make(ctx); err != nil {
		return nil, "", false, err
	}
	for _, g := range c.groups {
		warns = warns || g.maySee() || len(g.rows) > 0 && opt.Imported == "" && g.weights[1] == 0
	}
	p.predictions, p.joined = mixture, c.by
	return mixture, c.String(), warns, nil
}

// make trains the classifier and makes the mixture.
func (c *combination) make(ctx context.Context) (mixture *rowstore.Store, err error) {
	predictions, trained, err := c.trainAndPredict(ctx, c.opt)
	if err != nil {
		return nil, err
	}
	c.own, c.by = predictions, trained.keep(c.problem, c.names)
	defer func() { err = errors.Join(err, c.own.Close()) }()
	if err := c.judge(ctx); err != nil {
		return nil, err
	}
	if mixture, err = rowstore.New(c.place.Scratch(), len(c.labels), c.classes); err != nil {
		return nil, err
	}
	if mixture, err = mixture.OrClose(c.join(ctx, mixture)); err == nil {
		c.opt.stage("combine")
	}
	return mixture, err
}

// scoredFrom are the predictions that a run, the last if it is nil, works with: the joined ones, or the stored ones
// where nothing was joined, or all were written anew since.
func scoredFrom(tx *kv.Tx, run *Run) (*kv.Matrix, error) {
	mixture, err := mixtureInForce(tx, run)
	if err != nil || mixture != nil {
		return mixture, err
	}
	return tx.Matrix(PredictionsMatrix)
}

// mixtureInForce are the joined predictions of a run, nil if there are none, or predictions were written since. The run
// is the last, or that which the transaction is about to make so; nil is the last one of the store.
func mixtureInForce(tx *kv.Tx, run *Run) (*kv.Matrix, error) {
	mixture, err := tx.Matrix(CombinedMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err == nil && run == nil {
		run, err = lastRun(tx)
	}
	if err != nil {
		return nil, err
	}
	writes, err := predictionWrites(tx)
	if err != nil || writes != run.PredictionWrites {
		return nil, err
	}
	return mixture, nil
}

// judge finds out, on a sample, what to do with each group.
func (c *combination) judge(ctx context.Context) (err error) {
	c.crossFitted = true // as B is
	c.countFitting()
	sample, err := c.drawUnseen(c.opt.Seed)
	if err != nil {
		return err
	}
	both, err := c.readSample(ctx, sample)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.Close()) }()
	c.divide(sample, both.Data)
	for i := range c.groups {
		g := &c.groups[i]
		if err := c.weigh(ctx, g, sample, both.Data); err != nil {
			return err
		}
		if i == 0 || len(g.rows) > 0 {
			c.by.Weights = g.weights
		}
	}
	c.opt.stage("combine")
	return nil
}

// readSample reads B and U of a sample [rows×classes×2].
func (c *combination) readSample(ctx context.Context, sample *sample) (*scratch.Array[float32], error) {
	both, err := scratch.New[float32](c.place.Scratch(), "both", len(sample.labels)*c.classes*2)
	if err != nil {
		return nil, err
	}
	for i, source := range []ops.Source{c.own, c.predictions} {
		at := i
		err = errors.Join(err, rowstore.EachOf(ctx, source, sample.nodes.members, func(_ kv.NodeID, row []float32) error {
			for _, p := range row {
				both.Data[at] = p
				at += 2
			}
			return nil
		}))
	}
	if err != nil {
		return nil, errors.Join(err, both.Close())
	}
	return both, nil
}

// group is that of a node: the first if the classifier from outside was trained on it, as far as is known.
func (c *combination) group(v kv.NodeID) *group {
	if c.storeSplits == nil || c.storeSplits[v].Teaches() {
		return &c.groups[0]
	}
	return &c.groups[1]
}

// divide makes the groups, of the nodes that U has.
func (c *combination) divide(sample *sample, both []float32) {
	c.groups = []group{{}}
	if c.storeSplits != nil {
		c.groups = []group{{name: "training nodes"}, {name: "other nodes"}}
	}
	for rank, v := range sample.nodes.members {
		if row := both[2*rank*c.classes : 2*(rank+1)*c.classes]; !hasNaN(row) {
			g := c.group(v)
			g.rows = append(g.rows, rank)
		}
	}
}

// weigh finds a and b of a group, from B and U of the sample [rows×classes×2], and whether its labels were seen.
func (c *combination) weigh(ctx context.Context, g *group, sample *sample, both []float32) error {
	g.weights = []float64{1, 0}
	if len(g.rows) == 0 || c.opt.Imported == InSample {
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
	weights, err := labelmodel.Weigh(ctx, c.place.Scratch(), rows, c.opt.Workers)
	if err != nil {
		return err
	}
	if weights[1] < noWeight {
		return nil
	}
	g.told = labelmodel.Told(g.rows, sample.labels, both, c.classes)
	if c.opt.Imported == OutOfFold || g.told <= mostTold {
		g.weights = weights
	}
	return nil
}

// join writes P.
func (c *combination) join(ctx context.Context, mixture *rowstore.Store) error {
	var lacking atomic.Int64
	err := rowstore.Each(ctx, c.predictions, len(c.labels), c.opt.Workers, func(rows kv.Range, values []float32) error {
		own := make([]float32, len(values))
		if err := c.own.Read(rows, 0, c.classes, own); err != nil {
			return err
		}
		for v := rows.First; v < rows.End; v++ {
			at := int(v-rows.First) * c.classes
			imported := values[at : at+c.classes]
			if hasNaN(imported) {
				lacking.Add(1)
			}
			mix(c.group(v).weights, own[at:at+c.classes], imported)
		}
		return mixture.Write(rows, 0, c.classes, own)
	})
	c.lacking = int(lacking.Load())
	return err
}

// mix joins the classifier's own row of a node with the imported one, if there is one that has a weight.
func mix(weights []float64, own, imported []float32) {
	if weights[1] > 0 && !hasNaN(imported) {
		labelmodel.Mix(weights, own, imported)
	}
}

// String says what was done, and why.
func (c *combination) String() string {
	var parts []string
	for _, g := range c.groups {
		if len(g.rows) > 0 {
			parts = append(parts, g.say(c.opt.Imported))
		}
	}
	if c.lacking > 0 {
		parts = append(parts, fmt.Sprintf("The built-in classifier's are used for %s without predictions of yours",
			plural(c.lacking, "node")))
	}
	return strings.Join(parts, ". ")
}

// maySee says whether the predictions of the group may have seen the labels.
func (g *group) maySee() bool { return g.told > mostTold }

func (g *group) say(imported Imported) string {
	of := "Your predictions"
	if g.name != "" {
		of += " of the " + g.name
	}
	tell := fmt.Sprintf("They explain %.0f%% of the labels that the built-in classifier, which has not seen them, "+
		"contradicts",
		100*g.told)
	switch {
	case imported == InSample:
		return of + " are left out, as was asked for"
	case g.maySee() && imported == "":
		return fmt.Sprintf("%s are left out: they may have seen the labels. %s; more than %.0f%% is not believed. "+
			"If they are out of fold, clean with the option out-of-fold", of, tell, 100*mostTold)
	case g.weights[1] == 0:
		return of + " add nothing to the built-in classifier's and were not used"
	}
	text := fmt.Sprintf("%s are joined with the built-in classifier's, with weights of %.2f and %.2f",
		of, g.weights[1], g.weights[0])
	if imported == OutOfFold {
		text += ", as was asked for"
	}
	if g.maySee() {
		text += fmt.Sprintf(". They may have seen the labels all the same. %s. If they have, wrong labels are missed: "+
			"clean with the option in-sample", tell)
	}
	return text
}

// mostTold is the largest share of labels that predictions from outside may tell to be joined unasked. The table that
// chose it is docs/detection/results/seen.md: it lies between what predictions out of fold tell and those that have
// seen a third of the labels.
const mostTold = 0.22

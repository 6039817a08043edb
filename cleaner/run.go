package cleaner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A Run is one finished cleaning: its options, its results, and the data that explain its scores. Together with the
// columns it wrote it describes the store as it was when the cleaning began.
type Run struct {
	ID      int64     // 1, 2, … in the store; the value of column "run"
	Started time.Time // to the second, UTC
	Seconds float64   // from beginning to end, base classifier included

	Preset    string // PresetDefault, or the name of Options.Method
	Hops      int    // K
	Threshold float64
	Seed      uint64

	// Elsewhere is set of a run that was made elsewhere, on a graph of which the store has a part. Rate, threshold and
	// noise are those of that graph; Nodes, Edges, Scored, Suspects and Contradicted are counted in the store. See
	// RunWriter.
	Elsewhere *Elsewhere

	Nodes, Edges int64
	Scored       int64 // labelled nodes
	// of them, the suspects at Threshold when the run was written, or in the last pass of Rescore
	Suspects         int64
	Uncounted        bool   // the counts of scores are older than the last Rescore; see Recount
	FittingNodes     int64  // of the fitting set
	PredictionSource string // SourceImported or SourceBuiltIn
	PredictionUse    string // what was done with imported predictions, and why, "": they were taken as they are
	PredictionWrites int64  // how often predictions had been written when it began; see ChangesSince
	Decisions        int64  // Decision.Seq of the newest entry of the history whose label its fit has seen; 0: none

	// Contradicted counts, of the Suspects, those at whose label the predictions that the run goes by have another
	// class first, and so have the labels of the neighbours, by weight. It is 0 where the store has no predictions.
	Contradicted int64

	// Warnings say why the scores may be less reliable than they look, a text each; none if nothing speaks against
	// them.
	Warnings []string

	Classes []string

	// MislabelRate is the share of wrong labels, the p of the conformal thresholds: as an audit tells it on Look draws,
	// whose answers LookAt names, and all scores follow (PresetDefault); or, where Look is 0, as the model estimates
	// it. Graph and predictions do not tell how far the estimate is off.
	MislabelRate float64
	Look         int
	LookAt       string

	// Commit is the last commit of the store that the scores have seen, and Seen is Decision.Seq of the newest entry of
	// the history in it. Rescorings is how often Rescore has brought scores up to date.
	Commit     uint64
	Seen       int64
	Rescorings int64

	// Model, and what follows it, are kept of the last run only. nil: the run had another way to score.
	Model *labelmodel.Model `msgpack:"-"`

	joint                   *classmatrix.Matrix // of a run without Model; see Joint
	kept                    keptFit
	meanScores, labelCounts []float64 // by given label [c]; see ClassMislabelRates
}

// Joint is P(ỹ = i, y* = j) [c×c], row i the given label, column j the true class, in the order of Classes; it sums to
// 1. The label model expects it of the labels that it was fitted to, or it is the joint distribution of confident
// learning. Use it, and Transition, for a run of LastRun.
func (r *Run) Joint() *classmatrix.Matrix {
	if r.Model != nil {
		return r.Model.Joint()
	}
	return r.joint
}

// Transition tells P(ỹ = given | y* = true) of classes by their numbers, as scores use it: the rates of pairs of the
// label model, or the transition matrix of confident learning, where NaN means that no node has the
// true class.
func (r *Run) Transition() func(given, true int) float64 {
	if r.Model != nil {
		return r.Model.Transition()
	}
	return r.joint.ByColumn().At
}

// Where runs are kept: a document each by runKey, and in another space the fit of the last.
const (
	runsSpace = "runs"
	fitSpace  = "fit"
	fitKey    = "last"
)

func runKey(id int64) string { return fmt.Sprintf("%012d", id) }

// A fitRecord holds the data kept of the last run only.
type fitRecord struct {
	Run   int64
	Model *labelmodel.Model
	Joint *classmatrix.Matrix
	Kept  keptFit

	MeanScores, LabelCounts []float64
}

// follows says whether the scores follow a look; "" is that before the first. Those of another preset, and of runs made
// elsewhere, follow none.
func (r *Run) follows(look string) bool {
	return r.LookAt == look || r.Preset != PresetDefault || r.Elsewhere != nil
}

// reach is the most hops over which a change has a part in a score.
func (r *Run) reach() int {
	if r.Model == nil {
		return r.Hops
	}
	return r.Model.Reach()
}

// put writes the run, in an update.
func (r *Run) put(tx *kv.Tx) error {
	fit := fitRecord{r.ID, r.Model, r.joint, r.kept, r.meanScores, r.labelCounts}
	return errors.Join(tx.Documents(runsSpace).Put(runKey(r.ID), r), tx.Documents(fitSpace).Put(fitKey, fit))
}

// readRun reads a run by its key in runsSpace, without the fitted model.
func readRun(tx *kv.Tx, key string) (*Run, error) {
	run := new(Run)
	if err := tx.Documents(runsSpace).Get(key, run); err != nil {
		return nil, err
	}
	run.Started = run.Started.UTC()
	return run, nil
}

// ErrNotCleaned is returned where a store has no run. It is a kv.ErrNotFound.
var ErrNotCleaned error = notCleaned{}

type notCleaned struct{}

func (notCleaned) Error() string { return "the store has no scores yet: run clean first" }
func (notCleaned) Unwrap() error { return kv.ErrNotFound }

// LastRun returns the newest run with all that was fitted; ErrNotCleaned before the first.
func LastRun(tx *kv.Tx) (*Run, error) {
	run, err := lastRun(tx)
	if err != nil {
		return nil, err
	}
	var fit fitRecord
	if err := tx.Documents(fitSpace).Get(fitKey, &fit); errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("run %d: what it has fitted is missing: %w", run.ID, kv.ErrCorrupt)
	} else if err != nil {
		return nil, err
	}
	if fit.Run != run.ID { // it was lost
		return run, nil
	}
	c := len(run.Classes)
	if len(fit.LabelCounts) != c || fit.MeanScores != nil && len(fit.MeanScores) != c {
		return nil, fmt.Errorf("run %d: its labels are not of %d classes: %w", run.ID, c, kv.ErrCorrupt)
	}
	run.Model, run.joint, run.kept = fit.Model, fit.Joint, fit.Kept
	run.meanScores, run.labelCounts = fit.MeanScores, fit.LabelCounts
	return run, nil
}

// lastRun is LastRun as Runs returns it.
func lastRun(tx *kv.Tx) (*Run, error) {
	last := ""
	for key, err := range tx.Documents(runsSpace).Keys() {
		if err != nil {
			return nil, err
		}
		last = key
	}
	if last == "" {
		return nil, ErrNotCleaned
	}
	return readRun(tx, last)
}

// Runs returns every run, oldest first, without the fitted models; LastRun has its model.
func Runs(tx *kv.Tx) ([]*Run, error) {
	var runs []*Run
	for key, err := range tx.Documents(runsSpace).Keys() {
		if err != nil {
			return nil, err
		}
		run, err := readRun(tx, key)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// nextRunID is one more than the newest run's.
func nextRunID(tx *kv.Tx) (int64, error) {
	last, err := lastRun(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	return last.ID + 1, nil
}

// A keptFit holds the data that a run keeps beside its label model, so that labels can be scored later as it has
// scored them. Graph, labels and predictions may have changed since.
type keptFit struct {
	Counts []float64 // nodes by given label [c], which rank the classes
	Taught []int     // nodes that the base classifier learned by label [c], 2 for more; nil if it has learned from others
	Lone   []uint32  // of a class of which it learned one node, that node, else kv.NoNode [c]
}

// keep is the data of the problem to keep with the run.
func (p *problem) keep() *keptFit {
	kept := &keptFit{Counts: countLabels(p.labels, p.classes)}
	taught, lone, some := make([]int, p.classes), slices.Repeat([]uint32{uint32(kv.NoNode)}, p.classes), false
	for v, label := range p.labels {
		if !p.teaches(kv.NodeID(v)) {
			continue
		}
		some = true
		if taught[label] = min(taught[label]+1, 2); taught[label] == 1 {
			lone[label] = uint32(v)
		} else {
			lone[label] = uint32(kv.NoNode)
		}
	}
	if some {
		kept.Taught, kept.Lone = taught, lone
	}
	return kept
}

// lastFit is the last run; ErrNoModel or ErrElsewhere if it cannot score.
func lastFit(tx *kv.Tx) (*Run, error) {
	run, err := LastRun(tx)
	if err == nil {
		err = cmp.Or(run.checkHere(), run.checkModel(tx))
	}
	if err != nil {
		return nil, err
	}
	return run, nil
}

// checkModel says why the run cannot judge labels of a snapshot: it has no model, or is damaged.
func (r *Run) checkModel(tx *kv.Tx) error {
	c, names := len(r.Classes), tx.Classes()
	switch {
	case r.Model == nil:
		return fmt.Errorf("run %d: %w", r.ID, ErrNoModel)
	case c > len(names) || !slices.Equal(r.Classes, names[:c]):
		return fmt.Errorf("run %d: its classes are not those of the store: %w", r.ID, kv.ErrCorrupt)
	case len(r.kept.Counts) != c || r.kept.Taught != nil && (len(r.kept.Taught) != c || len(r.kept.Lone) != c):
		return fmt.Errorf("run %d: what it keeps is not of %d classes: %w", r.ID, c, kv.ErrCorrupt)
	}
	return nil
}

// judge scores single nodes by the model of the run.
func (r *Run) judge() *nodeScorer {
	return newNodeScorer(r.Model.Scorer(), len(r.Classes), width(nil, r.Hops))
}

// ranks are those of the classes.
func (r *Run) ranks() []int32 { return labelmodel.RankClasses(r.kept.Counts, r.Classes) }

// problem is the graph of a snapshot with its labels, as the run, which is the last, sees them: it knows no class that
// was first used after it.
func (r *Run) problem(tx *kv.Tx) (p problem, err error) {
	if p, err = problemOf(tx); err != nil {
		return p, err
	}
	p.classes, p.names, p.kept = len(r.Classes), r.Classes, &r.kept
	if p.predictions, err = r.predictions(tx); err != nil {
		return p, err
	}
	for v, label := range p.labels {
		p.labels[v] = r.class(label)
	}
	return p, nil
}

// class is a class of the store as the run knows it: kv.NoClass if it was first used after the run.
func (r *Run) class(label kv.Class) kv.Class {
	if int(label) >= len(r.Classes) {
		return kv.NoClass
	}
	return label
}

// predictions returns the predictions that the run, the last, scores by, with its classes. The row of a node without
// predictions is NaN.
func (r *Run) predictions(tx *kv.Tx) (ops.Source, error) {
	matrix, err := scoredFrom(tx, r)
	if err != nil {
		return nil, err
	}
	return ofClasses(matrix, len(r.Classes)), nil
}

// isUntaught is problem.isUntaught by the kept data; nil knows nothing.
func (k *keptFit) isUntaught(v kv.NodeID, label kv.Class) bool {
	if k == nil || k.Taught == nil || label == kv.NoClass {
		return false
	}
	return k.Taught[label] == 0 || k.Lone[label] == uint32(v)
}

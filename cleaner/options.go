package cleaner

import (
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/clock"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// PresetDefault scores a label by the posterior of the true class (see Run.Model): a chance, with a threshold that
// follows from the mislabel rate that is estimated with it.
const PresetDefault = "default"

const defaultHops = 3

// MostExpected is the largest Options.Expect.
const MostExpected = 0.9

// Imported is what a caller says of imported predictions.
type Imported string

// Without a word of the caller, the default preset trains the built-in classifier too, and joins both, unless the imported
// predictions may have seen the labels.
const (
	// OutOfFold predictions have not seen the label of the node that they predict. PresetDefault joins them with the
	// built-in ones.
	OutOfFold Imported = "out of fold"

	// InSample predictions have seen these labels. PresetDefault uses the built-in ones alone.
	InSample Imported = "in sample"

	// AsGiven predictions are taken as they are, and nothing is trained. They must not have seen the labels of the
	// validation and test splits, or any label if there are no splits. A label of a node without predictions is then
	// not scored; it still counts for the nodes around it.
	AsGiven Imported = "as given"
)

// Options tunes a cleaning. The zero value is ready to use.
type Options struct {
	// Method, if not nil, scores in place of the label model: see package paper.
	Method method.Method

	// Hops is K, at most ops.MaxHops; zero means 3.
	Hops int

	// Threshold is the score above which a node is a suspect. Zero means the one with the greatest expected F1, or that
	// of Method.
	Threshold float64

	// Seed fixes everything that is drawn at random: the same seed gives the same bits at any Workers and MemoryBudget,
	// and on any processor. Zero is a seed like any other: the command clean and the statement clean have the default
	// 1.
	Seed uint64

	// Workers is the number of goroutines that compute; zero means GOMAXPROCS.
	Workers int

	// Expect, if not zero, is the caller's estimate of the mislabel rate before all decisions, at most MostExpected.
	// The label model uses it in place of its own estimate: the log-odds of all scores move by one number, so that Expect
	// is their mean. It gives way to an audit that has come to a look. Graph and predictions alone cannot distinguish
	// some wrong labels from right labels that are hard to judge.
	Expect float64

	// Imported says what imported predictions are. It has no effect on built-in ones.
	Imported Imported

	// Encoding says how Predict stores predictions.
	Encoding PredictionEncoding

	// MemoryBudget bounds the bytes that the work holds beside what the store holds by its own options: labels and
	// splits of every node, the matrices between classes (see MatrixBytes), and what the operators hold. Long arrays
	// that are read in order lie in files and do not count. If the budget is too small, the work fails with an
	// *ops.BudgetError, which has the least budget, before anything is computed. Zero means machine.MemoryBudget.
	MemoryBudget int64

	// Progress, OnStage and Notice, if not nil, are told how far the work is, which stages are finished, and what
	// the user should know of how it was done, such as that there were no predictions. The seconds of the stages add up
	// to those of the work. Warn is told what may make results wrong; if it is nil, Notice is told that, too.
	Progress kv.Progress
	OnStage  func(ops.Stage)
	Notice   func(string)
	Warn     func(string)

	clock     *clock.Clock    // of OnStage
	neighbors *NeighborCounts // of the labels that Predict learns; nil: not counted yet
}

// joinsImported says whether the built-in classifier is trained beside imported predictions, to be joined with them.
func (o Options) joinsImported() bool { return o.Method == nil && o.Imported != AsGiven }

// preset names the way to score.
func (o Options) preset() string {
	if o.Method != nil {
		return o.Method.Name()
	}
	return PresetDefault
}

// withDefaults completes the options, or says what is wrong with all of them (ErrOptions).
func (o Options) withDefaults() (Options, error) {
	if o.Hops == 0 {
		o.Hops = defaultHops
	}
	if o.clock == nil {
		o.clock, o.OnStage = clock.New(o.OnStage)
	}
	problems := checkResources(o.Workers, &o.MemoryBudget)
	if o.Hops < 1 || o.Hops > ops.MaxHops {
		problems = append(problems, fmt.Errorf("hops %d: want 1 to %d", o.Hops, ops.MaxHops))
	}
	if !(o.Expect >= 0 && o.Expect <= MostExpected) || o.Expect > 0 && o.Method != nil {
		problems = append(problems, fmt.Errorf("expected share of mislabels %v: want none or a number up to %v, with preset %s", o.Expect, MostExpected, PresetDefault))
	}
	switch o.Imported {
	case "", AsGiven:
	case OutOfFold, InSample:
		if o.Method != nil {
			problems = append(problems, fmt.Errorf("predictions %s: want preset %s, which trains the built-in classifier", o.Imported, PresetDefault))
		}
	default:
		problems = append(problems, fmt.Errorf("predictions %q: want %q, %q, %q or none", o.Imported, OutOfFold, InSample, AsGiven))
	}
	if o.Encoding.TopK < 0 {
		problems = append(problems, fmt.Errorf("top-k %d: want 0 or more", o.Encoding.TopK))
	}
	if !(o.Threshold >= 0 && o.Threshold < 1) {
		problems = append(problems, fmt.Errorf("threshold %v: want none or a number between 0 and 1", o.Threshold))
	}
	return o, joinOptions(problems)
}

// checkResources says what is wrong with options that every job has, and completes the budget.
func checkResources(workers int, budget *int64) (problems []error) {
	if workers < 0 {
		problems = append(problems, fmt.Errorf("workers %d: want none (all processors) or more", workers))
	}
	if *budget < 0 {
		problems = append(problems, fmt.Errorf("memory budget %d bytes: want none (the default) or more", *budget))
	}
	if *budget == 0 {
		*budget = machine.MemoryBudget()
	}
	return problems
}

// joinOptions makes one ErrOptions of what is wrong with options, if anything is.
func joinOptions(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrOptions, errors.Join(problems...))
}

// notice tells the user something, formatted.
func (o Options) notice(format string, args ...any) {
	if o.Notice != nil {
		o.Notice(fmt.Sprintf(format, args...))
	}
}

// warn tells the user what may make results wrong, unless there is nothing to tell.
func (o Options) warn(text string) {
	if o.Warn == nil {
		o.Warn = o.Notice
	}
	if o.Warn != nil && text != "" {
		o.Warn(text)
	}
}

// progress tells how far a stage is.
func (o Options) progress(stage string, done, total int64) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

// stage tells that a stage ends now. It began when the one before it ended.
func (o Options) stage(name string) {
	if o.OnStage != nil {
		o.clock.End(ops.Stage{Name: name})
	}
}

// ops are the options of the operators, with a budget of what is left of MemoryBudget beside held bytes.
func (o Options) ops(footprint int64) ops.Options {
	return ops.Options{
		MemoryBudget: o.MemoryBudget - footprint, Workers: o.Workers, Progress: o.Progress, OnStage: o.OnStage,
	}
}

// Errors of input that does not fit together.
var (
	// ErrShape is returned if labels, predictions and graph differ in their number of rows or classes.
	ErrShape = rowstore.ErrShape

	// ErrUnknownClass is returned if predictions name a class that the store does not have, or lack the class of a
	// label.
	ErrUnknownClass = errors.New("cleaner: classes of predictions and labels differ")

	// ErrFeatures is returned for node features that are not finite, or too large to add up.
	ErrFeatures = errors.New("cleaner: bad features")

	// ErrNotLogits is returned if predictions that were said to be logits are probabilities.
	ErrNotLogits = errors.New("cleaner: predictions that are to be logits are probabilities already")

	// ErrOptions is returned for options out of their range.
	ErrOptions = errors.New("cleaner: bad options")

	// ErrSplit is returned for an unknown name of a split.
	ErrSplit = errors.New("cleaner: unknown split")
)

// Errors of labels that are too few to learn from.
var (
	// ErrNoLabels is returned if no node has a label.
	ErrNoLabels = errors.New("cleaner: no labelled nodes")

	// ErrOneClass is returned if all nodes to learn from have the same label.
	ErrOneClass = errors.New("cleaner: labels of one class only")

	// ErrFewLabels is returned if the labels are too few, whatever their splits.
	ErrFewLabels = errors.New("cleaner: too few labels")

	// ErrFewFittingNodes is returned if the fitting set is too small to learn from.
	ErrFewFittingNodes = method.ErrFewFittingNodes

	// ErrNoModel is returned if the last run keeps no label model to score by: it had another preset, or it was lost.
	ErrNoModel = errors.New("cleaner: the last run keeps no model")

	// ErrElsewhere is returned if scores are to be computed by a run that was made elsewhere: see Run.Elsewhere.
	ErrElsewhere = errors.New("cleaner: the run was made elsewhere, on a larger graph")

	// ErrMissingRows is returned if some nodes have no predictions.
	ErrMissingRows = errors.New("cleaner: nodes without predictions")
)

// A RowError describes bad predictions of one node.
type RowError struct {
	Node kv.NodeID
	ID   string // the node's external id
	Msg  string
}

// Error reads "predictions of node p17: class Theory is NaN, want a probability from 0 to 1".
func (e *RowError) Error() string {
	return fmt.Sprintf("predictions of node %s: %s", e.ID, e.Msg)
}

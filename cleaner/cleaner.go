// Package cleaner finds mislabelled nodes in a stored graph and suggests labels for them.
//
// It implements GraphCleaner (Li, Xiong, Hooi: "GraphCleaner: Detecting Mislabelled Samples in Popular Graph Learning
// Benchmarks", ICML 2023, arXiv:2306.00015) over a store of package kv, with the operators of package ops.
//
//	run, err := cleaner.Clean(ctx, store, cleaner.Options{})
//
// scores every labelled node, and leaves in the store what queries ask for: the columns score, suggested, confidence
// and run.
//
// # Symbols
//
// n is the number of nodes, c of classes, K of hops. Rows are nodes by NodeID, columns classes in the order of
// kv.Tx.Classes.
//
//	ỹ        given label        [n]          the label in the store, kv.NoClass if there is none
//	y*       true label         [n]          latent
//	Y        labels             [n×c]        one-hot ỹ; the row of an unlabelled node is zero
//	P        Predictions        [n×c]        a classifier's probabilities, rows sum to 1
//	S_k      ops.Operator       [n×n]        k-th power of D^(-1/2) A D^(-1/2), diagonal cleared; streamed, never held
//	Q[i][j]  Run.Joint          [c×c]        P(ỹ = i, y* = j)
//	Q[i|j]   Run.Transition     [c×c]        P(ỹ = i | y* = j)
//	p        Run.MislabelRate   (0,1)        share of wrong labels, as the model estimates it
//	Z        Features           [n×(2K+1)]   how far the label under test agrees with the nodes around
//	s        score              [n] in [0,1] the answer: the given label is wrong
//	τ        Run.Threshold      (0,1)        a suspect has s > τ; see Suspects for the rest
//
// # Directed and weighted graphs
//
// A directed graph is cleaned as the undirected one of weights A_vu + A_uv, with A_vu the weight of the arc v→u; of
// weights 1 if it is unweighted and either arc is there. Rows without weight are zero. The property degree counts
// neighbours, whatever the weight.
//
// # The pipeline
//
// The built-in base classifier predicts each node without the label of that node. So the fitting set is all labelled
// nodes, if that classifier learns from 8 or more; by Options.Method too, unless a split is given.
// Else it is those of the validation split: the classifier was not trained on them, so what it predicts for them is
// honest. If the store has no split, or the fitting set does not suffice, a split is drawn.
//
// A node is untaught if the base classifier has learned from no other node with its label: predictions say nothing
// about that label. Only the labels around the node count for its score, and the node is not in the fitting set. Clean
// reports the classes of such nodes to Options.Notice. If all nodes of the store are in the validation and test splits,
// the classifier has learned elsewhere, and no node is untaught.
//
//  1. Predictions. The store's own, imported through a PredictionWriter; if there are none,
//     Predict trains the built-in base classifier on the labels outside the validation and test splits and writes them.
//
//  2. Agreement features. For the label y under test of node v, in this order,
//
//     P[v][y], (S_1 P)[v][y] … (S_K P)[v][y], (S_1 Y)[v][y] … (S_K Y)[v][y]
//
//     Labels under test are the given ones, and those that they are compared with. Y is always the given labels: a
//     label under test changes its own features only. Clearing the diagonal keeps a label from voting for itself over a
//     closed walk. All labels under test share one propagation.
//
//  3. Score, by the label model or Options.Method.
//
//  4. Suggestion. Of a label with a score by the label model, the likeliest other class; its posterior is the
//     confidence. Else the class with the largest prediction, and that. Ties go, in this order, to the class of most
//     neighbours, the given label, the class of most nodes, and the first name. Every node has a suggestion. It is
//     never applied unless somebody accepts it.
//
// With the label model, P is not always the stored predictions. If these come from outside, the built-in classifier is
// trained too, and both are joined (CombinedMatrix, Run.PredictionUse). Outside predictions that were trained on the
// labels of their nodes are left out: Options.Imported says whether they were, or else the labels that the built-in
// classifier contradicts. With AsGiven, outside predictions are P as they are, and nodes may lack them. Such a node
// has no score, suggestion or confidence, and nothing is fitted on it. Its label still counts for the nodes around
// it.
//
// The label model gives the posterior of the true class (Run.Model). Package paper has GraphCleaner as published.
//
//	P(y* = k | x)      ∝ exp(α_k + Σ_f β_f log(ε + Z_f[v][k]))     f of P0 and L1 … LK; β ≥ 0
//	P(ỹ = i | y* = k)  = r[k][i] for i ≠ k, 1 − Σ_i r[k][i] for i = k
//	score              = σ(a + b · logit P(y* ≠ ỹ | x, ỹ))         b = 1 before an audit
//	Q[i|k]             = r[k][i]
//
// α_k is how far the predictions fall short of a class. P1 … PK are not computed: the predictions of the neighbours
// have learned the label under test. α, β and the rates r of pairs of classes are fitted together, by expectation
// maximization, to the given labels of nodes whose label was not used to train their prediction: all labelled nodes
// if the base classifier was cross-fitted, else the validation and test splits. Nothing is planted. A class is
// believed to have 2 wrong labels of 30 before any is seen. If the predictions tell too little of the labels, all
// pairs have one rate (Run.Model.Alike). A label is tested against four other classes: the three with the largest
// predictions (ties as for the suggestion), and, of the rest, the class of most neighbours.
//
// Labels, graph and predictions cannot distinguish wrong labels from right ones that are hard to judge, so how many
// labels are wrong is not known without looking at some. a gives the scores the mean of Options.Expect; without it, a
// is 0. τ is the threshold with the greatest expected F1, unless Options.Threshold sets it. Once an audit has come to a
// look, a, b and τ follow the audit: see [Rescore]. Clean uses decided labels as the truth: rows whose true class is
// known.
//
// # How many labels are wrong
//
// [DrawAudit] draws labels by chance, people decide about them, and [ReadAudit] tells the share of wrong labels with
// an interval that holds. Before that, Run.Contradicted counts the suspects that the predictions and the neighbours
// contradict, and says nothing of how many labels are wrong.
//
// # Graphs that change
//
// The model of the last run stays in the store, and the built-in classifier as it was trained last. [Score] computes
// the score of single nodes by them, as the graph is in a snapshot, and [Rescore] brings the stored scores up to date
// with everything that has changed. What was fitted stays: model, ranks of the classes, which classes the classifier
// has learned. A class that was first used after the run is not known to its model: labels of it are not scored, and
// have no vote. [CountStale] counts the scores that are older than changes around them, and [ChangesSince] lists the
// changes since a run.
//
// The method works best if neighbours mostly have the same label: [Statistics] measures this. Package evaluate measures
// how well it finds wrong labels that are made on purpose, and package decide keeps people's decisions. A graph that no
// store holds can be cleaned in pieces: see [Piece] and [RunWriter].
//
// # Determinism and memory
//
// The same store, options and seed give the same bits at any number of workers and any memory budget, and on any
// processor: diagonals, built-in predictions, features, models and scores. A conversion, as in a + float64(b*c), keeps
// processors from fusing a product and a sum, and exponentials and logarithms come from internal/elementary. The last
// digits of the intervals of an audit may differ, and so, very rarely, the length of a list with a promise: both follow
// from beta functions. Random numbers are drawn in the order of the node file. With given predictions, the order of the
// classes changes only the rounding of sums in the label model.
//
// No [n×c] matrix is held. Predictions are read in blocks of rows. Propagation runs in tiles of columns, and the
// features take one column of each row. Memory grows with n alone: labels and splits, five bytes a node, and the
// arrays of package ops. Arrays that are read in order lie in files of package scratch. If a budget is too small for
// the rest and one column of a tile, the work is refused before it begins, with an *ops.BudgetError that has the least
// budget. Matrices between classes count too. They take at most 34 MB; above 65,536 classes, 512 bytes a class
// instead. Package paper, and a method of package evaluate, have matrices of c² numbers, three at most: 24 MB for
// 1,000 classes, and 9.6 GB for 20,000.
//
// Clean keeps the diagonals, which take the time of a large graph, in the directory of kv.Store.Work, until the graph
// changes. After a cancel or a kill, the same Clean takes them, and predictions that it has written, and comes to the
// same bits. Missing or damaged files are computed again.
package cleaner

import (
	"errors"
	"fmt"
	"time"

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

// Imported is a caller's statement about imported predictions.
type Imported string

// Without a word of the caller, the default preset trains the built-in classifier too, and joins both, unless the
// imported predictions may have seen the labels.
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
	// The label model uses it in place of its own estimate: the log-odds of all scores move by one number, so that
	// Expect is their mean. It gives way to an audit that has come to a look. Graph and predictions alone cannot
	// distinguish some wrong labels from right labels that are hard to judge.
	Expect float64

	// Imported says what imported predictions are. It has no effect on built-in ones.
	Imported Imported

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

	clock *clock // of OnStage
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
		o.clock, o.OnStage = newClock(o.OnStage)
	}
	problems := checkResources(o.Workers, &o.MemoryBudget)
	if o.Hops < 1 || o.Hops > ops.MaxHops {
		problems = append(problems, fmt.Errorf("hops %d: want 1 to %d", o.Hops, ops.MaxHops))
	}
	if !(o.Expect >= 0 && o.Expect <= MostExpected) || o.Expect > 0 && o.Method != nil {
		problems = append(problems,
			fmt.Errorf("expected share of mislabels %v: want none or a number up to %v, with preset %s", o.Expect, MostExpected,
				PresetDefault))
	}
	switch o.Imported {
	case "", AsGiven:
	case OutOfFold, InSample:
		if o.Method != nil {
			problems = append(problems,
				fmt.Errorf("predictions %s: want preset %s, which trains the built-in classifier", o.Imported, PresetDefault))
		}
	default:
		problems = append(problems,
			fmt.Errorf("predictions %q: want %q, %q, %q or none", o.Imported, OutOfFold, InSample, AsGiven))
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
	o.clock.end(ops.Stage{Name: name})
}

// A clock puts all of the time of a job into stages. Operators measure theirs themselves. Whatever else the job has
// done since its last stage is the next one that it ends. Nobody is told by nil.
type clock struct {
	tell  func(ops.Stage)
	began time.Time
	told  float64 // seconds of all stages so far
}

// newClock begins now. It returns, too, the OnStage of operators.
func newClock(tell func(ops.Stage)) (c *clock, onStage func(ops.Stage)) {
	if tell == nil {
		return nil, nil
	}
	c = &clock{tell: tell, began: time.Now()}
	return c, c.pass
}

// pass passes on a stage that has measured itself.
func (c *clock) pass(s ops.Stage) {
	c.told += s.Seconds
	c.tell(s)
}

// end tells of a stage that ends now. Its seconds are filled in.
func (c *clock) end(s ops.Stage) {
	if c != nil {
		s.Seconds = max(0, time.Since(c.began).Seconds()-c.told)
		c.pass(s)
	}
}

// ops are the options of the operators, with the budget that is left of MemoryBudget beside held bytes.
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
	ErrNoModel = errors.New("cleaner: the last run keeps no model: run clean")

	// ErrElsewhere is returned if scores are to be computed by a run that was made elsewhere: see Run.Elsewhere.
	ErrElsewhere = errors.New("cleaner: the run was made elsewhere, on a larger graph")

	// ErrMissingRows is returned if some nodes have no predictions.
	ErrMissingRows = errors.New("cleaner: nodes without predictions")
)

package cleaner

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A Plan is the memory and the disk that a Clean takes, and a Predict before it if there are no predictions.
type Plan struct {
	Nodes, Classes int
	Edges          int64
	Propagation    ops.PropagatePlan

	// Steps is the price of the diagonals, Refusal the error with which Clean refuses to begin, or nil.
	Steps   float64
	Refusal error

	LeastBytes     int64 // the least Options.MemoryBudget
	StoreBytes     int64 // written to the store
	TemporaryBytes int64 // the most at once in temporary files
	RoomBytes      int64 // about the most at once on the disk of the store: temporary files, and copies of what is written

	counts
	trains   bool // the base classifier
	diagonal ops.DiagonalPlan

	predictedBytes int64 // written to the store before nodes are scored
}

// counts has the numbers that decide the cost of a cleaning.
type counts struct {
	nodes, labels, classes int
	fitting, training      int             // labelled nodes of the fitting set, and of those that the base classifier learns from
	features               int             // columns; zero: none
	neighbors              *NeighborCounts // counted if there are features
	disagree               bool            // homophily is low (see Predict)
	predictions            bool            // are there
	builtIn                bool            // they are those of the base classifier
	testedBytes            int64           // see problem

	sizes *ops.Sizes
}

// PlanClean plans a cleaning of a store, as Clean does before it begins. It reads labels and splits, and walks the
// adjacency for its sizes, for the price of the diagonals and, if a classifier learns from features, for how far
// neighbours agree. If the budget is too small, it returns an *ops.BudgetError.
func PlanClean(ctx context.Context, tx *kv.Tx, opt Options) (*Plan, error) {
	opt.Notice, opt.Warn = nil, nil
	p, err := readProblem(tx, opt)
	if err != nil {
		return nil, err
	}
	plan, err := p.plan(ctx, tx, opt)
	if err != nil {
		return nil, err
	}
	hops := cmp.Or(opt.Hops, defaultHops)
	if plan.Steps, err = ops.DiagonalSteps(ctx, p.graph, hops, ops.Options{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	_, few := p.checkFitting()
	plan.Refusal = cmp.Or(few, ops.CheckSteps(hops, plan.Steps))
	return plan, nil
}

// checkRoom returns kv.ErrNoSpace if the disk of the store has too little room for the cleaning. What an interrupted
// run has kept is there already.
func (p *Plan) checkRoom(s *kv.Store) error {
	done, err := s.Finished()
	if err != nil {
		return err
	}
	var kept int64
	if done != nil {
		if kept, err = bytesBelow(done.Path()); err != nil {
			return err
		}
	}
	return s.CheckRoom(p.RoomBytes - kept)
}

// bytesBelow is the size of the files in a directory.
func bytesBelow(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		info, err := file.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// plan plans the cleaning of the problem, whose graph it measures.
func (p *problem) plan(ctx context.Context, tx *kv.Tx, opt Options) (*Plan, error) {
	base := p.base()
	c := counts{
		nodes: len(p.labels), labels: countLabelled(p.labels), classes: p.classes, fitting: p.mostFitting(),
		predictions: p.source != "", builtIn: p.source == SourceBuiltIn, testedBytes: p.testedBytes(),
	}
	var err error
	c.training = base.countTaught()
	if c.sizes, err = base.graphSizes(ctx, opt.ops(0)); err != nil {
		return nil, err
	}
	p.sizes = c.sizes
	features, err := tx.Matrix(FeaturesMatrix)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if err == nil && c.trains(opt) {
		if err := p.countNeighbors(ctx, opt.Workers); err != nil {
			return nil, err
		}
		c.features, c.neighbors, c.disagree = features.Width(), p.neighbors, p.neighbors.disagree()
	}
	return c.plan(opt)
}

// trains says whether the base classifier is trained: there are no predictions, or they are joined with its own.
func (c *counts) trains(opt Options) bool {
	joined := !c.builtIn && opt.joinsImported() && crossFitsFrom(c.training) && joins(c.nodes, c.classes)
	return !c.predictions || joined
}

// Bytes that are written to the store lie in a log, in a table and in a merged table for a while, and it begins to
// write only where it finds room to spare.
const (
	copies    = 3
	leastRoom = 16 << 20
)

// plan plans a cleaning.
func (c counts) plan(opt Options) (*Plan, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Nodes: c.nodes, Classes: c.classes, Edges: c.sizes.Edges(), counts: c, trains: c.trains(opt),
		LeastBytes: leastForScore(opt.Method, c.sizes, c.nodes, c.fitting, c.classes, opt.Hops) + c.testedBytes,
	}
	scoring := opt.ops(scoringBytes(opt.Method, c.nodes, c.fitting, c.classes) + c.testedBytes)
	scoring.Scratch = scratch.Temporary(os.TempDir())
	held := trainingBytes*int64(c.nodes) + fitBytes(c.features, c.classes, labelHopsOf(c.training, c.nodes))
	if p.trains {
		p.LeastBytes = max(p.LeastBytes, held+p.leastForBase())
	}
	if err := requireBudget("clean", opt.MemoryBudget, p.LeastBytes); err != nil {
		return nil, err
	}
	if p.diagonal, err = ops.PlanDiagonals(c.sizes, opt.Hops, scoring); err != nil {
		return nil, err
	}
	if p.trains {
		if err := p.base(opt, held); err != nil {
			return nil, err
		}
	}
	if p.joins() {
		// The predictions of the classifier, the joined ones, and two copies of both of the sample that they are
		// weighed on.
		values := int64(c.nodes) * int64(c.classes)
		p.TemporaryBytes = max(p.TemporaryBytes, p.diagonal.ScratchBytes+8*values+16*p.sampleCells())
	}
	return p, p.score(opt, scoring)
}

// joins says whether predictions from outside are joined with those of the built-in classifier.
func (p *Plan) joins() bool { return p.trains && p.predictions }

// score adds the memory of the stages from the noise to the results.
func (p *Plan) score(opt Options, operators ops.Options) (err error) {
	c := p.counts
	cells := 4 * int64(width(opt.Method, opt.Hops)) // bytes of the features of a label
	columns := c.classes                            // that are propagated
	var z, temporary int64                          // bytes of all features, and of the files beside them
	if opt.Method == nil {
		most := p.sampleCells()
		labellings := 1 + labelmodel.CountRivals(c.classes)
		z = cells * (int64(labellings)*int64(c.nodes) + most)
		temporary = (cells+8)*most + 4*int64(labellings)*int64(c.nodes) // logarithms, labels and votes; rivals and scores
	} else {
		columns = 2 * c.classes
		z = cells * int64(c.nodes+opt.Method.SampleSize(c.fitting))
		temporary = 12 * int64(c.nodes)
	}
	if p.Propagation, err = ops.Plan(c.sizes, columns, opt.Hops, operators); err != nil {
		return err
	}
	if opt.Hops > 1 {
		p.Propagation.KeepInputs(operators)
	}
	p.StoreBytes = p.predictedBytes + resultBytes*int64(c.nodes)
	if p.joins() { // the predictions lie there to the end, and are stored
		predictions := 4 * int64(c.nodes) * int64(c.classes)
		temporary += predictions
		p.StoreBytes += predictions
	}
	lasting := p.diagonal.ScratchBytes + z + temporary
	p.TemporaryBytes = max(p.TemporaryBytes, lasting+p.Propagation.ScratchBytes)
	p.RoomBytes = leastRoom + max(p.TemporaryBytes, lasting+p.Propagation.ScratchBytes+copies*p.predictedBytes, lasting+copies*p.StoreBytes)
	return nil
}

// sampleCells is the rows of the sample that a label model is fitted to, times the classes.
func (p *Plan) sampleCells() int64 {
	return int64(min(p.labels, mostModelNodes(p.classes))) * int64(p.classes)
}

// resultBytes bounds the stored bytes of a node: columns of the scores, and the index on them. 20 to 23 bytes were
// measured.
const resultBytes = 45

// leastForBase is the least that its operators need beside that.
func (p *Plan) leastForBase() int64 {
	c := p.counts
	if c.features > 0 {
		return c.sizes.LeastForPropagate()
	}
	return max(c.sizes.LeastForPropagate(), c.sizes.LeastForDiagonals(labelHopsOf(c.training, c.nodes)))
}

// base plans the base classifier, which holds so many bytes.
func (p *Plan) base(opt Options, held int64) error {
	c := p.counts
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	hops, columns := baseHops, c.features
	width := c.features
	if c.disagree { // both inputs are tried
		width = 2*c.features + c.classes + 1
	}
	if c.features == 0 {
		hops = labelHopsOf(c.training, c.nodes)
		columns, width = c.classes, hops*c.classes+1
	}
	sizes := c.sizes
	if c.features > 0 {
		sizes = sizes.WithSelfLoops()
	}
	smooth, err := ops.Plan(sizes, columns, hops, operators)
	if err != nil {
		return err
	}
	inputs := 4 * int64(width) * int64(c.nodes)
	if c.disagree {
		inputs += 4 * int64(c.features) * int64(c.nodes)
	}
	p.predictedBytes = 4 * int64(width) * int64(c.classes) // the classifier, which scores nodes that arrive later
	if !c.predictions {
		p.predictedBytes += 4 * int64(c.nodes) * int64(c.classes)
	}
	rows := 4 * int64(width) * int64(min(c.training, baseTraining))
	p.TemporaryBytes = p.diagonal.ScratchBytes + inputs + max(smooth.ScratchBytes, rows, 4*int64(c.nodes)*int64(c.classes))
	return nil
}

// MemoryBudget bounds the memory that is reached at random: a few numbers for every node, and the data that operators
// hold beside them. Arrays that are walked in order lie in files of package scratch and do not count. A job adds up the
// least memory that counts before it begins, and fails with an *ops.BudgetError where it does not fit; memory beyond it
// makes tiles wider. On top come a few megabytes for every worker.

// Bytes a node.
const (
	labelBytes    = 4         // a kv.Class
	problemBytes  = 4 + 1     // of a problem: labels, splits
	trainingBytes = 4 + 4 + 1 // of a baseProblem: labels, those of the training split alone, splits
	setBytes      = 1         // of a nodeSet, at most
	sampleBytes   = 5*4 + 1   // a node of a sample: labels, what people said, place in file order; planted labels
)

// Matrices between classes.
const fitLines = 2 * 4 // of a labelFit: its background and a modelState; the fit before may still be there

// matrixBytes is the memory of the matrices between classes, for a number of classes and of fitting nodes.
func matrixBytes(m method.Method, classes, fitting int) int64 {
	if m != nil {
		return m.MatrixBytes(classes, fitting)
	}
	c := int64(classes)
	return 8 * fitLines * c * min(c, int64(mostModelNodes(classes)))
}

// requireBudget returns an *ops.BudgetError if a job wants more than a budget.
func requireBudget(job string, budget, least int64) error {
	if budget >= least {
		return nil
	}
	return &ops.BudgetError{Job: job, Budget: budget, Least: least}
}

// CheckTransition returns an *ops.BudgetError if the full transition matrix of a store takes more than budget bytes;
// zero means machine.MemoryBudget.
func CheckTransition(tx *kv.Tx, budget int64) error {
	if budget == 0 {
		budget = machine.MemoryBudget()
	}
	classes := int64(len(tx.Classes()))
	return requireBudget("transition matrix", budget, 8*classes*classes)
}

// leastForFeatures is the least memory for agreement features: diagonals first, then the tiles.
func leastForFeatures(s *ops.Sizes, hops int) int64 {
	return max(s.LeastForDiagonals(hops), s.LeastForPropagate())
}

// scoringBytes is the memory that score holds all the time: the problem, the sample that is fitted to, and the matrices
// between classes.
func scoringBytes(m method.Method, n, fitting, classes int) int64 {
	sample := min(fitting, mostModelNodes(classes))
	if m != nil {
		sample = m.SampleSize(fitting)
	}
	return (problemBytes+setBytes)*int64(n) + sampleBytes*int64(sample) + matrixBytes(m, classes, fitting)
}

// leastForScore is the least memory of score for n nodes, a number of fitting nodes, and classes.
func leastForScore(m method.Method, s *ops.Sizes, n, fitting, classes, hops int) int64 {
	return scoringBytes(m, n, fitting, classes) + leastForFeatures(s, hops)
}

// mostFitting is the most nodes that the fitting set can have: see isFitting.
func (p *problem) mostFitting() (count int) {
	for v, y := range p.labels {
		if y != kv.NoClass && (p.drawn || p.fitsAll() || p.splits[v] == SplitValidation) {
			count++
		}
	}
	return count
}

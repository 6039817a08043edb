package cleaner

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
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
	plan, err := p.plan(ctx, opt)
	if err != nil {
		return nil, err
	}
	hops := cmp.Or(opt.Hops, defaultHops)
	if plan.Steps, err = ops.DiagonalSteps(ctx, p.graph, hops, ops.Options{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	plan.Refusal = cmp.Or(p.few, ops.CheckSteps(hops, plan.Steps))
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

// Bytes that are written to the store lie in a log, in a table and in a merged table for a while, and it begins to
// write only where it finds room to spare.
const (
	copies    = 3
	leastRoom = 16 << 20
)

// resultBytes bounds the stored bytes of a node: columns of the scores, and the index on them. 20 to 23 bytes were
// measured.
const resultBytes = 45

// trains says whether the built-in classifier is trained: there are no predictions, or they are joined with its own.
func (p *problem) trains(opt Options) bool {
	return p.source == "" || p.source == SourceImported && opt.joinsImported() && p.lacksToJoin() == ""
}

// plan plans the cleaning of the problem, whose graph it measures.
func (p *problem) plan(ctx context.Context, opt Options) (*Plan, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.measure(ctx, opt.ops(0)); err != nil {
		return nil, err
	}
	p.method = opt.Method
	p.countFitting()
	n, trains := int64(len(p.labels)), p.trains(opt)
	predictions := 4 * n * int64(p.classes) // bytes
	plan := &Plan{Nodes: len(p.labels), Classes: p.classes, Edges: p.sizes.Edges(), LeastBytes: p.leastForScore(opt)}
	if trains && p.hasFeatures() {
		if err := p.countNeighbors(ctx, opt.Workers); err != nil {
			return nil, err
		}
	}
	if trains {
		plan.LeastBytes = max(plan.LeastBytes, p.leastForTraining())
	}
	if err := requireBudget("clean", opt.MemoryBudget, plan.LeastBytes); err != nil {
		return nil, err
	}
	operators := opt.ops(p.heldInScoring())
	operators.Scratch = scratch.Temporary(os.TempDir())
	diagonals, err := ops.PlanDiagonals(p.sizes, opt.Hops, operators)
	if err != nil {
		return nil, err
	}
	columns, lasting := p.featureFiles(opt) // and what lies beside them
	if plan.Propagation, err = ops.Plan(p.sizes, columns, opt.Hops, operators); err != nil {
		return nil, err
	}
	if opt.Hops > 1 {
		plan.Propagation.KeepInputs(operators)
	}
	var before int64 // written to the store before nodes are scored
	if trains {
		var training int64
		if training, before, err = p.trainingFiles(opt); err != nil {
			return nil, err
		}
		plan.TemporaryBytes = diagonals.ScratchBytes + training
	}
	plan.StoreBytes = before + resultBytes*n
	if trains && p.source != "" {
		// The predictions of the classifier, the joined ones, and two copies of both of the sample that they are
		// weighed on. The joined ones lie there to the end, and are stored.
		plan.TemporaryBytes = max(plan.TemporaryBytes, diagonals.ScratchBytes+2*predictions+16*p.sampleCells())
		lasting += predictions
		plan.StoreBytes += predictions
	}
	lasting += diagonals.ScratchBytes
	plan.TemporaryBytes = max(plan.TemporaryBytes, lasting+plan.Propagation.ScratchBytes)
	plan.RoomBytes = leastRoom + max(
		plan.TemporaryBytes, lasting+plan.Propagation.ScratchBytes+copies*before, lasting+copies*plan.StoreBytes)
	return plan, nil
}

// featureFiles are the bytes of the files that hold features, labels under test, rivals and scores, and the columns
// that are propagated.
func (p *problem) featureFiles(opt Options) (columns int, bytes int64) {
	n, cells := int64(len(p.labels)), 4*int64(width(opt.Method, opt.Hops)) // bytes of the features of a label
	if opt.Method != nil {
		return 2 * p.classes, cells*(n+int64(opt.Method.SampleSize(p.fitting))) + 12*n
	}
	most, labellings := p.sampleCells(), int64(1+labelmodel.CountRivals(p.classes))
	return p.classes, cells*(labellings*n+most) + (cells+8)*most + 4*labellings*n // logarithms, labels and votes
}

// sampleCells is the rows of the sample that a label model is fitted to, times the classes.
func (p *problem) sampleCells() int64 {
	return int64(min(countLabelled(p.labels), mostModelNodes(p.classes))) * int64(p.classes)
}

// trainingFiles are the bytes of the temporary files of the base classifier, and what it writes to the store: itself,
// for nodes that arrive later, and the predictions unless others are there.
func (p *problem) trainingFiles(opt Options) (temporary, stored int64, err error) {
	n, c := int64(len(p.labels)), int64(p.classes)
	operators := opt.ops(p.heldInTraining())
	operators.Scratch = scratch.Temporary(os.TempDir())
	hops, columns, sizes := p.labelHops(), p.classes, p.sizes
	width := p.inputWidth(InputStructure)
	inputs := width
	if p.hasFeatures() {
		hops, columns, sizes = baseHops, p.features.Width(), sizes.WithSelfLoops()
		width = p.inputWidth(InputFeatures)
		if inputs = width; p.neighbors.disagree() { // both inputs are tried
			width = p.inputWidth(InputMixed)
			inputs += width
		}
	}
	smooth, err := ops.Plan(sizes, columns, hops, operators)
	if err != nil {
		return 0, 0, err
	}
	stored = 4 * int64(width) * c
	if p.source == "" {
		stored += 4 * n * c
	}
	return 4*int64(inputs)*n + max(smooth.ScratchBytes, 4*n*c), stored, nil
}

// MemoryBudget bounds the memory that is reached at random: a few numbers for every node, and the data that operators
// hold beside them. Arrays that are walked in order lie in files of package scratch and do not count. A job adds up the
// least memory that counts before it begins, and fails with an *ops.BudgetError where it does not fit; memory beyond it
// makes tiles wider. On top come a few megabytes for every worker.

// Bytes a node.
const (
	labelBytes    = 4         // a kv.Class
	problemBytes  = 4 + 1     // of a problem: labels, splits
	trainingBytes = 4 + 4 + 1 // of training: labels, those of the training split alone, splits
	setBytes      = 1         // of a nodeSet, at most
	sampleBytes   = 5*4 + 1   // a node of a sample: labels, what people said, place in file order; planted labels
)

// Matrices between classes.
const fitLines = 2 * 4 // of a labelFit: its background and a modelState; the fit before may still be there

// heldInScoring is the memory that score holds all the time: the problem, the sample that is fitted to, and the
// matrices between classes.
func (p *problem) heldInScoring() int64 {
	c, most := int64(p.classes), mostModelNodes(p.classes)
	sample, matrices := min(p.fitting, most), 8*fitLines*c*min(c, int64(most))
	if p.method != nil {
		sample, matrices = p.method.SampleSize(p.fitting), p.method.MatrixBytes(p.classes, p.fitting)
	}
	return (problemBytes+setBytes)*int64(len(p.labels)) + labelBytes*int64(len(p.tested)) +
		sampleBytes*int64(sample) + matrices
}

// leastForScore is the least memory of score. The graph is measured.
func (p *problem) leastForScore(opt Options) int64 {
	return p.heldInScoring() + leastForFeatures(p.sizes, opt.Hops)
}

// leastForFeatures is the least memory for agreement features: diagonals first, then the tiles.
func leastForFeatures(s *ops.Sizes, hops int) int64 {
	return max(s.LeastForDiagonals(hops), s.LeastForPropagate())
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

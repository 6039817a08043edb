package index

import (
	"context"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// lastRound is how many blocks are decided before their nodes are handed on. The first round is of one block, so
	// that a scan soon knows what is among the best. The rounds do not depend on the number of goroutines: nor does
	// what they leave out.
	lastRound = 64
)

// A blockScan decides blocks of nodes on several goroutines.
type blockScan struct {
	plan    *Plan
	removed kv.NodeSet
	workers []*blockWorker // made when first needed, each by the goroutine that needs it
}

// A blockWorker decides blocks on one goroutine.
type blockWorker struct {
	*scanner
	where    Predicate
	isAlways bool
	test     evaluator
	outcomes []truth
	nodes    []kv.NodeID
}

// blockScan prepares the plan's scan of all nodes.
func (p *Plan) blockScan() (s *blockScan, err error) {
	s = &blockScan{plan: p, workers: make([]*blockWorker, p.Workers())}
	s.removed, err = p.tx.Removed()
	return s, err
}

// Workers is how many goroutines may call what Blocks is given.
func (p *Plan) Workers() int {
	if p.tx.InUpdate() || numComputed(p.where, p.computed) > 0 {
		return 1 // a transaction that writes, and values that are computed, are for one goroutine
	}
	return parallel.Workers(p.workers)
}

// reader returns what the plan reads values with.
func (p *Plan) reader() *reader {
	r := newReader(p.tx, p.computed)
	r.workers = p.Workers()
	return r
}

// blocks is the number of blocks of the store.
func (s *blockScan) blocks() int { return (s.plan.tx.NumNodes() + kv.BlockRows - 1) / kv.BlockRows }

// worker returns a worker by its number.
func (s *blockScan) worker(number int) *blockWorker {
	if s.workers[number] != nil {
		return s.workers[number]
	}
	r := newReader(s.plan.tx, s.plan.computed)
	where := degreesFirst(s.plan.residual)
	w := &blockWorker{
		scanner: newScanner(r, &Reads{}), where: where, isAlways: isAlways(where), test: newEvaluator(where, r.computed),
		outcomes: make([]truth, kv.BlockRows),
	}
	s.workers[number] = w
	return w
}

// reads moves what the workers have read to reads. No worker is at work.
func (s *blockScan) reads(reads *Reads) {
	for _, w := range s.workers {
		if w != nil {
			reads.add(*w.scanner.reads)
			*w.scanner.reads = Reads{}
		}
	}
}

func (r *Reads) add(other Reads) {
	r.IndexEntries += other.IndexEntries
	r.Rows += other.Rows
	r.Blocks += other.Blocks
	r.SkippedBlocks += other.SkippedBlocks
}

// find appends to nodes those of a block for which the predicate is true, ascending. It leaves out a block in which all
// sort behind worst, unless it is nil.
func (s *blockScan) find(w *blockWorker, block int, worst *worstKey, nodes []kv.NodeID) ([]kv.NodeID, error) {
	first := kv.NodeID(block) * kv.BlockRows
	rng := kv.Range{First: first, End: min(first+kv.BlockRows, kv.NodeID(s.plan.tx.NumNodes()))}
	outcomes := w.outcomes[:rng.Len()]
	may, _, err := w.may(w.where, rng.First)
	if err == nil && may && worst.asked() {
		may, err = w.mayPrecede(worst, rng.First)
	}
	if err != nil {
		return nodes, err
	}
	if !may {
		w.scanner.reads.SkippedBlocks++
		return nodes, nil
	}
	w.scanner.reads.Blocks++
	if !w.isAlways {
		w.scanner.reads.Rows += int64(len(outcomes))
	}
	for i := range outcomes {
		outcomes[i] = isTrue
	}
	if s.removed != nil {
		for i := range outcomes {
			if s.removed.Has(first + kv.NodeID(i)) {
				outcomes[i] = isFalse
			}
		}
	}
	if err := w.test.join(w.blockRows(first), isFalse, outcomes); err != nil {
		return nodes, err
	}
	for i, outcome := range outcomes {
		if outcome == isTrue {
			nodes = append(nodes, first+kv.NodeID(i))
		}
	}
	return nodes, nil
}

// mayPrecede reports whether a node of the block that holds v may sort before worst, or with it.
func (s *scanner) mayPrecede(worst *worstKey, v kv.NodeID) (bool, error) {
	b, err := s.block(worst.order.Property, v)
	return err == nil && !worst.before(b), err
}

// inOrder yields the nodes that the scan finds, ascending.
func (s *blockScan) inOrder(ctx context.Context, reads *Reads, worst *worstKey) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		found := make([][]kv.NodeID, lastRound)
		total := s.blocks()
		for first, size := 0, 1; first < total; first, size = first+size, min(2*size, lastRound) {
			round := found[:min(size, total-first)]
			err := parallel.Do(ctx, len(s.workers), len(round), func(_ context.Context, number, i int) (err error) {
				round[i], err = s.find(s.worker(number), first+i, worst, round[i][:0])
				return err
			})
			s.reads(reads)
			if err != nil {
				yield(0, err)
				return
			}
			for _, nodes := range round {
				for _, v := range nodes {
					if !yield(v, nil) {
						return
					}
				}
			}
		}
	}
}

// Blocks calls use with the nodes that Rows yields, in any order: with those of one block of columns at a time
// (kv.BlockRows), which ascend, from several goroutines. Worker, less than Workers, tells these apart. The nodes are
// lent for the call.
func (p *Plan) Blocks(ctx context.Context, use func(worker int, nodes []kv.NodeID) error) error {
	if p.limit < 0 {
		p.begin()
		set, err := p.unordered()
		if err != nil {
			return err
		}
		return set.eachBlock(ctx, p.reader(), &p.reads, use)
	}
	var some []kv.NodeID
	for v, err := range p.Rows(ctx) {
		if err != nil {
			return err
		}
		some = append(some, v)
	}
	slices.Sort(some)
	return inBlocks(Each(some), use)
}

// eachBlock is Blocks of a plan that finds a set of nodes, whatever its limit.
func (p *Plan) eachBlock(ctx context.Context, r *reader, reads *Reads, use func(worker int, nodes []kv.NodeID) error) error {
	switch p.way {
	case byNothing:
		return nil
	case bySource:
		return inBlocks(p.matches(ctx, r, reads, nil), use)
	}
	s, err := p.blockScan()
	if err != nil {
		return err
	}
	err = parallel.Do(ctx, len(s.workers), s.blocks(), func(_ context.Context, number, block int) (err error) {
		w := s.worker(number)
		w.nodes, err = s.find(w, block, nil, w.nodes[:0])
		if err != nil || len(w.nodes) == 0 {
			return err
		}
		return use(number, w.nodes)
	})
	s.reads(reads)
	return err
}

// inBlocks calls use with the nodes of each block, of nodes that ascend.
func inBlocks(nodes iter.Seq2[kv.NodeID, error], use func(worker int, nodes []kv.NodeID) error) error {
	var block []kv.NodeID
	for v, err := range nodes {
		if err != nil {
			return err
		}
		if len(block) > 0 && v/kv.BlockRows != block[0]/kv.BlockRows {
			if err := use(0, block); err != nil {
				return err
			}
			block = block[:0]
		}
		block = append(block, v)
	}
	if len(block) == 0 {
		return nil
	}
	return use(0, block)
}

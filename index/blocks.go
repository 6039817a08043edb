package index

import (
	"context"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// lastRound is how many blocks are decided before their nodes are handed on. The first round is of one block, so that a scan soon
	// knows what is among the best. The rounds do not depend on the number of goroutines: nor does what they leave out.
	lastRound = 64

	// denseBlock is from how many nodes of a set on, on average, a block is decided as a whole.
	denseBlock = 512
)

// A blockScan decides blocks of nodes on several goroutines.
type blockScan struct {
	plan    *Plan
	among   *roaring.Bitmap // the nodes to decide; nil: all
	removed kv.NodeSet
	workers []*blockWorker // made when first needed, each by the goroutine that needs it
}

// A blockWorker decides blocks on one goroutine.
type blockWorker struct {
	*scanner
	where    Predicate
	isAlways bool
	test     blockTest
	outcomes []truth
	nodes    []kv.NodeID
}

// blockScan prepares the plan's scan of all nodes, or of those that its source finds. It returns the set of these instead if they are too few to decide
// whole blocks.
func (p *Plan) blockScan(ctx context.Context, r *reader, reads *Reads) (s *blockScan, few *roaring.Bitmap, err error) {
	s = &blockScan{plan: p, workers: make([]*blockWorker, p.Workers())}
	if p.way == byScan {
		s.removed, err = p.tx.Removed()
		return s, nil, err
	}
	set, err := p.source.nodes(ctx, r, reads)
	if err != nil || set.GetCardinality() < uint64(denseBlock*s.blocks()) {
		return nil, set, err
	}
	s.among = set
	return s, nil, nil
}

// Workers is how many goroutines may call what Blocks is given.
func (p *Plan) Workers() int {
	if p.tx.InUpdate() || newReader(p.tx, p.computed).numComputed(p.where) > 0 {
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
func (s *blockScan) worker(number int) (*blockWorker, error) {
	if s.workers[number] != nil {
		return s.workers[number], nil
	}
	r := newReader(s.plan.tx, s.plan.computed)
	w := &blockWorker{scanner: newScanner(r, &Reads{}), where: degreesFirst(s.plan.residual), outcomes: make([]truth, kv.BlockRows)}
	w.isAlways = isAlways(w.where)
	var err error
	if w.test, err = r.blockTest(w.where); err != nil {
		return nil, err
	}
	s.workers[number] = w
	return w, nil
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

// find appends to nodes those of a block for which the predicate is true, ascending. It leaves out a block in which all sort behind worst, unless it is nil.
func (s *blockScan) find(w *blockWorker, block int, worst *worstKey, nodes []kv.NodeID) ([]kv.NodeID, error) {
	first := kv.NodeID(block) * kv.BlockRows
	rng := kv.Range{First: first, End: min(first+kv.BlockRows, kv.NodeID(s.plan.tx.NumNodes()))}
	outcomes := w.outcomes[:rng.Len()]
	if s.among != nil {
		if !s.open(w, rng, outcomes) {
			return nodes, nil
		}
	} else {
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
	}
	if err := w.test(rng, isFalse, outcomes); err != nil {
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

// open makes the outcomes of the nodes of the set true, so that the predicate decides them, and those of the others false. It reports
// whether there are any.
func (s *blockScan) open(w *blockWorker, rng kv.Range, outcomes []truth) bool {
	for i := range outcomes {
		outcomes[i] = isFalse
	}
	count := int64(0)
	nodes := s.among.Iterator()
	nodes.AdvanceIfNeeded(uint32(rng.First))
	for nodes.HasNext() {
		v := kv.NodeID(nodes.Next())
		if v >= rng.End {
			break
		}
		outcomes[v-rng.First] = isTrue
		count++
	}
	if !w.isAlways {
		w.scanner.reads.Rows += count
	}
	return count > 0
}

// inOrder yields the nodes that the scan finds, ascending.
func (s *blockScan) inOrder(ctx context.Context, reads *Reads, worst *worstKey) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		found := make([][]kv.NodeID, lastRound)
		total := s.blocks()
		for first, size := 0, 1; first < total; first, size = first+size, min(2*size, lastRound) {
			round := found[:min(size, total-first)]
			err := parallel.Do(ctx, len(s.workers), len(round), func(_ context.Context, number, i int) error {
				w, err := s.worker(number)
				if err == nil {
					round[i], err = s.find(w, first+i, worst, round[i][:0])
				}
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

// Blocks calls use with the nodes that Rows yields, in any order: with those of one block of columns at a time (kv.BlockRows), which
// ascend, from several goroutines. Worker, less than Workers, tells these apart. The nodes are lent for the call.
func (p *Plan) Blocks(ctx context.Context, use func(worker int, nodes []kv.NodeID) error) error {
	if p.limit < 0 {
		p.reads, p.gaveWay, p.lastValue = Reads{}, false, kv.Value{}
		return p.unordered().eachBlock(ctx, p.reader(), &p.reads, use)
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
	if p.way == byNothing {
		return nil
	}
	s, set, err := p.blockScan(ctx, r, reads)
	if err != nil {
		return err
	}
	if s == nil {
		return inBlocks(p.some(ctx, set, r, reads), use)
	}
	err = parallel.Do(ctx, len(s.workers), s.blocks(), func(_ context.Context, number, block int) error {
		w, err := s.worker(number)
		if err == nil {
			w.nodes, err = s.find(w, block, nil, w.nodes[:0])
		}
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

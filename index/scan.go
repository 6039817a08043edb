package index

import (
	"bytes"
	"context"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// lastRound is how many blocks are decided before their nodes are handed on. The first round is of one block, so that a
// scan soon knows what is among the best. The rounds do not depend on the number of goroutines: nor does what they
// leave out.
const lastRound = 64

// A blockScan decides the blocks of all nodes on several goroutines.
type blockScan struct {
	plan     *Plan
	removed  kv.NodeSet
	scanners []*scanner // made when first needed, each by the goroutine that needs it
}

// A scanner decides blocks on one goroutine.
type scanner struct {
	*reader
	test   evaluator
	blocks map[string]block // the last of each column
	reads  Reads
	nodes  []kv.NodeID
}

// A block is the stretch of one column that has one least and one greatest value.
type block struct {
	kv.Range
	min, max kv.Value
}

// A worstKey tells a scan which rows are too late in the order to be among the best, so that blocks of nodes that all
// are need not be read.
type worstKey struct {
	order Order  // the first; its property has blocks
	key   []byte // the sort key of the worst of the best rows; nil as long as there are not enough
}

// before reports whether every node of a block of that property sorts after the key.
func (w *worstKey) before(b block) bool {
	best := b.min
	if w.order.Descending {
		best = b.max
	}
	part := appendSortPart(nil, best, w.order)
	return bytes.Compare(part, w.key[:min(len(part), len(w.key))]) > 0
}

// blockScan prepares the plan's scan of all nodes.
func (p *Plan) blockScan() (s *blockScan, err error) {
	s = &blockScan{plan: p, scanners: make([]*scanner, p.Workers())}
	s.removed, err = p.tx.Removed()
	return s, err
}

// blocks is the number of blocks of the store.
func (s *blockScan) blocks() int { return (s.plan.tx.NumNodes() + kv.BlockRows - 1) / kv.BlockRows }

// scanner returns the scanner of a goroutine.
func (s *blockScan) scanner(number int) *scanner {
	if s.scanners[number] == nil {
		p := s.plan
		s.scanners[number] = &scanner{
			reader: newReader(p.tx, p.computed), test: newEvaluator(p.residual, p.computed), blocks: map[string]block{},
		}
	}
	return s.scanners[number]
}

// moveReads adds the scanners' counts to reads. None is at work.
func (s *blockScan) moveReads(reads *Reads) {
	for _, w := range s.scanners {
		if w != nil {
			reads.Rows += w.reads.Rows
			reads.Blocks += w.reads.Blocks
			reads.SkippedBlocks += w.reads.SkippedBlocks
			w.reads = Reads{}
		}
	}
}

// find appends to nodes those of a block for which the predicate is true, ascending. It leaves out a block in which all
// sort after worst, unless it is nil.
func (s *blockScan) find(w *scanner, number int, worst *worstKey, nodes []kv.NodeID) ([]kv.NodeID, error) {
	first := kv.NodeID(number) * kv.BlockRows
	end := min(first+kv.BlockRows, kv.NodeID(s.plan.tx.NumNodes()))
	may, err := w.test.may(w, first)
	if err == nil && may && worst != nil && worst.key != nil {
		var b block
		b, err = w.block(worst.order.Property, first)
		may = err == nil && !worst.before(b)
	}
	if err != nil {
		return nodes, err
	}
	if !may {
		w.reads.SkippedBlocks++
		return nodes, nil
	}
	w.reads.Blocks++
	if !isAlways(s.plan.residual) {
		w.reads.Rows += int64(end - first)
	}
	before := len(nodes)
	for v := first; v < end; v++ {
		if !s.removed.Has(v) {
			nodes = append(nodes, v)
		}
	}
	found, err := w.test.keep(w.vectorsOf(first), nodes[before:])
	return nodes[:before+len(found)], err
}

// vectorsOf returns the values of a block.
func (r *reader) vectorsOf(first kv.NodeID) vectors {
	return func(property string) (vector, error) {
		at, err := r.values(property)
		if _, ok := r.computed[property]; ok || err != nil {
			return vector{at: at}, err
		}
		info, _ := r.tx.Column(property)
		block, err := r.columns[property].Block(first)
		return vector{at: at, block: block, kind: info.Kind}, wrapProperty(property, err)
	}
}

// hasBlocks reports whether the least and greatest values of blocks tell of a property: ids have no order among
// NodeIDs, and a computed property has no blocks.
func (r *reader) hasBlocks(name string) bool {
	_, isComputed := r.computed[name]
	return name != propertyID && !isComputed
}

// block returns the block of a column that holds v.
func (s *scanner) block(name string, v kv.NodeID) (block, error) {
	b, ok := s.blocks[name]
	if ok && v >= b.First && v < b.End {
		return b, nil
	}
	column, err := s.column(name)
	if err != nil {
		return block{}, err
	}
	values, err := column.Block(v)
	if err != nil {
		return block{}, err
	}
	b.Range = values.Nodes
	b.min, b.max = values.Bounds()
	s.blocks[name] = b
	return b, nil
}

// inOrder yields the nodes that the scan finds, ascending.
func (s *blockScan) inOrder(ctx context.Context, reads *Reads, worst *worstKey) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		found := make([][]kv.NodeID, lastRound)
		total := s.blocks()
		for first, size := 0, 1; first < total; first, size = first+size, min(2*size, lastRound) {
			round := found[:min(size, total-first)]
			err := parallel.Do(ctx, len(s.scanners), len(round), func(_ context.Context, number, i int) (err error) {
				round[i], err = s.find(s.scanner(number), first+i, worst, round[i][:0])
				return err
			})
			s.moveReads(reads)
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

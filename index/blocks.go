package index

import (
	"context"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Workers is how many goroutines may call the function given to Blocks.
func (p *Plan) Workers() int {
	if p.tx.InUpdate() || asksComputed(p.where, p.computed) {
		return 1 // a transaction that writes, and values that are computed, are for one goroutine
	}
	return parallel.Workers(p.workers)
}

// reader returns the reader of the plan's values.
func (p *Plan) reader() *reader {
	r := newReader(p.tx, p.computed)
	r.workers = p.Workers()
	return r
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
	return inBlocks(each(some), use)
}

// eachBlock is Blocks of a plan that finds a set of nodes, whatever its limit.
func (p *Plan) eachBlock(
	ctx context.Context, r *reader, reads *Reads, use func(worker int, nodes []kv.NodeID) error,
) error {
	switch p.way {
	case byNothing:
		return nil
	case byIDs, byRange:
		return inBlocks(p.matches(ctx, r, reads, nil), use)
	}
	s, err := p.blockScan()
	if err != nil {
		return err
	}
	err = parallel.Do(ctx, len(s.scanners), s.blocks(), func(_ context.Context, number, block int) (err error) {
		w := s.scanner(number)
		w.nodes, err = s.find(w, block, nil, w.nodes[:0])
		if err != nil || len(w.nodes) == 0 {
			return err
		}
		return use(number, w.nodes)
	})
	s.moveReads(reads)
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

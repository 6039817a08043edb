package index

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Rows yields the nodes that answer the query, in its order, up to its limit. On failure it yields the error once and
// stops; ctx.Err() after a cancellation. Breaking out releases the walk. In an Update, collect all rows before you
// write to a property of the query.
func (p *Plan) Rows(ctx context.Context) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		p.begin()
		p.run(ctx, p.reader(), p.limit, &p.reads)(yield)
	}
}

// Unordered yields the nodes that Rows yields, in any order: for many nodes without a limit, it takes less time.
func (p *Plan) Unordered(ctx context.Context) iter.Seq2[kv.NodeID, error] {
	if p.limit >= 0 {
		return p.Rows(ctx)
	}
	return func(yield func(kv.NodeID, error) bool) {
		p.begin()
		set, err := p.unordered()
		switch {
		case err != nil:
			yield(0, err)
		case set.way != byNothing:
			set.matches(ctx, p.reader(), &p.reads, nil)(yield)
		}
	}
}

// Count returns how many nodes Rows would yield, without putting them in order.
func (p *Plan) Count(ctx context.Context) (int64, error) {
	p.begin()
	set, err := p.unordered()
	if err != nil {
		return 0, err
	}
	total, err := set.count(ctx, p.reader(), &p.reads)
	if err != nil {
		return 0, err
	}
	if p.limit >= 0 {
		total = min(total, int64(p.limit))
	}
	return total, nil
}

// begin forgets the counts of the last Rows or Count.
func (p *Plan) begin() { p.reads, p.gaveWay, p.head, p.lastValue = Reads{}, nil, nil, kv.Value{} }

func (p *Plan) count(ctx context.Context, r *reader, reads *Reads) (int64, error) {
	switch {
	case p.way == byNothing:
		return 0, nil
	case p.way == byScan && isAlways(p.residual):
		return int64(p.tx.Shape().Present), nil
	}
	var total atomic.Int64
	err := p.eachBlock(ctx, r, reads, func(_ int, nodes []kv.NodeID) error {
		total.Add(int64(len(nodes)))
		return nil
	})
	return total.Load(), err
}

// run yields up to limit nodes in the plan's order.
func (p *Plan) run(ctx context.Context, r *reader, limit int, reads *Reads) iter.Seq2[kv.NodeID, error] {
	switch {
	case p.way == byNothing || limit == 0:
		return func(func(kv.NodeID, error) bool) {}
	case p.way == byFileOrder:
		return take(p.walk(ctx, r, limit, reads, func(patience *int) iter.Seq2[kv.NodeID, error] {
			return r.inFileOrder(ctx, p.residual, reads, patience)
		}), limit)
	case p.way == byOrderedIndex:
		return p.walk(ctx, r, limit, reads, func(patience *int) iter.Seq2[kv.NodeID, error] {
			return p.inIndexOrder(ctx, r, limit, reads, patience)
		})
	default:
		a := arranger{reader: r, order: p.order, limit: limit, reads: reads, worst: &worstKey{}}
		return take(func(yield func(kv.NodeID, error) bool) {
			if err := a.arrange(ctx, p.matches(ctx, r, reads, a.worst), yield); err != nil {
				yield(0, err)
			}
		}, limit)
	}
}

// take ends a sequence after limit nodes; below zero there is no limit.
func take(rows iter.Seq2[kv.NodeID, error], limit int) iter.Seq2[kv.NodeID, error] {
	if limit < 0 {
		return rows
	}
	return func(yield func(kv.NodeID, error) bool) {
		rest := limit
		for v, err := range rows {
			rest--
			if !yield(v, err) || rest == 0 {
				return
			}
		}
	}
}

// matches yields the nodes for which the predicate is true in ascending NodeID, by the plan's source or a scan; the
// scan may leave out those that sort behind worst, unless it is nil.
func (p *Plan) matches(
	ctx context.Context, r *reader, reads *Reads, worst *worstKey,
) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		if p.way == byScan {
			s, err := p.blockScan()
			if err != nil {
				yield(0, err)
				return
			}
			s.inOrder(ctx, reads, worst)(yield)
			return
		}
		find := func() (*roaring.Bitmap, error) { return r.lookUp(ctx, p.ids) }
		if p.way == byRange {
			find = func() (*roaring.Bitmap, error) { return p.index.nodes(ctx, r, reads) }
		}
		set, err := find()
		if err != nil {
			yield(0, err)
			return
		}
		f := newFilter(r, p.residual, reads)
		var batch []kv.NodeID
		for nodes := set.Iterator(); nodes.HasNext(); {
			if batch = append(batch, kv.NodeID(nodes.Next())); len(batch) < lastBatch && nodes.HasNext() {
				continue
			}
			passed, err := f.decide(ctx, batch)
			if err != nil {
				yield(0, err)
				return
			}
			for i, v := range batch {
				if passed[i] && !yield(v, nil) {
					return
				}
			}
			batch = batch[:0]
		}
	}
}

// inIndexOrder yields the nodes of the plan's range scan that pass the residual, in the order of the index, and then
// those without a value in it.
func (p *Plan) inIndexOrder(
	ctx context.Context, r *reader, limit int, reads *Reads, patience *int,
) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		if p.order[0].Descending {
			p.head = openHead(p.tx, p.order[0].Property)
			r.head = p.head
		}
		w := &indexWalk{
			plan: p, reader: r, rest: limit, reads: reads, patience: patience, yield: yield, size: firstBatch,
			filter: newFilter(r, p.residual, reads),
		}
		if err := w.walk(ctx); err != nil {
			yield(0, err)
			return
		}
		if p.lastValue = (kv.Value{}); w.stopped || p.tail == nil {
			return
		}
		p.tail.run(ctx, r, w.rest, reads)(yield)
	}
}

// An indexWalk filters the entries of an index in batches and puts those of equal value in order.
type indexWalk struct {
	plan     *Plan
	reader   *reader
	reads    *Reads
	patience *int
	filter   *filter
	entries  int // passed
	rest     int // nodes still wanted; below zero all
	yield    func(kv.NodeID, error) bool
	stopped  bool // yield wants no more, rest is zero, or patience is over

	// The batch: nodes in index order, and the groups of equal keys within it.
	size   int
	nodes  []kv.NodeID
	groups []groupEnd

	tie    []kv.NodeID // passed so far of the group underway
	tieKey []byte
}

// A groupEnd is the key of a group, and where its nodes end in the batch.
type groupEnd struct {
	key []byte
	end int
}

func (w *indexWalk) walk(ctx context.Context) error {
	for g, err := range w.plan.index.groups(ctx, w.reader, w.reads, w.plan.order[0].Descending) {
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, g.nodes...)
		w.groups = append(w.groups, groupEnd{bytes.Clone(g.key), len(w.nodes)})
		if len(w.nodes) < w.size {
			continue
		}
		if err := w.flush(ctx); err != nil || w.stopped {
			return err
		}
	}
	if err := w.flush(ctx); err != nil || w.stopped {
		return err
	}
	return w.emit(ctx)
}

// flush filters the batch and emits every group that is complete.
func (w *indexWalk) flush(ctx context.Context) error {
	if *w.patience -= len(w.nodes); *w.patience < 0 {
		w.stopped = true
		return nil
	}
	if w.entries += len(w.nodes); w.reader.head != nil {
		if err := w.reader.head.read(w.entries); err != nil {
			return err
		}
	}
	passed, err := w.filter.decide(ctx, w.nodes)
	if err != nil {
		return err
	}
	i := 0
	for _, g := range w.groups {
		if !bytes.Equal(g.key, w.tieKey) {
			if err := w.emit(ctx); err != nil || w.stopped {
				return err
			}
			w.tieKey = g.key
		}
		for ; i < g.end; i++ {
			if passed[i] {
				w.tie = append(w.tie, w.nodes[i])
			}
		}
	}
	w.nodes, w.groups = w.nodes[:0], w.groups[:0]
	w.size = min(2*w.size, lastBatch)
	return nil
}

// emit yields the nodes of one group in the order that the rest of the query asks for.
func (w *indexWalk) emit(ctx context.Context) error {
	if len(w.tie) == 0 {
		return nil
	}
	w.plan.lastValue = knownValue(w.tieKey)
	if len(w.tie) == 1 {
		w.give(w.tie[0], nil)
		w.tie = w.tie[:0]
		return nil
	}
	slices.Sort(w.tie)
	order := w.plan.order[1:]
	if keyIsCut(w.tieKey) {
		order = w.plan.order // the values are not equal, only what the index holds of them
	}
	a := arranger{reader: w.reader, order: order, limit: w.rest, reads: w.reads}
	err := a.arrange(ctx, each(w.tie), w.give)
	w.tie = w.tie[:0]
	return err
}

// knownValue is the value that a key stands for, null if it stands for several: for strings that begin alike, and for
// zero and minus zero.
func knownValue(key []byte) kv.Value {
	if keyIsCut(key) {
		return kv.Value{}
	}
	value := decodeKey(key)
	if value.Kind() == kv.KindFloat && value.Float() == 0 {
		return kv.Value{}
	}
	return value
}

// give yields one node, and notes whether it was the last one wanted.
func (w *indexWalk) give(v kv.NodeID, err error) bool {
	w.rest--
	w.stopped = !w.yield(v, err) || w.rest == 0
	return !w.stopped
}

// each yields the nodes of a slice.
func each(nodes []kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}

package index

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A scanner tells the stretches of nodes where the blocks of the columns, by their least and greatest values, rule a
// predicate out.
type scanner struct {
	*reader
	blocks map[string]block
	reads  *Reads
}

// A block is the stretch of one column that has one least and one greatest value.
type block struct {
	kv.Range
	min, max kv.Value
}

func newScanner(r *reader, reads *Reads) *scanner {
	return &scanner{reader: r, blocks: map[string]block{}, reads: reads}
}

// may reports whether p can be true of a node from v on up to, not including, end.
func (s *scanner) may(p Predicate, v kv.NodeID) (may bool, end kv.NodeID, err error) {
	switch p := p.(type) {
	case And: // one term that rules the stretch out is enough, for as long as it does
		end = math.MaxUint32
		for _, t := range p.Terms {
			may, until, err := s.may(t, v)
			if err != nil || !may {
				return false, until, err
			}
			end = min(end, until)
		}
		return true, end, nil
	case Or:
		end = math.MaxUint32
		for _, t := range p.Terms {
			some, until, err := s.may(t, v)
			if err != nil {
				return false, 0, err
			}
			may, end = may || some, min(end, until)
		}
		return may, end, nil
	}
	name := leafProperty(p)
	if name == "" || !s.hasBlocks(name) { // no column rules a pair out
		return true, math.MaxUint32, nil
	}
	b, err := s.block(name, v)
	if err != nil {
		return false, 0, err
	}
	return b.mayHold(p), b.End, nil
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
	if b.Range, b.min, b.max, err = column.Block(v); err != nil {
		return block{}, err
	}
	s.blocks[name] = b
	return b, nil
}

// degreesFirst puts the terms of an And that bound degrees before the others. Degrees descend with NodeIDs but for
// later changes, so that those terms rule out the most blocks.
func degreesFirst(p Predicate) Predicate {
	and, ok := p.(And)
	if !ok {
		return p
	}
	bounds, rest := split(and, propertyDegree)
	return And{append(bounds, terms(rest)...)}
}

// mayHold reports whether a condition on the block's column can be true in it.
func (b block) mayHold(p Predicate) bool {
	if _, ok := p.(IsNull); ok {
		return true
	}
	if b.min.IsNull() { // no values at all
		return false
	}
	within := func(v kv.Value) bool { return CompareValues(b.min, v) <= 0 && CompareValues(v, b.max) <= 0 }
	switch p := p.(type) {
	case Compare:
		switch p.Op {
		case Eq:
			return within(p.Value)
		case Ne:
			return CompareValues(b.min, p.Value) != 0 || CompareValues(b.max, p.Value) != 0
		case Lt, Le:
			return p.Op.holds(CompareValues(b.min, p.Value))
		default:
			return p.Op.holds(CompareValues(b.max, p.Value))
		}
	case In: // its values ascend
		least, _ := slices.BinarySearchFunc(p.Values, b.min, CompareValues)
		return least < len(p.Values) && within(p.Values[least])
	case Like:
		prefix := p.parse().prefix()
		least := b.min.Str()
		return b.max.Str() >= prefix && least[:min(len(least), len(prefix))] <= prefix
	default:
		return true
	}
}

// inFileOrder yields the nodes for which p, simplified, is true in the order of the node file, reading values in
// batches so that neighbours are read together, and stops before the batch that cannot be spent.
func (s *scanner) inFileOrder(ctx context.Context, p Predicate, spend *allowance) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		f := newFilter(s.reader, p, s.reads)
		var batch []kv.NodeID
		size := firstBatch
		flush := func() bool {
			if !spend.batch(len(batch)) {
				return false
			}
			passed, err := f.decide(ctx, batch)
			if err != nil {
				yield(0, err)
				return false
			}
			for i, v := range batch {
				if passed[i] && !yield(v, nil) {
					return false
				}
			}
			batch, size = batch[:0], min(2*size, lastBatch)
			return true
		}
		for v, err := range s.tx.InFileOrder() {
			if err != nil {
				yield(0, err)
				return
			}
			if batch = append(batch, v); len(batch) == size && !flush() {
				return
			}
		}
		flush()
	}
}

package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// maxTop is the largest limit for which only the best rows are held; above it all rows are sorted.
	maxTop = 1 << 14

	// sortMemory bounds the bytes of rows sorted at a time; the rest waits in a temporary file in os.TempDir.
	sortMemory = 64 << 20

	// fileShare is from which part of all nodes on their places are bits.
	fileShare = 1 << 11
)

// An arranger puts nodes in the order of a query: by properties, nulls last, then by position in the node file. It may
// yield more than limit nodes.
type arranger struct {
	*reader
	order []Order
	limit int
	reads *Reads
	worst *worstKey // where top tells the scan that rows come from what to leave out; nil: no scan

	file *kv.Places
}

// errStopped ends a step of arrange whose yield wants no more.
var errStopped = errors.New("index: stopped")

// arrange yields rows, which come once each, in order. It ends without an error when yield wants no more.
func (a *arranger) arrange(
	ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool,
) (err error) {
	if a.file, err = a.tx.Places(); err != nil {
		return err
	}
	switch {
	case len(a.order) == 0:
		err = a.byPosition(ctx, rows, yield)
	case a.limit >= 0 && a.limit <= maxTop:
		err = a.top(rows, yield)
	default:
		err = a.sort(ctx, rows, yield)
	}
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// byPosition yields rows in the order of the node file. The places of few rows are sorted; those of many are bits.
func (a *arranger) byPosition(
	ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool,
) error {
	var few []uint64 // position, then node
	var many kv.NodeSet
	for v, err := range rows {
		if err != nil {
			return err
		}
		position, err := a.file.Of(v)
		if err != nil {
			return err
		}
		if many != nil {
			many.Add(kv.NodeID(position))
			continue
		}
		if few = append(few, uint64(position)<<32|uint64(v)); len(few) > a.tx.Shape().Present/fileShare {
			many = bitset.New[kv.NodeID](a.tx.NumNodes())
			for _, place := range few {
				many.Add(kv.NodeID(place >> 32))
			}
		}
	}
	if many == nil {
		slices.Sort(few)
		for _, place := range few {
			if !yield(kv.NodeID(uint32(place)), nil) {
				return errStopped
			}
		}
		return nil
	}
	steps := 0
	for position := range many.All() {
		if steps++; steps%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := a.file.NodeAt(int(position))
		if err != nil {
			return err
		}
		if !yield(v, nil) {
			return errStopped
		}
	}
	return nil
}

// appendSortKey appends what orders a node among others by bytes. For each property that is 00 and the key of
// the value, its bytes inverted where descending; null is 01.
func (a *arranger) appendSortKey(dst []byte, v kv.NodeID) ([]byte, error) {
	a.reads.Rows++
	for _, o := range a.order {
		at, err := a.values(o.Property)
		if err != nil {
			return nil, err
		}
		value, err := at(v)
		if err != nil {
			return nil, err
		}
		dst = appendSortPart(dst, value, o)
	}
	return dst, nil
}

// appendSortPart appends one value's part of a sort key.
func appendSortPart(dst []byte, value kv.Value, o Order) []byte {
	if value.IsNull() {
		return append(dst, 1)
	}
	dst = append(dst, 0)
	start := len(dst)
	dst = appendWholeKey(dst, value)
	if o.Descending {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// appendPosition appends the place of a node to its sort key: no two nodes have one key then.
func (a *arranger) appendPosition(key []byte, v kv.NodeID) ([]byte, error) {
	position, err := a.file.Of(v)
	return binary.BigEndian.AppendUint32(key, uint32(position)), err
}

// A keyedNode is a node with its sort key.
type keyedNode struct {
	key  []byte
	node kv.NodeID
}

// top yields the first limit rows. It holds at most twice as many.
func (a *arranger) top(rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool) error {
	var best []keyedNode
	var worst, key []byte // worst is the key of the last of the limit best so far, once there are as many
	keepBest := func() {
		slices.SortFunc(best, func(x, y keyedNode) int { return bytes.Compare(x.key, y.key) })
		if len(best) >= a.limit {
			best, worst = best[:a.limit], best[a.limit-1].key
		}
	}
	for v, err := range rows {
		if err != nil {
			return err
		}
		if key, err = a.appendSortKey(key[:0], v); err != nil {
			return err
		}
		if worst != nil && bytes.Compare(key, worst[:len(worst)-4]) > 0 {
			continue
		}
		if key, err = a.appendPosition(key, v); err != nil {
			return err
		}
		if worst != nil && bytes.Compare(key, worst) > 0 {
			continue
		}
		if best = append(best, keyedNode{bytes.Clone(key), v}); len(best) == 2*a.limit {
			keepBest()
			if a.worst != nil && a.hasBlocks(a.order[0].Property) {
				a.worst.order, a.worst.key = a.order[0], worst
			}
		}
	}
	keepBest()
	for _, r := range best {
		if !yield(r.node, nil) {
			return errStopped
		}
	}
	return nil
}

// sort yields all rows.
func (a *arranger) sort(
	ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool,
) (err error) {
	sorter := spill.New(os.TempDir(), sortMemory)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	var key, number []byte
	for v, err := range rows {
		if err != nil {
			return err
		}
		if key, err = a.appendSortKey(key[:0], v); err != nil {
			return err
		}
		if key, err = a.appendPosition(key, v); err != nil {
			return err
		}
		number = binary.BigEndian.AppendUint32(number[:0], uint32(v))
		if err := sorter.Add(key, number); err != nil {
			return err
		}
	}
	for record, err := range sorter.Records(ctx) {
		if err != nil {
			return err
		}
		if !yield(kv.NodeID(binary.BigEndian.Uint32(record.Value)), nil) {
			return errStopped
		}
	}
	return nil
}

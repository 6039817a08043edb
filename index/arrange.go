package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/kv/spill"
)

const (
	// maxTop is the largest limit for which only the best rows are held; above it all rows are sorted.
	maxTop = 1 << 14

	// sortMemory bounds the bytes of rows sorted at a time; the rest waits in a temporary file in os.TempDir.
	sortMemory = 64 << 20
)

// An arranger puts nodes in the order of a query: by properties, nulls last, then by position in the node file. It
// may yield more than limit nodes; only the first limit are in their place.
type arranger struct {
	*reader
	order   []Order
	limit   int
	touched *Touched
}

// arrange yields rows, which come once each, in order. It ends without an error when yield wants no more.
func (a *arranger) arrange(ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool) error {
	var err error
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

// errStopped ends a step of arrange whose yield wants no more.
var errStopped = errors.New("index: stopped")

// byPosition yields rows in file order. Few have their positions looked up and sorted; many are a bitmap, one bit a
// node at most, and the node file is walked past it.
func (a *arranger) byPosition(ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool) error {
	set := roaring.New()
	var batch []uint32
	for v, err := range rows {
		if err != nil {
			return err
		}
		if batch = append(batch, uint32(v)); len(batch) == lastBatch {
			set.AddMany(batch)
			batch = batch[:0]
		}
	}
	set.AddMany(batch)
	if float64(set.GetCardinality())*positionCost > fileCost*float64(a.tx.NumNodes()) {
		return a.walkFile(ctx, set, yield)
	}
	var places []uint64 // position, then node
	for nodes := set.Iterator(); nodes.HasNext(); {
		v := nodes.Next()
		if len(places)%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		position, err := a.tx.Position(kv.NodeID(v))
		if err != nil {
			return err
		}
		places = append(places, uint64(position)<<32|uint64(v))
	}
	slices.Sort(places)
	for _, p := range places {
		if !yield(kv.NodeID(uint32(p)), nil) {
			return errStopped
		}
	}
	return nil
}

// tied yields nodes of equal keys in file order.
func (a *arranger) tied(ctx context.Context, nodes []kv.NodeID, yield func(kv.NodeID, error) bool) error {
	switch {
	case len(nodes) == 0:
		return nil
	case len(nodes) > 1:
		return a.byPosition(ctx, each(nodes), yield)
	case !yield(nodes[0], nil):
		return errStopped
	default:
		return nil
	}
}

// walkFile yields the nodes of set in file order.
func (a *arranger) walkFile(ctx context.Context, set *roaring.Bitmap, yield func(kv.NodeID, error) bool) error {
	left, seen := set.GetCardinality(), 0
	for v, err := range a.tx.InFileOrder() {
		if err != nil {
			return err
		}
		if seen%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		seen++
		if !set.Contains(uint32(v)) {
			continue
		}
		if !yield(v, nil) {
			return errStopped
		}
		if left--; left == 0 {
			return nil
		}
	}
	return nil
}

// appendSortKey appends what orders a node among others by bytes. For each property that is 00 and the key of
// the value, its bytes inverted where descending; null is 01.
func (a *arranger) appendSortKey(dst []byte, v kv.NodeID) ([]byte, error) {
	a.touched.Rows++
	for _, o := range a.order {
		column, err := a.column(o.Property)
		if err != nil {
			return nil, err
		}
		value, err := column.At(v)
		if err != nil {
			return nil, err
		}
		if value.IsNull() {
			dst = append(dst, 1)
			continue
		}
		dst = append(dst, 0)
		start := len(dst)
		dst = appendWholeKey(dst, value)
		if o.Descending {
			for i := start; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
		}
	}
	return dst, nil
}

// A ranked is a node with its sort key. Its position is looked up when another has the same key.
type ranked struct {
	key      []byte
	node     kv.NodeID
	position int // -1: not known yet
}

// top yields the first limit rows. It holds at most twice as many: when they are that many, the better half stays.
func (a *arranger) top(rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool) error {
	var best []*ranked
	var failed error
	compare := func(x, y *ranked) int {
		if c := bytes.Compare(x.key, y.key); c != 0 || x == y {
			return c
		}
		for _, r := range []*ranked{x, y} {
			if r.position < 0 && failed == nil {
				r.position, failed = a.tx.Position(r.node)
			}
		}
		return cmp.Compare(x.position, y.position)
	}
	var worst *ranked // of the limit best so far, once there are as many
	var key []byte
	for v, err := range rows {
		if err != nil {
			return err
		}
		if key, err = a.appendSortKey(key[:0], v); err != nil {
			return err
		}
		if worst != nil && bytes.Compare(key, worst.key) > 0 {
			continue
		}
		best = append(best, &ranked{bytes.Clone(key), v, -1})
		if len(best) < 2*a.limit {
			continue
		}
		slices.SortFunc(best, compare)
		best = best[:a.limit]
		worst = best[a.limit-1]
		if failed != nil {
			return failed
		}
	}
	slices.SortFunc(best, compare)
	if failed != nil {
		return failed
	}
	for _, r := range best {
		if !yield(r.node, nil) {
			return errStopped
		}
	}
	return nil
}

// sort yields all rows. Those of one key come together, and are then put in file order.
func (a *arranger) sort(ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool) (err error) {
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
		number = binary.BigEndian.AppendUint32(number[:0], uint32(v))
		if err := sorter.Add(key, number); err != nil {
			return err
		}
	}
	var tie []kv.NodeID
	var tieKey []byte
	for record, err := range sorter.Sorted(ctx) {
		if err != nil {
			return err
		}
		if !bytes.Equal(record.Key, tieKey) {
			if err := a.tied(ctx, tie, yield); err != nil {
				return err
			}
			tie, tieKey = tie[:0], append(tieKey[:0], record.Key...)
		}
		tie = append(tie, kv.NodeID(binary.BigEndian.Uint32(record.Value)))
	}
	return a.tied(ctx, tie, yield)
}

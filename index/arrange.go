package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// maxTop is the largest limit for which only the best rows are held; above it all rows are sorted.
	maxTop = 1 << 14

	// sortMemory bounds the bytes of rows sorted at a time; the rest waits in a temporary file in os.TempDir.
	sortMemory = 64 << 20

	// fileShare is from which part of all nodes on their places are found by a walk of the node file.
	fileShare = 1 << 11
)

// An arranger puts nodes in the order of a query: by properties, nulls last, then by position in the node file. It
// may yield more than limit nodes; only the first limit are in their place.
type arranger struct {
	*reader
	order []Order
	limit int
	reads *Reads
	worst *worstKey // where top tells the scan that rows come from what to leave out; nil: no scan
}

// arrange yields rows, which come once each, in order. It ends without an error when yield wants no more.
func (a *arranger) arrange(
	ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool,
) error {
	var err error
	switch {
	case len(a.order) == 0:
		err = a.byPosition(ctx, rows, yield)
	case a.limit >= 0 && a.limit <= maxTop:
		err = a.top(ctx, rows, yield)
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
func (a *arranger) byPosition(
	ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool,
) error {
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
	return a.inFileOrder(ctx, set, yield)
}

// inFileOrder yields the nodes of set in file order.
func (a *arranger) inFileOrder(ctx context.Context, set *roaring.Bitmap, yield func(kv.NodeID, error) bool) error {
	if set.GetCardinality() > uint64(a.tx.NumPresent()/fileShare) {
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

// yieldTied yields nodes of equal keys in file order.
func (a *arranger) yieldTied(ctx context.Context, nodes []kv.NodeID, yield func(kv.NodeID, error) bool) error {
	switch {
	case len(nodes) == 0:
		return nil
	case len(nodes) > 1:
		return a.byPosition(ctx, Each(nodes), yield)
	case !yield(nodes[0], nil):
		return errStopped
	default:
		return nil
	}
}

// walkFile yields the nodes of set, which are many, in file order: a bit for each place says if its node is one of
// them.
func (a *arranger) walkFile(ctx context.Context, set *roaring.Bitmap, yield func(kv.NodeID, error) bool) error {
	file, err := a.tx.Places()
	if err != nil {
		return err
	}
	places, steps := kv.NewNodeSet(a.tx.NumNodes()), 0
	for nodes := set.Iterator(); nodes.HasNext(); steps++ {
		if steps%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		position, err := file.Of(kv.NodeID(nodes.Next()))
		if err != nil {
			return err
		}
		places.Add(kv.NodeID(position))
	}
	for position := range places.All() {
		if steps%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		steps++
		v, err := file.NodeAt(int(position))
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

// appendSortPart appends what one value adds to a sort key.
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

// A keyedNode is a node with its sort key.
type keyedNode struct {
	key  []byte
	node kv.NodeID
}

func compareKeys(x, y keyedNode) int { return bytes.Compare(x.key, y.key) }

// top yields the first limit rows. It holds at most twice as many, and as a bitmap those that have the key of the last:
// which of these come first is told when all are known.
func (a *arranger) top(
	ctx context.Context, rows iter.Seq2[kv.NodeID, error], yield func(kv.NodeID, error) bool,
) error {
	if a.worst != nil && a.hasBlocks(a.order[0].Property) {
		a.worst.order = a.order[0]
	}
	var best []keyedNode
	var worst, key []byte // worst is the key of the last of the limit best so far, once there are as many
	last := roaring.New() // the nodes with that key
	for v, err := range rows {
		if err != nil {
			return err
		}
		if key, err = a.appendSortKey(key[:0], v); err != nil {
			return err
		}
		if worst != nil {
			if c := bytes.Compare(key, worst); c > 0 {
				continue
			} else if c == 0 {
				last.Add(uint32(v))
				continue
			}
		}
		if best = append(best, keyedNode{bytes.Clone(key), v}); len(best) < 2*a.limit {
			continue
		}
		slices.SortFunc(best, compareKeys)
		if worst = best[a.limit-1].key; a.worst != nil {
			a.worst.key = worst
		}
		last.Clear()
		better := 0
		for _, r := range best {
			switch bytes.Compare(r.key, worst) {
			case -1:
				better++
			case 0:
				last.Add(uint32(r.node))
			}
		}
		best = best[:better]
	}
	slices.SortFunc(best, compareKeys)
	var tie []kv.NodeID
	for i, r := range best {
		tie = append(tie, r.node)
		if i+1 < len(best) && bytes.Equal(r.key, best[i+1].key) {
			continue
		}
		if err := a.yieldTied(ctx, tie, yield); err != nil {
			return err
		}
		tie = tie[:0]
	}
	if len(best) >= a.limit {
		return nil
	}
	return a.inFileOrder(ctx, last, yield)
}

// sort yields all rows. Those of one key come together, and are then put in file order.
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
		number = binary.BigEndian.AppendUint32(number[:0], uint32(v))
		if err := sorter.Add(key, number); err != nil {
			return err
		}
	}
	var tie []kv.NodeID
	var tieKey []byte
	for record, err := range sorter.Records(ctx) {
		if err != nil {
			return err
		}
		if !bytes.Equal(record.Key, tieKey) {
			if err := a.yieldTied(ctx, tie, yield); err != nil {
				return err
			}
			tie, tieKey = tie[:0], append(tieKey[:0], record.Key...)
		}
		tie = append(tie, kv.NodeID(binary.BigEndian.Uint32(record.Value)))
	}
	return a.yieldTied(ctx, tie, yield)
}

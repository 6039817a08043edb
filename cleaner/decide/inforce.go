package decide

import (
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/graphcleaner/graphcleaner/kv"
)

// InForce finds the decisions that hold now: of a node, or with kv.NoNode those of all nodes from entry from on. A
// decision holds if nobody took it back, its person has not decided on the node again, and the node is there with the
// label that the decision names. The function that it returns reports whether the entry with a number is one of them.
// Memory holds some bytes for each entry.
func InForce(ctx context.Context, tx *kv.Tx, node kv.NodeID, from int64) (isInForce func(seq int64) bool, err error) {
	removed, err := tx.Removed()
	if err != nil {
		return nil, err
	}
	undone, inForce := roaring64.New(), roaring64.New()
	again := map[string]*roaring.Bitmap{}  // by person: the nodes of later decisions that stand
	labels := map[string]*roaring.Bitmap{} // by label: the nodes that have it now
	seen := roaring.New()
	add := func(d *Decision) {
		v := uint32(d.Node)
		if seen.CheckedAdd(v) {
			bitmapOf(labels, d.Label).Add(v) // the newest entry says what the node has now
		}
		switch {
		case d.Undoes != 0:
			undone.Add(uint64(d.Undoes))
		case undone.Contains(uint64(d.Seq)) || !bitmapOf(again, d.Who).CheckedAdd(v):
		case bitmapOf(labels, d.To).Contains(v) && !removed.Has(d.Node):
			inForce.Add(uint64(d.Seq))
		}
	}
	isInForce = func(seq int64) bool { return inForce.Contains(uint64(seq)) }
	if node == kv.NoNode {
		for d, err := range historyBackwards(ctx, tx, math.MaxInt64) {
			if err != nil {
				return nil, err
			}
			if d.Seq < from {
				break
			}
			add(&d.Decision)
		}
		return isInForce, nil
	}
	var entries []Decision
	for d, err := range History(ctx, tx, node) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, d)
	}
	for _, d := range slices.Backward(entries) {
		add(&d)
	}
	return isInForce, nil
}

// bitmapOf is the bitmap under a name, which is made if it is not there.
func bitmapOf(bitmaps map[string]*roaring.Bitmap, name string) *roaring.Bitmap {
	b := bitmaps[name]
	if b == nil {
		b = roaring.New()
		bitmaps[name] = b
	}
	return b
}

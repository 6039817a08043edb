package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/batch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// addNodes adds the nodes again that entries are about and that are not there: the commit that had added them was lost.
// They have no edges. The nodes between them, of which no entry tells, are removed at once.
func (r *historyRepair) addNodes(ctx context.Context) error {
	lost := map[kv.NodeID]string{} // their ids
	nodes := 0
	err := r.store.View(func(tx *kv.Tx) error {
		nodes = tx.NumNodes()
		for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
			if err != nil {
				return err
			}
			if seq, err := parseEntryKey(e.Key); err == nil {
				if d, err := parseDecision(seq, e.Value); err == nil && int64(d.Node) >= int64(nodes) {
					lost[d.Node] = d.ID
				}
			}
		}
		return nil
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	last := slices.Max(slices.Collect(maps.Keys(lost)))
	return batch.Each(ctx, r.store, r.atOnce, int(last)+1-nodes, func(tx *kv.Tx, first, end int) error {
		for v := nodes + first; v < nodes+end; v++ {
			id, told := lost[kv.NodeID(v)]
			if _, err := tx.Node(id); !told || err == nil { // another node has the id
				id = fmt.Sprint(kv.LostPrefix, v)
			} else if !errors.Is(err, kv.ErrNotFound) {
				return err
			}
			_, err := tx.AddNode(kv.Node{ID: id})
			if err == nil && !told {
				err = tx.RemoveNode(kv.NodeID(v))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func(first, end int) {
		for v := nodes + first; v < nodes+end; v++ {
			if id, told := lost[kv.NodeID(v)]; told {
				r.report(kv.Correction{
					Where: "history", What: fmt.Sprintf("node %s, about which there are entries, is not there", id),
					Done: "added again, without edges",
				})
			}
		}
	})
}

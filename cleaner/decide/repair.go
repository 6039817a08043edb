package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Repair adds the nodes again, without edges, that entries are about and that were lost, and sets label and decision of
// a decided node from its last entry. It calls report for what it did. It changes no entry: kv.Repair takes them from
// decisions.log, and Check still reports those that both copies have lost. Nodes with such entries stay as they are.
//
// First run kv.Repair, then open the store with index.Open; nobody else may write to it. After an error or a kill, run
// it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	tell := func(c kv.Correction) {
		c.Where = "history"
		report(c)
	}
	err := addNodes(ctx, s, tell)
	if err == nil {
		err = correctColumns(ctx, s, tell)
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// addNodes adds the nodes again that entries are about and that are not there: the commit that had added them was lost.
// They have no edges. The nodes between them, of which no entry tells, are removed at once.
func addNodes(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	lost := map[kv.NodeID]string{} // their ids
	nodes := 0
	err := s.View(func(tx *kv.Tx) error {
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
	return inBatches(ctx, s, batchSize, int(last)+1-nodes, func(tx *kv.Tx, first, end int) error {
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
				report(kv.Correction{
					What: fmt.Sprintf("node %s, about which there are entries, is not there", id), Done: "added again, without edges",
				})
			}
		}
	})
}

// correctColumns sets labels that are missing, and decisions, to what the last entries about their nodes say.
func correctColumns(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	nodes := 0
	if err := s.View(func(tx *kv.Tx) error { nodes = tx.NumNodes(); return nil }); err != nil {
		return err
	}
	set, more := 0, 0 // values, and those of the transaction
	err := inBatches(ctx, s, batchSize, nodes, func(tx *kv.Tx, first, end int) error {
		var wrong []difference
		err := compareNodes(ctx, tx, kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, func(d difference) error {
			wrong = append(wrong, d)
			return d.err
		})
		if err != nil {
			return err
		}
		for _, d := range wrong {
			if err := d.column.set(tx, d.node, d.want); err != nil {
				return err
			}
		}
		more = len(wrong)
		return nil
	}, func(int, int) { set += more })
	if set > 0 {
		report(kv.Correction{
			What: "nodes that do not have what their last entries say",
			Done: fmt.Sprintf("%d values of labels and decisions set again", set),
		})
	}
	return err
}

// batchSize is how many things are written in one transaction.
const batchSize = 1000

// inBatches calls write for the things 0 to n−1, at most size of them in a transaction, and done once they are on disk.
// A range that does not fit into a transaction is halved.
func inBatches(
	ctx context.Context, s *kv.Store, size, n int, write func(tx *kv.Tx, first, end int) error, done func(first, end int),
) error {
	for first := 0; first < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+size, n)
		err := s.Update(func(tx *kv.Tx) error { return write(tx, first, end) })
		if errors.Is(err, kv.ErrTxTooBig) && size > 1 {
			size = (end - first + 1) / 2
			continue
		}
		if err != nil {
			return err
		}
		done(first, end)
		first = end
	}
	return nil
}

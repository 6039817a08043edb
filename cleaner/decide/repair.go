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

// Repair makes history, labels and decisions agree again, and calls report for what it did. Entries that cannot be read
// are marked as lost: all others keep their numbers, and the lost ones count as if nobody had made them. A node that is
// lost is added again, without edges. Repair sets label and decision of a decided node from its last entry.
//
// First run kv.Repair, then open the store with index.Open; nobody else may write to it. After an error or a kill, run
// it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	sound := true
	err := s.View(func(tx *kv.Tx) error {
		return Check(ctx, tx, func(kv.Problem) { sound = false })
	})
	if err != nil || sound {
		return err
	}
	tell := func(c kv.Correction) {
		c.Where = "history"
		report(c)
	}
	for _, step := range []func(context.Context, *kv.Store, func(kv.Correction)) error{addNodes, rewriteHistory, correctColumns} {
		if err := step(ctx, s, tell); err != nil {
			return fmt.Errorf("history: %w", err)
		}
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
	return batch.Each(ctx, s, batch.Size, int(last)+1-nodes, func(tx *kv.Tx, first, end int) error {
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

// rewriteHistory marks the entries that are lost, and has all others found by their nodes.
func rewriteHistory(ctx context.Context, s *kv.Store, report func(kv.Correction)) (err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	tx, records := b.Tx(), b.Sorter()
	defer func() { err = errors.Join(err, records.Close()) }()
	var last, lost, unfound, wrong int64
	loseUpTo := func(end int64) (err error) {
		for ; last < end && err == nil; last++ {
			lost++
			err = records.Add(entryKey(last+1), []byte{lostForm})
		}
		return err
	}
	for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
		if err != nil {
			return err
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			wrong++
			continue
		}
		d, unread := parseDecision(seq, e.Value)
		isMarked := errors.Is(unread, errLost)
		if unread == nil || isMarked {
			err = errors.Join(loseUpTo(seq-1), records.Add(e.Key, e.Value))
			last = seq
		} else {
			err = loseUpTo(seq)
		}
		if unread == nil {
			unfound++
			err = errors.Join(err, records.Add(nodeKey(d.Node, seq), nil))
		}
		if err != nil {
			return err
		}
	}
	for e, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
		if err != nil {
			return err
		}
		v, seq, ok := parseNodeKey(e.Key)
		if ok && seq > 0 && int(v) < tx.NumNodes() { // entries after the last one that is there are lost
			err = loseUpTo(seq)
		}
		if err != nil {
			return err
		}
		if d, err := readDecision(tx, seq); ok && err == nil && d.Node == v {
			unfound--
		} else {
			wrong++
		}
	}
	if lost+unfound+wrong == 0 {
		return nil
	}
	if err := commitHistory(ctx, b, records, func(*kv.Tx) error { return nil }); err != nil {
		return err
	}
	if lost > 0 {
		report(kv.Correction{
			What: fmt.Sprintf("%d entries are missing or cannot be read", lost), Done: "left out, as if nobody had made them",
			Lost: kv.Losses{{Kind: "entry of the history", Count: lost}},
		})
	}
	if unfound+wrong > 0 {
		report(kv.Correction{
			What: fmt.Sprintf("%d entries were not found by their nodes, and %d keys were of no entry", unfound, wrong), Done: "put right",
		})
	}
	return nil
}

// correctColumns sets labels that are missing, and decisions, to what the last entries about their nodes say.
func correctColumns(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	nodes := 0
	if err := s.View(func(tx *kv.Tx) error { nodes = tx.NumNodes(); return nil }); err != nil {
		return err
	}
	set, more := 0, 0 // values, and those of the transaction
	err := batch.Each(ctx, s, batch.Size, nodes, func(tx *kv.Tx, first, end int) error {
		var wrong []difference
		err := compareNodes(ctx, tx, kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, func(d difference) error {
			wrong = append(wrong, d)
			return d.err
		})
		if err != nil {
			return err
		}
		for _, d := range wrong {
			if d.column == kv.LabelColumn {
				err = tx.SetLabel(d.node, d.want.Str())
			} else {
				err = setValue(tx, d.node, d.column, d.want)
			}
			if err != nil {
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

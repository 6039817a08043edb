package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Repair makes history, labels and decisions agree again, and calls report for what it did. Entries that kv.Repair has
// found in no copy are marked as lost: all others keep their numbers, and the lost ones count as if nobody had made
// them. A node that is lost is added again, without edges. Label and decision of a decided node are those of its last
// entry.
//
// First run kv.Repair, then open the store with index.Open; nobody else may write to it. After an error or a kill, run
// it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	tell := func(c kv.Correction) {
		c.Where = "history"
		report(c)
	}
	for _, step := range []func(context.Context, *kv.Store, func(kv.Correction)) error{
		addNodes, markLost, correctColumns,
	} {
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

// markLost marks the entries that are lost, and has all others found by their nodes. Memory holds what it changes.
func markLost(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	type change struct {
		key, value []byte
		isDeleted  bool
	}
	var changes []change
	var last, lost int64
	loseUpTo := func(end int64) {
		for ; last < end; last++ {
			lost++
			changes = append(changes, change{key: entryKey(last + 1), value: []byte{lostForm}})
		}
	}
	err := s.View(func(tx *kv.Tx) error {
		for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
			if err != nil {
				return err
			}
			seq, err := parseEntryKey(e.Key)
			if err != nil {
				changes = append(changes, change{key: slices.Clone(e.Key), isDeleted: true})
				continue
			}
			d, err := parseDecision(seq, e.Value)
			if err != nil && !errors.Is(err, errLost) {
				loseUpTo(seq)
				continue
			}
			loseUpTo(seq - 1)
			last = seq
			if err != nil {
				continue
			}
			key := nodeKey(d.Node, seq)
			if _, err := tx.Space(historySpace).Get(key); errors.Is(err, kv.ErrNotFound) {
				changes = append(changes, change{key: key})
			} else if err != nil {
				return err
			}
		}
		for e, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
			if err != nil {
				return err
			}
			v, seq, ok := parseNodeKey(e.Key)
			if ok && int(v) < tx.NumNodes() { // entries after the last one that is there are lost
				loseUpTo(seq)
			}
			if ok {
				_, err = readAbout(tx, v, seq)
			}
			if !ok || errors.Is(err, kv.ErrCorrupt) {
				changes = append(changes, change{key: slices.Clone(e.Key), isDeleted: true})
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(changes) == 0 {
		return err
	}
	err = inBatches(ctx, s, batchSize, len(changes), func(tx *kv.Tx, first, end int) (err error) {
		for _, c := range changes[first:end] {
			if c.isDeleted {
				err = errors.Join(err, tx.Space(historySpace).Delete(c.key))
			} else {
				err = errors.Join(err, tx.Space(historySpace).Put(c.key, c.value))
			}
		}
		return err
	}, func(int, int) {})
	if err != nil {
		return err
	}
	done := kv.Correction{What: "entries that are not found by their nodes, or keys of no entry", Done: "put right"}
	if lost > 0 {
		done = kv.Correction{
			What: fmt.Sprintf("%d entries are missing or cannot be read", lost),
			Done: "left out, as if nobody had made them",
			Lost: kv.Losses{{Kind: "entry of the history", Count: lost}},
		}
	}
	report(done)
	return nil
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

package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Check compares the history with itself and with the columns, and calls report for each entry that is missing or
// damaged, and for each node whose label or decision is not what the last entry about it says. If kv.Tx.SetLabel
// changed the label of a decided node, Check reports this too, because it looks like a lost decision. Use Write to
// change such a label. If all decisions about a node were taken back, its label may be any. Entries about a removed
// node stay, and are compared with each other only. Check returns an error only if it cannot continue, such as
// ctx.Err().
func Check(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error {
	problem := func(format string, args ...any) {
		report(kv.Problem{Where: "history", What: fmt.Sprintf(format, args...)})
	}
	err := findFlaws(ctx, tx, func(f flaw) error {
		problem("%s", f.what)
		return nil
	})
	if err == nil {
		damaged := map[string]bool{} // columns, of whose other blocks nothing is said
		err = compareNodes(ctx, tx, func(d difference) error {
			id, err := tx.ID(d.last.Node)
			if err = errors.Join(d.err, err); err == nil {
				problem("node %s has the %s %q, and its history says %q", id, d.column.name, d.is, d.column.value(d.last))
			} else if !damaged[d.column.name] {
				damaged[d.column.name] = true
				problem("%s of node number %d: %v", d.column.name, d.last.Node, err)
			}
			return nil
		})
	}
	if err != nil && ctx.Err() == nil {
		problem("%v", err)
	}
	return ctx.Err()
}

// Repair makes history, labels and decisions agree again, and calls report for what it did. Entries that kv.Repair has
// found in no copy are marked as lost: all others keep their numbers, and the lost ones count as if nobody had made
// them. A node that is lost is added again, without edges. Label and decision of a decided node are those of its last
// entry.
//
// First run kv.Repair, then open the store with index.Open; nobody else may write to it. After an error or a kill, run
// it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	tell := func(lost kv.Losses, done, what string, args ...any) {
		report(kv.Correction{Where: "history", What: fmt.Sprintf(what, args...), Done: done, Lost: lost})
	}
	count, err := correct(ctx, s, findLostNodes, addLostNode)
	if count > 0 {
		tell(nil, "added again, without edges", "%d nodes, of some of which there are entries, are not there", count)
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	lost, put := int64(0), 0
	_, err = correct(ctx, s, findFlaws, func(tx *kv.Tx, f flaw) error {
		if f.key == nil {
			return nil
		}
		put++
		if f.value == nil {
			return tx.Space(historySpace).Delete(f.key)
		}
		if len(f.value) > 0 {
			lost++
		}
		return tx.Space(historySpace).Put(f.key, f.value)
	})
	if lost > 0 {
		tell(kv.Losses{{Kind: "entry of the history", Count: lost}}, "left out, as if nobody had made them",
			"%d entries are missing or cannot be read", lost)
	} else if put > 0 {
		tell(nil, "put right", "entries that are not found by their nodes, or keys of no entry")
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	count, err = correct(ctx, s, compareNodes, func(tx *kv.Tx, d difference) error {
		if d.err != nil {
			return d.err
		}
		return d.column.set(tx, d.last)
	})
	if count > 0 {
		tell(nil, fmt.Sprintf("%d values of labels and decisions set again", count),
			"nodes that do not have what their last entries say")
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// batchSize is how many things are corrected in one transaction.
const batchSize = 200

// correct has write correct what find finds in a snapshot, and counts what is on disk.
func correct[T any](
	ctx context.Context, s *kv.Store, find func(context.Context, *kv.Tx, func(T) error) error,
	write func(*kv.Tx, T) error,
) (count int, err error) {
	var found []T
	writeAll := func() error {
		err := s.UpdateContext(ctx, func(tx *kv.Tx) error {
			for _, each := range found {
				if err := write(tx, each); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			count += len(found)
		}
		found = nil
		return err
	}
	err = s.View(func(tx *kv.Tx) error {
		return find(ctx, tx, func(each T) error {
			if found = append(found, each); len(found) < batchSize {
				return nil
			}
			return writeAll()
		})
	})
	if err == nil && len(found) > 0 {
		err = writeAll()
	}
	return count, err
}

// A lostNode is one after the last that is there.
type lostNode struct {
	node      kv.NodeID
	id        string
	isDecided bool // there are entries about it, else it has no id
}

// findLostNodes calls fn for the nodes up to the last that entries are about and that is not there: the commit that had
// added it was lost.
func findLostNodes(ctx context.Context, tx *kv.Tx, fn func(lostNode) error) error {
	ids := map[kv.NodeID]string{}
	end := kv.NodeID(tx.NumNodes())
	for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
		if err != nil {
			return err
		}
		if seq, err := parseEntryKey(e.Key); err == nil {
			if d, err := parseDecision(seq, e.Value); err == nil && int64(d.Node) >= int64(tx.NumNodes()) {
				ids[d.Node] = d.ID
				end = max(end, d.Node+1)
			}
		}
	}
	for v := kv.NodeID(tx.NumNodes()); v < end; v++ {
		id, isDecided := ids[v]
		if err := fn(lostNode{v, id, isDecided}); err != nil {
			return err
		}
	}
	return nil
}

// addLostNode adds a node again. One of which no entry tells is removed at once.
func addLostNode(tx *kv.Tx, lost lostNode) error {
	id := lost.id
	if _, err := tx.Node(id); !lost.isDecided || err == nil { // another node has the id
		id = fmt.Sprint(kv.LostPrefix, lost.node)
	} else if !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	v, err := tx.AddNode(kv.Node{ID: id})
	if err == nil && !lost.isDecided {
		err = tx.RemoveNode(v)
	}
	return err
}

// A flaw is what is wrong with a record of the history, and what puts it right: value under key. Without a value the
// key goes, and without a key nothing can be done.
type flaw struct {
	what       string
	key, value []byte
}

// lostEntry is that an entry cannot be read.
func lostEntry(seq int64, format string, args ...any) flaw {
	return flaw{fmt.Sprintf("entry %d %s", seq, fmt.Sprintf(format, args...)), entryKey(seq), []byte{lostForm}}
}

// findFlaws calls fn for each entry that cannot be read, is not found by its node, or is about another node than it
// says, and for each key of no entry.
func findFlaws(ctx context.Context, tx *kv.Tx, fn func(flaw) error) error {
	ids, err := tx.Reader("id")
	if err != nil {
		return err
	}
	last, sound := int64(0), int64(0) // entry, and how many are found by their nodes
	missing := func(end int64) (err error) {
		for ; last < end && err == nil; last++ {
			err = fn(lostEntry(last+1, "is missing"))
		}
		return err
	}
	for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
		if err != nil {
			return err
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			if err := fn(flaw{what: err.Error(), key: slices.Clone(e.Key)}); err != nil {
				return err
			}
			continue
		}
		if err := missing(seq - 1); err != nil {
			return err
		}
		last = seq
		d, err := parseDecision(seq, e.Value)
		switch {
		case err == nil:
			var isFound bool
			if isFound, err = findFlawsOf(tx, d.Decision, ids, fn); isFound {
				sound++
			}
		case errors.Is(err, errLost):
			err = nil
		default:
			err = fn(lostEntry(seq, "cannot be read: %v", err))
		}
		if err != nil {
			return err
		}
	}
	for _, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
		if err != nil {
			return err
		}
		sound--
	}
	if sound == 0 {
		return nil // all keys are of these entries
	}
	for e, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
		if err != nil {
			return err
		}
		v, seq, ok := parseNodeKey(e.Key)
		if ok = ok && int(v) < tx.NumNodes(); ok { // entries after the last one that is there are lost
			if err = missing(seq); err == nil {
				_, err = readAbout(tx, v, seq)
			}
		}
		if !ok || errors.Is(err, kv.ErrCorrupt) {
			err = fn(flaw{what: fmt.Sprintf("there is no entry for the key %x", e.Key), key: slices.Clone(e.Key)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findFlawsOf calls fn if the node of an entry is not there, does not lead to it, or has another id. It reports whether
// it leads to it.
func findFlawsOf(tx *kv.Tx, d Decision, ids *kv.ColumnReader, fn func(flaw) error) (isFound bool, err error) {
	if int(d.Node) >= tx.NumNodes() {
		return false, fn(lostEntry(d.Seq, "is about node number %d of %d", d.Node, tx.NumNodes()))
	}
	id, err := ids.At(d.Node)
	if err != nil && !errors.Is(err, kv.ErrCorrupt) {
		return false, err
	}
	if isMade := strings.HasPrefix(id.String(), kv.LostPrefix); !id.IsNull() && id.String() != d.ID && !isMade {
		what := fmt.Sprintf("entry %d is about node %q, and node number %d is %q", d.Seq, d.ID, d.Node, id)
		if err := fn(flaw{what: what}); err != nil {
			return false, err
		}
	}
	key := nodeKey(d.Node, d.Seq)
	_, err = tx.Space(historySpace).Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		return false, fn(flaw{fmt.Sprintf("entry %d is not found by its node %s", d.Seq, d.ID), key, []byte{}})
	}
	return err == nil, err
}

// A difference is a value of a node that differs from the history, or cannot be read.
type difference struct {
	column *entryColumn
	is     kv.Value
	err    error
	last   *draft // the entry about the node
}

// compareNodes compares the columns of all nodes with the entries about them, of which it passes over what cannot be
// read, and calls fn for each difference.
func compareNodes(ctx context.Context, tx *kv.Tx, fn func(difference) error) error {
	removed, err := tx.Removed()
	if err != nil {
		return err
	}
	var read [len(entryColumns)]func(kv.NodeID) (kv.Value, error)
	for i, column := range entryColumns {
		if read[i], err = readColumn(tx, column.name); err != nil {
			return err
		}
	}
	people := entryReader{ctx: ctx, tx: tx}
	defer people.stop()
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		entries, err := people.of(v)
		if people.err != nil {
			return people.err
		}
		if err != nil && !errors.Is(err, kv.ErrCorrupt) {
			return err
		}
		if err != nil || removed.Has(v) {
			continue
		}
		d := new(draft)
		d.Node = v
		if len(entries) > 0 {
			last := entries[len(entries)-1]
			d.Label, d.After, d.decidedBy = last.Label, last.After, decidedBy(entries)
			_, d.Disputed = Words(entries)
		}
		for i := range entryColumns {
			column := &entryColumns[i]
			if column.name == ScoreColumn || column.name == kv.LabelColumn && d.After == None {
				continue
			}
			is, err := read[i](v)
			if err == nil && column.holds(is, d) {
				continue
			}
			if err := fn(difference{column, is, err, d}); err != nil {
				return err
			}
		}
	}
	return nil
}

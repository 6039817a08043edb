package decide

import (
	"cmp"
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
	problem := func(what string) { report(kv.Problem{Where: "history", What: what}) }
	for _, find := range []finder{findFlaws, compareNodes} {
		err := find(ctx, tx, func(f flaw) error {
			if f.what != "" {
				problem(f.what)
			}
			return nil
		})
		if err != nil {
			if ctx.Err() == nil {
				problem(err.Error())
			}
			break
		}
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
	for _, part := range []struct {
		find       finder
		what, done string
	}{
		{findLostNodes, "%d nodes, up to the last that an entry is about, are not there",
			"added again, without edges; those that no entry is about are removed"},
		{findFlaws, "%d records are missing or wrong", "put right; lost entries are left out, as if nobody had made them"},
		{compareNodes, "%d values of labels and decisions are not what the last entries about their nodes say", "set again"},
	} {
		mended, lost, err := mend(ctx, s, part.find)
		if mended > 0 {
			done := kv.Correction{Where: "history", What: fmt.Sprintf(part.what, mended), Done: part.done}
			if lost > 0 {
				done.Lost = kv.Losses{{Kind: "entry of the history", Count: lost}}
			}
			report(done)
		}
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// A flaw is what is wrong with the history, or with what a node has of it.
type flaw struct {
	what string             // "" if an earlier flaw says it
	mend func(*kv.Tx) error // puts it right; nil: nothing can
	lost int64              // how many entries cannot be read
}

// A finder calls a function for each flaw of one sort in a snapshot.
type finder func(ctx context.Context, tx *kv.Tx, fn func(flaw) error) error

// batchSize is how many flaws, and lost entries of one, are mended in one transaction.
const batchSize = 200

// mend mends what is found in a snapshot. It counts what is on disk, and the lost entries among it.
func mend(ctx context.Context, s *kv.Store, find finder) (mended, lost int64, err error) {
	var found []flaw
	var size int64
	mendAll := func() error {
		err := s.UpdateContext(ctx, func(tx *kv.Tx) error {
			for _, f := range found {
				if err := f.mend(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, f := range found {
			mended += max(1, f.lost)
			lost += f.lost
		}
		found, size = nil, 0
		return nil
	}
	err = s.View(func(tx *kv.Tx) error {
		return find(ctx, tx, func(f flaw) error {
			if f.mend != nil {
				found, size = append(found, f), size+max(1, f.lost)
			}
			if size < batchSize {
				return nil
			}
			return mendAll()
		})
	})
	if err == nil && len(found) > 0 {
		err = mendAll()
	}
	return mended, lost, err
}

// findLostNodes finds the nodes up to the last that entries are about and that is not there: the commit that had added
// it was lost. They are added again. One of which no entry tells is removed at once.
func findLostNodes(ctx context.Context, tx *kv.Tx, fn func(flaw) error) error {
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
		err := fn(flaw{mend: func(tx *kv.Tx) error {
			id, isDecided := ids[v]
			if _, err := tx.Node(id); !isDecided || err == nil { // another node has the id
				id = fmt.Sprint(kv.LostPrefix, v)
			} else if !errors.Is(err, kv.ErrNotFound) {
				return err
			}
			_, err := tx.AddNode(kv.Node{ID: id})
			if err == nil && !isDecided {
				err = tx.RemoveNode(v)
			}
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// lostEntry is that an entry cannot be read.
func lostEntry(seq int64, format string, args ...any) flaw {
	what := fmt.Sprintf("entry %d %s", seq, fmt.Sprintf(format, args...))
	return flaw{what, putting(entryKey(seq), []byte{lostForm}), 1}
}

// putting puts a record.
func putting(key, value []byte) func(*kv.Tx) error {
	return func(tx *kv.Tx) error { return tx.Space(historySpace).Put(key, value) }
}

// uselessKey is that a key leads to nothing.
func uselessKey(key []byte, what string) flaw {
	key = slices.Clone(key)
	return flaw{what: what, mend: func(tx *kv.Tx) error { return tx.Space(historySpace).Delete(key) }}
}

// findFlaws finds each entry that cannot be read, is not found by its node, or is about another node than it says, and
// each key of no entry.
func findFlaws(ctx context.Context, tx *kv.Tx, fn func(flaw) error) error {
	ids, err := tx.Reader("id")
	if err != nil {
		return err
	}
	last, sound := int64(0), int64(0) // entry, and how many are found by their nodes
	missing := func(end int64) error {
		what := fmt.Sprintf("entry %d is missing", end)
		if last+1 < end {
			what = fmt.Sprintf("entries %d to %d are missing", last+1, end)
		}
		for ; last < end; what = "" {
			before, to := last, min(last+batchSize, end)
			last = to
			err := fn(flaw{what: what, lost: to - before, mend: func(tx *kv.Tx) error {
				for seq := before + 1; seq <= to; seq++ {
					if err := putting(entryKey(seq), []byte{lostForm})(tx); err != nil {
						return err
					}
				}
				return nil
			}})
			if err != nil || ctx.Err() != nil {
				return cmp.Or(err, ctx.Err())
			}
		}
		return nil
	}
	for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
		if err != nil {
			return err
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			if err := fn(uselessKey(e.Key, err.Error())); err != nil {
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
			err = fn(uselessKey(e.Key, fmt.Sprintf("there is no entry for the key %x", e.Key)))
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
		what := fmt.Sprintf("entry %d is not found by its node %s", d.Seq, d.ID)
		return false, fn(flaw{what: what, mend: putting(key, nil)})
	}
	return err == nil, err
}

// compareNodes finds the values of all nodes that differ from the last entries about them. It passes over entries that
// cannot be read.
func compareNodes(ctx context.Context, tx *kv.Tx, fn func(flaw) error) error {
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
	damaged := map[string]bool{} // columns, of whose other blocks nothing is said
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
			if err == nil && column.holds(is, d) || damaged[column.name] {
				continue
			}
			f := flaw{mend: func(tx *kv.Tx) error { return column.set(tx, d) }}
			id, unknown := tx.ID(v)
			if err = errors.Join(err, unknown); err == nil {
				f.what = fmt.Sprintf("node %s has the %s %q, and its history says %q", id, column.name, is, column.value(d))
			} else {
				damaged[column.name] = true
				f.what = fmt.Sprintf("%s of node number %d: %v", column.name, v, err)
				f.mend = func(*kv.Tx) error { return err }
			}
			if err := fn(f); err != nil {
				return err
			}
		}
	}
	return nil
}

package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/batch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// lostEntryWhy is the Why of an entry that Repair puts in the place of one that was lost.
const lostEntryWhy = "this entry was damaged: nothing is known of it but its node"

// Repair makes history, labels and decisions agree again, and calls report for what it did. An entry that changes
// nothing takes the place of a missing one, so that all other entries keep their numbers. A node that is lost is added
// again, without edges. Repair sets label and decision of a decided node from its last entry.
//
// First run kv.Repair, then open the store with index.Open; nobody else may write to it. Repair writes a thousand
// entries or nodes in a transaction, and reports them when they are on disk. After an error or a kill, run it again:
// the result is the same as without the interruption. It reads the history a few times, and holds some 300 bytes a
// missing entry.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	r := historyRepair{store: s, report: report, atOnce: batch.Size}
	return r.run(ctx)
}

// A historyRepair is one run of Repair.
type historyRepair struct {
	store  *kv.Store
	report func(kv.Correction)
	atOnce int // entries or nodes in a transaction, at most

	nodes  int
	last   historyRecord   // the last entry, of a lost one what is known
	beside kv.NodeID       // of the last entry that can be read; 0: of none
	keys   []keyCorrection // of the history that are to be removed or added
	losses []lostEntry     // ascending by Seq
}

// A keyCorrection is a key of the history that is too many, or too few.
type keyCorrection struct {
	key        []byte
	remove     bool // else it is added
	correction kv.Correction
}

// A lostEntry is what takes the place of an entry that cannot be read.
type lostEntry struct {
	historyRecord           // its node is kv.NoNode as long as it is not known
	beside        kv.NodeID // of the last entry before that can be read, or of the next where there is none
}

// run finds out in snapshots what is to be done, and does it in an order in which every part of it, done alone, leaves
// the rest as it was: entries by their numbers, as each depends on the one before, and columns when all entries are
// there.
func (r *historyRepair) run(ctx context.Context) error {
	sound := true
	err := r.store.View(func(tx *kv.Tx) error {
		return Check(ctx, tx, func(kv.Problem) { sound = false })
	})
	if err != nil || sound {
		return err
	}
	for _, step := range []func(context.Context) error{
		r.addNodes, r.find, r.correctKeys, r.makeEntries, r.correctColumns,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// find finds the keys that are wrong, and the entries that are lost, with their steps, times and nodes.
func (r *historyRepair) find(ctx context.Context) error {
	return r.store.View(func(tx *kv.Tx) error {
		r.nodes = tx.NumNodes()
		if err := r.findEntries(ctx, tx); err != nil {
			return err
		}
		if err := r.findNodes(ctx, tx); err != nil {
			return err
		}
		for i := range r.losses {
			l := &r.losses[i]
			if l.Node != kv.NoNode {
				continue
			}
			if l.Node = l.beside; i > 0 && r.losses[i-1].Seq == l.Seq-1 {
				l.Node = r.losses[i-1].Node
			}
		}
		return nil
	})
}

// findEntries reads all entries.
func (r *historyRepair) findEntries(ctx context.Context, tx *kv.Tx) error {
	space := tx.Space(historySpace)
	last := int64(0)
	for e, err := range recordsFrom(ctx, tx, []byte{entryTag}) {
		if err != nil {
			return err
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			r.removeKey(e.Key, err.Error())
			continue
		}
		last = seq
		d, err := parseDecision(seq, e.Value)
		if err != nil {
			continue
		}
		r.loseUpTo(seq-1, d)
		r.last, r.beside = d, d.Node
		_, err = space.Get(nodeKey(d.Node, seq))
		switch {
		case errors.Is(err, kv.ErrNotFound):
			r.keys = append(r.keys, keyCorrection{key: nodeKey(d.Node, seq), correction: kv.Correction{
				Where: "history", What: fmt.Sprintf("entry %d was not found by its node %s", seq, d.ID), Done: "put right",
			}})
		case err != nil:
			return err
		}
	}
	r.loseUpTo(last, historyRecord{})
	return nil
}

// loseUpTo notes that the entries behind the last one, up to a number, are lost. After is the next one, zero if there
// is none.
func (r *historyRepair) loseUpTo(seq int64, after historyRecord) {
	if r.last.Seq == 0 {
		if r.last.EntryTime = time.Unix(0, 0).UTC(); after.Seq > 0 {
			r.last.EntryTime, r.beside = after.EntryTime, after.Node
		}
	}
	for r.last.Seq < seq {
		l := historyRecord{Decision: Decision{
			Seq: r.last.Seq + 1, Time: r.last.EntryTime, EntryTime: r.last.EntryTime, Node: kv.NoNode, Why: lostEntryWhy, Score: math.NaN(),
		}}
		l.Step, l.place = placeBetween(l.Seq, r.last, after)
		r.losses = append(r.losses, lostEntry{historyRecord: l, beside: r.beside})
		r.last = l
	}
}

// placeBetween is the step of an entry, and its place in it, that fits between the one before it and the next that is
// there, if any.
func placeBetween(seq int64, before, after historyRecord) (step, place int64) {
	if after.Seq == 0 {
		return before.Step + 1, 0
	}
	distance := after.Seq - seq
	if after.place >= distance {
		return after.Step, after.place - distance
	}
	entries, steps := distance-after.place, after.Step-1-before.Step // that are missing
	if steps > 0 && entries <= steps || before.Step == 0 {
		return before.Step + 1, 0
	}
	return before.Step, before.place + 1
}

// lostAs is the lost entry of a number; nil if it is not lost.
func (r *historyRepair) lostAs(seq int64) *lostEntry {
	i, found := slices.BinarySearchFunc(r.losses, seq, func(l lostEntry, seq int64) int { return cmp.Compare(l.Seq, seq) })
	if !found {
		return nil
	}
	return &r.losses[i]
}

func (r *historyRepair) removeKey(key []byte, what string) {
	r.keys = append(r.keys, keyCorrection{
		key: slices.Clone(key), remove: true, correction: kv.Correction{Where: "history", What: what, Done: "removed"},
	})
}

// findNodes reads all keys by node. They tell of the nodes of lost entries, also of those behind the last that is
// there.
func (r *historyRepair) findNodes(ctx context.Context, tx *kv.Tx) error {
	last := int64(0)
	isPossible := func(v kv.NodeID, seq int64, ok bool) bool { return ok && seq > 0 && int(v) < r.nodes }
	for e, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
		if err != nil {
			return err
		}
		if v, seq, ok := parseNodeKey(e.Key); isPossible(v, seq, ok) {
			last = max(last, seq)
		}
	}
	r.loseUpTo(last, historyRecord{})
	for e, err := range recordsFrom(ctx, tx, []byte{nodeTag}) {
		if err != nil {
			return err
		}
		if v, seq, ok := parseNodeKey(e.Key); !isPossible(v, seq, ok) || !r.isOf(tx, v, seq) { // of two nodes the first
			r.removeKey(e.Key, fmt.Sprintf("an entry under %x", e.Key))
		}
	}
	return nil
}

// isOf reports whether an entry up to the last is about a node. Of a lost one whose node is not known it takes that.
func (r *historyRepair) isOf(tx *kv.Tx, v kv.NodeID, seq int64) bool {
	if l := r.lostAs(seq); l != nil {
		if l.Node == kv.NoNode {
			l.Node = v
		}
		return l.Node == v
	}
	d, err := readDecision(tx, seq)
	return err == nil && d.Node == v
}

// correctKeys makes the entries that are there be found by their nodes, and nothing else.
func (r *historyRepair) correctKeys(ctx context.Context) error {
	return batch.Each(ctx, r.store, r.atOnce, len(r.keys), func(tx *kv.Tx, first, end int) error {
		space := tx.Space(historySpace)
		for _, k := range r.keys[first:end] {
			var err error
			if k.remove {
				err = space.Delete(k.key)
			} else {
				err = space.Put(k.key, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func(first, end int) {
		for _, k := range r.keys[first:end] {
			r.report(k.correction)
		}
	})
}

// makeEntries writes entries in the place of those that are lost. They say what their nodes are like.
func (r *historyRepair) makeEntries(ctx context.Context) error {
	return batch.Each(ctx, r.store, r.atOnce, len(r.losses), func(tx *kv.Tx, first, end int) error {
		space := tx.Space(historySpace)
		nodes, err := NewReader(tx)
		if err != nil {
			return err
		}
		for i := range r.losses[first:end] {
			l := &r.losses[first+i]
			now, err := nodes.facts(l.Node)
			if err != nil {
				return err
			}
			l.ID, l.From, l.To, l.Label, l.Kind = now.id, now.Label, now.Label, now.Label, Unsure
			l.Before, l.After, l.WasDisputed, l.Disputed = now.Decision, now.Decision, now.Disputed, now.Disputed
			if err := errors.Join(space.Put(entryKey(l.Seq), l.append(nil)), space.Put(nodeKey(l.Node, l.Seq), nil)); err != nil {
				return err
			}
		}
		return nil
	}, func(first, end int) {
		for _, l := range r.losses[first:end] {
			r.report(kv.Correction{
				Where: "history", What: fmt.Sprintf("entry %d is missing", l.Seq),
				Done: fmt.Sprintf("replaced by one that changes nothing of node %s", l.ID),
				Lost: kv.Losses{{Kind: "entry of the history", Count: 1}},
			})
		}
	})
}

// correctColumns sets labels that are missing, and decisions, to what the last entries about their nodes say.
func (r *historyRepair) correctColumns(ctx context.Context) error {
	set, more := 0, 0 // values, and those of the transaction
	err := batch.Each(ctx, r.store, r.atOnce, r.nodes, func(tx *kv.Tx, first, end int) error {
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
		r.report(kv.Correction{
			Where: "history", What: "nodes that do not have what their last entries say",
			Done: fmt.Sprintf("%d values of labels and decisions set again", set),
		})
	}
	return err
}

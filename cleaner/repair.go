package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// lostEntry is the Why of an entry that Repair puts in the place of one that was lost.
const lostEntry = "this entry was damaged: what is known of it comes from the entries beside it"

// Repair makes history, labels and decisions agree again, and calls report for what it did. It is for a store that
// kv.Repair has repaired, opened by index.Open. An entry that is missing is made up from those before and after it about
// the same node, so that no other loses its number; a label that is missing is what the last entry about its node says,
// and every decision is. After an error, or a kill, it can be run again.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Mend)) error {
	sound := true
	err := s.View(func(tx *kv.Tx) error {
		return CheckHistory(ctx, tx, func(kv.Problem) { sound = false })
	})
	if err != nil || sound {
		return err
	}
	r := historyRepair{report: report, missing: map[int64]kv.NodeID{}, made: map[int64]historyRecord{}}
	if err := s.Update(func(tx *kv.Tx) error { return r.history(ctx, tx) }); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for first := kv.NodeID(0); ; first += repairedAtOnce {
		more := false
		err := s.Update(func(tx *kv.Tx) error {
			more = int64(first)+repairedAtOnce < int64(tx.NumNodes())
			return r.columns(ctx, tx, first)
		})
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if !more {
			break
		}
	}
	if r.labels+r.decisions > 0 {
		report(kv.Mend{
			Where: "history", What: "nodes that do not have what their last entries say",
			Done: fmt.Sprintf("%d labels and %d decisions set again", r.labels, r.decisions),
		})
	}
	return nil
}

// repairedAtOnce is how many nodes are looked at in a transaction.
const repairedAtOnce = 1000

// A historyRepair is one run of Repair.
type historyRepair struct {
	report  func(kv.Mend)
	last    int64                   // the number of the last entry
	missing map[int64]kv.NodeID     // numbers of entries that cannot be read, with their nodes; kv.NoNode: not known
	made    map[int64]historyRecord // in their place

	labels, decisions int // set
}

// history makes the entries follow one another, and be found by their nodes.
func (r *historyRepair) history(ctx context.Context, tx *kv.Tx) error {
	space := tx.Space(historySpace)
	remove := func(key []byte, what string) error {
		r.report(kv.Mend{Where: "history", What: what, Done: "removed"})
		return space.Delete(key)
	}
	for e, err := range space.Ascend([]byte{entryTag}) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if e.Key[0] != entryTag {
			break
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			if err := remove(e.Key, err.Error()); err != nil {
				return err
			}
			continue
		}
		r.missUpTo(seq)
		d, err := parseDecision(seq, e.Value)
		if err != nil || int64(d.Node) >= int64(tx.NumNodes()) {
			r.missing[seq] = kv.NoNode
			continue
		}
		if _, err := space.Get(nodeKey(d.Node, seq)); errors.Is(err, kv.ErrNotFound) {
			if err := space.Put(nodeKey(d.Node, seq), nil); err != nil {
				return err
			}
			r.report(kv.Mend{Where: "history", What: fmt.Sprintf("entry %d was not found by its node %s", seq, d.ID), Done: "put right"})
		}
	}
	for e, err := range space.Ascend([]byte{nodeTag}) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		v, seq, ok := parseNodeKey(e.Key)
		if ok && seq > r.last {
			r.missUpTo(seq)
			r.missing[seq] = kv.NoNode
		}
		if _, lost := r.missing[seq]; ok && lost && int64(v) < int64(tx.NumNodes()) {
			r.missing[seq] = v
			continue
		}
		if ok {
			d, err := readDecision(tx, seq)
			ok = err == nil && d.Node == v
		}
		if !ok {
			if err := remove(e.Key, fmt.Sprintf("an entry under %x", e.Key)); err != nil {
				return err
			}
		}
	}
	for seq := int64(1); seq <= r.last; seq++ {
		if _, lost := r.missing[seq]; lost {
			if err := r.make(ctx, tx, seq); err != nil {
				return err
			}
		}
	}
	return nil
}

// missUpTo notes that the entries between the last and seq are missing.
func (r *historyRepair) missUpTo(seq int64) {
	for n := r.last + 1; n < seq; n++ {
		r.missing[n] = kv.NoNode
	}
	r.last = max(r.last, seq)
}

// entry is entry seq, or what was made in its place; false where it is not there, or not yet.
func (r *historyRepair) entry(tx *kv.Tx, seq int64) (historyRecord, bool) {
	if d, ok := r.made[seq]; ok {
		return d, true
	}
	if _, lost := r.missing[seq]; lost || seq < 1 || seq > r.last {
		return historyRecord{}, false
	}
	d, err := readDecision(tx, seq)
	return d, err == nil
}

// make writes an entry in the place of one that is missing; those before it are there.
func (r *historyRepair) make(ctx context.Context, tx *kv.Tx, seq int64) error {
	before, _ := r.entry(tx, seq-1)
	after, there := historyRecord{}, false
	for n := seq + 1; n <= r.last && !there; n++ {
		after, there = r.entry(tx, n)
	}
	d := historyRecord{Decision: Decision{Seq: seq, Node: r.missing[seq], Time: before.Time, Why: lostEntry, Score: math.NaN()}}
	d.Step, d.place = placeBetween(seq, before, after, there)
	if d.Time.IsZero() {
		d.Time = time.Unix(0, 0).UTC()
	}
	known := d.Node != kv.NoNode
	if !known {
		d.Node = before.Node
	}
	var err error
	if d.ID, err = tx.ID(d.Node); err != nil {
		return err
	}
	if err := r.states(tx, &d); err != nil {
		return err
	}
	if !known {
		d.To, d.After = d.From, d.Before // of another node: it changes nothing
	}
	if d.Kind, err = r.kind(ctx, tx, d); err != nil {
		return err
	}
	r.made[seq] = d
	space := tx.Space(historySpace)
	if err := errors.Join(space.Put(entryKey(seq), d.append(nil)), space.Put(nodeKey(d.Node, seq), nil)); err != nil {
		return err
	}
	r.report(kv.Mend{
		Where: "history", What: fmt.Sprintf("entry %d is missing", seq),
		Done: fmt.Sprintf("made up from those beside it: node %s, label %q to %q", d.ID, d.From, d.To),
	})
	return nil
}

// placeBetween is the step of an entry, and its place in it, that fits between the one before it and the next that is
// there.
func placeBetween(seq int64, before, after historyRecord, there bool) (step, place int64) {
	if !there {
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

// states finds what label and decision of the node of a missing entry were before and after it: what the entries about
// it say, or where there are none what they are.
func (r *historyRepair) states(tx *kv.Tx, d *historyRecord) error {
	now, err := readState(tx, d.Node)
	if err != nil {
		return err
	}
	d.From, d.Before, d.To, d.After = now.label, NoDecision, now.label, now.decision
	first := true // no entry before it
	for seq, err := range entriesOf(tx, d.Node) {
		if err != nil {
			return err
		}
		other, ok := r.entry(tx, seq)
		switch {
		case !ok:
		case seq < d.Seq:
			d.From, d.Before, first = other.To, other.After, false
		case seq > d.Seq:
			d.To, d.After = other.From, other.Before
			if first {
				d.From = other.From
			}
			return nil
		}
	}
	return nil
}

// kind is what an entry that takes d back calls it, or what DecisionColumn says after it.
func (r *historyRepair) kind(ctx context.Context, tx *kv.Tx, d historyRecord) (DecisionKind, error) {
	for seq, err := range entriesOf(tx, d.Node) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return NoDecision, err
		}
		if other, ok := r.entry(tx, seq); ok && other.Undoes == d.Seq {
			return other.Kind, nil
		}
	}
	if d.After.isDecision() {
		return d.After, nil
	}
	return Unsure, nil
}

// columns sets labels that are missing, and decisions, of some nodes to what their last entries say.
func (r *historyRepair) columns(ctx context.Context, tx *kv.Tx, first kv.NodeID) error {
	if _, ok := tx.Column(DecisionColumn); !ok {
		if r.last == 0 {
			return nil
		}
		if err := tx.AddColumn(DecisionColumn, kv.KindString); err != nil {
			return err
		}
	}
	end := kv.NodeID(min(int64(first)+repairedAtOnce, int64(tx.NumNodes())))
	last := map[kv.NodeID]int64{}
	for e, err := range tx.Space(historySpace).Ascend(nodeEntries(first)) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		v, seq, ok := parseNodeKey(e.Key)
		if !ok || v >= end {
			break
		}
		last[v] = seq
	}
	for v := first; v < end; v++ {
		word, err := tx.Value(v, DecisionColumn)
		if err != nil {
			return err
		}
		want := historyRecord{}
		if seq, decided := last[v]; decided {
			if want, err = readDecision(tx, seq); err != nil {
				return err
			}
			label, err := tx.Value(v, kv.LabelColumn)
			if err != nil {
				return err
			}
			if label.IsNull() && want.To != "" {
				r.labels++
				if err := tx.SetLabel(v, want.To); err != nil {
					return err
				}
			}
		}
		if word == want.After.value() {
			continue
		}
		r.decisions++
		if err := tx.SetValue(v, DecisionColumn, want.After.value()); err != nil {
			return err
		}
	}
	return nil
}

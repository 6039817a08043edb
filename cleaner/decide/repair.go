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
const lostEntryWhy = "this entry was damaged: what is known of it comes from the entries beside it"

// Repair makes history, labels and decisions agree again, and calls report for what it did. Repair makes a missing
// entry from the entries of the same node before and after it, so that all other entries keep their numbers. A node
// that is lost is added again, without edges. Repair sets label and decision of a decided node from its last entry.
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

	last   historyRecord   // the last entry, of a lost one what is known
	beside kv.NodeID       // of the last entry that can be read; 0: of none
	keys   []keyCorrection // of the history that are to be removed or added
	losses []lostEntry     // ascending by Seq

	labels, decisions int // set
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
	guessed       bool      // the node is that one: the entry changes nothing
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
		r.addNodes, r.find, r.correctKeys, r.findStates, r.makeEntries, r.correctColumns,
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
			if l.Node, l.guessed = l.beside, true; i > 0 && r.losses[i-1].Seq == l.Seq-1 {
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
	type key struct {
		node kv.NodeID
		seq  int64
	}
	var behind []key
	for e, err := range tx.Space(historySpace).Ascend([]byte{nodeTag}) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		v, seq, ok := parseNodeKey(e.Key)
		ok = ok && seq > 0 && int64(v) < int64(tx.NumNodes())
		switch {
		case ok && seq > r.last.Seq:
			behind = append(behind, key{v, seq})
		case !ok || !r.isOf(tx, v, seq):
			r.removeKey(e.Key, fmt.Sprintf("an entry under %x", e.Key))
		}
	}
	slices.SortStableFunc(behind, func(a, b key) int { return cmp.Compare(a.seq, b.seq) })
	for _, k := range behind {
		r.loseUpTo(k.seq, historyRecord{})
		if !r.isOf(tx, k.node, k.seq) { // of two nodes the first
			r.removeKey(nodeKey(k.node, k.seq), fmt.Sprintf("an entry under %x", nodeKey(k.node, k.seq)))
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

// findStates finds what lost entries have changed, from the other entries about their nodes.
func (r *historyRepair) findStates(ctx context.Context) error {
	byNode := make([]*lostEntry, len(r.losses))
	for i := range r.losses {
		byNode[i] = &r.losses[i]
	}
	slices.SortStableFunc(byNode, func(a, b *lostEntry) int { return cmp.Compare(a.Node, b.Node) })
	return r.store.View(func(tx *kv.Tx) error {
		for len(byNode) > 0 {
			end := 1
			for end < len(byNode) && byNode[end].Node == byNode[0].Node {
				end++
			}
			if err := r.findStatesOf(ctx, tx, byNode[:end]); err != nil {
				return err
			}
			byNode = byNode[end:]
		}
		return nil
	})
}

// findStatesOf is findStates for the entries about one node, ascending.
func (r *historyRepair) findStatesOf(ctx context.Context, tx *kv.Tx, losses []*lostEntry) error {
	node := losses[0].Node
	id, err := tx.ID(node)
	if err != nil {
		return err
	}
	var last nodeState // after the entries before the first of losses
	there := false     // there are entries before it
	// fillUpTo fills those before an entry, next being the state that it found.
	fillUpTo := func(seq int64, next nodeState) {
		for ; len(losses) > 0 && losses[0].Seq < seq; losses = losses[1:] {
			if !there {
				last, there = nodeState{label: next.label}, true
			}
			l := losses[0]
			l.ID, l.From, l.Before, l.WasDisputed = id, last.label, last.decision, last.disputed
			if !l.guessed {
				last = next
			}
			l.To, l.Label, l.After, l.Disputed, l.Kind = last.label, last.label, last.decision, last.disputed, Unsure
			if l.After.isDecision() {
				l.Kind = l.After
			}
		}
	}
	for seq, err := range entriesOf(tx, node) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if r.lostAs(seq) != nil {
			continue
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return err
		}
		fillUpTo(seq, nodeState{d.From, d.Before, d.WasDisputed})
		last, there = d.state(), true
	}
	now, err := readState(tx, node)
	if errors.Is(err, kv.ErrNotFound) { // it was removed
		now, err = nodeState{}, nil
	}
	if err != nil {
		return err
	}
	fillUpTo(math.MaxInt64, now)
	return nil
}

// makeEntries writes entries in the place of those that are lost.
func (r *historyRepair) makeEntries(ctx context.Context) error {
	return batch.Each(ctx, r.store, r.atOnce, len(r.losses), func(tx *kv.Tx, first, end int) error {
		space := tx.Space(historySpace)
		for _, l := range r.losses[first:end] {
			err := errors.Join(space.Put(entryKey(l.Seq), l.append(nil)), space.Put(nodeKey(l.Node, l.Seq), nil))
			if err != nil {
				return err
			}
		}
		return nil
	}, func(first, end int) {
		for _, l := range r.losses[first:end] {
			r.report(kv.Correction{
				Where: "history", What: fmt.Sprintf("entry %d is missing", l.Seq),
				Done: fmt.Sprintf("made up from those beside it: node %s, label %q to %q", l.ID, l.From, l.Label),
				Lost: kv.Losses{{Kind: "entry of the history", Count: 1}},
			})
		}
	})
}

// correctColumns sets labels that are missing, and decisions, to what the last entries about their nodes say.
func (r *historyRepair) correctColumns(ctx context.Context) error {
	nodes := 0
	err := r.store.View(func(tx *kv.Tx) error {
		nodes = tx.NumNodes()
		return nil
	})
	if err != nil {
		return err
	}
	var labels, decisions int // of the transaction
	err = batch.Each(ctx, r.store, r.atOnce, nodes, func(tx *kv.Tx, first, end int) (err error) {
		labels, decisions, err = r.correctNodes(ctx, tx, kv.NodeID(first), kv.NodeID(end))
		return err
	}, func(int, int) { r.labels, r.decisions = r.labels+labels, r.decisions+decisions })
	if r.labels+r.decisions > 0 {
		r.report(kv.Correction{
			Where: "history", What: "nodes that do not have what their last entries say",
			Done: fmt.Sprintf("%d labels and %d decisions set again", r.labels, r.decisions),
		})
	}
	return err
}

// correctNodes is correctColumns for the nodes first ≤ v < end, and counts what it sets.
func (r *historyRepair) correctNodes(ctx context.Context, tx *kv.Tx, first, end kv.NodeID) (labels, decisions int, err error) {
	if _, ok := tx.Column(Column); !ok {
		if r.last.Seq == 0 {
			return 0, 0, nil
		}
		if err := tx.AddColumn(Column, kv.KindString); err != nil {
			return 0, 0, err
		}
	}
	last := map[kv.NodeID]int64{}
	for e, err := range tx.Space(historySpace).Ascend(nodeEntries(first)) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, 0, err
		}
		v, seq, ok := parseNodeKey(e.Key)
		if !ok || v >= end {
			break
		}
		last[v] = seq
	}
	for v := first; v < end; v++ {
		word, err := tx.Value(v, Column)
		if errors.Is(err, kv.ErrNotFound) { // it was removed
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		want := historyRecord{}
		if seq, decided := last[v]; decided {
			if want, err = readDecision(tx, seq); err != nil {
				return 0, 0, err
			}
			label, err := tx.Value(v, kv.LabelColumn)
			if err != nil {
				return 0, 0, err
			}
			if want.After != None && label.Str() != want.Label {
				labels++
				if err := tx.SetLabel(v, want.Label); err != nil {
					return 0, 0, err
				}
			}
		}
		corrected := word != want.After.value()
		if corrected {
			err = tx.SetValue(v, Column, want.After.value())
		}
		if err == nil {
			var of bool
			of, err = correctPeople(ctx, tx, v, last[v] > 0)
			corrected = corrected || of
		}
		if err != nil {
			return 0, 0, err
		}
		if corrected {
			decisions++
		}
	}
	return labels, decisions, nil
}

// correctPeople sets the columns about people of a node, which has entries or not, and reports whether they were wrong.
// It does nothing if the store has no such columns, or if an entry about the node was lost: then the columns alone know
// of it.
func correctPeople(ctx context.Context, tx *kv.Tx, v kv.NodeID, decided bool) (wrong bool, err error) {
	if _, there := tx.Column(DecidedByColumn); !there {
		return false, nil
	}
	s := &standing{}
	if decided {
		if s, err = readStanding(ctx, tx, v); err != nil {
			return false, err
		}
	}
	if s.lost {
		return false, nil
	}
	_, disputed := s.words()
	for column, want := range map[string]kv.Value{DecidedByColumn: s.decidedBy(), DisputedColumn: disputedValue(disputed)} {
		is, err := valueOrNull(tx, v, column)
		if err != nil {
			return false, err
		}
		if is == want {
			continue
		}
		wrong = true
		if err := setValue(tx, v, column, want); err != nil {
			return false, err
		}
	}
	return wrong, nil
}

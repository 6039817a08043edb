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

// Repair makes history, labels and decisions agree again, and calls report for what it did. An entry that is missing is
// made up from those before and after it about the same node, so that no other loses its number. Label and decision of a
// node that was decided on become what the last entry about it says.
//
// The store must be one that kv.Repair has repaired, opened by index.Open, that nobody else writes to. Repair writes a
// thousand entries or nodes in a transaction, and reports what is in one once it is on disk. After an error, or a kill, it
// can be run again, and ends with the same as if it had not been stopped. The work is that of reading the history a few
// times, and it holds some 200 bytes a missing entry.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Mend)) error {
	r := historyRepair{store: s, report: report, atOnce: batch.Size}
	return r.run(ctx)
}

// A historyRepair is one run of Repair.
type historyRepair struct {
	store  *kv.Store
	report func(kv.Mend)
	atOnce int // entries or nodes in a transaction, at most

	last int64       // the number of the last entry
	keys []keyMend   // of the history that are to be removed or added
	lost []lostEntry // ascending by seq

	labels, decisions int // set
}

// A keyMend is a key of the history that is too many, or too few.
type keyMend struct {
	key    []byte
	remove bool // else it is added
	mend   kv.Mend
}

// A lostEntry is what is known, or made up, of an entry that cannot be read.
type lostEntry struct {
	seq, step, place int64
	entered          time.Time
	node             kv.NodeID // kv.NoNode: not known
	guessed          bool      // the node is that of the entry before: it changes nothing
	kind             Kind
	takenBack        bool // kind and from are what an entry that takes it back says
	from, to         nodeState
}

// run finds out in snapshots what is to be done, and does it in an order in which every part of it, done alone, leaves the
// rest as it was: entries by their numbers, as each depends on the one before, and columns when all entries are there.
func (r *historyRepair) run(ctx context.Context) error {
	sound := true
	err := r.store.View(func(tx *kv.Tx) error {
		return Check(ctx, tx, func(kv.Problem) { sound = false })
	})
	if err != nil || sound {
		return err
	}
	for _, step := range []func(context.Context) error{r.find, r.mendKeys, r.findStates, r.makeEntries, r.mendColumns} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// find finds the keys that are wrong, and the entries that are lost, with their nodes, steps and times.
func (r *historyRepair) find(ctx context.Context) error {
	return r.store.View(func(tx *kv.Tx) error {
		if err := r.findEntries(ctx, tx); err != nil {
			return err
		}
		if err := r.findNodes(ctx, tx); err != nil {
			return err
		}
		return r.findPlaces(ctx, tx)
	})
}

// findEntries reads all entries.
func (r *historyRepair) findEntries(ctx context.Context, tx *kv.Tx) error {
	space := tx.Space(historySpace)
	count := 0
	for e, err := range space.Ascend([]byte{entryTag}) {
		if count++; err == nil && count%lookEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Key[0] != entryTag {
			break
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			r.removeKey(e.Key, err.Error())
			continue
		}
		r.loseUpTo(seq)
		r.last = seq
		d, err := parseDecision(seq, e.Value)
		if err != nil || int64(d.Node) >= int64(tx.NumNodes()) {
			r.lost = append(r.lost, lostEntry{seq: seq, node: kv.NoNode})
			continue
		}
		if l := r.lostAs(d.Undoes); l != nil && !l.takenBack {
			l.node, l.kind, l.takenBack = d.Node, d.Kind, true
			l.from = nodeState{d.To, d.After}
		}
		_, err = space.Get(nodeKey(d.Node, seq))
		switch {
		case errors.Is(err, kv.ErrNotFound):
			r.keys = append(r.keys, keyMend{key: nodeKey(d.Node, seq), mend: kv.Mend{
				Where: "history", What: fmt.Sprintf("entry %d was not found by its node %s", seq, d.ID), Done: "put right",
			}})
		case err != nil:
			return err
		}
	}
	return nil
}

// loseUpTo notes that the entries between the last one and seq are lost.
func (r *historyRepair) loseUpTo(seq int64) {
	for n := r.last + 1; n < seq; n++ {
		r.lost = append(r.lost, lostEntry{seq: n, node: kv.NoNode})
	}
}

// lostAs is what is known of a lost entry; nil where it is not lost.
func (r *historyRepair) lostAs(seq int64) *lostEntry {
	i, found := slices.BinarySearchFunc(r.lost, seq, func(l lostEntry, seq int64) int { return cmp.Compare(l.seq, seq) })
	if !found {
		return nil
	}
	return &r.lost[i]
}

func (r *historyRepair) removeKey(key []byte, what string) {
	r.keys = append(r.keys, keyMend{
		key: slices.Clone(key), remove: true, mend: kv.Mend{Where: "history", What: what, Done: "removed"},
	})
}

// findNodes reads all keys by node. They tell of the nodes of lost entries, also of those behind the last that is there.
func (r *historyRepair) findNodes(ctx context.Context, tx *kv.Tx) error {
	var behind []lostEntry
	count := 0
	for e, err := range tx.Space(historySpace).Ascend([]byte{nodeTag}) {
		if count++; err == nil && count%lookEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		v, seq, ok := parseNodeKey(e.Key)
		ok = ok && seq > 0 && int64(v) < int64(tx.NumNodes())
		if ok && seq > r.last {
			behind = append(behind, lostEntry{seq: seq, node: v})
			continue
		}
		if ok {
			ok = r.isOf(tx, v, seq)
		}
		if !ok {
			r.removeKey(e.Key, fmt.Sprintf("an entry under %x", e.Key))
		}
	}
	slices.SortStableFunc(behind, func(a, b lostEntry) int { return cmp.Compare(a.seq, b.seq) })
	for _, l := range behind {
		if l.seq == r.last { // of two nodes
			r.removeKey(nodeKey(l.node, l.seq), fmt.Sprintf("an entry under %x", nodeKey(l.node, l.seq)))
			continue
		}
		r.loseUpTo(l.seq)
		r.lost = append(r.lost, l)
		r.last = l.seq
	}
	return nil
}

// isOf reports whether an entry up to the last is about a node. Of a lost one whose node is not known it takes that.
func (r *historyRepair) isOf(tx *kv.Tx, v kv.NodeID, seq int64) bool {
	if l := r.lostAs(seq); l != nil {
		if l.node == kv.NoNode {
			l.node = v
		}
		return l.node == v
	}
	d, err := readDecision(tx, seq)
	return err == nil && d.Node == v
}

// findPlaces finds steps and times of lost entries, and the nodes that are not known, from the entries beside them.
func (r *historyRepair) findPlaces(ctx context.Context, tx *kv.Tx) error {
	var before, after historyRecord
	for i := range r.lost {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := &r.lost[i]
		if i == 0 || r.lost[i-1].seq != l.seq-1 {
			var err error
			if before, after, err = r.beside(tx, i); err != nil {
				return err
			}
		}
		if l.node == kv.NoNode {
			l.node, l.guessed = before.Node, true
		}
		l.step, l.place = placeBetween(l.seq, before, after)
		l.entered = before.Entered
		before = historyRecord{Decision{Seq: l.seq, Step: l.step, Node: l.node, Entered: l.entered}, l.place}
	}
	return nil
}

// beside are the entries before and after a run of lost ones that begins with r.lost[i]. Where there is none before, what
// is to be known of it is made up; where there is none after it is zero.
func (r *historyRepair) beside(tx *kv.Tx, i int) (before, after historyRecord, err error) {
	end := i + 1
	for end < len(r.lost) && r.lost[end].seq == r.lost[end-1].seq+1 {
		end++
	}
	if next := r.lost[end-1].seq + 1; next <= r.last {
		if after, err = readDecision(tx, next); err != nil {
			return before, after, err
		}
	}
	if r.lost[i].seq > 1 {
		before, err = readDecision(tx, r.lost[i].seq-1)
		return before, after, err
	}
	before.Node, before.Entered = after.Node, time.Unix(0, 0).UTC()
	if after.Seq > 0 && after.Entered.Before(before.Entered) {
		before.Entered = after.Entered
	}
	for _, l := range r.lost[i:end] {
		if l.node != kv.NoNode {
			before.Node = l.node
			break
		}
	}
	return before, after, nil
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

// mendKeys makes the entries that are there be found by their nodes, and nothing else.
func (r *historyRepair) mendKeys(ctx context.Context) error {
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
			k.mend.Regained = kv.EntriesOf(historySpace)
			r.report(k.mend)
		}
	})
}

// findStates finds what lost entries have changed, from the other entries about their nodes.
func (r *historyRepair) findStates(ctx context.Context) error {
	byNode := make([]*lostEntry, len(r.lost))
	for i := range r.lost {
		byNode[i] = &r.lost[i]
	}
	slices.SortStableFunc(byNode, func(a, b *lostEntry) int { return cmp.Compare(a.node, b.node) })
	return r.store.View(func(tx *kv.Tx) error {
		for len(byNode) > 0 {
			end := 1
			for end < len(byNode) && byNode[end].node == byNode[0].node {
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
func (r *historyRepair) findStatesOf(ctx context.Context, tx *kv.Tx, lost []*lostEntry) error {
	var last nodeState // after the entries before the first of lost
	there := false     // there are entries before it
	fill := func(end int, next nodeState) {
		for _, l := range lost[:end] {
			switch {
			case l.takenBack: // what was before it is known
			case there:
				l.from = last
			default:
				l.from = nodeState{label: next.label}
			}
			if l.to = next; l.guessed {
				l.to = l.from
			}
			last, there = l.to, true
		}
		lost = lost[end:]
	}
	// fillUpTo fills those before an entry, next being the state that it found.
	fillUpTo := func(seq int64, next nodeState) {
		end := 0
		for end < len(lost) && lost[end].seq < seq {
			if lost[end].takenBack && end > 0 {
				fill(end, lost[end].from)
				end = 0
			}
			end++
		}
		fill(end, next)
	}
	node, count := lost[0].node, 0
	for seq, err := range entriesOf(tx, node) {
		if count++; err == nil && count%lookEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if r.lostAs(seq) != nil {
			continue
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return err
		}
		fillUpTo(seq, nodeState{d.From, d.Before})
		last, there = nodeState{d.To, d.After}, true
	}
	now, err := readState(tx, node)
	if err != nil {
		return err
	}
	fillUpTo(math.MaxInt64, now)
	return nil
}

// makeEntries writes entries in the place of those that are lost.
func (r *historyRepair) makeEntries(ctx context.Context) error {
	var mends []kv.Mend
	return batch.Each(ctx, r.store, r.atOnce, len(r.lost), func(tx *kv.Tx, first, end int) error {
		mends = mends[:0]
		space := tx.Space(historySpace)
		for _, l := range r.lost[first:end] {
			id, err := tx.ID(l.node)
			if err != nil {
				return err
			}
			d := l.record(id)
			err = errors.Join(space.Put(entryKey(l.seq), d.append(nil)), space.Put(nodeKey(l.node, l.seq), nil))
			if err != nil {
				return err
			}
			mends = append(mends, kv.Mend{
				Where: "history", What: fmt.Sprintf("entry %d is missing", l.seq),
				Done:     fmt.Sprintf("made up from those beside it: node %s, label %q to %q", id, d.From, d.To),
				Lost:     kv.Losses{{Kind: "entry of the history", Count: 1}},
				Regained: kv.EntriesOf(historySpace),
			})
		}
		return nil
	}, func(int, int) {
		for _, m := range mends {
			r.report(m)
		}
	})
}

// record is the entry in the place of a lost one. Its kind is what an entry that takes it back calls it, or what
// Column says after it.
func (l *lostEntry) record(id string) historyRecord {
	d := Decision{
		Seq: l.seq, Step: l.step, Time: l.entered, Entered: l.entered, Node: l.node, ID: id, Kind: Unsure,
		From: l.from.label, To: l.to.label, Before: l.from.decision, After: l.to.decision, Why: lostEntryWhy, Score: math.NaN(),
	}
	switch {
	case l.takenBack:
		d.Kind = l.kind
	case d.After.isDecision():
		d.Kind = d.After
	}
	return historyRecord{d, l.place}
}

// mendColumns sets labels that are missing, and decisions, to what the last entries about their nodes say.
func (r *historyRepair) mendColumns(ctx context.Context) error {
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
		labels, decisions, err = r.mendNodes(ctx, tx, kv.NodeID(first), kv.NodeID(end))
		return err
	}, func(int, int) { r.labels, r.decisions = r.labels+labels, r.decisions+decisions })
	if r.labels+r.decisions > 0 {
		r.report(kv.Mend{
			Where: "history", What: "nodes that do not have what their last entries say",
			Done: fmt.Sprintf("%d labels and %d decisions set again", r.labels, r.decisions),
		})
	}
	return err
}

// mendNodes is mendColumns for the nodes first ≤ v < end, and counts what it sets.
func (r *historyRepair) mendNodes(ctx context.Context, tx *kv.Tx, first, end kv.NodeID) (labels, decisions int, err error) {
	if _, ok := tx.Column(Column); !ok {
		if r.last == 0 {
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
			if label.Str() != want.To {
				labels++
				if err := tx.SetLabel(v, want.To); err != nil {
					return 0, 0, err
				}
			}
		}
		if word == want.After.value() {
			continue
		}
		decisions++
		if err := tx.SetValue(v, Column, want.After.value()); err != nil {
			return 0, 0, err
		}
	}
	return labels, decisions, nil
}

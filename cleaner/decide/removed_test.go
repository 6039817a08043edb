package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestDecisionsOfRemovedNodes decides about nodes, one at a time or so many that a Bulk writes them, removes one of
// them, and takes the decisions back.
func TestDecisionsOfRemovedNodes(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"", strings.Repeat("y", MaxWhy)} {
		t.Run(fmt.Sprintf("%d bytes each", len(why)), func(t *testing.T) { removeDecided(t, why) })
	}
}

func removeDecided(t *testing.T, why string) {
	ctx := context.Background()
	s := openDir(t, loadDir(t, 3, 400))
	score(t, s, 3)
	defer func() {
		mustEndSound(t, s)
		s.Close()
	}()
	gone, stays := labelledNode(t, s, 20), labelledNode(t, s, 60)
	before := states(t, s)
	opt := Options{Who: "ann", Why: why, Time: noon}
	var reqs []Request
	for v, state := range before {
		if state.Label != "" && (why != "" || v == gone || v == stays) {
			reqs = append(reqs, Request{Node: v, Kind: Unlabel})
		}
	}
	want := len(reqs) - 1
	mustDecide(t, s, opt, reqs...)
	mustDecide(t, s, opt, Request{Node: gone, Kind: Unsure})
	id := historyOf(t, s, gone)[0].ID
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.RemoveNode(gone) }))
	mustEndTrue(t, s)
	if _, err := Write(ctx, s, []Request{{Node: gone, Kind: Unsure}}, opt); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("deciding about a removed node: got %v, want ErrNotFound", err)
	}
	view(t, s, func(tx *kv.Tx) error {
		changes, err1 := ChangesAfter(ctx, tx, 0)
		if len(changes) != want || changes[stays].Was != before[stays] {
			t.Errorf("got changes %v, want %d", changes, want)
		}
		labels := make([]kv.Class, tx.NumNodes())
		must.Do(t, errors.Join(err1, tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(tx.NumNodes())}, labels)))
		verdicts, err2 := Verdicts(ctx, tx, labels)
		if len(verdicts) != want {
			t.Errorf("got verdicts %v, want %d", verdicts, want)
		}
		return err2
	})
	scored := func(*kv.Tx) (int64, error) { return 1 << 40, nil }
	all := countScores(t, s)
	for _, removed := range []int{0, want} {
		must.Get(Undo(ctx, s, opt, scored))(t)
		if left := countScores(t, s); left != all-removed {
			t.Errorf("got %d scores after an undo, want %d, of %d", left, all-removed, all)
		}
	}
	mustEndTrue(t, s)
	entries := historyOf(t, s, gone)
	if len(entries) != 4 || entries[3].ID != id || entries[3].To != before[gone].Label || entries[3].From != "" ||
		entries[3].After != None {
		t.Errorf("got history %+v of the removed node, want two decisions of %s that were taken back", entries, id)
	}
	after := states(t, s)
	delete(before, gone)
	if !maps.Equal(after, before) {
		t.Errorf("after the undo: got %+v, want %+v", after, before)
	}
	again := kv.NoNode
	must.Do(t, s.Update(func(tx *kv.Tx) (err error) {
		again, err = tx.AddNode(kv.Node{ID: id})
		return err
	}))
	if got := historyOf(t, s, again); len(got) > 0 {
		t.Errorf("a node that has the id of a removed one has its history %v", got)
	}
}

func countScores(t *testing.T, s *kv.Store) (count int) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for v := range kv.NodeID(tx.NumNodes()) {
			if !must.Get(valueOrNull(tx, v, ScoreColumn))(t).IsNull() {
				count++
			}
		}
		return nil
	})
	return count
}

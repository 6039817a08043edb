package kv

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// TestSparedLookupsBesideWriter has readers spare lookups of deltas while a writer changes labels and edges of a hub, in the last block and of
// nodes that were added later, and takes edges away again. Each snapshot, however old, sees the commits before it and none after it.
func TestSparedLookupsBesideWriter(t *testing.T) {
	t.Parallel()
	const loaded, rounds, hub = codec.ColumnRows + 200, 60, NodeID(0)
	dir := filepath.Join(t.TempDir(), "graph")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for v := range loaded {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(v), Label: "old"}))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	s := openTest(t, dir)

	// Round i labels the i-th node from the end and one that it adds, joins the first to the hub, and takes the edge of the round before away.
	changed := func(i int) NodeID { return NodeID(loaded - 1 - i) }
	round := func(i int) error {
		return s.Update(func(tx *Tx) error {
			added, err := tx.AddNode(Node{ID: fmt.Sprint("added ", i), Label: "new"})
			if err == nil && added != NodeID(loaded+i) {
				err = fmt.Errorf("got node %d, want %d", added, loaded+i)
			}
			err = errors.Join(err, tx.SetLabel(changed(i), "new"), tx.AddEdge(changed(i), hub))
			if i > 0 {
				err = errors.Join(err, tx.RemoveEdge(hub, changed(i-1)))
			}
			return err
		})
	}
	verify := func(tx *Tx) error {
		after := tx.NumNodes() - loaded // rounds
		r, err := tx.Reader(LabelColumn)
		if err != nil {
			return err
		}
		for i := range rounds {
			want := map[bool]string{false: "old", true: "new"}[i < after]
			if got, err := tx.Value(changed(i), LabelColumn); err != nil || got != StringValue(want) {
				return fmt.Errorf("after %d rounds: label of %d: got %v, %w, want %s", after, changed(i), got, err, want)
			}
			if got, err := r.At(changed(i)); err != nil || got != StringValue(want) {
				return fmt.Errorf("after %d rounds: label of %d by Reader: got %v, %w, want %s", after, changed(i), got, err, want)
			}
			has, err := tx.HasEdge(hub, changed(i))
			back, err2 := tx.HasEdge(changed(i), hub)
			degree, err3 := tx.Degree(changed(i))
			if joined := i == after-1; errors.Join(err, err2, err3) != nil || has != joined || back != joined || degree != codec.Bit(joined) {
				return fmt.Errorf("after %d rounds: node %d: got edges %v and %v, degree %d, %w", after, i, has, back, degree, errors.Join(err, err2, err3))
			}
		}
		for v := loaded; v < tx.NumNodes(); v++ {
			if got, err := tx.Value(NodeID(v), LabelColumn); err != nil || got != StringValue("new") {
				return fmt.Errorf("label of %d, which was added: got %v, %w", v, got, err)
			}
		}
		if degree, err := tx.Degree(hub); err != nil || degree != min(after, 1) {
			return fmt.Errorf("after %d rounds: got degree %d of the hub, %w", after, degree, err)
		}
		return nil
	}

	var wg sync.WaitGroup
	var over atomic.Bool
	for reader := range 3 {
		wg.Go(func() {
			old := s.Begin()
			defer func() { old.Close() }()
			for n := reader; ; n++ {
				last := over.Load()
				err := s.View(func(tx *Tx) error {
					if n%4 == 0 {
						spareLookups(tx)
					}
					return verify(tx)
				})
				if err := errors.Join(err, verify(old)); err != nil {
					t.Error(err)
					return
				}
				if last {
					return
				}
				if n%8 == 0 {
					old.Close()
					old = s.Begin()
				}
			}
		})
	}
	for i := range rounds {
		if err := round(i); err != nil {
			t.Error(err)
			break
		}
		if i%20 == 19 { // a sweep forgets what was spared
			b, err := s.Bulk()
			if err == nil {
				err = b.Commit(nil)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	over.Store(true)
	wg.Wait()
	must.Do(t, s.Close())
	for _, readOnly := range []bool{false, true} {
		s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly}))(t)
		tx := s.Begin()
		label := tx.cat.Columns[LabelColumn].Generation
		spares := func() bool { return tx.deltas.Lacks(label, hub) && tx.deltas.Lacks(tx.cat.Graph, 1) }
		if err := verify(tx); err != nil || spares() {
			t.Errorf("after few lookups: %v, spares them %v", err, spares())
		}
		spareLookups(tx)
		if err := verify(tx); err != nil || !spares() || tx.deltas.Lacks(label, changed(0)) || tx.deltas.Lacks(tx.cat.Graph, changed(rounds-1)) {
			t.Errorf("after many lookups: %v, spares them %v", err, spares())
		}
		first, last := Range{First: 1, End: codec.ColumnRows - 1}, Range{First: codec.ColumnRows - 1, End: loaded}
		if !tx.deltas.LacksAll(label, first) || tx.deltas.LacksAll(label, last) {
			t.Error("got changes in the first block, or none in the last")
		}
		tx.Close()
		must.Do(t, s.Close())
	}
}

// A column with more deltas than lookups is not scanned whole until there were more lookups.
func TestManyDeltasAreScannedLate(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	const deltas = 300
	must.Do(t, s.Update(func(tx *Tx) (err error) {
		for v := range deltas {
			_, failed := tx.AddNode(Node{ID: fmt.Sprint(v), Label: "a"})
			err = errors.Join(err, failed)
		}
		return err
	}))
	tx := s.Begin()
	defer tx.Close()
	label := tx.cat.Columns[LabelColumn].Generation
	for lookups := 1; lookups <= 512; lookups++ {
		snapshot.Missed(tx.records(), record.KindColumnDelta, label)
		if got, want := tx.deltas.Lacks(label, deltas), lookups == 512; got != want {
			t.Fatalf("after %d lookups: spares them %v, want %v", lookups, got, want)
		}
	}
}

// A scan in a later snapshot does not find a delta that was removed since. An older snapshot, which sees it, does not take that for its own.
func TestOlderSnapshotKeepsRemovedDelta(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "graph")
	s := must.Get(Create(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	update := func(fn func(tx *Tx) error) {
		t.Helper()
		must.Do(t, s.Update(fn))
	}
	update(func(tx *Tx) (err error) {
		for v := range 4 {
			_, failed := tx.AddNode(Node{ID: fmt.Sprint(v)})
			err = errors.Join(err, failed)
		}
		return errors.Join(err, tx.AddEdge(0, 1), tx.AddEdge(2, 3))
	})
	must.Do(t, s.Close())
	s = openTest(t, dir)
	defer closeStore(t, s)
	older := s.Begin()
	defer older.Close()
	update(func(tx *Tx) error { return tx.RemoveEdge(0, 1) })
	later := s.Begin()
	defer later.Close()
	spareLookups(later)
	for tx, want := range map[*Tx]bool{older: true, later: false} {
		has, err := tx.HasEdge(1, 0)
		degree, err2 := tx.Degree(0)
		if err := errors.Join(err, err2); err != nil || has != want || degree != codec.Bit(want) {
			t.Errorf("got edge %v and degree %d, %v; want %v", has, degree, err, want)
		}
	}
}

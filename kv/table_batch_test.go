package kv

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// loadingStore is the store of a Loader.
func loadingStore(t *testing.T) *Store {
	t.Helper()
	s, err := create(filepath.Join(t.TempDir(), "store"), Options{MemoryBudget: minMemoryBudget}, false)
	must.Do(t, err)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// lastLevel returns the bytes of the tables of the last level, in the order of their numbers, each of which it checks.
func lastLevel(t *testing.T, s *Store) (tables [][]byte) {
	t.Helper()
	look := func(int, int) error { return nil }
	must.Do(t, s.db.FindDamage(t.Context(), look, func(_ string, damage error) { t.Error(damage) }))
	infos := s.db.Badger().Tables()
	sort.Slice(infos, func(i, j int) bool { return infos[i].ID < infos[j].ID })
	for _, info := range infos {
		if info.Level != s.db.Badger().Opts().MaxLevels-1 {
			continue
		}
		if info.Left[0] != info.Right[0] {
			t.Errorf("table %d: goes from %x to %x, want one kind", info.ID, info.Left, info.Right)
		}
		text, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("%06d.sst", info.ID)))
		must.Do(t, err)
		tables = append(tables, text)
	}
	return tables
}

// TestAttachEndsSnapshots makes tables part of a store, which ends its snapshots, and reads what is in them.
func TestAttachEndsSnapshots(t *testing.T) {
	s := loadingStore(t)
	before := s.Begin()
	defer before.Close()
	b := s.db.NewTables()
	key := record.NumberKey(record.KindNodeAt, 9, 0)
	must.Do(t, errors.Join(b.Put(key, []byte("body")), b.Flush(), s.attach(b), b.Cancel()))
	if err := before.Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("got a snapshot with %v, want ErrClosed", err)
	}
	view(t, s, func(tx *Tx) error {
		return tx.records().Get(key, func(body []byte) error {
			if string(body) != "body" {
				t.Errorf("got %q", body)
			}
			return nil
		})
	})
}

// TestLoadWritesSameTables loads a graph with different numbers of workers and budgets, with and without spilling, and
// expects the same bytes.
func TestLoadWritesSameTables(t *testing.T) {
	const n = 20_000
	load := func(opt LoadOptions) (tables [][]byte) {
		t.Helper()
		opt.Properties = []Column{{Name: "size", Kind: KindInt}}
		l, err := NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"), opt)
		must.Do(t, err)
		for v := range n {
			node := Node{ID: fmt.Sprint("node ", v), Label: []string{"", "a", "b"}[v%3], Values: []Value{IntValue(int64(v * v))}}
			must.Do(t, l.AddNode(node))
		}
		r := rand.New(rand.NewPCG(1, 4))
		for range 15 * n {
			u, v := r.IntN(1+r.IntN(n)), r.IntN(n)
			if u%5 == 0 {
				u = 0 // a hub
			}
			must.Do(t, l.AddEdge(fmt.Sprint("node ", u), fmt.Sprint("node ", v), 0))
		}
		_, err = l.Commit(t.Context(), func(s *Store) error {
			tables = lastLevel(t, s)
			return nil
		})
		must.Do(t, err)
		return tables
	}
	want := load(LoadOptions{MemoryBudget: 1 << 30, Workers: 1})
	if len(want) < 7 {
		t.Fatalf("got %d tables, want one a kind", len(want))
	}
	for _, opt := range []LoadOptions{
		{MemoryBudget: 1 << 30, Workers: 4},
		{MemoryBudget: 1 << 21, Workers: 2},
		{MemoryBudget: 1 << 30, Workers: 2},
		{MemoryBudget: 1 << 21, Workers: 1},
		{MemoryBudget: 1 << 21, Workers: 4},
	}[:longtest.Of(2, 5)] {
		if got := load(opt); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("budget %d, %d workers: got other tables", opt.MemoryBudget, opt.Workers)
		}
	}
}

// TestBulkWhileLoading writes into the store of a Loader, in any order, gives one Bulk up, and reads the others.
func TestBulkWhileLoading(t *testing.T) {
	const n = 5000
	dir := filepath.Join(t.TempDir(), "graph")
	l, err := NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget})
	must.Do(t, err)
	for v := range n {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(v)}))
	}
	write := func(s *Store, times float32, end func(b *Bulk) error) error {
		b, err := s.Bulk()
		if err != nil {
			return err
		}
		defer b.Abort()
		x, err := b.Column("x", KindFloat)
		if err != nil {
			return err
		}
		m, err := b.Matrix("m", []string{"a", "b"}, MatrixEncoding{})
		if err != nil {
			return err
		}
		for _, v := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
			if err := x.Put(NodeID(v), FloatValue(float64(v)*float64(times))); err != nil {
				return err
			}
			if err := m.Put(NodeID(v), []float32{float32(v), times}); err != nil {
				return err
			}
		}
		return end(b)
	}
	_, err = l.Commit(t.Context(), func(s *Store) error {
		for times := range 3 {
			if err := write(s, float32(times), func(b *Bulk) error { return b.Commit(nil) }); err != nil {
				return err
			}
		}
		return write(s, 9, func(*Bulk) error { return nil })
	})
	must.Do(t, err)
	if left := fileNames(t, dir, "*.tmp"); len(left) > 0 {
		t.Errorf("%v stays behind", left)
	}
	s := openTest(t, dir)
	checkClean(t, s)
	view(t, s, func(tx *Tx) error {
		m, err := tx.Matrix("m")
		if err != nil {
			return err
		}
		rows := make([]float32, 2*n)
		if err := m.Read(Range{First: 0, End: n}, 0, 2, rows); err != nil {
			return err
		}
		for v := range NodeID(n) {
			x, err := tx.Value(v, "x")
			if err != nil {
				return err
			}
			if x.Float() != 2*float64(v) || rows[2*v] != float32(v) || rows[2*v+1] != 2 {
				t.Fatalf("node %d: got %v and %v, want %d and [%d 2]", v, x, rows[2*v:2*v+2], 2*v, v)
			}
		}
		return nil
	})
}

package workplace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ring is a store of nodes in a ring, with chords.
func ring(t *testing.T) *kv.Store {
	t.Helper()
	const nodes = 80
	var edges [][2]int
	for v := range nodes {
		edges = append(edges, [2]int{v, (v + 1) % nodes}, [2]int{v, (v*v + 3) % nodes})
	}
	return kvtest.Load(t, kvtest.NumberedGraph(make([]string, nodes), edges...))
}

// kept are the paths of the files in the store's directory of work.
func kept(t *testing.T, s *kv.Store) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(s.Dir(), "work", "*")))(t)
}

// in has do use a place for a snapshot.
func in(t *testing.T, s *kv.Store, do func(p *Place, tx *kv.Tx)) {
	t.Helper()
	must.Do(t, s.View(func(tx *kv.Tx) error {
		p := must.Get(Open(t.Context(), s, tx))(t)
		do(p, tx)
		return p.Close()
	}))
}

// Every hop is kept once it is done, also where a later one fails, and is not computed again.
func TestDiagonalsAreKeptHopByHop(t *testing.T) {
	in(t, ring(t), func(p *Place, tx *kv.Tx) {
		want := must.Get(ops.ComputeDiagonals(t.Context(), tx, ops.Powers{Hops: 4}, ops.Options{}))(t)
		for _, run := range []struct {
			hops     int
			computed []int // except for hop 1, which takes no work
			fails    bool
		}{{2, []int{2}, false}, {4, []int{3}, true}, {4, []int{4}, false}, {3, nil, false}} {
			inner, cancel := context.WithCancel(t.Context())
			var computed []int
			opt := ops.Options{OnStage: func(stage ops.Stage) {
				if stage.Name == "diagonal" {
					computed = append(computed, stage.Hop)
				}
			}, Progress: func(string, int64, int64) {
				if run.fails && slices.Contains(computed, 3) {
					cancel()
				}
			}}
			held, err := p.Diagonals(inner, tx, run.hops, opt)
			cancel()
			if run.fails != errors.Is(err, context.Canceled) || !slices.Equal(computed, run.computed) {
				t.Fatalf("%d hops: got hops %v computed and error %v, want %v", run.hops, computed, err, run.computed)
			}
			for k := 1; !run.fails && k <= run.hops; k++ {
				if !slices.Equal(held.At(k), want.At(k)) {
					t.Errorf("%d hops: hop %d differs in its bits", run.hops, k)
				}
			}
			must.Do(t, held.Close())
		}
	})
}

// TestDamage damages a kept file: its diagonal is computed again.
func TestDamage(t *testing.T) {
	s := ring(t)
	in(t, s, func(p *Place, tx *kv.Tx) {
		held := must.Get(p.Diagonals(t.Context(), tx, 2, ops.Options{}))(t)
		want := slices.Clone(held.At(2))
		must.Do(t, held.Close())
		files := kept(t, s)
		if len(files) != 4 {
			t.Fatalf("got %v kept, want two diagonals with their marks", files)
		}
		for _, file := range files {
			for how, damage := range map[string]func(text []byte) []byte{
				"changed": func(text []byte) []byte { text[len(text)/2] ^= 4; return text },
				"cut":     func(text []byte) []byte { return text[:len(text)/2] },
				"emptied": func([]byte) []byte { return nil },
			} {
				must.Do(t, os.WriteFile(file, damage(must.Get(os.ReadFile(file))(t)), 0o666))
				held := must.Get(p.Diagonals(t.Context(), tx, 2, ops.Options{}))(t)
				if !slices.Equal(held.At(2), want) {
					t.Errorf("%s %s: the diagonal differs", file, how)
				}
				must.Do(t, held.Close())
			}
		}
	})
}

// Of a graph that has changed nothing is used. A diagonal that could not be kept as a whole leaves no file.
func TestKeptIsOfTheSameGraph(t *testing.T) {
	s := ring(t)
	in(t, s, func(p *Place, tx *kv.Tx) {
		must.Do(t, must.Get(p.Diagonals(t.Context(), tx, 2, ops.Options{}))(t).Close())
	})
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for u, err := range tx.Neighbors(0) {
			return errors.Join(err, tx.RemoveEdge(0, u))
		}
		return errors.New("node 0 has no neighbours")
	}))
	in(t, s, func(p *Place, tx *kv.Tx) {
		if files := kept(t, s); len(files) > 0 {
			t.Errorf("got %v kept of the graph before", files)
		}
		want := must.Get(ops.ComputeDiagonals(t.Context(), tx, ops.Powers{Hops: 2}, ops.Options{}))(t)
		for range 2 {
			held := must.Get(p.Diagonals(t.Context(), tx, 2, ops.Options{}))(t)
			if !slices.Equal(held.At(2), want.At(2)) {
				t.Error("the diagonal is that of the graph before")
			}
			must.Do(t, held.Close())
		}
		before := kept(t, s)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.keep(ended, 9, make([]float64, tx.NumNodes()), 1); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if files := kept(t, s); !slices.Equal(files, before) || len(files) != 4 {
			t.Errorf("got %v kept, want the two diagonals %v", files, before)
		}
	})
}

// A job that only reads finds what others kept, and makes no directory.
func TestReadingKeepsNothing(t *testing.T) {
	s := ring(t)
	read := func() {
		must.Do(t, s.View(func(tx *kv.Tx) error {
			p := must.Get(Reading(tx))(t)
			return must.Get(p.Diagonals(t.Context(), tx, 2, ops.Options{}))(t).Close()
		}))
	}
	work := filepath.Join(s.Dir(), "work")
	read()
	if _, err := os.Stat(work); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v of the directory of work, want none", err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(work, "others"), 0o777))
	read()
	if entries, err := os.ReadDir(work); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v in the directory of work, want only what was there", entries, err)
	}
}

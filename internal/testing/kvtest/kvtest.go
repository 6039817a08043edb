// Package kvtest makes stores in temporary directories for tests. Each is checked and closed when its test ends.
package kvtest

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// memoryBudget is small, so that tests run through what large stores do.
const memoryBudget = 64 << 20

// Create makes an empty store.
func Create(t testing.TB, opt kv.Options) *kv.Store {
	t.Helper()
	s, err := kv.Create(newDir(t), withBudget(opt))
	if err != nil {
		t.Fatal(err)
	}
	cleanUp(t, s)
	return s
}

// Open opens the store in dir, which a test made before.
func Open(t testing.TB, dir string, opt kv.Options) *kv.Store {
	t.Helper()
	s, err := kv.Open(dir, withBudget(opt))
	if err != nil {
		t.Fatal(err)
	}
	cleanUp(t, s)
	return s
}

// A Graph is the input of Load.
type Graph struct {
	Nodes      []kv.Node
	Edges      [][2]string // by external id
	Properties []kv.Column
	Classes    []string // known beside those of the labels
}

// NumberedGraph is a graph of nodes "0", "1", …, one for each label, "" for an unlabelled one.
func NumberedGraph(labels []string, edges ...[2]int) Graph {
	var g Graph
	for i, label := range labels {
		g.Nodes = append(g.Nodes, kv.Node{ID: strconv.Itoa(i), Label: label, Source: int64(i)})
	}
	for _, e := range edges {
		g.Edges = append(g.Edges, [2]string{strconv.Itoa(e[0]), strconv.Itoa(e[1])})
	}
	return g
}

// Load loads a graph into a new store and opens it.
func Load(t testing.TB, g Graph) *kv.Store {
	t.Helper()
	return Open(t, LoadDir(t, g), kv.Options{})
}

// LoadDir loads a graph into a new store, which it leaves closed, and returns its directory.
func LoadDir(t testing.TB, g Graph) string {
	t.Helper()
	dir := newDir(t)
	l, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{MemoryBudget: memoryBudget, Properties: g.Properties,
		Classes: g.Classes})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Abort(); err != nil { // nothing after Commit
			t.Error(err)
		}
	}()
	for _, n := range g.Nodes {
		if err := l.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range g.Edges {
		if err := l.AddEdge(e[0], e[1], int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Commit(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Check reports every problem that Store.Check finds as an error of the test.
func Check(t testing.TB, s *kv.Store) {
	t.Helper()
	err := s.Check(context.Background(), nil, func(p kv.Problem) {
		t.Errorf("store %s: %s: %s", s.Dir(), p.Where, p.What)
	})
	if err != nil {
		t.Errorf("checking store %s: %v", s.Dir(), err)
	}
}

func newDir(t testing.TB) string { return filepath.Join(t.TempDir(), "store") }

func withBudget(opt kv.Options) kv.Options {
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = memoryBudget
	}
	return opt
}

// cleanUp checks and closes a store at the end of the test, unless the test closed it.
func cleanUp(t testing.TB, s *kv.Store) {
	t.Cleanup(func() {
		if err := s.View(func(*kv.Tx) error { return nil }); errors.Is(err, kv.ErrClosed) {
			return
		}
		Check(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("closing store %s: %v", s.Dir(), err)
		}
	})
}

// MakeMatrix makes a matrix without rows, in place of one of the same name.
func MakeMatrix(t *testing.T, s *kv.Store, name string, columns []string) {
	t.Helper()
	b := must.Get(s.Bulk(t.Context()))(t)
	defer b.Abort()
	must.Get(b.Matrix(name, columns))(t)
	must.Do(t, b.Commit(nil))
}

package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/load"
)

func TestLoadErrors(t *testing.T) {
	type edge struct {
		src, dst string
		source   int64
	}
	for _, test := range []struct {
		name  string
		ids   []string
		edges []edge
		want  error
	}{
		{"duplicate integers", []string{"0", "1", "0", "1", "0"}, nil,
			&RowError{ID: "0", First: 10, Source: 12, Err: ErrExists}},
		{"duplicate words", []string{"b", "a", "a", "b"}, nil, &RowError{ID: "a", First: 11, Source: 12, Err: ErrExists}},
		{"duplicate word late", []string{"0", "1", "1", "x"}, nil, &RowError{ID: "1", First: 11, Source: 12, Err: ErrExists}},
		{"unknown integer", []string{"0", "1"}, []edge{{"0", "7", 5}, {"2", "0", 3}, {"9", "9", 4}},
			&RowError{Edge: true, ID: "2", Source: 3, Err: ErrNotFound}},
		{"unknown word", []string{"a", "b"}, []edge{{"a", "x", 5}, {"a", "y", 3}, {"z", "z", 4}},
			&RowError{Edge: true, ID: "y", Source: 3, Err: ErrNotFound}},
		{"both ends unknown", []string{"a", "b"}, []edge{{"x", "y", 5}},
			&RowError{Edge: true, ID: "x", Source: 5, Err: ErrNotFound}},
		{"not canonical", []string{"0", "1"}, []edge{{"0", "01", 5}},
			&RowError{Edge: true, ID: "01", Source: 5, Err: ErrNotFound}},
		{"no nodes", nil, []edge{{"0", "1", 5}}, &RowError{Edge: true, ID: "0", Source: 5, Err: ErrNotFound}},
	} {
		for _, budget := range []int64{1, 1 << 30} {
			parent := t.TempDir()
			l, err := NewLoader(t.Context(), filepath.Join(parent, "graph"), LoadOptions{MemoryBudget: budget})
			must.Do(t, err)
			for i, id := range test.ids {
				must.Do(t, l.AddNode(Node{ID: id, Source: int64(10 + i)}))
			}
			for _, e := range test.edges {
				must.Do(t, l.AddEdge(e.src, e.dst, e.source))
			}
			_, err = l.Commit(t.Context(), nil)
			if err == nil || err.Error() != test.want.Error() {
				t.Errorf("%s, budget %d: got %v, want %v", test.name, budget, err, test.want)
			}
			emptyAfter(t, parent, test.name)
		}
	}
}

func TestInvalidRows(t *testing.T) {
	parent := t.TempDir()
	l := must.Get(NewLoader(t.Context(), filepath.Join(parent, "graph"),
		LoadOptions{Properties: []Column{{Name: "year", Kind: KindInt}}}))(t)
	for _, test := range []struct {
		node Node
		want error
	}{
		{Node{ID: ""}, ErrInvalidID},
		{Node{ID: strings.Repeat("x", 1025)}, ErrInvalidID},
		{Node{ID: "a\nb"}, ErrInvalidID},
		{Node{ID: "\xff"}, ErrInvalidID},
		{Node{ID: "a", Label: "\x00"}, ErrInvalidName},
		{Node{ID: "a", Values: []Value{ValueOf("x")}}, ErrInvalidValue},
		{Node{ID: "a", Values: []Value{ValueOf(1), ValueOf(2)}}, ErrInvalidValue},
	} {
		test.node.Source = 77
		err := l.AddNode(test.node)
		var invalid *RowError
		if !errors.Is(err, test.want) || !errors.As(err, &invalid) || invalid.Source != 77 {
			t.Errorf("AddNode(%.30q): got %v, want a RowError of 77 that is %v", test.node.ID, err, test.want)
		}
	}
	must.Do(t, l.AddEdge("a", "b", 0))
	if err := l.AddNode(Node{ID: "late"}); err == nil {
		t.Error("AddNode after AddEdge: got no error")
	}
	must.Do(t, l.Abort())
	emptyAfter(t, parent, "Abort")
	if err := l.AddNode(Node{ID: "a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("AddNode after Abort: got %v, want ErrClosed", err)
	}
	for _, err := range []error{l.AddEdge("a", "b", 0), l.EdgeWriter().Add("a", "b", 1)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("an edge after Abort: got %v, want ErrClosed", err)
		}
	}
	if _, err := l.Commit(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit after Abort: got %v, want ErrClosed", err)
	}
}

func TestLoadOptionsInvalid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "graph")
	for _, opt := range []LoadOptions{
		{MemoryBudget: -1},
		{Workers: -1},
		{Properties: []Column{{Name: "degree", Kind: KindFloat}}},
		{Properties: []Column{{Name: "a", Kind: KindInt}, {Name: "a", Kind: KindInt}}},
		{Properties: []Column{{Name: "a"}}},
		{Properties: []Column{{Name: "", Kind: KindInt}}},
		{Classes: []string{""}},
	} {
		if _, err := NewLoader(t.Context(), dir, opt); err == nil {
			t.Errorf("NewLoader with %+v: got no error", opt)
		}
	}
	emptyAfter(t, filepath.Dir(dir), "invalid options")
}

func TestCancelledLoadLeavesNothing(t *testing.T) {
	g := &testGraph{}
	for seed := uint64(0); len(g.ids) < 300; seed++ {
		g = randomGraph(rand.New(rand.NewPCG(seed, 1)))
	}
	for _, at := range []string{load.StageIDs, load.StageEdges, load.StageAdjacency, load.StageColumns, load.StageSync,
		"finish", "finish error"} {
		parent := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		opt := LoadOptions{
			MemoryBudget: 1,
			Properties:   []Column{{Name: "year", Kind: KindInt}},
			Progress: func(stage string, _, _ int64) {
				if stage == at {
					cancel()
				}
			},
		}
		l, err := NewLoader(t.Context(), filepath.Join(parent, "graph"), opt)
		must.Do(t, err)
		must.Do(t, g.add(l))
		_, err = l.Commit(ctx, func(*Store) error {
			if at == "finish error" {
				return ErrShape
			}
			if at == "finish" {
				cancel()
			}
			return nil
		})
		want := context.Canceled
		if at == "finish error" {
			want = ErrShape
		}
		// The last stage has nothing left to cancel.
		if at != load.StageSync && !errors.Is(err, want) {
			t.Errorf("cancelled at %s: got %v, want %v", at, err, want)
		}
		if at != load.StageSync {
			emptyAfter(t, parent, "cancelling at "+at)
		}
		cancel()
	}
}

// emptyAfter fails unless a directory is empty.
func emptyAfter(t *testing.T, parent, what string) {
	t.Helper()
	left, err := os.ReadDir(parent)
	if err != nil || len(left) > 0 {
		t.Errorf("after %s: got %v, %v, want nothing left", what, left, err)
	}
}

func TestLoadIntoAFailingDirectory(t *testing.T) {
	parent := t.TempDir()
	l, err := NewLoader(t.Context(), filepath.Join(parent, "graph"), LoadOptions{MemoryBudget: 1})
	must.Do(t, err)
	for i := range 2000 {
		must.Do(t, l.AddNode(Node{ID: strconv.Itoa(i)}))
	}
	must.Do(t, os.RemoveAll(l.work.sort()))
	for i := 0; i < 10000 && err == nil; i++ {
		err = l.AddEdge(strconv.Itoa(i%2000), strconv.Itoa(i*7%2000), 0)
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("AddEdge without a place to sort: got %v, want ErrNotExist", err)
	}
	if _, err := l.Commit(t.Context(), nil); err == nil {
		t.Error("Commit without a place to sort: got no error")
	}
	emptyAfter(t, parent, "a load that could not sort")
}

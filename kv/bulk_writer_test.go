package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func beginBulk(t *testing.T, s *Store) *Bulk {
	t.Helper()
	return must.Get(s.Bulk(context.Background()))(t)
}

// makeMatrix makes a matrix without rows.
func makeMatrix(t *testing.T, s *Store, name string, columns ...string) {
	t.Helper()
	b := beginBulk(t, s)
	defer b.Abort()
	must.Get(b.Matrix(name, columns))(t)
	must.Do(t, b.Commit(nil))
}

func TestCloseWithOpenBulk(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	for _, end := range []func(b *Bulk){(*Bulk).Abort, func(b *Bulk) {
		if err := b.Commit(nil); err != nil {
			t.Error(err)
		}
	}} {
		b := beginBulk(t, s)
		if err := s.Close(); !errors.Is(err, ErrBusy) {
			t.Fatalf("Close while a Bulk is open: got %v, want ErrBusy", err)
		}
		w, err := b.Column("x", KindInt)
		if err != nil {
			t.Fatalf("the Bulk after Close was refused: %v", err)
		}
		must.Do(t, w.Put(1, ValueOf(2)))
		end(b)
	}
	view(t, s, func(tx *Tx) error {
		if got, err := tx.Value(1, "x"); err != nil || got != ValueOf(2) {
			t.Errorf("the value committed: got %v, %v; want 2", got, err)
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Errorf("Close after the Bulk: got %v", err)
	}
}

// TestCheckLetsWritersThrough updates the store from within the report of a Check.
func TestCheckLetsWritersThrough(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	changeCatalog(t, s, func(c *catalog) { c.EdgeDeltas = -1 })
	reports := 0
	err := s.Check(t.Context(), nil, func(Problem) {
		reports++
		update(t, s, func(tx *Tx) error { return tx.Documents("runs").Put(fmt.Sprint(reports), reports) })
	})
	if err != nil || reports == 0 {
		t.Errorf("got %v after %d problems, want some and no error", err, reports)
	}
	changeCatalog(t, s, func(c *catalog) { c.EdgeDeltas = 0 })
}

func TestGenerationsRunOut(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	changeCatalog(t, s, func(c *catalog) { c.Next = math.MaxUint32 - 1 })
	b := beginBulk(t, s)
	_, err := b.Column("one", KindInt)
	if _, err2 := b.Column("another", KindInt); err != nil || !errors.Is(err2, errGenerations) {
		t.Errorf("Bulk: got %v and %v; want the generations used up with the second column", err, err2)
	}
	b.Abort()
	add := func(name string) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.AddColumn(name, KindInt) }
	}
	for name, write := range map[string]func(tx *Tx) error{
		"AddColumn": add("beyond"),
		"Space.Put": func(tx *Tx) error { return tx.Space("s").Put([]byte("k"), nil) },
		"AddNode":   func(tx *Tx) error { _, err := tx.AddNode(Node{ID: "x"}); return err },
	} {
		if err := s.Update(write); !errors.Is(err, errGenerations) {
			t.Errorf("%s: got %v, want the generations used up", name, err)
		}
	}
}

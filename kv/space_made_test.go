package kv

import (
	"context"
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestMade wants what is made of a space to be made once, for each content that a Bulk wrote, and every time if it is
// large, and if making fails.
func TestMade(t *testing.T) {
	s := newStore(t, Options{})
	built := 0
	content := func(tx *Tx) string {
		value := must.Get(tx.Space("a").Made(func() (any, int64, error) {
			built++
			value, err := tx.Space("a").Get([]byte("k"))
			return string(value), 1, err
		}))(t)
		return value.(string)
	}
	write := func(value string) {
		t.Helper()
		b := must.Get(s.Bulk(context.Background()))(t)
		defer b.Abort()
		put, err := b.Space("a")
		if err == nil {
			err = put([]byte("k"), []byte(value))
		}
		must.Do(t, errors.Join(err, b.Commit(nil)))
	}
	expect := func(tx *Tx, want string, wantBuilt int) {
		t.Helper()
		if got := content(tx); got != want || built != wantBuilt {
			t.Errorf("got %q built %d times, want %q built %d times", got, built, want, wantBuilt)
		}
	}
	write("one")
	view(t, s, func(tx *Tx) error {
		must.Get(tx.Space("a").Made(func() (any, int64, error) { return "large", s.opt.MemoryBudget, nil }))(t)
		if _, err := tx.Space("a").Made(func() (any, int64, error) { return nil, 0, ErrCorrupt }); !errors.Is(err,
			ErrCorrupt) {
			t.Errorf("got %v, want the error of making", err)
		}
		return nil
	})
	before := s.Begin()
	defer before.Close()
	for range 2 {
		expect(before, "one", 1)
	}
	write("two")
	view(t, s, func(tx *Tx) error {
		expect(tx, "two", 2)
		expect(before, "one", 2)
		return nil
	})
	undone := errors.New("undone")
	err := s.Update(func(tx *Tx) error {
		expect(tx, "two", 2)
		if err := tx.Space("a").Drop(); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	view(t, s, func(tx *Tx) error {
		expect(tx, "two", 2)
		return nil
	})
}

// TestMadeOfMissingSpaces: a space that is not there gets nothing that was made of another one.
func TestMadeOfMissingSpaces(t *testing.T) {
	s := newStore(t, Options{})
	view(t, s, func(tx *Tx) error {
		for _, name := range []string{"one", "two"} {
			got := must.Get(tx.Space(name).Made(func() (any, int64, error) { return name, 1, nil }))(t)
			if got != name {
				t.Errorf("space %s: got what was made of space %v", name, got)
			}
		}
		return nil
	})
}

// TestDeleteOfLongKey: no entry can have such a key, so there is nothing to delete.
func TestDeleteOfLongKey(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error { return tx.Space("a").Put([]byte("k"), nil) })
	update(t, s, func(tx *Tx) error { return tx.Space("a").Delete(make([]byte, 70_000)) })
}

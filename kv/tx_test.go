package kv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestNestedScansInUpdate iterates within iterations and writes meanwhile, which Badger's own iterators do not allow.
func TestNestedScansInUpdate(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error {
		for i := range 100 {
			must.Do(t, tx.Space("s").Put(fmt.Appendf(nil, "%03d", i), []byte("v")))
		}
		return nil
	})
	update(t, s, func(tx *Tx) error {
		outer := 0
		for a, err := range tx.Space("s").Ascend(nil) {
			must.Do(t, err)
			inner := 0
			for b, err := range tx.Space("s").Descend(a.Key) {
				must.Do(t, err)
				if string(b.Key) > string(a.Key) {
					t.Fatalf("descending from %s: got %s", a.Key, b.Key)
				}
				if inner++; inner == 3 {
					break
				}
			}
			must.Do(t, tx.Space("s").Put(a.Key, []byte("w")))
			outer++
		}
		if outer != 100 {
			t.Errorf("got %d entries, want 100", outer)
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		for e, err := range tx.Space("s").Ascend(nil) {
			must.Do(t, err)
			if string(e.Value) != "w" {
				t.Errorf("%s: got %s, want w", e.Key, e.Value)
			}
		}
		return nil
	})
}

func TestTooBigUpdate(t *testing.T) {
	s := newStore(t, Options{})
	err := s.Update(func(tx *Tx) error {
		for i := 0; ; i++ {
			if err := tx.Space("s").Put(fmt.Appendf(nil, "%08d", i), make([]byte, MaxSpaceValue)); err != nil {
				if !errors.Is(err, ErrTxTooBig) || !strings.Contains(err.Error(), "Bulk") {
					t.Errorf("got %v, want ErrTxTooBig with advice", err)
				}
				return nil // a caller that goes on must not get half of it
			}
		}
	})
	if !errors.Is(err, ErrTxTooBig) {
		t.Errorf("committing all the same: got %v, want ErrTxTooBig", err)
	}
	view(t, s, func(tx *Tx) error {
		for e, err := range tx.Space("s").Ascend(nil) {
			t.Errorf("got entry %s, %v, want none", e.Key, err)
		}
		return nil
	})
}

func TestWritesNeedUpdate(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 1)
	view(t, s, func(tx *Tx) error {
		for name, err := range map[string]error{
			"SetLabel":     tx.SetLabel(0, "a"),
			"AddColumn":    tx.AddColumn("x", KindInt),
			"Documents":    tx.Documents("a").Put("b", 1),
			"Space.Drop":   tx.Space("s").Drop(),
			"Space.Put":    tx.Space("s").Put([]byte("k"), nil),
			"Space.Delete": tx.Space("s").Delete([]byte("k")),
			"SetIndexed":   tx.SetIndexed(LabelColumn, true),
		} {
			if !errors.Is(err, ErrReadOnly) {
				t.Errorf("%s in a View: got %v, want ErrReadOnly", name, err)
			}
		}
		return nil
	})
}

func TestDamagedRecordIsCorrupt(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 1)
	update(t, s, func(tx *Tx) error {
		must.Do(t, tx.SetLabel(0, "a"))
		return tx.Documents("d").Put("k", "text")
	})
	damage := func(key []byte) {
		t.Helper()
		damagedStores.Store(s.dir, true)
		update(t, s, func(tx *Tx) error { return tx.txn.Set(key, []byte{}) })
	}
	var g record.Generation
	view(t, s, func(tx *Tx) error { g = tx.cat.Columns[LabelColumn].Generation; return nil })
	damage(column.DeltaKey(g, 0))
	damage(record.PartKey(documentKey("d", "k"), 0))
	view(t, s, func(tx *Tx) error {
		var text string
		_, label := tx.Label(0)
		r := must.Get(tx.Reader(LabelColumn))(t)
		_, at := r.At(0)
		for name, err := range map[string]error{
			"Label":       label,
			"Reader.At":   at,
			"ReadClasses": tx.ReadClasses(LabelColumn, Range{End: NodeID(tx.NumNodes())}, make([]Class, 1)),
			"Document":    tx.Documents("d").Get("k", &text),
		} {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s of an empty value: got %v, want ErrCorrupt", name, err)
			}
		}
		return nil
	})
}

func TestSpaces(t *testing.T) {
	s := newStore(t, Options{})
	keys := []string{"a", "a\x00", "ab", "b", "\xff", "\xff\xff"}
	update(t, s, func(tx *Tx) error {
		for _, name := range []string{"one", "two"} {
			for _, key := range keys {
				must.Do(t, tx.Space(name).Put([]byte(key), []byte(name+key)))
			}
		}
		return tx.Space("two").Delete([]byte("ab"))
	})
	collect := func(seq func(func(Entry, error) bool)) (got []string) {
		for e, err := range seq {
			must.Do(t, err)
			got = append(got, string(e.Key))
		}
		return got
	}
	check := func(tx *Tx) error {
		one := tx.Space("one")
		reversed := slices.Clone(keys)
		slices.Reverse(reversed)
		for _, test := range []struct {
			what      string
			got, want []string
		}{
			{"ascend", collect(one.Ascend(nil)), keys},
			{"ascend from aa", collect(one.Ascend([]byte("aa"))), keys[2:]},
			{"descend", collect(one.Descend(nil)), reversed},
			{"descend from ab", collect(one.Descend([]byte("ab"))), reversed[3:]},
			{"descend from aa", collect(one.Descend([]byte("aa"))), reversed[4:]},
			{"two", collect(tx.Space("two").Ascend([]byte("ab"))), keys[3:]},
			{"never written", collect(tx.Space("three").Ascend(nil)), nil},
		} {
			if !slices.Equal(test.got, test.want) {
				t.Errorf("%s: got %q, want %q", test.what, test.got, test.want)
			}
		}
		value, err := one.Get([]byte("ab"))
		if string(value) != "oneab" {
			t.Errorf("get ab: got %q, want oneab", value)
		}
		for _, space := range []string{"two", "three"} {
			if _, err := tx.Space(space).Get([]byte("ab")); !errors.Is(err, ErrNotFound) {
				t.Errorf("get ab of %s: got %v, want ErrNotFound", space, err)
			}
		}
		return err
	}
	view(t, s, check)
	update(t, s, check)
	update(t, s, func(tx *Tx) error {
		for _, key := range [][]byte{nil, make([]byte, MaxSpaceKey+1)} {
			if err := tx.Space("one").Put(key, nil); !errors.Is(err, ErrInvalidValue) {
				t.Errorf("a key of %d bytes: got %v, want ErrInvalidValue", len(key), err)
			}
		}
		must.Do(t, tx.Space("one").Drop())
		if got := collect(tx.Space("one").Ascend(nil)); got != nil {
			t.Errorf("dropped space: got %q, want nothing", got)
		}
		return tx.Space("one").Put([]byte("new"), nil)
	})
	view(t, s, func(tx *Tx) error {
		if got := collect(tx.Space("one").Ascend(nil)); !slices.Equal(got, []string{"new"}) {
			t.Errorf("space written again: got %q, want only new", got)
		}
		return nil
	})
}

func TestDocuments(t *testing.T) {
	s := newStore(t, Options{})
	type run struct {
		ID     int64
		Scores []float64
		Before Value
	}
	large := run{1, make([]float64, 50_000), ValueOf("µ")} // several parts
	large.Scores[49_999] = 0.5
	update(t, s, func(tx *Tx) error {
		must.Do(t, tx.Documents("runs").Put("b", large))
		must.Do(t, tx.Documents("runs").Put("ba", run{ID: 2}))
		return tx.Documents("other").Put("a", 1)
	})
	check := func(tx *Tx) error {
		var got run
		if err := tx.Documents("runs").Get("b", &got); err != nil {
			return err
		}
		if got.ID != 1 || !slices.Equal(got.Scores, large.Scores) || got.Before != large.Before {
			t.Errorf("large document: got ID %d, %d scores, %v", got.ID, len(got.Scores), got.Before)
		}
		keys := []string{}
		for key, err := range tx.Documents("runs").Keys() {
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		if !slices.Equal(keys, []string{"b", "ba"}) {
			t.Errorf("got documents %q, want b and ba", keys)
		}
		err := tx.Documents("runs").Get("c", &got)
		if want := "document runs/c: kv: not found"; !errors.Is(err, ErrNotFound) || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
		return nil
	}
	view(t, s, check)
	update(t, s, check)
	update(t, s, func(tx *Tx) error { return tx.Documents("runs").Put("b", run{ID: 3}) }) // fewer parts
	update(t, s, func(tx *Tx) error { return tx.Documents("runs").Delete("ba") })
	view(t, s, func(tx *Tx) error {
		records := 0
		for _, err := range tx.records().Scan(documentKey("runs", ""), nil) {
			must.Do(t, err)
			records++
		}
		if records != 1 {
			t.Errorf("got %d records of runs, want 1: parts were left behind", records)
		}
		return nil
	})
}

func TestDocumentNames(t *testing.T) {
	s := newStore(t, Options{})
	for _, name := range [][2]string{{"", "key"}, {"space", ""}, {"sp\x00ace", "key"}, {"space", "k\ney"}} {
		err := s.Update(func(tx *Tx) error { return tx.Documents(name[0]).Put(name[1], 1) })
		if err == nil {
			t.Errorf("a document %q/%q was written, want an error", name[0], name[1])
		}
	}
}

func TestOnWrite(t *testing.T) {
	var got []string
	refuse := errors.New("refused")
	s := newStore(t, Options{OnWrite: func(tx *Tx, v NodeID, column string, before, after Value) error {
		now, err := tx.Value(v, column)
		if err != nil || now != after {
			t.Errorf("in OnWrite: got value %v, %v; want %v", now, err, after)
		}
		if after == ValueOf("refuse") {
			return refuse
		}
		got = append(got, fmt.Sprintf("%d.%s: %q to %q", v, column, before, after))
		return nil
	}})
	addNodes(t, s, 2)
	update(t, s, func(tx *Tx) error {
		must.Do(t, tx.SetLabel(0, "unseen"))
		must.Do(t, tx.SetIndexed(LabelColumn, true))
		for _, label := range []string{"a", "a", ""} {
			must.Do(t, tx.SetLabel(0, label))
		}
		_, err := tx.AddNode(Node{ID: "new", Label: "b"})
		return err
	})
	want := []string{`0.label: "unseen" to "a"`, `0.label: "a" to ""`, `2.label: "" to "b"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	err := s.Update(func(tx *Tx) error {
		if err := tx.SetLabel(1, "refuse"); !errors.Is(err, refuse) {
			t.Errorf("got %v, want the hook's error", err)
		}
		return nil // going on must not commit
	})
	if !errors.Is(err, refuse) {
		t.Errorf("committing all the same: got %v, want the hook's error", err)
	}
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	err = s.Update(func(tx *Tx) error { return tx.SetLabel(0, "z") })
	if want := "column label: kv: column is indexed, and the store was opened without Options.OnWrite"; !errors.Is(err,
		ErrIndexed) || err.Error() != want {
		t.Errorf("without a hook: got %v, want %q", err, want)
	}
}

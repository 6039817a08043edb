package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

func TestSetValue(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	update(t, s, func(tx *Tx) error {
		for _, kind := range columnKinds {
			must.Do(t, tx.AddColumn(kind.String(), kind))
		}
		return nil
	})
	tests := []struct {
		column    string
		set, want Value
		err       error
	}{
		{"bool", ValueOf(true), ValueOf(true), nil},
		{"bool", ValueOf(1), ValueOf(true), ErrInvalidValue},
		{"int", ValueOf(math.MinInt64), ValueOf(math.MinInt64), nil},
		{"int", ValueOf(1.0), ValueOf(math.MinInt64), ErrInvalidValue},
		{"float", ValueOf(3), ValueOf(3.0), nil},
		{"float", ValueOf(math.NaN()), Value{}, nil},
		{"single", ValueOf(0.1), ValueOf(float64(float32(0.1))), nil},
		{"string", ValueOf("Ж\n"), ValueOf("Ж\n"), nil},
		{"string", ValueOf(""), ValueOf(""), nil},
		{"string", ValueOf(strings.Repeat("x", MaxString+1)), ValueOf(""), ErrInvalidValue},
		{"string", ValueOf("\xff"), ValueOf(""), ErrInvalidValue},
		{"class", ValueOf("Theory"), ValueOf("Theory"), nil},
		{"class", ValueOf(""), Value{}, nil},
		{"class", ValueOf("two\nlines"), Value{}, ErrInvalidName},
		{"label", ValueOf("Theory"), ValueOf("Theory"), nil},
		{"label", Value{}, Value{}, nil},
		{"nothing", ValueOf(1), Value{}, ErrNoColumn},
		{"degree", ValueOf(1), ValueOf(0), ErrInvalidName},
	}
	for _, test := range tests {
		var inside Value
		update(t, s, func(tx *Tx) error {
			if err := tx.SetValue(1, test.column, test.set); !errors.Is(err, test.err) {
				t.Errorf("%s = %.20q: got %v, want %v", test.column, test.set, err, test.err)
			}
			if test.err != ErrNoColumn {
				var err error
				if inside, err = tx.Value(1, test.column); err != nil {
					return err
				}
			}
			return nil
		})
		view(t, s, func(tx *Tx) error {
			got, err := tx.Value(1, test.column)
			if got != test.want || inside != test.want {
				t.Errorf("%s = %.20q: got %v, inside the Update %v, want %v", test.column, test.set, got, inside, test.want)
			}
			if test.err == ErrNoColumn {
				if !errors.Is(err, ErrNoColumn) {
					t.Errorf("value of column %s: got %v, want ErrNoColumn", test.column, err)
				}
				return nil
			}
			return err
		})
	}
	view(t, s, func(tx *Tx) error {
		if got := tx.Classes(); !slices.Equal(got, []string{"Theory"}) {
			t.Errorf("classes: got %q, want Theory alone", got)
		}
		return nil
	})
	err := s.Update(func(tx *Tx) error { return tx.SetLabel(3, "x") })
	if want := "node number 3 of 3: kv: not found"; !errors.Is(err, ErrNotFound) || err.Error() != want {
		t.Errorf("a node that is not there: got %v, want %q", err, want)
	}
}

func TestColumnNames(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error {
		for name, want := range map[string]error{
			"": ErrInvalidName, "a\x00": ErrInvalidName, "id": ErrInvalidName, "degree": ErrInvalidName,
			strings.Repeat("é", 200): ErrInvalidName, "\xff": ErrInvalidName, "label": ErrInvalidValue, "größe": nil,
		} {
			if err := tx.AddColumn(name, KindInt); !errors.Is(err, want) {
				t.Errorf("AddColumn %.20q: got %v, want %v", name, err, want)
			}
		}
		_, err := tx.Reader("none")
		if want := "column none: kv: no such column"; !errors.Is(err, ErrNoColumn) || err.Error() != want {
			t.Errorf("reader of no column: got %v, want %q", err, want)
		}
		return nil
	})
}

// writeColumn writes a column by Bulk, in the order of perm.
func writeColumn(t *testing.T, s *Store, name string, kind Kind, values []Value, perm []int) {
	t.Helper()
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	w := must.Get(b.Column(name, kind))(t)
	if !slices.IsSorted(perm) {
		w.Sort()
	}
	for _, v := range perm {
		must.Do(t, w.Put(NodeID(v), values[v]))
	}
	must.Do(t, b.Commit(nil))
}

func identity(n int) []int {
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	return perm
}

func TestReaderBlocks(t *testing.T) {
	s := newStore(t, Options{})
	n := 2*codec.ColumnRows + 10
	setNodes(t, s, n)
	values := make([]Value, n)
	for v := range values {
		values[v] = ValueOf(float64(v))
	}
	writeColumn(t, s, "x", KindFloat, values, identity(n))
	classes := make([]Value, n)
	for v := range classes {
		classes[v] = ValueOf([]string{"z", "a", "m"}[v%3]) // numbered in this order, which is not that of the names
	}
	writeColumn(t, s, "c", KindClass, classes, identity(n))
	update(t, s, func(tx *Tx) error {
		must.Do(t, tx.SetValue(5, "x", ValueOf(-1.0)))
		return tx.SetValue(6, "x", Value{})
	})
	values[5], values[6] = ValueOf(-1.0), Value{}
	type bounds struct {
		rng             Range
		least, greatest Value
	}
	view(t, s, func(tx *Tx) error {
		for _, test := range []struct {
			column string
			at     NodeID
			want   bounds
		}{
			{"x", 0, bounds{Range{First: 0, End: codec.ColumnRows}, ValueOf(-1.0), ValueOf(float64(codec.ColumnRows - 1))}},
			{"x", codec.ColumnRows, bounds{Range{First: codec.ColumnRows, End: 2 * codec.ColumnRows},
				ValueOf(float64(codec.ColumnRows)), ValueOf(float64(2*codec.ColumnRows - 1))}},
			{"x", NodeID(n - 1), bounds{Range{First: 2 * codec.ColumnRows, End: NodeID(n)},
				ValueOf(float64(2 * codec.ColumnRows)), ValueOf(float64(n - 1))}},
			{"c", 1, bounds{Range{First: 0, End: codec.ColumnRows}, ValueOf("a"), ValueOf("z")}},
			{"label", 1, bounds{Range{First: 0, End: codec.ColumnRows}, Value{}, Value{}}},
		} {
			r, err := tx.Reader(test.column)
			must.Do(t, err)
			block := must.Get(r.Block(test.at))(t)
			got := bounds{rng: block.Nodes}
			got.least, got.greatest = block.Bounds()
			if got != test.want {
				t.Errorf("block of %s at %d: got %v, want %v", test.column, test.at, got, test.want)
			}
		}
		r := must.Get(tx.Reader("x"))(t)
		for v, want := range values {
			got := must.Get(r.At(NodeID(v)))(t)
			if got != want {
				t.Fatalf("x of %d: got %v, want %v", v, got, want)
			}
		}
		return nil
	})
}

// setNodes gives a store n nodes without ids or edges, for tests of columns.
func setNodes(t *testing.T, s *Store, n int) {
	t.Helper()
	damagedStores.Store(s.dir, true)
	update(t, s, func(tx *Tx) error {
		c := must.Get(tx.change())(t)
		c.Nodes = n
		return nil
	})
}

func TestReaderInUpdateSeesWrites(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	update(t, s, func(tx *Tx) error {
		r := must.Get(tx.Reader(LabelColumn))(t)
		for _, want := range []string{"a", "b"} {
			must.Do(t, tx.SetLabel(1, want))
			if got, err := r.At(1); err != nil || got != ValueOf(want) {
				t.Errorf("got %v, %v; want %s", got, err, want)
			}
		}
		return nil
	})
}

func TestLongStrings(t *testing.T) {
	s := newStore(t, Options{})
	const n = 300
	setNodes(t, s, n)
	values := make([]Value, n)
	for v := range values {
		values[v] = ValueOf(fmt.Sprint(v, strings.Repeat("é", v*v%3000)))
	}
	values[7] = ValueOf(strings.Repeat("x", MaxString))
	perm := identity(n)
	slices.Reverse(perm)
	for _, order := range [][]int{identity(n), perm} {
		writeColumn(t, s, "text", KindString, values, order)
		view(t, s, func(tx *Tx) error {
			r := must.Get(tx.Reader("text"))(t)
			for v, want := range values {
				got := must.Get(r.At(NodeID(v)))(t)
				direct := must.Get(tx.Value(NodeID(v), "text"))(t)
				if got != want || direct != want {
					t.Errorf("text of %d: got %d and %d bytes, want %d", v, len(got.Str()), len(direct.Str()), len(want.Str()))
				}
			}
			block, err := r.Block(0)
			least, greatest := block.Bounds()
			slices.SortFunc(values, Value.Compare)
			if least != values[0] || greatest != values[n-1] {
				t.Errorf("bounds: got %.10q and %.10q, want %.10q and %.10q", least, greatest, values[0], values[n-1])
			}
			return err
		})
		for v := range values { // undo the sorting
			values[v] = ValueOf(fmt.Sprint(v, strings.Repeat("é", v*v%3000)))
		}
		values[7] = ValueOf(strings.Repeat("x", MaxString))
	}
}

// TestOrigin changes a store in all ways: a value that is another one has another origin.
func TestOrigin(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 4)
	properties := []string{"id", "label", "x"}
	type origins [4][3]uint64
	read := func() (o origins) {
		view(t, s, func(tx *Tx) error {
			for v := range o {
				for i, property := range properties {
					o[v][i] = must.Get(tx.Origin(property, NodeID(v)))(t)
				}
			}
			return nil
		})
		return o
	}
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.AddColumn("x", KindInt), tx.SetValue(0, "x", ValueOf(5)), tx.SetLabel(0, "old"))
	})
	if o := read(); o[0][0] != 0 || o[0][2] != 0 {
		t.Errorf("got %v, want no origin of an added node's id and of a value set on its own", o)
	}
	must.Do(t, s.Compact(t.Context(), nil))
	before := read()
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.SetLabel(1, "new"), tx.SetValue(3, "x", ValueOf(1)), tx.RemoveNode(0))
	})
	after := read()
	for v := range before {
		for i, property := range properties {
			changed := v == 0 || v == 1 && property == "label" || v == 3 && property == "x"
			if before[v][i] == 0 || changed && after[v][i] != 0 || !changed && after[v][i] != before[v][i] {
				t.Errorf("%s of node %d: got origin %d after %d, changed is %v", property, v, after[v][i], before[v][i], changed)
			}
		}
	}
	must.Do(t, s.Compact(t.Context(), nil))
	if o := read(); o[1][1] == 0 || o[1][1] == before[1][1] || o[3][2] == before[3][2] {
		t.Errorf("got %v, want other origins than %v of what changed", o, before)
	}
	view(t, s, func(tx *Tx) error {
		if _, err := tx.Origin("degree", 1); !errors.Is(err, ErrNoColumn) {
			t.Errorf("origin of a degree: got %v, want ErrNoColumn", err)
		}
		return nil
	})
}

// TestOriginOfIntegers adds an id that turns all into text: each is another value then.
func TestOriginOfIntegers(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error {
		_, err := tx.AddNode(Node{ID: "7"})
		return err
	})
	must.Do(t, s.Compact(t.Context(), nil))
	read := func() (origin uint64) {
		view(t, s, func(tx *Tx) (err error) {
			origin, err = tx.Origin("id", 0)
			return err
		})
		return origin
	}
	before := read()
	update(t, s, func(tx *Tx) error {
		_, err := tx.AddNode(Node{ID: "seven"})
		return err
	})
	if after := read(); after == before {
		t.Errorf("got origin %d of both", after)
	}
}

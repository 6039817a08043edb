package kv

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestBlock compares the codes and floats of blocks with the values one by one: of all kinds, with nulls, changes,
// and nodes added later, in a snapshot and amid writes.
func TestBlock(t *testing.T) {
	const rows, n = BlockRows + 300, 2*BlockRows + 50
	r := rand.New(rand.NewPCG(1, 9))
	draw := map[string]func() Value{
		"class":  func() Value { return ValueOf(fmt.Sprint("c", r.IntN(5))) },
		"bool":   func() Value { return ValueOf(r.IntN(2) == 0) },
		"true":   func() Value { return ValueOf(true) },
		"text":   func() Value { return ValueOf(fmt.Sprint("t", r.IntN(700))) },
		"near":   func() Value { return ValueOf(math.MinInt64 + r.Int64N(256)) },
		"far":    func() Value { return ValueOf(int64(r.Uint64())) },
		"float":  func() Value { return ValueOf(r.NormFloat64()) },
		"single": func() Value { return ValueOf(float64(r.IntN(3))) },
		"null":   func() Value { return Value{} },
	}
	kinds := map[string]Kind{
		"class": KindClass, "bool": KindBool, "true": KindBool, "text": KindString, "near": KindInt, "far": KindInt,
		"float": KindFloat, "single": KindSingle, "null": KindInt,
	}
	s := newStore(t, Options{})
	setNodes(t, s, rows)
	for name, kind := range kinds {
		values := make([]Value, rows)
		for v := range values {
			if name == "true" || r.IntN(4) > 0 {
				values[v] = draw[name]()
			}
		}
		writeColumn(t, s, name, kind, values, identity(rows))
	}
	compare := func(tx *Tx) error {
		for _, name := range append(slices.Collect(maps.Keys(kinds)), degreeColumn) {
			one := must.Get(tx.Reader(name))(t)
			all := must.Get(tx.Reader(name))(t)
			for v := range NodeID(tx.NumNodes()) {
				want := must.Get(one.At(v))(t)
				block := must.Get(all.Block(v))(t)
				var got Value
				if block.Codes != nil {
					got = block.Table[block.Codes[v%BlockRows]]
				} else {
					got = ValueOf(block.Floats[v%BlockRows])
				}
				if got != want || block.Codes != nil && want.IsNull() != (block.Codes[v%BlockRows] == 0) {
					t.Fatalf("%s of node %d: got %v, want %v", name, v, got, want)
				}
			}
		}
		return nil
	}
	view(t, s, compare)
	setNodes(t, s, n)
	change := func(tx *Tx, class string) error {
		for name := range kinds {
			for range 200 {
				value := draw[name]()
				if r.IntN(4) == 0 {
					value = Value{}
				}
				must.Do(t, tx.SetValue(NodeID(r.IntN(n)), name, value))
			}
		}
		return tx.SetValue(7, "class", ValueOf(class))
	}
	update(t, s, func(tx *Tx) error { return change(tx, "later") })
	view(t, s, compare)
	update(t, s, func(tx *Tx) error {
		r := must.Get(tx.Reader("class"))(t)
		for _, class := range []string{"later still", "last"} {
			must.Do(t, change(tx, class))
			block := must.Get(r.Block(7))(t)
			if got := block.Table[block.Codes[7]]; got != ValueOf(class) {
				t.Errorf("class of node 7 amid writes: got %v, want %s", got, class)
			}
		}
		return compare(tx)
	})
}

// TestBlockOfAnotherKind: a change of a bool that is no bool is damage.
func TestBlockOfAnotherKind(t *testing.T) {
	s := newStore(t, Options{})
	damagedStores.Store(s.dir, true)
	setNodes(t, s, 10)
	update(t, s, func(tx *Tx) error {
		err := errors.Join(tx.AddColumn("b", KindBool), tx.SetValue(3, "b", ValueOf(true)))
		entry, err2 := tx.columnEntry("b")
		return errors.Join(err, err2, tx.column(entry).Set(tx.records(), 3, ValueOf(7)))
	})
	view(t, s, func(tx *Tx) error {
		r := must.Get(tx.Reader("b"))(t)
		if _, err := r.Block(3); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "column b") {
			t.Errorf("got %v, want an ErrCorrupt that names the column", err)
		}
		return nil
	})
}

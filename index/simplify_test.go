package index

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestTermsThatReadTheSame has columns whose names read like values, as files without a header give them.
func TestTermsThatReadTheSame(t *testing.T) {
	s := kvtest.Create(t, kv.Options{})
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		v, err := tx.AddNode(kv.Node{ID: "x"})
		for name, value := range map[string]int{"1": 2, "2": 7, "a": 1, "a 1": 9} {
			err = errors.Join(err, tx.AddColumn(name, kv.KindInt), tx.SetValue(v, name, kv.ValueOf(value)))
		}
		return err
	}))
	must.Do(t, s.View(func(tx *kv.Tx) error {
		for _, p := range []Predicate{
			And{[]Predicate{Compare{"1", Eq, kv.ValueOf(2)}, CompareProperties{"1", Eq, "2"}}},
			And{[]Predicate{In{"a", []kv.Value{kv.ValueOf(1), kv.ValueOf(2), kv.ValueOf(3)}},
				In{"a 1", []kv.Value{kv.ValueOf(2), kv.ValueOf(3)}}}},
		} {
			if n := must.Get(must.Get(NewPlan(tx, Query{Where: p, Limit: -1}))(t).Count(t.Context()))(t); n != 0 {
				t.Errorf("%s: %d nodes, want none", p, n)
			}
		}
		return nil
	}))
}

package kv

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestLoadOfManyColumns loads many columns with little memory. The load holds no more than its budget beside what it
// has without columns, and the store has every value.
func TestLoadOfManyColumns(t *testing.T) {
	const nodes, columns, budget = 5000, 300, 8 << 20
	var properties []Column
	for i := range columns {
		kind := []Kind{KindString, KindInt, KindFloat, KindClass}[i%4]
		properties = append(properties, Column{Name: fmt.Sprintf("c%d", i), Kind: kind})
	}
	value := func(v, i int) Value {
		if (v+i)%7 == 0 {
			return Value{}
		}
		switch n := v*i%1000 + i; properties[i].Kind {
		case KindInt:
			return IntValue(int64(n))
		case KindFloat:
			return FloatValue(float64(n) / 8)
		case KindClass:
			return StringValue(fmt.Sprint("class ", n%3))
		default:
			return StringValue(fmt.Sprint("text ", n))
		}
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most := heap(), int64(0)
	loader := must.Get(NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"), LoadOptions{
		MemoryBudget: budget, Properties: properties,
		Progress: func(stage string, _, _ int64) {
			if stage == stageColumns {
				most = max(most, heap()-before)
			}
		},
	}))(t)
	defer func() { must.Do(t, loader.Abort()) }()
	for v := range nodes {
		values := make([]Value, columns-v%2) // the last is missing in every other node
		for i := range values {
			values[i] = value(v, i)
		}
		must.Do(t, loader.AddNode(Node{ID: fmt.Sprint(v), Label: "a", Values: values}))
	}
	must.Get(loader.Commit(t.Context(), func(s *Store) error {
		return s.View(func(tx *Tx) error {
			for i, property := range properties {
				reader := must.Get(tx.Reader(property.Name))(t)
				for v := range nodes {
					want := value(v, i)
					if i == columns-1 && v%2 == 1 {
						want = Value{}
					}
					if got, err := reader.At(NodeID(v)); err != nil || got != want {
						return fmt.Errorf("column %d of node %d: got %v, %v, want %v", i, v, got, err, want)
					}
				}
			}
			return nil
		})
	}))(t)
	const store = 13 << 20 // of a store that is opened
	if most > store+budget {
		t.Errorf("got %d bytes on the heap, want at most %d for a store and %d of the budget", most, store, budget)
	}
}

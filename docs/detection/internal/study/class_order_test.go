package study

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestClassOrderOfInterop reads the orders of class names that the tests of interop/python hold its class_order to.
func TestClassOrderOfInterop(t *testing.T) {
	text, err := os.ReadFile("../../../../interop/python/tests/class_orders.json")
	if err != nil {
		t.Fatal(err)
	}
	var orders [][]string
	if err := json.Unmarshal(text, &orders); err != nil {
		t.Fatal(err)
	}
	if len(orders) == 0 {
		t.Fatal("no orders, want some")
	}
	for _, want := range orders {
		backwards := slices.Clone(want)
		slices.Reverse(backwards)
		if got := kv.SortClasses(backwards); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

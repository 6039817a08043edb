package ops

import (
	"errors"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

func TestSources(t *testing.T) {
	labels := OneHot([]kv.Class{2, kv.NoClass, 0}, 3)
	values := Dense([]float32{0, 1, 2, 10, 11, 12, 20, 21, 22}, 3)
	for _, c := range []struct {
		name   string
		source Source
		rows   kv.Range
		lo, hi int
		want   []float32
	}{
		{"labels", labels, kv.Range{First: 0, End: 3}, 0, 3, []float32{0, 0, 1, 0, 0, 0, 1, 0, 0}},
		{"labels", labels, kv.Range{First: 0, End: 1}, 1, 3, []float32{0, 1}},
		{"labels", labels, kv.Range{First: 1, End: 3}, 0, 1, []float32{0, 1}},
		{"values", values, kv.Range{First: 1, End: 3}, 1, 3, []float32{11, 12, 21, 22}},
		{"values", values, kv.Range{First: 2, End: 2}, 0, 3, []float32{}},
	} {
		got := slices.Repeat([]float32{-1}, len(c.want))
		if err := c.source.Read(c.rows, c.lo, c.hi, got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s, rows %v, columns %d to %d: got %v, %v, want %v", c.name, c.rows, c.lo, c.hi, got, err, c.want)
		}
	}
	for name, source := range map[string]Source{"labels": labels, "values": values} {
		if err := source.Read(kv.Range{First: 2, End: 4}, 0, 1, make([]float32, 2)); !errors.Is(err, ErrShape) {
			t.Errorf("%s, node 3 of 3: got error %v, want ErrShape", name, err)
		}
	}
	if err := OneHot([]kv.Class{-2}, 3).Read(kv.Range{End: 1}, 0, 3, make([]float32, 3)); !errors.Is(err, ErrShape) {
		t.Errorf("class -2: got error %v, want ErrShape", err)
	}
}

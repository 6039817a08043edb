package classmatrix

import (
	"math"
	"slices"
	"testing"
)

func TestCounted(t *testing.T) {
	m := OfCounts(3, map[uint64]uint32{7: 2, 0: 1, 4: 5})
	if want := []Cell{{0, 0, 1}, {1, 1, 5}, {2, 1, 2}}; m.Classes != 3 || !slices.Equal(m.Cells, want) {
		t.Errorf("got %v of %d classes, want %v of 3", m.Cells, m.Classes, want)
	}
	if got := m.At(2, 1); got != 2 {
		t.Errorf("a cell: got %v, want 2", got)
	}
	if got := m.At(1, 2); got != 0 {
		t.Errorf("a cell that was not counted: got %v, want 0", got)
	}
}

func TestByColumn(t *testing.T) {
	m := OfCounts(3, map[uint64]uint32{1: 1, 4: 3, 6: 5}).ByColumn()
	for i, row := range [][]float64{{0, .25, math.NaN()}, {0, .75, math.NaN()}, {1, 0, math.NaN()}} {
		for j, want := range row {
			if got := m.At(i, j); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("cell %d, %d: got %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestDenseRowsAreApart(t *testing.T) {
	rows := Dense(2)
	rows[0] = append(rows[0], 7)
	if len(rows) != 2 || rows[1][0] != 0 || rows[1][1] != 0 {
		t.Errorf("got %v, want a second row of zeros", rows)
	}
}

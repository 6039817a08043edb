package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
)

// testData writes a data set of two halves, each of which is linked within itself, and whose labels are those of the
// halves.
func testData(t *testing.T) {
	data := t.TempDir()
	t.Setenv("GRAPHCLEANER_DATA", data)
	var nodes, edges strings.Builder
	nodes.WriteString("id,label\n")
	edges.WriteString("src,dst\n")
	for i := range 600 {
		fmt.Fprintf(&nodes, "n%d,%s\n", i, []string{"even", "odd"}[i%2])
		for _, step := range []int{2, 14, 50} {
			fmt.Fprintf(&edges, "n%d,n%d\n", i, (i+step)%600)
		}
	}
	dir := filepath.Join(data, "halves", "csv")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMeasure(t *testing.T) {
	testData(t)
	cell := cells.Cell{Data: "halves", Noise: "sym:0.1"}
	for _, disturbed := range []bool{false, true} {
		one := table{Bench: cells.Bench{Kept: t.TempDir()}, seeds: 3, rescored: 1, disturbed: disturbed}
		if err := one.measure(t.Context(), cell); err != nil {
			t.Fatal(err)
		}
		all, err := one.read(cell)
		if err != nil || len(all) != 3*len(looks) {
			t.Fatalf("disturbed %v: %d looks, %v; want 12", disturbed, len(all), err)
		}
		for i, at := range all {
			if at.Look != looks[i%4] || at.Seed != uint64(1+i/4) || math.Abs(at.Truth-0.1) > 0.01 || at.Low > at.Rate ||
				at.Rate > at.High {
				t.Errorf("disturbed %v: look %d: %+v", disturbed, i, at)
			}
			if measured := i == 1 || i == 3; measured != (at.F1 >= 0) || measured && at.Own < 0.9 {
				t.Errorf("disturbed %v: F1 of look %d: %+v", disturbed, i, at)
			}
		}
		written := func() time.Time {
			file, err := os.Stat(one.File(cell))
			if err != nil {
				t.Fatal(err)
			}
			return file.ModTime()
		}
		before := written()
		if err := one.measure(t.Context(), cell); err != nil {
			t.Fatal(err)
		}
		if !written().Equal(before) {
			t.Error("a finished cell was measured again")
		}
	}
}

func TestRow(t *testing.T) {
	audit := func(low, high, f1 float64) (all []told) {
		for _, look := range looks {
			all = append(all, told{1, look, 0.2, 0.2, low, high, f1, 0.8})
		}
		return all
	}
	holds, misses := audit(0.1, 0.3, 0.4), audit(0.1, 0.3, -1)
	misses[2].High = 0.15 // at 100, where people stop
	row, share := rowOf(append(holds, misses...), false)
	want := "0.200 | 0.500 | 0.500 | 0.100 | 0.100 | 0.062 | 0.100 | 0.062 | 0.093 | 0.047 | " +
		"0.400 | 0.800 | 0.500 | 0.400 | 0.800 | 0.500 |"
	if row != want || share != 0.5 {
		t.Errorf("got %s and %v, want\n%s and 0.5", row, share, want)
	}
}

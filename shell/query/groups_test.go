package query

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestGroupsFitMemory holds that any number of goroutines counts the same, and that more groups than memory holds are
// refused.
func TestGroupsFitMemory(t *testing.T) {
	store := papers.Cleaned(t)
	for _, by := range []string{
		"id", "label", "\"old style\"", "weight", "degree", "split, \"old style\", year",
		"label return min(title), max(title), avg(score), sum(year), sum(weight), avg(degree)",
		"split, label return max(score) order by max(score) desc, split limit 3",
	} {
		statement := "count nodes group by " + by
		want := must.Get(answered(t.Context(), store, Options{Workers: 1}, statement))(t)
		if got, err := answered(t.Context(), store, Options{Workers: 4}, statement); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s with 4 workers: got\n%v, %v, want\n%v", statement, got, err, want)
		}
		if _, err := answered(t.Context(), store, Options{MemoryBudget: 1}, statement); err == nil ||
			!strings.Contains(err.Error(), "or give more --memory") {
			t.Errorf("%s in a byte: got %v", statement, err)
		}
	}
}

// TestGroupKeys holds that rows have one key if their values are equal, and different ones otherwise.
func TestGroupKeys(t *testing.T) {
	keys, kind := map[string]string{}, string(kv.ValueOf("").Append(nil)) // every text begins with it
	for _, row := range [][]kv.Value{
		{kv.ValueOf("a"), kv.ValueOf("bc")}, {kv.ValueOf("ab"), kv.ValueOf("c")},
		{kv.ValueOf("a"), kv.ValueOf(kind + "b")}, {kv.ValueOf("a" + kind), kv.ValueOf("b")},
		{kv.ValueOf("abc"), kv.ValueOf("")}, {kv.ValueOf("abc"), {}}, {{}, kv.ValueOf("abc")},
		{kv.ValueOf("a\x00"), kv.ValueOf("")}, {kv.ValueOf(1), kv.ValueOf(1.0)}, {kv.ValueOf(true), kv.ValueOf(0.0)},
	} {
		text := fmt.Sprintf("%#v", row)
		if key := string(appendKey(appendKey(nil, row[0]), row[1])); keys[key] != "" {
			t.Errorf("%s and %s have one key", keys[key], text)
		} else {
			keys[key] = text
		}
	}
	minus := kv.ValueOf(math.Copysign(0, -1))
	if string(appendKey(nil, minus)) != string(appendKey(nil, kv.ValueOf(0.0))) {
		t.Error("0 and −0 have different keys")
	}
}

// TestRowsBeyondMemory asks for neighbours that memory does not hold, and for orders of rows: of the first of them it
// may hold few.
func TestRowsBeyondMemory(t *testing.T) {
	store := papers.Cleaned(t)
	for statement, want := range map[string]string{
		"neighbors p1 where degree > 0":        "more than 1 nodes within 1 hops: ask for fewer hops, or give more --memory",
		"neighbors p1 order by degree limit 1": "or give more --memory",
		"neighbors p1":                         "or give more --memory",
		"history order by score return *":      "",
	} {
		_, err := answered(t.Context(), store, Options{MemoryBudget: 1}, statement)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s in a byte: got the error %v, want %q", statement, err, want)
		}
	}
	const n = 20_000 // more rows than a MiB holds
	rows := func(yield func([]kv.Value, error) bool) {
		for i := range n {
			if !yield([]kv.Value{kv.ValueOf(i * 7919 % n)}, nil) {
				return
			}
		}
	}
	next := 0
	for row, err := range first(sorted(rows, []rowOrder{{}}, 5000, 1), 5000) {
		if err != nil || row[0].Int() != int64(next) {
			t.Fatalf("row %d in order: got %v, %v", next, row, err)
		}
		next++
	}
	for _, err := range sorted(rows, []rowOrder{{}}, -1, 1) {
		if err == nil || next != 5000 || !strings.Contains(err.Error(), "or give more --memory") {
			t.Errorf("after %d rows, all in a byte: got the error %v", next, err)
		}
		break
	}
}

// TestBestOfZeros: the least and the greatest of 0 and −0 do not depend on the order in which they are met.
func TestBestOfZeros(t *testing.T) {
	zeros := []float64{math.Copysign(0, -1), 0}
	for _, function := range []string{"min", "max"} {
		for first := range zeros {
			var best tally
			best.takeBest(function, kv.ValueOf(zeros[first]))
			best.takeBest(function, kv.ValueOf(zeros[1-first]))
			if got := best.best.Float(); math.Signbit(got) {
				t.Errorf("%s of %v and %v: got %v, want 0", function, zeros[first], zeros[1-first], got)
			}
		}
	}
}

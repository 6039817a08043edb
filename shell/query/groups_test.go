package query

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
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
		"label return min(title), max(title), avg(score), sum(year), sum(weight), avg(degree)", "split, label return max(score) order by max(score) desc, split limit 3",
	} {
		statement := "count nodes group by " + by
		want := must.Get(answered(t, store, Options{Workers: 1}, statement))(t)
		if got, err := answered(t, store, Options{Workers: 4}, statement); err != nil || got != want {
			t.Errorf("%s with 4 workers: got\n%s, %v, want\n%s", statement, got, err, want)
		}
		if _, err := answered(t, store, Options{MemoryBudget: 1}, statement); err == nil || !strings.Contains(err.Error(), "or give more --memory") {
			t.Errorf("%s in a byte: got %v", statement, err)
		}
	}
}

// TestGroupKeys holds that keys of groups are ordered as values are, and read back as the same values.
func TestGroupKeys(t *testing.T) {
	for _, values := range [][]kv.Value{
		{kv.ValueOf(math.MinInt64), kv.ValueOf(-1), kv.ValueOf(0), kv.ValueOf(7), kv.ValueOf(math.MaxInt64), {}},
		{kv.ValueOf(math.Inf(-1)), kv.ValueOf(-2.5), kv.ValueOf(0.0), kv.ValueOf(1e-300), kv.ValueOf(3.0), kv.ValueOf(math.Inf(1)), {}},
		{
			kv.ValueOf(""), kv.ValueOf("\x00"), kv.ValueOf("\x00\x01"), kv.ValueOf("\x00\xff"),
			kv.ValueOf("a"), kv.ValueOf("a\x00"), kv.ValueOf("a\x00\x00"), kv.ValueOf("a\x01"), kv.ValueOf("ab"), kv.ValueOf("東"), {},
		},
		{kv.ValueOf(false), kv.ValueOf(true), {}},
	} {
		var last []byte
		for i, v := range values {
			key := appendKey(nil, v)
			if got, rest := cutKey(append(key, "rest"...)); got != v || string(rest) != "rest" {
				t.Errorf("%v: read back %v, %q", v, got, rest)
			}
			if down := appendOrder(nil, v, true); i > 0 && (bytes.Compare(appendOrder(nil, values[i-1], true), down) >= 0) != !v.IsNull() {
				t.Errorf("%v and %v are not in descending order, null last", values[i-1], v)
			}
			if i > 0 && (bytes.Compare(last, key) >= 0 || !v.IsNull() && index.CompareValues(values[i-1], v) >= 0) {
				t.Errorf("%v and %v are not in order", values[i-1], v)
			}
			last = key
		}
	}
}

// TestRowsBeyondMemory asks for neighbours that memory does not hold.
func TestRowsBeyondMemory(t *testing.T) {
	store := papers.Cleaned(t)
	for statement, want := range map[string]string{
		"neighbors p1 where degree > 0":        "more than 1 nodes within 1 hops: ask for fewer hops, or give more --memory",
		"neighbors p1 order by degree limit 1": "or give more --memory",
		"neighbors p1":                         "or give more --memory",
		"history order by score return *":      "",
	} {
		_, err := answered(t, store, Options{MemoryBudget: 1}, statement)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s in a byte: got the error %v, want %q", statement, err, want)
		}
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

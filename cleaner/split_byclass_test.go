package cleaner

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestDrawSplitsByClass(t *testing.T) {
	const classes = 4
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 200 + r.IntN(200)
		labels := make([]kv.Class, n)
		sizes := make([]int, classes)
		for v := range labels {
			labels[v] = kv.Class(r.IntN(classes+1)) - 1
			if labels[v] == 3 && sizes[3] == 5 {
				labels[v] = kv.NoClass // a small class
			}
			if labels[v] != kv.NoClass {
				sizes[labels[v]]++
			}
		}
		counts := SplitCounts{Training: 10, Validation: 30, Test: 40}
		if seed%2 == 0 {
			counts.Test = AllTheRest
		}
		splits, err := drawSplitsByClass(identityOrder(n), labels, classes, counts, seed)
		must.Do(t, err)
		var of [classes + 1][SplitUnused + 1]int
		var all [SplitUnused + 1]int
		for v, split := range splits {
			of[labels[v]+1][split]++
			all[split]++
		}
		if unlabelled := of[0]; unlabelled[SplitNone] != n-countLabelled(labels) {
			t.Errorf("seed %d: unlabelled nodes in splits: %v", seed, unlabelled)
		}
		if all[SplitNone] != of[0][SplitNone] {
			t.Errorf("seed %d: got %d labelled nodes in none, where they would teach, want them unused", seed, all[SplitNone]-of[0][SplitNone])
		}
		for y, size := range sizes {
			if got, want := of[y+1][SplitTrain], min(10, (size+1)/2); got != want {
				t.Errorf("seed %d, class %d of %d nodes: got %d for training, want %d", seed, y, size, got, want)
			}
		}
		wantTest := 40
		if counts.Test == AllTheRest {
			wantTest = countLabelled(labels) - all[SplitTrain] - 30
		}
		if all[SplitValidation] != 30 || all[SplitTest] != wantTest {
			t.Errorf("seed %d: got %d for validation and %d for test, want 30 and %d", seed, all[SplitValidation], all[SplitTest], wantTest)
		}
		again, err := drawSplitsByClass(identityOrder(n), labels, classes, counts, seed)
		if err != nil || !slices.Equal(splits, again) {
			t.Errorf("seed %d: a second time it differs (%v)", seed, err)
		}
	}
}

func TestDrawSplitsByClassOfFewNodes(t *testing.T) {
	labels := []kv.Class{0, 0, 0, 1, 1, 1}
	for _, c := range []struct {
		counts SplitCounts
		says   string
	}{
		{SplitCounts{2, 5, 1}, "6 labelled nodes, with 2 for training of a class they leave 2 for validation and 0 for test, want 5 and 1"},
		{SplitCounts{1, 1, 9}, "leave 1 for validation and 3 for test, want 1 and 9"},
		{SplitCounts{2, 2, AllTheRest}, "leave 2 for validation and 0 for test, want 2 and some"},
	} {
		_, err := drawSplitsByClass(identityOrder(len(labels)), labels, 2, c.counts, 1)
		if !errors.Is(err, ErrNoLabels) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: got %v, want ErrNoLabels that says %q", c.counts, err, c.says)
		}
	}
	for _, counts := range []SplitCounts{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {1, 1, -2}} {
		if err := counts.check(); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: got %v, want ErrOptions", counts, err)
		}
	}
}

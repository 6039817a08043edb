package cleaner

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestParseSplit(t *testing.T) {
	for name, want := range map[string]Split{
		"": SplitNone, "none": SplitNone, "Train": SplitTrain, "val": SplitValidation, "VALID": SplitValidation,
		"validation": SplitValidation, "test": SplitTest,
	} {
		if got, err := ParseSplit(name); got != want || err != nil {
			t.Errorf("split %q: got %v, %v, want %v", name, got, err, want)
		}
	}
	for _, split := range []Split{SplitNone, SplitTrain, SplitValidation, SplitTest} {
		if got, err := ParseSplit(split.String()); got != split || err != nil {
			t.Errorf("split %v, printed and parsed: got %v, %v", split, got, err)
		}
	}
	if _, err := ParseSplit("holdout"); !errors.Is(err, ErrSplit) {
		t.Errorf("split holdout: got %v, want ErrSplit", err)
	}
}

func mustDraw(t *testing.T, order []kv.NodeID, labels []kv.Class, shares [3]float64, seed uint64) []Split {
	t.Helper()
	return must.Get(drawSplits(listOrder(order), labels, shares, seed))(t)
}

func countSplits(splits []Split) (counts [SplitUnused + 1]int) {
	for _, s := range splits {
		counts[s]++
	}
	return counts
}

func TestDrawSplitsShares(t *testing.T) {
	const n = 1000
	order, labels := make([]kv.NodeID, n), make([]kv.Class, n)
	for v := range n {
		order[v] = kv.NodeID(v)
		if v%10 == 0 {
			labels[v] = kv.NoClass
		}
	}
	for _, c := range []struct {
		shares [3]float64
		want   [SplitUnused + 1]int // none, train, validation, test, unused
	}{
		{defaultShares, [5]int{100, 720, 90, 90}},
		{[3]float64{0.5, 0.2, 0.2}, [5]int{100, 450, 180, 180, 90}},
		{[3]float64{0, 0.5, 0.5}, [5]int{100, 0, 450, 450}},
		{[3]float64{0.01, 0.1, 0.1}, [5]int{100, 9, 90, 90, 711}},
		{[3]float64{0.05, 0.01, 0.9}, [5]int{100, 24, 30, 810, 36}},
	} {
		splits := mustDraw(t, order, labels, c.shares, 1)
		if got := countSplits(splits); got != c.want {
			t.Errorf("shares %v: got %v nodes in none, train, validation, test, want %v", c.shares, got, c.want)
		}
		for v, y := range labels {
			if y == kv.NoClass && splits[v] != SplitNone {
				t.Fatalf("unlabelled node %d: got split %v, want none", v, splits[v])
			}
		}
	}
}

func TestDrawSplitsOfFewNodes(t *testing.T) {
	for n, wantValidation := range map[int]int{0: 0, 1: 0, 6: 2, 30: 10, 90: 30, 200: 30, 400: 40} {
		order := make([]kv.NodeID, n)
		for v := range order {
			order[v] = kv.NodeID(v)
		}
		counts := countSplits(mustDraw(t, order, make([]kv.Class, n), defaultShares, 1))
		if counts[SplitValidation] != wantValidation || counts[SplitNone] != 0 {
			t.Errorf("%d labelled nodes: got %v nodes in none, train, validation, test, want %d for validation and all in some",
				n, counts, wantValidation)
		}
	}
}

func TestDrawSplitsFitTwoClasses(t *testing.T) {
	order := make([]kv.NodeID, 200)
	for v := range order {
		order[v] = kv.NodeID(v)
	}
	for rare := 3; rare <= 5; rare++ {
		labels := make([]kv.Class, len(order))
		for v := range rare {
			labels[v] = 1
		}
		for seed := range uint64(20) {
			splits := mustDraw(t, order, labels, defaultShares, seed)
			var fitted, taught [2]bool
			for v, y := range labels {
				fitted[y] = fitted[y] || splits[v] == SplitValidation
				taught[y] = taught[y] || splits[v] == SplitTrain
			}
			if both := [2]bool{true, true}; fitted != both || taught != both {
				t.Errorf("%d nodes of a rare class, seed %d: classes fitted on %v, trained on %v, want both", rare, seed,
					fitted, taught)
			}
		}
	}
}

// The same file numbered otherwise is split the same.
func TestDrawSplitsDependOnFileOrder(t *testing.T) {
	const n = 200
	r := rand.New(rand.NewPCG(3, 0))
	fileLabels := kvtest.AwkwardLabels(r, n, 3)
	split := func(order []kv.NodeID) [n]Split {
		labels := make([]kv.Class, n)
		for position, v := range order {
			labels[v] = fileLabels[position]
		}
		byNode := mustDraw(t, order, labels, defaultShares, 8)
		var byPosition [n]Split
		for position, v := range order {
			byPosition[position] = byNode[v]
		}
		return byPosition
	}
	plain, shuffled := make([]kv.NodeID, n), make([]kv.NodeID, n)
	for v, u := range r.Perm(n) {
		plain[v], shuffled[v] = kv.NodeID(v), kv.NodeID(u)
	}
	if split(plain) != split(shuffled) {
		t.Error("numbering the nodes otherwise changed the split of some")
	}
}

// TestEveryClassIsTaught draws splits of classes of one to four nodes beside large ones.
func TestEveryClassIsTaught(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for seed := range uint64(40) {
		var labels []kv.Class
		for k := range 30 {
			for range 1 + k%4 {
				labels = append(labels, kv.Class(k))
			}
		}
		for range 200 {
			labels = append(labels, kv.Class(30+r.IntN(3)))
		}
		order := make([]kv.NodeID, len(labels))
		for i, v := range r.Perm(len(labels)) {
			order[i] = kv.NodeID(v)
		}
		for _, shares := range [][3]float64{defaultShares, {0.3, 0.3, 0.4}, {0.2, 0.1, 0.1}} {
			splits := mustDraw(t, order, labels, shares, seed)
			sizes := sizesOf(len(labels), shares)
			counts := countSplits(splits)
			if counts[SplitTrain] != sizes.training || counts[SplitValidation] != sizes.validation ||
				counts[SplitTest] != sizes.test {
				t.Fatalf("shares %v: got %v nodes by split, want %+v", shares, counts, sizes)
			}
			taught := make([]int, 33)
			for v, y := range labels {
				if splits[v] == SplitTrain {
					taught[y]++
				}
			}
			for k, count := range taught {
				if count == 0 && (k >= 30 || k%4 > 0) {
					t.Fatalf("seed %d, shares %v: class %d has several nodes, and none for training", seed, shares, k)
				}
			}
		}
	}
	two := mustDraw(t, []kv.NodeID{0, 1, 2, 3}, []kv.Class{0, 0, 1, 1}, [3]float64{0, 0.5, 0.5}, 1)
	if slices.Contains(two, SplitTrain) {
		t.Errorf("no share for training: got splits %v", two)
	}
}

// listOrder is an order of nodes by a list.
func listOrder(nodes []kv.NodeID) nodeOrder {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}

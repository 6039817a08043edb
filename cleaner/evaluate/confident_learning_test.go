package evaluate

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestConfidentLearningIsCleanlab compares the flags with those of a cleanlab, made by testdata/cleanlab/make.py. In
// some cases remainders are equal, of which cleanlab rounds others: a few flags differ there.
func TestConfidentLearningIsCleanlab(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/cleanlab/cases.json"))(t)
	var golden struct {
		Cleanlab string
		Cases    []struct {
			Seed, Classes int
			Labels        []kv.Class
			Predictions   [][]float32
			Flagged       []int
		}
	}
	must.Do(t, json.Unmarshal(text, &golden))
	if len(golden.Cases) < 40 {
		t.Fatalf("got %d cases of cleanlab %s, want 40", len(golden.Cases), golden.Cleanlab)
	}
	flagged, tied := 0, 0
	for _, c := range golden.Cases {
		result := judge(t, trialOf(t, c.Labels, slices.Concat(c.Predictions...)), "confident-learning")
		var got []int
		for v, flag := range result.Flagged {
			if flag {
				got = append(got, v)
			}
		}
		if slices.Equal(got, c.Flagged) {
			flagged += len(got)
			continue
		}
		isOther := func(v int) bool { return !slices.Contains(c.Flagged, v) }
		if tied++; tied > 4 || len(got) > len(c.Flagged)+2 ||
			len(slices.DeleteFunc(slices.Clone(got), isOther)) < len(c.Flagged)-2 {
			t.Errorf("case %d: got %v flagged, cleanlab %s has %v", c.Seed, got, golden.Cleanlab, c.Flagged)
		}
	}
	if flagged < 100 {
		t.Errorf("got %d nodes flagged in all cases, want 100 or more to compare", flagged)
	}
}

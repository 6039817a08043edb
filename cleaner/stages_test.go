package cleaner

import (
	"context"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestCleanReadsDegreesOnce counts how often the graph is walked for its degrees.
func TestCleanReadsDegreesOnce(t *testing.T) {
	p := newPlanted(42, 300)
	p.honest(4)
	s := p.load(t, false)
	mustClean(t, s, Options{Seed: 1}) // which makes the index
	for name, opt := range map[string]Options{
		"joined": {Seed: 2}, "as given": {Seed: 2, Imported: AsGiven}, "paper": {Seed: 2, Method: paper.Published},
	} {
		degrees := 0
		opt.OnStage = func(s ops.Stage) {
			if s.Name == "degrees" {
				degrees++
			}
		}
		mustClean(t, s, opt)
		if degrees != 1 {
			t.Errorf("%s: the degrees were read %d times, want once", name, degrees)
		}
	}
}

// TestDiagonalsComeBeforeTraining wants exact diagonals, which may cost too much, before the classifier is trained.
func TestDiagonalsComeBeforeTraining(t *testing.T) {
	p := newPlanted(43, 300)
	p.honest(4)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var names []string
	_, err := Clean(ctx, p.load(t, false), Options{OnStage: func(s ops.Stage) {
		names = append(names, s.Name)
		if s.Name == "price" {
			cancel()
		}
	}})
	if err == nil || !slices.Contains(names, "price") || slices.Contains(names, "train") {
		t.Errorf("got error %v and stages %q, want the price and no training", err, names)
	}
}

package cleaner

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestStages wants a stage of everything that a job does. Who is told of progress waits for a moment at each step: that
// is in the stages. How long the job takes only bounds them from above: a busy machine may let it wait after the last
// stage.
func TestStages(t *testing.T) {
	ctx := context.Background()
	p := newPlanted(41, 600)
	p.honest(4)
	given, bare := p.load(t, false), p.load(t, true)
	const moment = 100 * time.Millisecond
	clean := func(s *kv.Store, opt Options) func(func(ops.Stage), kv.Progress) error {
		return func(tell func(ops.Stage), progress kv.Progress) error {
			opt.Seed, opt.OnStage, opt.Progress = 3, tell, progress
			_, err := Clean(ctx, s, opt)
			return err
		}
	}
	for _, job := range []struct {
		name string
		do   func(tell func(ops.Stage), progress kv.Progress) error
		want []string // in this order
	}{
		{"joined", clean(given, Options{}), []string{
			"read", "index", "read", "degrees", "count", "price", "diagonal", "keep", "smooth", "train", "predict", "combine",
			"count", "sample", "rivals", "features", "propagate", "features", "label model", "score", "count", "write",
		}},
		{"as given", clean(given, Options{Imported: AsGiven, Hops: 2}), []string{
			"read", "degrees", "count", "keep", "sample", "rivals", "features", "propagate", "label model", "score", "count", "write",
		}},
		{"paper", clean(given, Options{Method: paper.Published}), []string{"read", "noise", "sample", "features", "propagate", "detector", "score", "count", "write"}},
		{"built-in", clean(bare, Options{}), []string{
			"read", "degrees", "count", "price", "diagonal", "keep", "read", "smooth", "train", "predict", "write", "index", "read", "score", "count", "write",
		}},
		{"predict", func(tell func(ops.Stage), progress kv.Progress) error {
			_, err := Predict(ctx, bare, Options{OnStage: tell, Progress: progress})
			return err
		}, []string{"read", "degrees", "count", "smooth", "train", "predict", "write"}},
		{"features", func(tell func(ops.Stage), progress kv.Progress) error {
			return given.View(func(tx *kv.Tx) error {
				rows, err := Features(ctx, tx, 3, ops.Options{OnStage: tell, Progress: progress})
				if err != nil {
					return err
				}
				return rows.Close()
			})
		}, []string{"read", "degrees", "features", "propagate", "features"}},
	} {
		var names []string
		var sum float64
		steps := map[string]bool{}
		began := time.Now()
		err := job.do(func(s ops.Stage) {
			names = append(names, s.Name)
			sum += s.Seconds
		}, func(step string, _, _ int64) {
			if !steps[step] {
				steps[step] = true
				time.Sleep(moment)
			}
		})
		took := time.Since(began).Seconds()
		if err != nil {
			t.Fatalf("%s: %v", job.name, err)
		}
		rest := names
		for _, want := range job.want {
			at := slices.Index(rest, want)
			if at < 0 {
				t.Errorf("%s: got stages %q, want %q there, in that order", job.name, names, job.want)
				break
			}
			rest = rest[at+1:]
		}
		if waited := float64(len(steps)) * moment.Seconds(); len(steps) == 0 || sum < waited || sum > took {
			t.Errorf("%s: got %v seconds in stages, want the %v of %d steps and at most the %v that it took", job.name, sum, waited, len(steps), took)
		}
	}
}

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
	for _, bare := range []bool{false, true} {
		s := p.load(t, bare)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var names []string
		_, err := Clean(ctx, s, Options{OnStage: func(s ops.Stage) {
			names = append(names, s.Name)
			if s.Name == "price" {
				cancel()
			}
		}})
		if err == nil || !slices.Contains(names, "price") || slices.Contains(names, "train") {
			t.Errorf("without predictions %v: got error %v and stages %q, want the price and no training", bare, err, names)
		}
	}
}

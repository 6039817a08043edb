package cleaner

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// predicting replaces the predictions by rows that say of the node at each position, with the given chance, the class
// that say names, of four.
func (p *plantedPartition) predicting(chance float64, say func(position int) string) {
	classes := []string{"alpha", "beta", "gamma", "δelta"}
	for v := range p.scores {
		said := slices.Index(classes, say(v))
		for k := range classes {
			switch p.scores[v][k] = (1 - chance) / 3; {
			case said < 0:
				p.scores[v][k] = 0.25
			case k == said:
				p.scores[v][k] = chance
			}
		}
	}
}

// found is the F1 of the suspects of the last run among the labelled nodes.
func (p plantedPartition) found(t *testing.T, s *kv.Store, run *Run) float64 {
	t.Helper()
	right, flagged, wrong := 0.0, 0.0, 0.0
	view(t, s, func(tx *kv.Tx) error {
		for i, node := range p.nodes {
			v, err := tx.Node(node.ID)
			if err != nil {
				return err
			}
			score, err := tx.Value(v, ScoreColumn)
			if err != nil || node.Label == "" {
				return err
			}
			flag, bad := score.Float() > run.Threshold, node.Label != p.truth[i]
			if flag {
				flagged++
			}
			if bad {
				wrong++
			}
			if flag && bad {
				right++
			}
		}
		return nil
	})
	return 2 * right / (flagged + wrong)
}

// withoutSplit leaves the split out.
func (p *plantedPartition) withoutSplit() {
	for i := range p.nodes {
		p.nodes[i].Values = []kv.Value{{}}
	}
}

func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	given := func(p plantedPartition) func(int) string { return func(v int) string { return p.nodes[v].Label } }
	for _, c := range []struct {
		name   string
		split  bool
		chance float64
		say    func(p plantedPartition) func(v int) string
		want   string
		same   bool // as without predictions
	}{
		{"seen", false, 0.9, given, "the predictions are left out, because they have seen the labels", true},
		{"seen and sure", false, 1, given, "because they have seen the labels", true},
		{"seen and told", true, 0.9, given, "of the training nodes are left out, because they have seen the labels", true},
		{"split", true, 0.9, func(p plantedPartition) func(int) string {
			return func(v int) string {
				if p.nodes[v].Values[0].Str() == "train" {
					return p.nodes[v].Label
				}
				return p.truth[v]
			}
		}, "; the predictions of the other nodes are joined", false},
		{"right", false, 0.9, func(p plantedPartition) func(int) string { return func(v int) string { return p.truth[v] } },
			"the predictions are joined with the built-in classifier's", false},
		{"random", false, 0.7, func(plantedPartition) func(int) string {
			return func(int) string { return []string{"alpha", "beta", "gamma", "δelta"}[r.IntN(4)] }
		}, "", false},
		{"constant", false, 0.7, func(plantedPartition) func(int) string { return func(int) string { return "beta" } },
			"say nothing that the built-in classifier's do not say", true},
		{"undecided", false, 0.7, func(plantedPartition) func(int) string { return func(int) string { return "" } },
			"say nothing that the built-in classifier's do not say", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlanted(31, 600)
			if !c.split {
				p.withoutSplit()
			}
			p.predicting(c.chance, c.say(p))
			alone, brought := p.load(t, true), p.load(t, false)
			run := mustClean(t, alone, Options{Seed: 3})
			least := p.found(t, alone, run)
			var notices []string
			run = mustClean(t, brought, Options{Seed: 3, Notice: func(text string) { notices = append(notices, text) }})
			if !strings.Contains(run.PredictionUse, c.want) || !slices.Contains(notices, run.PredictionUse) {
				t.Errorf("got %q, and notices %q, want %q in both", run.PredictionUse, notices, c.want)
			}
			if got := p.found(t, brought, run); got < least-0.03 {
				t.Errorf("F1: got %.3f, want no less than the %.3f without predictions", got, least)
			}
			if same := bytes.Equal(outcome(t, alone), outcome(t, brought)); same != c.same {
				t.Errorf("the outcome is that without predictions: got %v, want %v", same, c.same)
			}
		})
	}
}

// TestCombineIsTheSame wants the same bytes at any number of workers, and after an interruption, which trains nothing
// again.
func TestCombineIsTheSame(t *testing.T) {
	p := newPlanted(32, 400)
	p.withoutSplit()
	p.predicting(0.9, func(v int) string { return p.truth[v] })
	var want []byte
	for _, workers := range []int{1, 4} {
		s := p.load(t, false)
		mustClean(t, s, Options{Seed: 5, Workers: workers})
		if got := outcome(t, s); want == nil {
			want = got
		} else if !bytes.Equal(got, want) {
			t.Errorf("%d workers: the outcome is another than with one", workers)
		}
	}
	s := p.load(t, false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Clean(ctx, s, Options{Seed: 5, OnStage: func(stage kv.Stage) {
		if stage.Name == "score" {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("the run was not interrupted")
	}
	var stages []string
	run := mustClean(t, s, Options{Seed: 5, OnStage: func(stage kv.Stage) { stages = append(stages, stage.Name) }})
	if slices.Contains(stages, "train") || slices.Contains(stages, "combine") {
		t.Errorf("after an interruption: got stages %v, want none of training", stages)
	}
	if !strings.Contains(run.PredictionUse, "are joined") {
		t.Errorf("after an interruption: got %q, want to be told of what was joined", run.PredictionUse)
	}
	if !bytes.Equal(outcome(t, s), want) {
		t.Error("after an interruption: the outcome is another")
	}
}

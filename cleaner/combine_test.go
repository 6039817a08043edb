package cleaner

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
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
	for i, score := range givenScores(t, s) {
		flag, bad := score > run.Threshold, p.nodes[i].Label != "" && p.nodes[i].Label != p.truth[i]
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
	return 2 * right / (flagged + wrong)
}

// suspectsOf are the places in file order of the nodes above the threshold of a run.
func suspectsOf(t *testing.T, s *kv.Store, run *Run) (places []int) {
	t.Helper()
	for i, score := range givenScores(t, s) {
		if score > run.Threshold {
			places = append(places, i)
		}
	}
	return places
}

// honest gives every node a chance between 0.25 and 0.75, and says its true class with this chance.
func (p *plantedPartition) honest(seed uint64) {
	classes := []string{"alpha", "beta", "gamma", "δelta"}
	r := rand.New(rand.NewPCG(seed, 7))
	for v := range p.scores {
		chance := 0.25 + 0.499*math.Sqrt(r.Float64())
		said := slices.Index(classes, p.truth[v])
		if r.Float64() > chance {
			said = (said + 1 + r.IntN(3)) % 4
		}
		for k := range classes {
			if p.scores[v][k] = (1 - chance) / 3; k == said {
				p.scores[v][k] = chance
			}
		}
	}
}

// withoutSplit leaves the split out.
func (p *plantedPartition) withoutSplit() {
	for i := range p.nodes {
		p.nodes[i].Values = nil
	}
}

func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	given := func(p plantedPartition) func(int) string { return func(v int) string { return p.nodes[v].Label } }
	planted := func(split bool) plantedPartition {
		p := newPlanted(31, 600)
		if !split {
			p.withoutSplit()
		}
		return p
	}
	// What a run finds without predictions, with a split and without.
	f1, suspects := map[bool]float64{}, map[bool][]int{}
	for _, split := range []bool{false, true} {
		p := planted(split)
		s := p.load(t, true)
		run := mustClean(t, s, Options{Seed: 3})
		f1[split], suspects[split] = p.found(t, s, run), suspectsOf(t, s, run)
	}
	for _, c := range []struct {
		name   string
		split  bool
		chance float64
		say    func(p plantedPartition) func(v int) string
		want   string
		alone  bool // suspects are those without predictions
	}{
		{"seen", false, 0.9, given, "Your predictions are left out: they may have seen the labels", true},
		{"seen and told", true, 0.9, given,
			"Your predictions of the training nodes are left out: they may have seen the labels", true},
		{"a part seen", false, 0, func(p plantedPartition) func(int) string {
			p.honest(4)
			for v := range p.scores { // of six nodes in ten, a vote of each for the label that it has
				if k := slices.Index([]string{"alpha", "beta", "gamma", "δelta"}, p.nodes[v].Label); v%10 < 6 && k >= 0 {
					for j := range p.scores[v] {
						p.scores[v][j] *= 0.85
					}
					p.scores[v][k] += 0.15
				}
			}
			return nil
		}, "Your predictions are left out: they may have seen the labels", true},
		{"split", true, 0.9, func(p plantedPartition) func(int) string {
			return func(v int) string {
				if p.nodes[v].Values[0].Str() == "train" {
					return p.nodes[v].Label
				}
				return ""
			}
		}, "clean with the option out-of-fold. Your predictions of the other nodes add nothing", true},
		{"honest", false, 0, nil, "Your predictions are joined with the built-in classifier's", false},
		{"random", false, 0.7, func(plantedPartition) func(int) string {
			return func(int) string { return []string{"alpha", "beta", "gamma", "δelta"}[r.IntN(4)] }
		}, "", false},
		{"constant", false, 0.7, func(plantedPartition) func(int) string { return func(int) string { return "beta" } },
			"add nothing to the built-in classifier's and were not used", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if (c.name == "random" || c.name == "seen and told") && !longtest.Asked() {
				t.Skip("each trains for itself")
			}
			p := planted(c.split)
			if c.say == nil {
				p.honest(4)
			} else if say := c.say(p); say != nil {
				p.predicting(c.chance, say)
			}
			brought := p.load(t, false)
			var notices []string
			run := mustClean(t, brought, Options{Seed: 3, Notice: func(text string) { notices = append(notices, text) }})
			if !strings.Contains(run.PredictionUse, c.want) || !slices.Contains(notices, run.PredictionUse) {
				t.Errorf("got %q, and notices %q, want %q in both", run.PredictionUse, notices, c.want)
			}
			if got := p.found(t, brought, run); got < f1[c.split]-0.03 {
				t.Errorf("F1: got %.3f, want no less than the %.3f without predictions", got, f1[c.split])
			}
			if same := slices.Equal(suspects[c.split], suspectsOf(t, brought, run)); c.alone && !same {
				t.Error("the suspects are others than without predictions")
			}
		})
	}
}

// TestCombineWhateverTheSplit wants predictions to be judged where the split of the store has too few training nodes
// for folds, and the training nodes apart where it has no validation nodes.
func TestCombineWhateverTheSplit(t *testing.T) {
	t.Run("20 training nodes", func(t *testing.T) {
		p, training := newPlanted(31, 600), 0
		for i := range p.nodes {
			if value := &p.nodes[i].Values[0]; value.Str() == "train" {
				if training++; training > 20 {
					*value = kv.ValueOf("test")
				}
			}
		}
		p.predicting(0.9, func(v int) string { return p.nodes[v].Label })
		s := p.load(t, false)
		run := mustClean(t, s, Options{Seed: 3})
		if want := "Your predictions of the other nodes are left out"; !strings.Contains(run.PredictionUse, want) {
			t.Errorf("got %q, want %q in it", run.PredictionUse, want)
		}
		if got := p.found(t, s, run); got < 0.6 {
			t.Errorf("F1: got %.3f, want at least 0.6", got)
		}
	})
	t.Run("no validation nodes", func(t *testing.T) {
		p := newPlanted(31, 600)
		p.honest(4)
		var truthful [][]float64
		for _, row := range p.scores {
			truthful = append(truthful, slices.Clone(row))
		}
		p.predicting(0.9, func(v int) string { return p.nodes[v].Label })
		for i := range p.nodes {
			if value := &p.nodes[i].Values[0]; value.Str() != "train" {
				*value, p.scores[i] = kv.ValueOf("test"), truthful[i]
			}
		}
		run := mustClean(t, p.load(t, false), Options{Seed: 3})
		for _, want := range []string{"of the training nodes are left out", "of the other nodes are joined"} {
			if !strings.Contains(run.PredictionUse, want) {
				t.Errorf("got %q, want %q in it", run.PredictionUse, want)
			}
		}
	})
}

package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// planted is a store of n nodes in four classes, most of whose neighbours are of their class. Some have no label, and
// the others a right one. Half of the nodes are of the training split.
func planted(t *testing.T, seed uint64, n int) *kv.Store {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	g := kvtest.Graph{Properties: []kv.Column{{Name: "split", Kind: kv.KindString}}}
	of := make([]int, n)
	for v := range n {
		of[v] = r.IntN(4)
		label := []string{"alpha", "beta", "gamma", "δelta"}[of[v]]
		if v%40 == 7 {
			label = ""
		}
		split := []string{"train", "train", "val", "test"}[r.IntN(4)]
		g.Nodes = append(g.Nodes, kv.Node{ID: fmt.Sprint("n", v), Label: label, Values: []kv.Value{kv.ValueOf(split)}})
	}
	for range 6 * n {
		if u, v := r.IntN(n), r.IntN(n); of[u] == of[v] || r.IntN(8) == 0 {
			g.Edges = append(g.Edges, [2]string{g.Nodes[u].ID, g.Nodes[v].ID})
		}
	}
	return kvtest.Load(t, g)
}

// labelsOf are the labels of a store.
func labelsOf(t *testing.T, s *kv.Store) (labels []kv.Class) {
	t.Helper()
	must.Do(t, s.View(func(tx *kv.Tx) error {
		labels = make([]kv.Class, tx.NumNodes())
		return tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(len(labels))}, labels)
	}))
	return labels
}

// dealt are splits in turn.
func dealt(n int, splits ...cleaner.Split) (all []cleaner.Split) {
	for v := range n {
		all = append(all, splits[v%len(splits)])
	}
	return all
}

func TestRun(t *testing.T) {
	s := planted(t, 11, 250)
	var notices []string
	var told [][2]int64
	opt := Options{
		Options: cleaner.Options{
			Seed: 5, Workers: 1, Notice: func(n string) { notices = append(notices, n) },
			Progress: func(stage string, done, total int64) {
				if stage == "repeat" {
					told = append(told, [2]int64{done, total})
				}
			},
		},
		Noise: "sym:0.2", Repeats: 2, Methods: append(MethodNames(), "argmax"),
	}
	e := must.Get(Run(t.Context(), s, opt))(t)
	seen := map[float64]string{}
	for i, m := range e.Methods {
		if m.Name != MethodNames()[i] || len(m.Repeats) != 2 || m.Repeats[0] == m.Repeats[1] {
			t.Fatalf("method %d: got %+v, want two repeats of %s that differ", i, m, MethodNames()[i])
		}
		if mean, std := summarize(m.Repeats); mean != m.Mean || std != m.Std || mean.Metrics != mean.BySplit.Test {
			t.Errorf("method %s: mean and deviation are not those of the repeats: %+v", m.Name, m)
		}
		if math.Abs(m.Mean.TrueRate-0.2) > 0.01 || m.Mean.BySplit.All.F1 == 0 || m.Mean.AveragePrecision < 0.3 {
			t.Errorf("method %s: got %+v", m.Name, m.Mean)
		}
		if other, ok := seen[m.Mean.BySplit.All.ECE]; ok && m.Name != "argmin" {
			t.Errorf("methods %s and %s have the same scores", m.Name, other)
		}
		if m.Name != "confident-learning" { // which ranks as argmax does
			seen[m.Mean.BySplit.All.ECE] = m.Name
		}
	}
	if rate := e.Methods[0].Mean.EstimatedRate; len(e.Methods) != len(MethodNames()) || math.Abs(rate-0.2) > 0.1 {
		t.Errorf("got %d methods, of which the default estimates a rate of %v", len(e.Methods), rate)
	}
	if want := [][2]int64{{0, 2}, {1, 2}, {2, 2}}; !slices.Equal(told, want) {
		t.Errorf("progress of the repeats: got %v, want %v", told, want)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "no features") {
		t.Errorf("notices: got %q, want one that there are no features", notices)
	}

	// The second repeat is the first one of the next seed, at any number of workers and budget.
	opt.Seed, opt.Repeats, opt.Workers, opt.MemoryBudget = 6, 1, 4, 4<<20
	for i, m := range must.Get(Run(t.Context(), s, opt))(t).Methods {
		if m.Repeats[0] != e.Methods[i].Repeats[1] {
			t.Errorf("method %s, seed 6: got %+v, want the second repeat of seed 5, %+v", m.Name, m.Repeats[0],
				e.Methods[i].Repeats[1])
		}
	}
}

// TestRunTakesWhatIsGiven gives noisy labels and splits: nothing is drawn in any repeat. It measures the nodes of each
// split anew from what every node is said to be, also where a split has none.
func TestRunTakesWhatIsGiven(t *testing.T) {
	s := planted(t, 12, 200)
	truth := labelsOf(t, s)
	noisy, wrong := slices.Clone(truth), 0.0
	for v, y := range truth {
		switch {
		case v%8 == 3 && y != kv.NoClass: // tested, and wrong
			noisy[v] = (y + 1) % 4
			wrong++
		case v%16 == 7: // tested except for this
			noisy[v] = kv.NoClass
		case y == kv.NoClass: // a label where there is no truth to measure it by
			noisy[v] = 0
		}
	}
	for _, splits := range [][]cleaner.Split{
		dealt(len(noisy), cleaner.SplitTrain, cleaner.SplitTrain, cleaner.SplitValidation, cleaner.SplitTest),
		dealt(len(noisy), cleaner.SplitNone, cleaner.SplitNone, cleaner.SplitValidation, cleaner.SplitTest),
	} {
		var measured []Measurement
		opt := Options{
			NoisyLabels: noisy, Splits: splits, Repeats: 2, Methods: []string{"default", "confident-learning", "dyb"},
			OnMeasurement: func(m Measurement) error { measured = append(measured, m); return nil },
		}
		e := must.Get(Run(t.Context(), s, opt))(t)
		for i, m := range measured {
			metrics := e.Methods[i%3].Repeats[i/3]
			of := func(within ...cleaner.Split) Metrics {
				var scores []float64
				var flagged, mislabelled []bool
				for v, y := range m.Truth {
					if y != kv.NoClass && m.Labels[v] != kv.NoClass && slices.Contains(within, splits[v]) {
						scores, flagged = append(scores, m.Scores[v]), append(flagged, m.Flagged[v])
						mislabelled = append(mislabelled, y != m.Labels[v])
					}
				}
				of := plainMetrics(scores, flagged, mislabelled)
				of.EstimatedRate, of.TrueRate = metrics.EstimatedRate, metrics.TrueRate
				return of
			}
			sameMetrics(t, m.Method, metrics.Metrics, of(cleaner.SplitTest))
			sameMetrics(t, m.Method, metrics.BySplit.All, of(0, 1, 2, 3))
			if m.Repeat != i/3 || m.Method != e.Methods[i%3].Name || len(m.Nodes) == 0 || metrics.Mislabelled != wrong {
				t.Errorf("got repeat %d of %s with %d nodes and %v wrong, want %v", m.Repeat, m.Method, len(m.Nodes),
					metrics.Mislabelled, wrong)
			}
		}
		if len(measured) != 6 || !reflect.DeepEqual(measured[2].Scores, measured[5].Scores) {
			t.Errorf("got %d measurements, want six, and the same classifier in both repeats", len(measured))
		}
		failing := errors.New("full")
		opt.OnMeasurement = func(Measurement) error { return failing }
		if _, err := Run(t.Context(), s, opt); !errors.Is(err, failing) {
			t.Errorf("OnMeasurement fails: got %v, want its error", err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	const n = 60
	s := planted(t, 13, n)
	labels, splits := make([]kv.Class, n), make([]cleaner.Split, n)
	foreign, unknown := slices.Clone(labels), slices.Clone(splits)
	foreign[3], unknown[4] = 4, 9
	unlabelled := slices.Repeat([]kv.Class{kv.NoClass}, n)
	fewValidated := dealt(n, cleaner.SplitTrain, cleaner.SplitTest)
	fewValidated[0] = cleaner.SplitValidation
	for _, c := range []struct {
		opt  Options
		want error
		says string
	}{
		{Options{}, cleaner.ErrOptions, "want KIND:RATE with one of sym, asym, feature"},
		{Options{Noise: "cluster:0.1"}, cleaner.ErrOptions, "noise cluster goes by features, and the graph has none"},
		{Options{Noise: "sym:0.1", Repeats: -1}, cleaner.ErrOptions, "-1 repeats"},
		{Options{Noise: "sym:0.1", Predictions: []cleaner.PredictionSet{nil}}, cleaner.ErrOptions,
			"the noisy labels that they were made from"},
		{Options{Noise: "sym:0.1", Methods: []string{"paper", "best"}}, cleaner.ErrOptions,
			`"best": want one of default, paper, confident-learning`},
		{Options{Options: cleaner.Options{Hops: 9}, Noise: "sym:0.1"}, cleaner.ErrOptions, "hops 9"},
		{Options{Noise: "sym:0.1", Split: [3]float64{0.8, math.NaN(), 0.1}}, cleaner.ErrOptions, "shares"},
		{Options{Noise: "sym:0.1", Split: [3]float64{0.8, 0.2, 0.1}}, cleaner.ErrOptions, "shares"},
		{Options{Noise: "sym:0.1", Split: [3]float64{0.5, 0.5, 0}}, cleaner.ErrNoLabels,
			"repeat 1 of 1: no labelled node in the test split"},
		{Options{Noise: "sym:0.1", Split: [3]float64{0, 0.5, 0.5}}, cleaner.ErrNoLabels, "training split"},
		{Options{NoisyLabels: labels[1:]}, cleaner.ErrShape, "noisy labels: got 59, want one for each of the 60 nodes"},
		{Options{NoisyLabels: unlabelled}, cleaner.ErrNoLabels, "test split"},
		{Options{NoisyLabels: foreign}, cleaner.ErrUnknownClass, "class number 4"},
		{Options{Noise: "sym:0.1", Splits: splits[1:]}, cleaner.ErrShape, "splits: got 59"},
		{Options{Noise: "sym:0.1", Splits: unknown}, cleaner.ErrSplit, "split number 9"},
		{Options{Noise: "sym:0.1", Splits: fewValidated, Methods: []string{"paper"}}, cleaner.ErrFewFittingNodes,
			"method paper"},
		{Options{Options: cleaner.Options{MemoryBudget: 1}, Noise: "sym:0.1"}, ops.ErrBudget, "eval"},
	} {
		e, err := Run(t.Context(), s, c.opt)
		if e != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: got %v and error %v, want %v that says %q", c.opt, e, err, c.want, c.says)
		}
	}
}

func TestRunCancelled(t *testing.T) {
	s := planted(t, 15, 120)
	for _, when := range append(MethodNames(), "noise", "base") {
		ctx, cancel := context.WithCancel(t.Context())
		opt := Options{Noise: "asym:0.1", Repeats: 3, Methods: append([]string{"argmin"}, MethodNames()...)}
		opt.OnStage = func(stage ops.Stage) {
			if stage.Name == when {
				cancel()
			}
		}
		if _, err := Run(ctx, s, opt); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %s: got %v, want context.Canceled", when, err)
		}
		cancel()
	}
}

// TestRunOfPredictions gives the methods what others predicted.
func TestRunOfPredictions(t *testing.T) {
	s := planted(t, 18, 160)
	truth := labelsOf(t, s)
	classes := []string{"δelta", "gamma", "beta", "alpha"} // the file has another order
	noisy := slices.Clone(truth)
	for v, y := range truth {
		if v%7 == 0 && y != kv.NoClass {
			noisy[v] = (y + 1) % 4
		}
	}
	set := func(sure float64, rows int) cleaner.PredictionSet {
		return func(
			_ context.Context, tx *kv.Tx, begin func([]string, cleaner.PredictionOptions) (*cleaner.PredictionWriter, error),
		) error {
			w, err := begin(classes, cleaner.PredictionOptions{})
			if err != nil {
				return err
			}
			for v, y := range truth[:rows] {
				row := slices.Repeat([]float64{(1 - sure) / 3}, 4)
				row[3-max(y, 0)] = sure
				if err := w.Put(kv.NodeID(v), row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	opt := Options{
		Options:     cleaner.Options{Notice: func(n string) { t.Errorf("got notice %q: nothing is trained", n) }},
		NoisyLabels: noisy, Splits: dealt(len(truth), cleaner.SplitTrain, cleaner.SplitValidation, cleaner.SplitTest),
		Predictions: []cleaner.PredictionSet{set(0.9, len(truth)),
			set(0.8, len(truth))}, Methods: []string{"argmax", "paper"},
	}
	argmax := must.Get(Run(t.Context(), s, opt))(t).Methods[0]
	if len(argmax.Repeats) != 2 || argmax.Mean.F1 != 1 || argmax.Repeats[0].ECE == argmax.Repeats[1].ECE {
		t.Errorf("predictions that are right: got %+v, want two repeats of F1 1, and other scores", argmax)
	}
	opt.Notice, opt.Methods = nil, []string{"default"} // which trains beside them
	if e := must.Get(Run(t.Context(), s, opt))(t); e.Methods[0].Mean.F1 < 0.5 {
		t.Errorf("joined: got %+v, want an F1 of .5", e.Methods[0].Mean)
	}
	opt.Predictions = []cleaner.PredictionSet{set(0.9, 1)}
	if _, err := Run(t.Context(), s, opt); !errors.Is(err, cleaner.ErrMissingRows) {
		t.Errorf("one row: got %v, want ErrMissingRows", err)
	}
	opt.Predictions, classes = []cleaner.PredictionSet{set(0.9, len(truth))}, []string{"alpha", "beta", "gamma", "poetry"}
	if _, err := Run(t.Context(), s, opt); !errors.Is(err, cleaner.ErrUnknownClass) {
		t.Errorf("an unknown class: got %v, want ErrUnknownClass", err)
	}
	opt.Splits, opt.Split = nil, [3]float64{0.8, 0.1, 0.1}
	if _, err := Run(t.Context(), s, opt); !errors.Is(err, cleaner.ErrOptions) || !strings.Contains(err.Error(), "split") {
		t.Errorf("a split that is drawn: got %v, want ErrOptions", err)
	}
}

// TestResultInJSON keeps the names that scripts rely on.
func TestResultInJSON(t *testing.T) {
	var values map[string]any
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(MethodMetrics{}))(t), &values))
	for _, name := range strings.Fields("f1 mcc p_at_t p_at_t_flagged precision recall average_precision ece found_at " +
		"by_split") {
		if _, ok := values[name]; !ok {
			t.Errorf("got %v, want %s", values, name)
		}
	}
}

package cleaner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestSummarize(t *testing.T) {
	// The metrics over the test nodes, and beside them others over the training nodes.
	summarized := func(repeats ...Metrics) (mean, deviation Metrics) {
		var r MethodResult
		for _, m := range repeats {
			r.Repeats = append(r.Repeats, MethodMetrics{Metrics: m, BySplit: MetricsBySplit{Train: Metrics{ECE: m.F1}}})
		}
		r.summarize()
		sameMetrics(t, "mean of the training nodes", r.Mean.BySplit.Train, Metrics{ECE: meanF1(repeats)})
		sameMetrics(t, "mean of validation nodes that there are not", r.Mean.BySplit.Validation, Metrics{})
		return r.Mean.Metrics, r.Std.Metrics
	}
	mean, deviation := summarized(Metrics{F1: 0.5, Flagged: 1}, Metrics{F1: 0.7, Flagged: 1}, Metrics{F1: 0.9, Flagged: 4})
	sameMetrics(t, "mean of three repeats", mean, Metrics{F1: 0.7, Flagged: 2})
	sameMetrics(t, "deviation of three repeats", deviation, Metrics{F1: 0.2, Flagged: math.Sqrt(3)})
	mean, deviation = summarized(Metrics{F1: 0.5, MCC: -1, Mislabelled: 2})
	sameMetrics(t, "mean of one repeat", mean, Metrics{F1: 0.5, MCC: -1, Mislabelled: 2})
	sameMetrics(t, "deviation of one repeat", deviation, Metrics{})
	// Shares of nothing are no zeros in a mean: of no flags there is no precision, of no mislabels no recall.
	found := FoundAt{Percent1: 0.5, Percent5: 0.5, Percent10: 0.5}
	mean, _ = meanAndDeviation([]Metrics{
		{F1: 1, MCC: 1, Precision: 1, Recall: 1, PAtT: 1, AveragePrecision: 1, PAtTFlagged: 1, Flagged: 3, Mislabelled: 3, FoundAt: FoundAt{1, 1, 1}},
		{},
		{Mislabelled: 3},
		{Flagged: 3},
	})
	sameMetrics(t, "mean with shares of nothing", mean, Metrics{
		F1: 1.0 / 3, MCC: 0.5, Precision: 0.5, Recall: 0.5, PAtT: 0.5, AveragePrecision: 0.5, PAtTFlagged: 0.5,
		Flagged: 1.5, Mislabelled: 1.5, FoundAt: found,
	})
}

func meanF1(some []Metrics) (mean float64) {
	for _, m := range some {
		mean += m.F1 / float64(len(some))
	}
	return mean
}

// evaluated is a store with known labels, of which none is wrong, and predictions that Evaluate must not use.
func evaluated(t *testing.T, seed uint64, n int) (*kv.Store, plantedPartition) {
	p := newPlanted(seed, n)
	for i := range p.nodes {
		if p.nodes[i].Label != "" {
			p.nodes[i].Label = p.truth[i]
		}
	}
	return p.load(t, false), p
}

func evaluate(t *testing.T, s *kv.Store, opt EvalOptions) *Evaluation {
	t.Helper()
	e, err := Evaluate(context.Background(), s, opt)
	if err != nil {
		t.Fatalf("evaluating: %v", err)
	}
	return e
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	return string(text)
}

func TestEvaluate(t *testing.T) {
	s, p := evaluated(t, 11, 250)
	var notices []string
	var told [][2]int64
	opt := EvalOptions{
		Options: Options{
			Seed: 5, Workers: 1, Notice: func(n string) { notices = append(notices, n) },
			Progress: func(stage string, done, total int64) {
				if stage == "repeat" {
					told = append(told, [2]int64{done, total})
				}
			},
		},
		Noise: "sym:0.2", Repeats: 2, Methods: []string{"argmax", "paper", "argmax", "labels-only"},
	}
	e := evaluate(t, s, opt)
	if len(e.Methods) != 3 || e.Methods[0].Name != "argmax" || e.Methods[1].Name != "paper" || e.Methods[2].Name != "labels-only" {
		t.Fatalf("methods: got %s, want those asked, each once, in the order first named", asJSON(t, e))
	}
	tested := 0
	for _, n := range p.nodes {
		if n.Label != "" && n.Values[0].String() == "test" {
			tested++
		}
	}
	for _, m := range e.Methods {
		if len(m.Repeats) != 2 {
			t.Fatalf("method %s: got %d repeats, want 2", m.Name, len(m.Repeats))
		}
		again := MethodResult{Repeats: m.Repeats}
		again.summarize()
		if again.Mean != m.Mean || again.Std != m.Std {
			t.Errorf("method %s: mean and deviation are not those of the repeats: %s", m.Name, asJSON(t, m))
		}
		if got := m.Mean.Mislabelled; got < 0.1*float64(tested) || got > 0.3*float64(tested) {
			t.Errorf("method %s: got %v mislabelled of %d tested, want about a fifth", m.Name, got, tested)
		}
		if m.Mean.AveragePrecision < 0.5 {
			t.Errorf("method %s: got an average precision of %.3f, want 0.5 or more", m.Name, m.Mean.AveragePrecision)
		}
	}
	if e.Methods[0].Repeats[0] == e.Methods[0].Repeats[1] {
		t.Error("the two repeats are the same, want noise of their own")
	}
	if want := [][2]int64{{0, 2}, {1, 2}, {2, 2}}; !slices.Equal(told, want) {
		t.Errorf("progress of the repeats: got %v, want %v", told, want)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "no features") {
		t.Errorf("notices: got %q, want one that there are no features", notices)
	}

	// The second repeat is the first one of the next seed, at any number of workers and budget.
	opt.Seed, opt.Repeats, opt.Workers, opt.MemoryBudget = 6, 1, 4, 4<<20
	next := evaluate(t, s, opt)
	for i, m := range next.Methods {
		if m.Repeats[0] != e.Methods[i].Repeats[1] {
			t.Errorf("method %s, seed 6: got %s, want the second repeat of seed 5, %s", m.Name, asJSON(t, m.Repeats[0]), asJSON(t, e.Methods[i].Repeats[1]))
		}
	}
}

// TestEvaluateTakesWhatIsGiven opens the store for reading, and gives noisy labels and splits.
func TestEvaluateTakesWhatIsGiven(t *testing.T) {
	p := newPlanted(12, 200)
	g := kvtest.Graph{Nodes: p.nodes, Properties: []kv.Column{{Name: "split", Kind: kv.KindString}}}
	for _, e := range p.edges {
		g.Edges = append(g.Edges, [2]string{p.nodes[e[0]].ID, p.nodes[e[1]].ID})
	}
	s := kvtest.Open(t, kvtest.LoadDir(t, g), kv.Options{ReadOnly: true})
	noisy, splits := make([]kv.Class, len(p.nodes)), make([]Split, len(p.nodes))
	wrong := 0
	view(t, s, func(tx *kv.Tx) error {
		truth := must.Get(readLabels(tx))(t)
		for v, y := range truth {
			splits[v] = []Split{SplitTrain, SplitTrain, SplitValidation, SplitTest}[v%4]
			noisy[v] = y
			switch {
			case v%8 == 3 && y != kv.NoClass: // tested, and wrong
				noisy[v] = (y + 1) % 4
				wrong++
			case v%16 == 7: // tested but for this
				noisy[v] = kv.NoClass
			case y == kv.NoClass: // a label where there is no truth to measure it by
				noisy[v] = 0
			}
		}
		return nil
	})
	before := slices.Clone(noisy)
	opt := EvalOptions{Noise: "not looked at", NoisyLabels: noisy, Splits: splits, Repeats: 2, Methods: []string{"confident-learning"}}
	e := evaluate(t, s, opt)
	for r, m := range e.Methods[0].Repeats {
		if m.Mislabelled != float64(wrong) {
			t.Errorf("repeat %d: got %v mislabelled test nodes, want the %d given", r+1, m.Mislabelled, wrong)
		}
	}
	if !slices.Equal(noisy, before) {
		t.Error("the noisy labels given were changed")
	}
}

func TestEvaluateRefuses(t *testing.T) {
	s, p := evaluated(t, 13, 60)
	n := len(p.nodes)
	labels, splits := make([]kv.Class, n), make([]Split, n)
	foreign, unknown := slices.Clone(labels), slices.Clone(splits)
	foreign[3], unknown[4] = 4, 9
	unlabelled := slices.Repeat([]kv.Class{kv.NoClass}, n)
	for _, c := range []struct {
		name string
		opt  EvalOptions
		want error
		says string
	}{
		{"no noise", EvalOptions{}, ErrOptions, "want KIND:RATE with one of sym, asym, feature"},
		{"bad noise", EvalOptions{Noise: "sym:2"}, ErrOptions, `"sym:2"`},
		{"noise by features that are not there", EvalOptions{Noise: "cluster:0.1"}, ErrOptions, "noise cluster goes by features, and the graph has none"},
		{"negative repeats", EvalOptions{Noise: "sym:0.1", Repeats: -1}, ErrOptions, "-1 repeats"},
		{"repeats beyond count", EvalOptions{Noise: "sym:0.1", Repeats: math.MaxInt}, ErrOptions, "want 1 to 1048576"},
		{"predictions of unknown labels", EvalOptions{Noise: "sym:0.1", Predictions: []PredictionSet{nil}}, ErrOptions, "the noisy labels that they were made from"},
		{"unknown method", EvalOptions{Noise: "sym:0.1", Methods: []string{"paper", "best"}}, ErrOptions, `"best": want one of default, paper, confident-learning, argmax, argmin, aum, dyb, labels-only`},
		{"bad options", EvalOptions{Options: Options{Hops: 9}, Noise: "sym:0.1"}, ErrOptions, "hops 9"},
		{"a negative share", EvalOptions{Noise: "sym:0.1", Split: [3]float64{0.8, -0.1, 0.1}}, ErrOptions, "shares"},
		{"a share of NaN", EvalOptions{Noise: "sym:0.1", Split: [3]float64{0.8, math.NaN(), 0.1}}, ErrOptions, "shares"},
		{"shares above 1", EvalOptions{Noise: "sym:0.1", Split: [3]float64{0.8, 0.2, 0.1}}, ErrOptions, "shares"},
		{"no test nodes", EvalOptions{Noise: "sym:0.1", Split: [3]float64{0.5, 0.5, 0}}, ErrNoLabels, "repeat 1 of 1: no labelled node in the test split"},
		{"no training nodes", EvalOptions{Noise: "sym:0.1", Split: [3]float64{0, 0.5, 0.5}}, ErrNoLabels, "training split"},
		{"too few noisy labels", EvalOptions{NoisyLabels: labels[1:]}, ErrShape, "noisy labels: got 59, want one for each of the 60 nodes"},
		{"no noisy labels, not nil", EvalOptions{NoisyLabels: labels[:0]}, ErrShape, "noisy labels: got 0"},
		{"all noisy labels missing", EvalOptions{NoisyLabels: unlabelled}, ErrNoLabels, "test split"},
		{"a noisy label of no class", EvalOptions{NoisyLabels: foreign}, ErrUnknownClass, "class number 4"},
		{"too few splits", EvalOptions{Noise: "sym:0.1", Splits: splits[1:]}, ErrShape, "splits: got 59"},
		{"a split of no name", EvalOptions{Noise: "sym:0.1", Splits: unknown}, ErrSplit, "split number 9"},
		{"fitting set of one", EvalOptions{Noise: "sym:0.1", Splits: append([]Split{SplitValidation, SplitTest}, slices.Repeat([]Split{SplitTrain, SplitTest}, n/2-1)...), Methods: []string{"paper"}}, ErrFewFittingNodes, "method paper"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Evaluate(context.Background(), s, c.opt)
			if e != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v and error %v, want %v that says %q", e, err, c.want, c.says)
			}
		})
	}
}

func TestEvaluateRefusesLabels(t *testing.T) {
	for label, want := range map[string]error{"": ErrNoLabels, "alpha": ErrOneClass} {
		p := newPlanted(14, 30)
		for i := range p.nodes {
			p.nodes[i].Label = label
		}
		if _, err := Evaluate(context.Background(), p.load(t, true), EvalOptions{Noise: "sym:0.1"}); !errors.Is(err, want) {
			t.Errorf("all labels %q: got %v, want %v", label, err, want)
		}
	}
}

func TestEvaluateCancelled(t *testing.T) {
	s, _ := evaluated(t, 15, 120)
	for _, when := range []string{"repeat", "train"} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Evaluate(ctx, s, EvalOptions{Noise: "asym:0.1", Repeats: 3, Options: Options{Progress: func(stage string, done, _ int64) {
			if stage == when {
				cancel()
			}
		}}})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in %s: got %v, want context.Canceled", when, err)
		}
	}
}

// TestEvaluateDraws wants every repeat to draw noise and split and to train anew, and only to train where both are
// given.
func TestEvaluateDraws(t *testing.T) {
	s, _ := evaluated(t, 17, 60)
	opt := EvalOptions{
		Noise: "asym:0.2", Repeats: 2, Split: [3]float64{0.6, 0.2, 0.2}, Methods: []string{"argmax", "dyb"},
	}
	var given, classifiers [2]string
	opt.OnMeasurement = func(m Measurement) error {
		if m.Method == "argmax" {
			given[m.Repeat], classifiers[m.Repeat] = fmt.Sprint(m.Labels, m.Nodes), fmt.Sprint(m.Scores)
			opt.NoisyLabels = m.Labels
		}
		return nil
	}
	e := evaluate(t, s, opt)
	if given[0] == given[1] {
		t.Error("two repeats have the same noise and split")
	}
	if m := e.Methods[1]; len(m.Repeats) != 2 {
		t.Errorf("method dyb: got %s, want two repeats", asJSON(t, m))
	}
	opt.Noise, opt.Split, opt.Splits = "", [3]float64{}, make([]Split, len(opt.NoisyLabels))
	for v := range opt.Splits {
		opt.Splits[v] = []Split{SplitTrain, SplitTrain, SplitValidation, SplitTest}[v%4]
	}
	evaluate(t, s, opt)
	if given[0] != given[1] || classifiers[0] != classifiers[1] {
		t.Error("given noise and splits: want the same for the classifier, of which nothing is drawn")
	}
	failing := errors.New("full")
	opt.OnMeasurement = func(Measurement) error { return failing }
	if _, err := Evaluate(context.Background(), s, opt); !errors.Is(err, failing) {
		t.Errorf("OnMeasured fails: got %v, want its error", err)
	}
}

// TestEvaluatePredictions gives the methods what others predicted.
func TestEvaluatePredictions(t *testing.T) {
	p := newPlanted(18, 160)
	s := p.load(t, true)
	var truth []kv.Class
	var classes []string
	view(t, s, func(tx *kv.Tx) (err error) {
		truth, err = readLabels(tx)
		classes = slices.Clone(tx.Classes())
		return err
	})
	slices.Reverse(classes) // the file has another order
	noisy, splits := slices.Clone(truth), make([]Split, len(truth))
	for v, y := range truth {
		splits[v] = []Split{SplitTrain, SplitValidation, SplitTest}[v%3]
		if v%7 == 0 && y != kv.NoClass {
			noisy[v] = (y + 1) % kv.Class(len(classes))
		}
	}
	set := func(sure float64) PredictionSet {
		return func(
			_ context.Context, tx *kv.Tx, begin func([]string, PredictionOptions) (*PredictionWriter, error),
		) error {
			w, err := begin(classes, PredictionOptions{})
			if err != nil {
				return err
			}
			for v, y := range truth {
				row := slices.Repeat([]float64{(1 - sure) / float64(len(classes)-1)}, len(classes))
				row[len(classes)-1-int(max(y, 0))] = sure
				if err := w.Put(kv.NodeID(v), row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var notices []string
	opt := EvalOptions{
		Options: Options{Notice: func(n string) { notices = append(notices, n) }}, NoisyLabels: noisy, Splits: splits,
		Predictions: []PredictionSet{set(0.9), set(0.8)}, Methods: []string{"argmax", "paper"},
	}
	e := evaluate(t, s, opt)
	argmax := e.Methods[0]
	if len(argmax.Repeats) != 2 || argmax.Mean.F1 != 1 {
		t.Errorf("predictions that are right: got %s, want two repeats of F1 1", asJSON(t, argmax))
	}
	if a, b := argmax.Repeats[0].ECE, argmax.Repeats[1].ECE; a == b {
		t.Error("two files of predictions gave the same scores")
	}
	if len(notices) != 0 {
		t.Errorf("notices: got %q, want none: nothing is trained", notices)
	}

	missing := func(_ context.Context, tx *kv.Tx, begin func([]string, PredictionOptions) (*PredictionWriter, error)) error {
		w, err := begin(classes, PredictionOptions{})
		if err != nil {
			return err
		}
		return w.Put(0, []float64{1, 0, 0, 0})
	}
	opt.Predictions = []PredictionSet{missing}
	if _, err := Evaluate(context.Background(), s, opt); !errors.Is(err, ErrMissingRows) {
		t.Errorf("one row: got %v, want ErrMissingRows", err)
	}
	opt.Predictions, classes = []PredictionSet{set(0.9)}, []string{"alpha", "beta", "gamma", "poetry"}
	if _, err := Evaluate(context.Background(), s, opt); !errors.Is(err, ErrUnknownClass) {
		t.Errorf("an unknown class: got %v, want ErrUnknownClass", err)
	}
	opt.Predictions, opt.Splits, opt.Split = []PredictionSet{set(0.9)}, nil, defaultShares
	if _, err := Evaluate(context.Background(), s, opt); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "split") {
		t.Errorf("a split that is drawn: got %v, want ErrOptions", err)
	}
}

// TestEvaluateTrainsOnItsShare asks how many labels a drawn split leaves to learn from: as many as its share.
func TestEvaluateTrainsOnItsShare(t *testing.T) {
	s, p := evaluated(t, 23, 300)
	var all int
	for _, node := range p.nodes {
		if node.Label != "" {
			all++
		}
	}
	e := must.Get(newEvaluator(t.Context(), s, EvalOptions{Noise: "sym:0.1", Split: [3]float64{0.2, 0.2, 0.2}}))(t)
	d := must.Get(e.draw(t.Context(), 0))(t)
	want := int(0.6*float64(all)+0.5) - 2*int(0.2*float64(all)+0.5)
	if got := d.base.count(d.base.teaches); got != want {
		t.Errorf("of %d nodes %d teach, want %d", all, got, want)
	}
	must.Do(t, e.Close())
}

// TestEvaluateTellsRates compares the rates of a result with the noise that was asked for.
func TestEvaluateTellsRates(t *testing.T) {
	s, _ := evaluated(t, 24, 300)
	e := evaluate(t, s, EvalOptions{Noise: "sym:0.2", Methods: []string{"default", "argmax"}})
	for _, m := range e.Methods {
		if math.Abs(m.Mean.TrueRate-0.2) > 0.01 {
			t.Errorf("%s: got a true rate of %v, want 0.2", m.Name, m.Mean.TrueRate)
		}
		if estimated := m.Mean.EstimatedRate; estimated != 0 && m.Name == "argmax" || m.Name == "default" && math.Abs(estimated-0.2) > 0.1 {
			t.Errorf("%s: got an estimated rate of %v", m.Name, estimated)
		}
	}
}

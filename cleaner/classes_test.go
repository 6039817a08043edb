package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func mustStatistics(t *testing.T, s *kv.Store) (got *LabelStatistics) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) (err error) {
		got, err = Statistics(context.Background(), tx)
		return err
	})
	return got
}

// A path a–b–c–d–e, labelled x x y y and not at all. Pairs of labelled neighbours, from either end: a–b agrees, b–c
// does not, c–d agrees; d–e does not count. So 4 of 6 agree. x has the degrees 1 + 2, y likewise: by chance (3/6)² +
// (3/6)² = ½ would agree, and the adjusted homophily is (4/6 − ½) / ½ = ⅓.
func TestStatisticsByHand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	for i, label := range []string{"x", "x", "y", "y", ""} {
		must.Do(t, l.AddNode(kv.Node{ID: string(rune('a' + i)), Label: label}))
	}
	for _, e := range []string{"ab", "bc", "cd", "de"} {
		must.Do(t, l.AddEdge(e[:1], e[1:], 0))
	}
	must.Get(l.Commit(context.Background(), nil))(t)
	s := must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
	defer s.Close()
	got := mustStatistics(t, s)
	if got.Labels != 4 || !golden.Near(got.Homophily, 4./6, 1e-12) || !golden.Near(got.ChanceHomophily, 0.5, 1e-12) ||
		!golden.Near(got.AdjustedHomophily, 1./3, 1e-12) {
		t.Errorf("got %+v, want 4 labelled, homophily 2/3, by chance 1/2, adjusted 1/3", got)
	}
	for k, name := range []string{"x", "y"} {
		c := got.Classes[k]
		if c.Class != name || c.Nodes != 2 || !golden.Near(c.Homophily, 2./3, 1e-12) || !math.IsNaN(c.SelfConfidence) ||
			!math.IsNaN(c.MislabelRate) || c.Suspects != 0 {
			t.Errorf("class %s: got %+v, want 2 nodes, homophily 2/3 and nothing else", name, c)
		}
	}
	if got.Run != 0 || got.Warning() != "" {
		t.Errorf("got run %d, warning %q, want none", got.Run, got.Warning())
	}
	// Neighbours that hardly agree less than by chance, and much less.
	got.setHomophily([]int64{9, 9}, []int64{20, 20})
	if warning := got.Warning(); !strings.Contains(warning, "0.45 of labelled neighbours agree, 0.5 would by chance "+
		"(adjusted homophily -0.1") {
		t.Errorf("homophily 0.45: got warning %q", warning)
	}
	got.setHomophily([]int64{1, 1}, []int64{10, 10})
	if warning := got.Warning(); warning != "" {
		t.Errorf("homophily 0.1: got warning %q", warning)
	}
	for _, nothing := range [][2][]int64{{{0, 0}, {0, 0}}, {{4, 0}, {4, 0}}} {
		got.setHomophily(nothing[0], nothing[1])
		if !math.IsNaN(got.AdjustedHomophily) || got.Warning() != "" {
			t.Errorf("%v agreeing of %v: got adjusted homophily %v, warning %q, want NaN and none", nothing[0], nothing[1],
				got.AdjustedHomophily, got.Warning())
		}
	}
}

// Statistics of a run, against sums over all nodes.
func TestStatisticsOfARun(t *testing.T) {
	for _, by := range []method.Method{nil, paper.Published} {
		s := newPlanted(31, 300).load(t, false)
		run := mustClean(t, s, Options{Method: by, Seed: 1, Threshold: 0.6, Imported: AsGiven})
		var decided kv.NodeID
		view(t, s, func(tx *kv.Tx) error {
			for mustReadNode(t, tx, decided).Score <= 0.6 || math.IsNaN(mustReadNode(t, tx, decided).Score) {
				decided++
			}
			return nil
		})
		mustDecide(t, s, decide.Options{}, decide.Request{Node: decided, Kind: decide.Reject})
		got := mustStatistics(t, s)
		view(t, s, func(tx *kv.Tx) error {
			predictions := must.Get(Predictions(tx))(t)
			last := must.Get(LastRun(tx))(t)
			rates := last.ClassMislabelRates()
			if again := run.ClassMislabelRates(); !slices.Equal(rates, again) {
				t.Errorf("%T: got mislabel rates %v of LastRun, %v of Clean", by, rates, again)
			}
			var wrong, sizes float64
			var ofDefault []float64 // mislabel rate by mean score
			for k, name := range tx.Classes() {
				var nodes, suspects int64
				var confidence, scores float64
				for v := range kv.NodeID(tx.NumNodes()) {
					e := mustReadNode(t, tx, v)
					if e.Label != name {
						continue
					}
					p := make([]float32, 1)
					must.Do(t, predictions.Read(kv.Range{First: v, End: v + 1}, k, k+1, p))
					nodes++
					confidence += float64(p[0])
					scores += e.Score
					if e.Score > 0.6 && e.Suggestion != e.Label && v != decided {
						suspects++
					}
				}
				c := got.Classes[k]
				if c.Class != name || c.Nodes != nodes || c.Suspects != suspects ||
					!golden.Near(c.SelfConfidence, confidence/float64(nodes), 1e-6) {
					t.Errorf("%T, class %s: got %+v, want %d nodes, %d suspects, self-confidence %v",
						by, name, c, nodes, suspects, confidence/float64(nodes))
				}
				size := float64(nodes)
				if by != nil {
					size = 0
					for j := range run.Joint().Classes {
						size += run.Joint().At(k, j)
					}
					if want := 1 - run.Joint().At(k, k)/size; !golden.Near(c.MislabelRate, want, 1e-6) {
						t.Errorf("%T, class %s: got mislabel rate %v, want %v", by, name, c.MislabelRate, want)
					}
				} else {
					ofDefault = append(ofDefault, c.MislabelRate/(scores/float64(nodes)))
				}
				wrong, sizes = wrong+size*c.MislabelRate, sizes+size
			}
			if !golden.Near(wrong/sizes, run.MislabelRate, 1e-9) {
				t.Errorf("%T: the classes have the mislabel rate %v by their sizes, want that of the run, %v", by, wrong/sizes,
					run.MislabelRate)
			}
			for _, factor := range ofDefault {
				if !golden.Near(factor, ofDefault[0], 1e-6) {
					t.Errorf("%T: got mislabel rates %v times the mean scores, want one factor", by, ofDefault)
				}
			}
			return nil
		})
		if got.Run != run.ID || got.AdjustedHomophily < 0.4 || got.Warning() != "" {
			t.Errorf("%T: got run %d, adjusted homophily %v, warning %q, want run %d and none", by, got.Run,
				got.AdjustedHomophily, got.Warning(), run.ID)
		}
	}
}

func TestRatesOfMean(t *testing.T) {
	none := math.NaN()
	for _, test := range []struct {
		means, counts []float64
		rate          float64
		want          []float64
	}{
		{[]float64{0.1, 0.3}, []float64{10, 10}, 0.1, []float64{0.05, 0.15}},
		{[]float64{0.1, none, 0.3}, []float64{30, 0, 10}, 0.3, []float64{0.2, none, 0.6}},
		{[]float64{0.1, 0.9}, []float64{10, 10}, 0.75, []float64{0.15, 1}},
		{[]float64{0, 0}, []float64{5, 20}, 0.2, []float64{0.2, 0.2}}, // no score tells the classes apart
		{[]float64{0.9, 0}, []float64{5, 5}, 0.6, []float64{1, 0}},
		{[]float64{0.2, 0.4}, []float64{5, 5}, 0, []float64{0, 0}},
		{nil, nil, 0.1, nil},
	} {
		got := ratesOfMean(test.means, test.counts, test.rate)
		same := func(a, b float64) bool { return golden.Near(a, b, 1e-9) || math.IsNaN(a) && math.IsNaN(b) }
		if !slices.EqualFunc(got, test.want, same) {
			t.Errorf("means %v of %v nodes, rate %v: got %v, want %v", test.means, test.counts, test.rate, got, test.want)
		}
	}
}

// Neighbours of another class more and more often: the warning comes where they no longer tell much.
func TestStatisticsWarnOfLowHomophily(t *testing.T) {
	for _, test := range []struct {
		between float64 // share of the edges between classes
		warns   bool
	}{{0.1, false}, {0.4, false}, {0.7, true}, {0.95, true}} {
		p := newPlanted(32, 400)
		r := rand.New(rand.NewPCG(33, 0))
		p.edges = nil
		for len(p.edges) < 1600 {
			between := r.Float64() < test.between
			u, v := r.IntN(len(p.nodes)), r.IntN(len(p.nodes))
			for (p.truth[u] != p.truth[v]) != between {
				u, v = r.IntN(len(p.nodes)), r.IntN(len(p.nodes))
			}
			p.edges = append(p.edges, [2]int{u, v})
		}
		got := mustStatistics(t, p.load(t, true))
		if warning := got.Warning(); (warning != "") != test.warns || test.warns &&
			!strings.HasPrefix(warning, "low homophily: ") {
			t.Errorf("%v of the edges between classes, adjusted homophily %v: got warning %q, want one: %v",
				test.between, got.AdjustedHomophily, warning, test.warns)
		}
	}
}

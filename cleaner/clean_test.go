package cleaner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// plantedPartition has known truth: nodes of a class are mostly joined to their own, and some are given a wrong label.
type plantedPartition struct {
	nodes  []kv.Node // ID, given label, split
	truth  []string  // by position
	edges  [][2]int  // positions
	scores [][]float64
}

// newPlanted has n nodes in four classes. A tenth of the labels is wrong, one node in forty is unlabelled, and the
// classifier is right about four nodes in five.
func newPlanted(seed uint64, n int) plantedPartition {
	r := rand.New(rand.NewPCG(seed, 0))
	classes := []string{"alpha", "beta", "gamma", "δelta"}
	var p plantedPartition
	of := make([]int, n)
	for v := range n {
		of[v] = r.IntN(len(classes))
		given, predicted := of[v], of[v]
		if r.Float64() < 0.1 {
			given = (given + 1 + r.IntN(3)) % 4
		}
		if r.Float64() < 0.2 {
			predicted = r.IntN(4)
		}
		label := classes[given]
		if r.IntN(40) == 0 {
			label = ""
		}
		split := "train"
		if u := r.Float64(); u < 0.3 {
			split = "val"
		} else if u < 0.5 {
			split = "test"
		}
		p.nodes = append(p.nodes, kv.Node{ID: fmt.Sprintf("n%d", v), Label: label, Values: []kv.Value{kv.ValueOf(split)}})
		p.truth = append(p.truth, classes[of[v]])
		row := make([]float64, 4)
		var sum float64
		for j := range row {
			row[j] = r.ExpFloat64()
			if j == predicted {
				row[j] += 6
			}
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		p.scores = append(p.scores, row)
	}
	for range 6 * n {
		u, v := r.IntN(n), r.IntN(n)
		if of[u] == of[v] || r.IntN(8) == 0 {
			p.edges = append(p.edges, [2]int{u, v})
		}
	}
	return p
}

// loadDir makes the directory of a store of it, without predictions.
func (p plantedPartition) loadDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	var properties []kv.Column
	if p.nodes[0].Values != nil {
		properties = []kv.Column{{Name: "split", Kind: kv.KindString}}
	}
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: properties}))(t)
	for _, n := range p.nodes {
		must.Do(t, l.AddNode(n))
	}
	for _, e := range p.edges {
		must.Do(t, l.AddEdge(p.nodes[e[0]].ID, p.nodes[e[1]].ID, 0))
	}
	must.Get(l.Commit(context.Background(), nil))(t)
	return dir
}

func openPlanted(t *testing.T, dir string) *kv.Store {
	t.Helper()
	return must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
}

// load makes a store of it, with predictions unless bare, closed when the test ends.
func (p plantedPartition) load(t *testing.T, bare bool) *kv.Store {
	t.Helper()
	s := openPlanted(t, p.loadDir(t))
	endSound(t, s)
	if !bare {
		p.predict(t, s)
	}
	return s
}

// endSound closes a store when the test ends, and fails it if the store is not sound then.
func endSound(t *testing.T, s *kv.Store) {
	t.Helper()
	t.Cleanup(func() {
		mustEndSound(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
}

// mustEndSound fails the test where the store or one of its indexes is not sound.
func mustEndSound(t *testing.T, s *kv.Store) {
	t.Helper()
	kvtest.Check(t, s)
	view(t, s, func(tx *kv.Tx) error {
		return index.Check(context.Background(), tx, func(p kv.Problem) { t.Errorf("index after the test: %s", p) })
	})
}

// predict imports the predictions, columns in another order than the store's.
func (p plantedPartition) predict(t *testing.T, s *kv.Store) {
	t.Helper()
	err := importPredictions(s, []string{"δelta", "alpha", "beta", "gamma"}, PredictionOptions{},
		func(w *PredictionWriter, tx *kv.Tx) error {
			for position, row := range p.scores {
				v, err := nodeAt(tx, position)
				if err != nil {
					return err
				}
				if err := w.Put(v, []float64{row[3], row[0], row[1], row[2]}); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		t.Fatalf("importing predictions: %v", err)
	}
}

// importPredictions runs one bulk write of predictions whose rows put puts.
func importPredictions(
	s *kv.Store, classes []string, opt PredictionOptions, put func(*PredictionWriter, *kv.Tx) error,
) error {
	b, err := s.Bulk(context.Background())
	if err != nil {
		return err
	}
	defer b.Abort()
	w, err := NewPredictionWriter(b, classes, opt)
	if err != nil {
		return err
	}
	if err := put(w, b.Tx()); err != nil {
		return err
	}
	if err := w.Finish(); err != nil {
		return err
	}
	return b.Commit(w.Mark)
}

func mustClean(t *testing.T, s *kv.Store, opt Options) *Run {
	t.Helper()
	run, err := Clean(context.Background(), s, opt)
	if err != nil {
		t.Fatalf("clean %+v: %v", opt, err)
	}
	return run
}

func view(t *testing.T, s *kv.Store, fn func(tx *kv.Tx) error) {
	t.Helper()
	must.Do(t, s.View(fn))
}

func TestCleanFindsPlantedMislabels(t *testing.T) {
	p := newPlanted(1, 1000)
	for _, by := range []method.Method{nil, paper.Published} {
		t.Run(fmt.Sprintf("%T", by), func(t *testing.T) {
			s := p.load(t, false)
			run := mustClean(t, s, Options{Method: by, Seed: 1})
			view(t, s, func(tx *kv.Tx) error {
				var flagged, suspects, right, wrong int
				for position, n := range p.nodes {
					v := must.Get(nodeAt(tx, position))(t)
					score := must.Get(tx.Value(v, ScoreColumn))(t)
					if score.IsNull() != (n.Label == "") {
						t.Fatalf("node %s, given %q: got score %v", n.ID, n.Label, score)
					}
					mislabelled := n.Label != "" && n.Label != p.truth[position]
					if mislabelled {
						wrong++
					}
					suggested := must.Get(tx.Value(v, SuggestedColumn))(t)
					if !score.IsNull() && score.Float() > run.Threshold && suggested.Str() != n.Label {
						suspects++
					}
					if !score.IsNull() && score.Float() > run.Threshold {
						flagged++
						if mislabelled {
							right++
						}
					}
				}
				if int64(suspects) != run.Suspects {
					t.Errorf("suspects: the run says %d, the columns have %d", run.Suspects, suspects)
				}
				precision, recall := float64(right)/float64(flagged), float64(right)/float64(wrong)
				t.Logf("%d mislabelled, %d flagged: precision %.3f, recall %.3f, estimated rate %.3f", wrong, flagged, precision,
					recall, run.MislabelRate)
				if precision < 0.6 || recall < 0.7 {
					t.Errorf("%d mislabelled, %d flagged: got precision %.3f and recall %.3f, want 0.6 and 0.7", wrong, flagged,
						precision, recall)
				}
				if run.MislabelRate < 0.03 || run.MislabelRate > 0.35 {
					t.Errorf("mislabel rate: got %.3f, want about 0.1", run.MislabelRate)
				}
				return nil
			})
		})
	}
}

func TestCleanWritesWhatItSays(t *testing.T) {
	p := newPlanted(2, 400)
	s := p.load(t, false)
	if run := mustClean(t, s, Options{Method: paper.Published, Seed: 5}); run.ID != 1 {
		t.Errorf("first run: got ID %d, want 1", run.ID)
	}
	run := mustClean(t, s, Options{Method: paper.Published, Seed: 5, Hops: 2, Threshold: 0.9})
	view(t, s, func(tx *kv.Tx) error {
		last := must.Get(LastRun(tx))(t)
		text := func(r Run) string { // in which NaN is NaN
			joint := fmt.Sprintf("%+v ", *r.joint)
			r.joint = nil
			return joint + fmt.Sprintf("%+v", r)
		}
		if got, want := text(*last), text(*run); got != want {
			t.Errorf("last run as read:\n%.2000s\nwant as returned:\n%.2000s", got, want)
		}
		runs := must.Get(Runs(tx))(t)
		if len(runs) != 2 || runs[0].ID != 1 || runs[1].ID != 2 || runs[0].Hops != 3 || runs[1].Hops != 2 {
			t.Errorf("runs: got %d, want two with IDs 1 and 2, of 3 and 2 hops", len(runs))
		}
		for _, name := range []string{ScoreColumn, kv.LabelColumn} {
			if column, ok := tx.Column(name); !ok || !column.Indexed {
				t.Errorf("column %s: got %+v, want it indexed", name, column)
			}
		}
		for position, row := range p.scores {
			v := must.Get(nodeAt(tx, position))(t)
			best := 0
			for j := range row {
				if row[j] > row[best] {
					best = j
				}
			}
			suggested := must.Get(tx.Value(v, SuggestedColumn))(t)
			confidence := must.Get(tx.Value(v, ConfidenceColumn))(t)
			id := must.Get(tx.Value(v, RunColumn))(t)
			if suggested.Str() != tx.Classes()[best] || math.Abs(confidence.Float()-row[best]) > 1e-6 || id.Int() != 2 {
				t.Fatalf("node %s: got suggested %v, confidence %v, run %v, want %s, %v, 2",
					p.nodes[position].ID, suggested, confidence, id, tx.Classes()[best], row[best])
			}
		}
		return nil
	})
}

// outcome is everything a run wrote, in file order.
func outcome(t *testing.T, s *kv.Store) []byte {
	t.Helper()
	var text bytes.Buffer
	view(t, s, func(tx *kv.Tx) error {
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			for _, name := range []string{ScoreColumn, SuggestedColumn, ConfidenceColumn} {
				value := must.Get(tx.Value(v, name))(t)
				fmt.Fprintf(&text, "%v,", value)
			}
		}
		run := must.Get(LastRun(tx))(t)
		fmt.Fprint(&text, run.Joint(), run.Suspects)
		return nil
	})
	return text.Bytes()
}

// TestCleanIsTheSameBits has any number of workers, and budgets down to the least.
func TestCleanIsTheSameBits(t *testing.T) {
	joined := newPlanted(32, 400)
	joined.withoutSplit()
	joined.honest(5)
	for name, c := range map[string]struct {
		graph plantedPartition
		by    method.Method
	}{"paper": {newPlanted(3, 500), paper.Published}, "joined": {joined, nil}} {
		s := c.graph.load(t, false)
		mustClean(t, s, Options{Seed: 4, Method: c.by}) // which makes the index
		first := outcome(t, s)
		least := refused(t, func(budget int64, stage func(ops.Stage)) error {
			_, err := Clean(t.Context(), s, Options{MemoryBudget: budget, OnStage: stage, Method: c.by})
			return err
		}, 1)
		for _, opt := range []Options{{Workers: 1}, {Workers: 2, MemoryBudget: least}, {Workers: 4, MemoryBudget: 64 << 20}} {
			opt.Seed, opt.Method = 4, c.by
			mustClean(t, s, opt)
			if !bytes.Equal(outcome(t, s), first) {
				t.Errorf("%s, %d workers, %d bytes: the outcome differs", name, opt.Workers, opt.MemoryBudget)
			}
		}
		mustClean(t, s, Options{Method: c.by, Seed: 5})
		if c.by != nil && bytes.Equal(outcome(t, s), first) { // else nothing is drawn of so few nodes
			t.Errorf("%s, another seed: the outcome is the same", name)
		}
	}
}

func TestCleanDrawsSplitsWhereItMust(t *testing.T) {
	for name, split := range map[string]kv.Value{"none at all": {}, "training only": kv.ValueOf("train")} {
		p := newPlanted(5, 400)
		for i := range p.nodes {
			p.nodes[i].Values = []kv.Value{split}
		}
		s := p.load(t, false)
		var notices []string
		run := mustClean(t, s, Options{Method: paper.Published, Notice: func(n string) { notices = append(notices, n) }})
		if run.FittingNodes < leastValidation {
			t.Errorf("split %s: got %d fitting nodes, want a drawn split of %d or more", name, run.FittingNodes, leastValidation)
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "drawn") {
			t.Errorf("split %s: got notices %q, want one about a drawn split", name, notices)
		}
	}
}

func TestCleanRefusesTooFewLabels(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*plantedPartition)
		want   error
	}{
		"no labels": {func(p *plantedPartition) {
			for i := range p.nodes {
				p.nodes[i].Label = ""
			}
		}, ErrNoLabels},
		"one class": {func(p *plantedPartition) {
			for i := range p.nodes {
				p.nodes[i].Label = "alpha"
			}
		}, ErrOneClass},
		"a class each": {func(p *plantedPartition) {
			for i := range p.nodes {
				p.nodes[i].Label = p.nodes[i].ID
			}
		}, ErrFewLabels},
	} {
		p := newPlanted(6, 60)
		c.change(&p)
		s := p.load(t, true)
		if _, err := Clean(context.Background(), s, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		view(t, s, func(tx *kv.Tx) error {
			if _, err := tx.Matrix(PredictionsMatrix); !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("%s: got error %v, want no predictions, since nothing was trained", name, err)
			}
			return nil
		})
	}
}

// TestCleanOfFewLabels: the built-in classifier wants 8 labels whatever their splits, which stay as they are given.
func TestCleanOfFewLabels(t *testing.T) {
	for _, c := range []struct {
		labels, validation, lone int    // nodes; of the last, each has a class of its own
		split                    string // of the others; "": there are none
		opt                      Options
		want                     string // Run.FittingNodes, and notices on splits; or an error
	}{
		{labels: 7, want: "7 labelled nodes, want at least 8"},
		{labels: 8, want: "8 []"},
		{labels: 12, want: "12 []"},
		{labels: 16, want: "16 []"},
		{labels: 35, want: "35 []"},
		{labels: 35, validation: 4, split: "train", want: "35 []"},
		{labels: 35, validation: 0, split: "train", want: "35 []"},
		{labels: 7, lone: 2, want: "7 labelled nodes, and 2 more whose class no other training node has, want at least 8"},
		{labels: 0, lone: 8, want: "0 labelled nodes, and 8 more whose class no other training node has, want at least 8"},
		{labels: 9, lone: 3, want: "9 []"},
		{
			labels: 35, validation: 4, split: "train", opt: Options{Method: paper.Published},
			want: "35 [the splits cannot be used (4 labelled nodes in the validation split, want at least 8: " +
				"cleaner: too few fitting nodes): others are drawn]",
		},
	} {
		p := newPlanted(6, 90)
		for i := range p.nodes {
			node := &p.nodes[i]
			node.Values = nil
			switch {
			case i < c.labels:
				node.Label = []string{"alpha", "beta"}[i%2]
			case i < c.labels+c.lone:
				node.Label = fmt.Sprint("lone ", i)
			default:
				node.Label = ""
			}
			if i < c.validation {
				node.Values = []kv.Value{kv.ValueOf("val")}
			} else if c.split != "" {
				node.Values = []kv.Value{kv.ValueOf(c.split)}
			}
		}
		said := []string{}
		c.opt.Notice = func(text string) {
			if strings.Contains(text, "split") {
				said = append(said, text)
			}
		}
		run, err := Clean(t.Context(), p.load(t, true), c.opt)
		var got string
		if err != nil {
			got = strings.TrimSuffix(err.Error(), ": "+ErrFewLabels.Error())
		} else {
			got = fmt.Sprint(run.FittingNodes, " ", said)
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// setPredictions gives every node the same predictions, in one update.
func setPredictions(t *testing.T, s *kv.Store) {
	t.Helper()
	b := must.Get(s.Bulk(t.Context()))(t)
	defer b.Abort()
	classes := b.Tx().Classes()
	w := must.Get(NewPredictionWriter(b, classes, PredictionOptions{}))(t)
	row := slices.Repeat([]float64{1 / float64(len(classes))}, len(classes))
	for v := range b.Tx().NumNodes() {
		must.Do(t, w.Put(kv.NodeID(v), row))
	}
	must.Do(t, errors.Join(w.Finish(), b.Commit(w.Mark)))
}

// setRow gives a node other predictions.
func setRow(tx *kv.Tx, v kv.NodeID, row []float64) error {
	w, err := AppendPredictions(tx, tx.Classes(), PredictionOptions{}, tx.SetRow)
	if err != nil {
		return err
	}
	return errors.Join(w.Put(v, row), w.Finish())
}

func TestCleanChecksItsOptions(t *testing.T) {
	_, err := Clean(context.Background(), nil, Options{Hops: 6, Threshold: 1.5, Workers: -1, MemoryBudget: -1})
	if !errors.Is(err, ErrOptions) {
		t.Fatalf("bad options: got %v, want ErrOptions", err)
	}
	for _, field := range []string{"hops", "threshold", "workers", "memory budget"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("bad options: got %q, want it to name %s", err, field)
		}
	}
}

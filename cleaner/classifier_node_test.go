package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// keepRandom has a store keep a classifier of random networks with an input.
func keepRandom(t *testing.T, s *kv.Store, input string, width int, drawn bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(width)))
	bulk := must.Get(s.Bulk(context.Background()))(t)
	defer bulk.Abort()
	classes := bulk.Tx().Classes()
	k := &classifier{Input: input, Classes: classes, Drawn: drawn}
	k.net = nn.New(random, width, 5, len(classes))
	k.Widths = k.net.Widths
	must.Do(t, k.write(bulk))
	must.Do(t, bulk.Commit(func(tx *kv.Tx) error {
		return errors.Join(k.mark(tx), tx.Documents(predictionsSpace).Put(sourceKey, SourceBuiltIn))
	}))
}

// TestPredictionOfOneNode wants the prediction of a node from the nodes around it to be that of passes over the graph,
// for every input, also where a pass finds the nodes around it.
func TestPredictionOfOneNode(t *testing.T) {
	stores := map[string]*kv.Store{}
	for i, g := range arcFiles() {
		stores[fmt.Sprint("arcs ", i)], _ = g.load(t)
	}
	withSplits := newPlanted(11, 120)
	for i := range withSplits.nodes {
		withSplits.nodes[i].Values = []kv.Value{kv.ValueOf([]string{"train", "train", "val", "test", "none"}[i%5])}
	}
	stores["splits"] = withSplits.load(t, true)
	for name, s := range stores {
		var classes, n int
		view(t, s, func(tx *kv.Tx) error {
			classes, n = len(tx.Classes()), tx.NumNodes()
			return nil
		})
		const width = 6
		kvtest.MakeMatrix(t, s, FeaturesMatrix, []string{"a", "b", "c", "d", "e", "f"})
		var names []string
		must.Do(t, s.View(func(tx *kv.Tx) error { names = slices.Clone(tx.Classes()); return nil }))
		kvtest.MakeMatrix(t, s, PredictionsMatrix, names)
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			random := rand.New(rand.NewPCG(1, 2))
			for v := range kv.NodeID(n) {
				row := make([]float32, width)
				for j := range row {
					row[j] = random.Float32() - 0.3
				}
				if v%7 == 3 {
					continue // it has no features
				}
				must.Do(t, tx.SetRow(FeaturesMatrix, v, row))
			}
			return nil
		}))
		for input, wide := range map[string]int{InputFeatures: width, InputMixed: 2*width + classes + 1,
			InputStructure: 3*classes + 1} {
			for _, drawn := range []bool{false, true} {
				if !drawn && name != "splits" {
					continue
				}
				keepRandom(t, s, input, wide, drawn)
				view(t, s, func(tx *kv.Tx) error {
					compareInputs(t, s, tx, fmt.Sprintf("%s, %s, drawn %v", name, input, drawn))
					return nil
				})
			}
		}
	}
}

// compareInputs compares the predictions of all nodes one by one with those of passes.
func compareInputs(t *testing.T, s *kv.Store, tx *kv.Tx, what string) {
	t.Helper()
	f, err := openFiller(tx)
	if err == nil {
		err = f.open()
	}
	must.Do(t, err)
	nodes, err := f.unpredicted(t.Context())
	if err != nil || len(nodes) != tx.Shape().Present {
		t.Fatalf("got %d nodes, %v, want %d", len(nodes), err, tx.Shape().Present)
	}
	got := must.Get(f.rowsOf(t.Context(), nodes, Options{}))(t)
	want := must.Get(f.rowsByPass(t.Context(), s, nodes, Options{}))(t)
	for i, v := range nodes {
		for j := range want[i] {
			if !near(float64(got[i][j]), float64(want[i][j]), 1e-5) {
				t.Errorf("%s: node %d: got %v, want %v", what, v, got[i], want[i])
				break
			}
		}
	}
}

// TestScoreOfAddedNode wants a node that was just added to have the score that Rescore gives it, before anything is
// stored.
func TestScoreOfAddedNode(t *testing.T) {
	p := newPlanted(6, 301)
	before := p
	before.nodes, before.truth = p.nodes[:300], p.truth[:300]
	before.edges = slices.DeleteFunc(slices.Clone(p.edges), func(e [2]int) bool { return e[0] >= 300 || e[1] >= 300 })
	s := before.load(t, true)
	mustClean(t, s, Options{Seed: 2})
	p.appendPlanted(t, s, 300, nil)
	got := mustScore(t, s, p.nodes[300].ID)
	if !got.Predicted || !(got.Score >= 0) || got.Lack != "" {
		t.Fatalf("got %+v, want a score by the kept classifier", got)
	}
	must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true}))(t)
	want := mustScore(t, s, p.nodes[300].ID)
	if want.Predicted || !near(got.Score, want.Score, 1e-5) || !near(got.Confidence, want.Confidence, 1e-5) ||
		got.Suggestion != want.Suggestion {
		t.Errorf("got %+v, stored is %+v", got, want)
	}
}

func mustScore(t *testing.T, s *kv.Store, id string) (score NodeScore) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		v := must.Get(tx.Node(id))(t)
		scores, err := Score(t.Context(), tx, []kv.NodeID{v}, ops.Options{})
		if err == nil {
			score = scores[0]
		}
		return err
	})
	return score
}

// joinedRow is the joined row of a node, and the imported one.
func joinedRow(t *testing.T, s *kv.Store, id string) (joined, imported []float32) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		v := must.Get(tx.Node(id))(t)
		f := must.Get(openFiller(tx))(t)
		joined, imported = make([]float32, f.Width()), make([]float32, f.Width())
		one := kv.Range{First: v, End: v + 1}
		return errors.Join(f.Read(one, 0, len(joined), joined), f.imported.Read(one, 0, len(imported), imported))
	})
	return joined, imported
}

// TestJoinedPredictionsOfAddedNodes adds nodes to a store whose run has joined imported predictions with the
// classifier's: with rows of their own and without, at once and later.
func TestJoinedPredictionsOfAddedNodes(t *testing.T) {
	const count, all = 600, 606
	p := newPlanted(31, all)
	p.honest(4)
	for i := range p.nodes {
		p.nodes[i].Values = nil
	}
	before := p
	before.nodes, before.truth, before.scores = p.nodes[:count], p.truth[:count], p.scores[:count]
	before.edges = slices.DeleteFunc(slices.Clone(p.edges), func(e [2]int) bool { return e[0] >= count || e[1] >= count })
	s := before.load(t, false)
	run := mustClean(t, s, Options{Seed: 2, Imported: OutOfFold})
	if !strings.Contains(run.PredictionUse, "are joined") {
		t.Fatalf("got %q, want joined predictions", run.PredictionUse)
	}
	p.appendPlanted(t, s, count, nil)
	classes := []string{"alpha", "beta", "gamma", "δelta"}
	set := func(tx *kv.Tx, v kv.NodeID, row []float64) error {
		w := must.Get(AppendPredictions(tx, tx.Classes(), PredictionOptions{}, tx.SetRow))(t)
		return errors.Join(w.Put(v, row), w.Finish(), w.Mark(tx))
	}
	give := func(position int) {
		t.Helper()
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			v := must.Get(tx.Node(p.nodes[position].ID))(t)
			row := make([]float64, 4) // in the order of the store
			for i, name := range tx.Classes() {
				row[i] = p.scores[position][slices.Index(classes, name)]
			}
			return set(tx, v, row)
		}))
	}
	give(count)
	give(count + 1)
	score := mustScore(t, s, p.nodes[count].ID)
	done, err := Rescore(t.Context(), s, RescoreOptions{})
	if err != nil || done.Pass {
		t.Fatalf("got %+v, %v", done, err)
	}
	view(t, s, func(tx *kv.Tx) error {
		mustEqualStored(t, tx)
		return nil
	})
	stored := mustScore(t, s, p.nodes[count].ID)
	if !score.Predicted || stored.Predicted || !near(score.Score, stored.Score, 1e-5) {
		t.Errorf("got %+v before, %+v after", score, stored)
	}
	var kept classifier
	view(t, s, func(tx *kv.Tx) error { return tx.Documents(predictionsSpace).Get(classifierKey, &kept) })
	own, none := joinedRow(t, s, p.nodes[count+2].ID)
	if hasNaN(own) || !hasNaN(none) {
		t.Fatalf("a node without an imported row: got joined %v, imported %v", own, none)
	}
	wanted := slices.Clone(own)
	give(count + 2) // later
	must.Get(Rescore(t.Context(), s, RescoreOptions{}))(t)
	got, imported := joinedRow(t, s, p.nodes[count+2].ID)
	labelmodel.Mix(kept.Weights, wanted, imported)
	mustBeNear(t, "a row that comes later", got, wanted)
	view(t, s, func(tx *kv.Tx) error {
		mustEqualStored(t, tx)
		return nil
	})
	// A row of a node that the run has seen counts as predictions that are written anew.
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		v := must.Get(tx.Node(p.nodes[0].ID))(t)
		return set(tx, v, []float64{0.1, 0.2, 0.3, 0.4})
	}))
	view(t, s, func(tx *kv.Tx) error {
		if mixture, err := mixtureInForce(tx, nil); err != nil || mixture != nil {
			t.Errorf("another imported row of a node of the run: got %v, %v, want no joined predictions in force", mixture, err)
		}
		return nil
	})
	// Clean joins anew, and again.
	for range 2 {
		run = mustClean(t, s, Options{Seed: 2})
		if !strings.Contains(run.PredictionUse,
			"The built-in classifier's are used for 3 nodes without predictions of yours") {
			t.Errorf("got %q", run.PredictionUse)
		}
	}
	if _, err := Clean(t.Context(), s, Options{Seed: 2, Method: paper.Published}); !errors.Is(err, ErrMissingRows) {
		t.Errorf("preset paper: got %v, want ErrMissingRows", err)
	}
}

// TestCleanOfAddedNodes adds nodes without rows after a run that joined nothing: the next one has the built-in
// classifier predict them.
func TestCleanOfAddedNodes(t *testing.T) {
	const count, all = 600, 603
	p := newPlanted(31, all)
	for i := range p.nodes {
		p.nodes[i].Values = nil
	}
	before := p
	before.nodes, before.truth, before.scores = p.nodes[:count], p.truth[:count], p.scores[:count]
	before.edges = slices.DeleteFunc(slices.Clone(p.edges), func(e [2]int) bool { return e[0] >= count || e[1] >= count })
	s := before.load(t, false)
	mustClean(t, s, Options{Seed: 2})
	mustClean(t, s, Options{Seed: 2, Method: paper.Published})
	p.appendPlanted(t, s, count, nil)
	run := mustClean(t, s, Options{Seed: 2})
	if !strings.Contains(run.PredictionUse,
		"The built-in classifier's are used for 3 nodes without predictions of yours") {
		t.Errorf("got %q", run.PredictionUse)
	}
	for _, node := range p.nodes[count:] {
		if score := mustScore(t, s, node.ID); score.Predicted || score.Lack != "" || node.Label != "" &&
			math.IsNaN(score.Score) {
			t.Errorf("got %+v, want a score by stored predictions", score)
		}
	}
}

func mustBeNear(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !near(float64(got[i]), float64(want[i]), 1e-5) {
			t.Fatalf("%s: got %v, want %v", what, got, want)
		}
	}
}

// TestDamagedClassifier wants damage to what is kept of a classifier to be found, told and repaired; what needs none of
// it goes on.
func TestDamagedClassifier(t *testing.T) {
	s := newPlanted(8, 300).load(t, false)
	mustClean(t, s, Options{Seed: 2})
	problems := func() (found []string) {
		view(t, s, func(tx *kv.Tx) error {
			return Check(t.Context(), tx, func(p kv.Problem) { found = append(found, p.String()) })
		})
		return found
	}
	if found := problems(); len(found) > 0 {
		t.Fatalf("got %v, want a sound store", found)
	}
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		space := tx.Space(classifierSpace)
		for entry, err := range space.Ascend(nil) {
			must.Do(t, err)
			return space.Delete(slices.Clone(entry.Key))
		}
		return errors.New("nothing is kept")
	}))
	if found := problems(); len(found) != 1 || !strings.Contains(found[0], "the network of the built-in classifier") {
		t.Fatalf("got %q, want to be told of the network", found)
	}
	var done []kv.Correction
	must.Do(t, Repair(t.Context(), s, func(c kv.Correction) { done = append(done, c) }))
	if len(done) != 1 || len(done[0].Lost) != 1 || done[0].Lost[0].Kind != "classifier" {
		t.Errorf("got %+v, want the loss of a classifier", done)
	}
	if found := problems(); len(found) > 0 {
		t.Errorf("after the repair: got %v", found)
	}
	mustClean(t, s, Options{Seed: 2})
	view(t, s, func(tx *kv.Tx) error {
		f, err := openFiller(tx)
		if err == nil {
			err = f.open()
		}
		return err
	})
}

package cleaner

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// changeSome changes labels, edges and predictions, decides, and adds a node, as many of each.
func changeSome(t *testing.T, s *kv.Store, r *rand.Rand, count int) {
	t.Helper()
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		removed := must.Get(tx.Removed())(t)
		removed, n := slices.Clone(removed), tx.NumNodes()
		classes := slices.Clone(tx.Classes())
		labels := append([]string{""}, classes...)
		rising, sum := make([]float64, len(classes)), float64(len(classes)*(len(classes)+1)/2)
		for k := range rising {
			rising[k] = float64(k+1) / sum
		}
		falling := slices.Clone(rising)
		slices.Reverse(falling)
		random := func() kv.NodeID {
			for {
				if v := kv.NodeID(r.IntN(n)); !removed.Has(v) {
					return v
				}
			}
		}
		for range count {
			if v := random(); removed != nil || r.IntN(2) == 0 {
				if removed == nil {
					removed = bitset.New[kv.NodeID](n)
				}
				removed = append(removed, make(kv.NodeSet, max(0, n/64+1-len(removed)))...)
				removed.Add(v)
				must.Do(t, tx.RemoveNode(v))
			}
			must.Do(t, tx.SetLabel(random(), labels[r.IntN(len(labels))]))
			if u, v := random(), random(); u != v {
				err := tx.AddEdge(u, v)
				if errors.Is(err, kv.ErrExists) {
					err = tx.RemoveEdge(u, v)
				}
				must.Do(t, err)
			}
			must.Do(t, setRow(tx, random(), rising))
			v := must.Get(tx.AddNode(kv.Node{ID: fmt.Sprintf("added-%d", tx.NumNodes()), Label: classes[1]}))(t)
			must.Do(t, tx.AddEdge(v, random()))
			if r.IntN(2) == 0 {
				must.Do(t, setRow(tx, v, falling))
			}
		}
		return nil
	}))
	var requests []decide.Request
	view(t, s, func(tx *kv.Tx) error {
		to := tx.Classes()[2]
		for range count {
			v := kv.NodeID(r.IntN(tx.NumNodes()))
			if label, err := tx.Label(v); errors.Is(err, kv.ErrNotFound) || label == kv.NoClass {
				continue
			} else if err != nil {
				return err
			}
			requests = append(requests, decide.Request{Node: v, Kind: decide.Relabel, To: to})
		}
		return nil
	})
	slices.SortFunc(requests, func(a, b decide.Request) int { return cmp.Compare(a.Node, b.Node) })
	requests = slices.CompactFunc(requests, func(a, b decide.Request) bool { return a.Node == b.Node })
	mustDecide(t, s, decide.Options{}, requests...)
}

// storedScores are the scores of every node in a store, by id.
func storedScores(t *testing.T, s *kv.Store) map[string]NodeScore {
	t.Helper()
	all := map[string]NodeScore{}
	view(t, s, func(tx *kv.Tx) error {
		for v, err := range tx.InFileOrder() {
			e := Explanation{Node: v}
			must.Do(t, cmp.Or(err, e.readNode(tx)))
			all[e.ID] = NodeScore{Label: e.Label, Score: e.Score, Suggestion: e.Suggestion, Confidence: e.Confidence}
		}
		return nil
	})
	return all
}

// mustEqualScores compares scores by id.
func mustEqualScores(t *testing.T, what string, got, want map[string]NodeScore, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d nodes, want %d", what, len(got), len(want))
	}
	for id, w := range want {
		g := got[id]
		if !near(g.Score, w.Score, tolerance) || !near(g.Confidence, w.Confidence, tolerance) || g.Label != w.Label ||
			g.Suggestion != w.Suggestion {
			t.Errorf("%s: node %s: got %+v, want %+v", what, id, g, w)
		}
	}
}

// TestRescoreAfterChanges wants the scores of single nodes to be those of the run, and then the scores around changes
// to be those of a pass over the graph, those of a pass to be, bit for bit, those of a copy of the store whose changes
// are folded in, and nearly those of the same graph with its nodes numbered anew.
func TestRescoreAfterChanges(t *testing.T) {
	for name := range scoreForms() {
		t.Run(name, func(t *testing.T) {
			s := cleanedForm(t, name)
			view(t, s, func(tx *kv.Tx) error {
				mustEqualStored(t, tx)
				return nil
			})
			r := rand.New(rand.NewPCG(1, 2))
			rounds := longtest.Of(1, 3)
			if name == "joined predictions" {
				rounds = max(rounds, 2)
			}
			for round := range rounds {
				changeSome(t, s, r, 1+round)
				view(t, s, func(tx *kv.Tx) error {
					run := must.Get(LastRun(tx))(t)
					stale, err := CountStale(t.Context(), tx, run, 1000)
					if err != nil || stale < 1+round {
						t.Errorf("after %d changes: got %d stale scores, %v", 1+round, stale, err)
					}
					return nil
				})
				around := must.Get(Rescore(t.Context(), s, RescoreOptions{Workers: 2}))(t)
				if around.Pass || around.Changed < int64(1+round) || around.Run.Rescorings != around.Before.Rescorings+1 {
					t.Fatalf("around the changes: got %+v, want no pass", around)
				}
				got := storedScores(t, s)
				view(t, s, func(tx *kv.Tx) error {
					mustEqualStored(t, tx)
					if stale, err := CountStale(t.Context(), tx, around.Run, 1000); err != nil || stale != 0 {
						t.Errorf("after rescoring: got %d stale scores, %v, want none", stale, err)
					}
					return nil
				})
				full, err := Rescore(t.Context(), s, RescoreOptions{Full: true, Workers: 1 + round})
				if err != nil || !full.Pass {
					t.Fatalf("full: got %+v, %v, want a pass", full, err)
				}
				want := storedScores(t, s)
				mustCountRun(t, "full", s)
				mustEqualScores(t, "around the changes", got, want, 1e-5)
				mustEqualScores(t, "folded in", passOfCopy(t, s, true), want, 0)
				mustEqualScores(t, "numbered anew", passOfCopy(t, s, false), want, 1e-5)
			}
			again, err := Rescore(t.Context(), s, RescoreOptions{})
			if err != nil || again.Changed != 0 || again.Run.Commit != again.Before.Commit {
				t.Errorf("without a change: got %+v, %v, want nothing done", again, err)
			}
		})
	}
}

// TestCountsAfterRescore wants counts to wait after scores around changes, until somebody asks for them or all scores
// are written.
func TestCountsAfterRescore(t *testing.T) {
	s := newPlanted(6, 100).load(t, true)
	mustClean(t, s, Options{Seed: 2})
	changeSome(t, s, rand.New(rand.NewPCG(1, 2)), 3)
	if around := mustRescore(t, s); around.Pass || !around.Run.Uncounted {
		t.Fatalf("got %+v, want no pass, and counts that wait", around)
	}
	mustCountRun(t, "asked", s)
	if full := must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true}))(t); full.Run.Uncounted {
		t.Fatalf("got %+v, want counts", full)
	}
	mustCountRun(t, "counted", s)
}

// mustCountRun wants what the last run says of the scores to be what the store holds.
func mustCountRun(t *testing.T, what string, s *kv.Store) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		run, err := LastRun(tx)
		if err == nil {
			err = run.Recount(t.Context(), tx)
		}
		must.Do(t, err)
		suspects := must.Get(nodesWhere(t.Context(), tx, Suspects(run.Threshold)))(t)
		labels := must.Get(tx.Reader(kv.LabelColumn))(t)
		scores := must.Get(tx.Reader(ScoreColumn))(t)
		count := Run{Threshold: run.Threshold, Nodes: int64(tx.Shape().Present), Edges: tx.Shape().Edges}
		sums, counts := make([]float64, len(run.Classes)), make([]float64, len(run.Classes))
		for v := range kv.NodeID(tx.NumNodes()) {
			score := must.Get(scores.At(v))(t)
			if score.IsNull() {
				continue
			}
			label := must.Get(labels.At(v))(t)
			if suspects.Has(v) {
				count.Suspects++
				if isContradicted(t, tx, run, v, label.Str()) {
					count.Contradicted++
				}
			}
			if k := slices.Index(run.Classes, label.Str()); k >= 0 { // else the run does not know the class
				sums[k] += score.Float()
				counts[k]++
			}
			count.Scored++
		}
		got := []int64{run.Nodes, run.Edges, run.Scored, run.Suspects, run.Contradicted}
		if want := []int64{count.Nodes, count.Edges, count.Scored, count.Suspects,
			count.Contradicted}; !slices.Equal(got, want) {
			t.Errorf("%s: got nodes, edges, scored, suspects, contradicted %v, want %v", what, got, want)
		}
		if !slices.Equal(run.labelCounts, counts) {
			t.Errorf("%s: got %v scored labels, want %v", what, run.labelCounts, counts)
		}
		for k, sum := range sums {
			if !near(run.meanScores[k], sum/counts[k], 1e-5) {
				t.Errorf("%s: got means %v, want those of sums %v of %v", what, run.meanScores, sums, counts)
			}
		}
		return nil
	})
}

// isContradicted looks at the predictions of a node and at its neighbours, one by one.
func isContradicted(t *testing.T, tx *kv.Tx, run *Run, v kv.NodeID, label string) bool {
	t.Helper()
	own := slices.Index(run.Classes, label)
	row := make([]float32, len(run.Classes))
	must.Do(t, must.Get(run.predictions(tx))(t).Read(kv.Range{First: v, End: v + 1}, 0, len(row), row))
	votes := make([]float64, len(row))
	graph := graphOf(tx)
	var lists kv.Adjacency
	for _, block := range must.Get(graph.AdjacencyBlocks())(t) {
		if v < block.First || v >= block.End {
			continue
		}
		must.Do(t, graph.ReadAdjacency(block, &lists))
		for i := lists.Offsets[v-block.First]; i < lists.Offsets[v-block.First+1]; i++ {
			weight := 1.0
			if lists.Weights != nil {
				weight = float64(lists.Weights[i])
			}
			if k := must.Get(tx.Label(lists.Neighbors[i]))(t); k != kv.NoClass && int(k) < len(votes) {
				votes[k] += weight
			}
		}
	}
	return slices.ContainsFunc(row, func(p float32) bool { return p > row[own] }) &&
		slices.ContainsFunc(votes, func(w float64) bool { return w > votes[own] })
}

// passOfCopy scores a copy of a store by its model: the store restored from a backup and compacted, or its graph loaded
// anew, with other numbers of nodes.
func passOfCopy(t *testing.T, s *kv.Store, folded bool) map[string]NodeScore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if folded {
		restoreCopy(t, s, dir)
	} else {
		loadCopy(t, s, dir)
	}
	other := openPlanted(t, dir)
	defer func() { must.Do(t, other.Close()) }()
	var err error
	if folded {
		err = other.Compact(t.Context(), nil)
	} else {
		err = giveModel(t, s, other)
	}
	must.Do(t, err)
	budget := int64(32 << 20)
	view(t, other, func(tx *kv.Tx) error {
		budget = max(budget, int64(tx.NumNodes())<<10)
		return nil
	})
	must.Get(Rescore(t.Context(), other, RescoreOptions{Full: true, MemoryBudget: budget}))(t)
	return storedScores(t, other)
}

// restoreCopy restores a backup of a store.
func restoreCopy(t *testing.T, s *kv.Store, dir string) {
	t.Helper()
	var backup bytes.Buffer
	must.Get(s.Backup(t.Context(), &backup, kv.BackupOptions{}))(t)
	must.Get(kv.Restore(t.Context(), dir, []io.Reader{&backup}, kv.Options{}, nil))(t)
}

// loadCopy loads the nodes and edges of a store into a new one.
func loadCopy(t *testing.T, s *kv.Store, dir string) {
	t.Helper()
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	view(t, s, func(tx *kv.Tx) error {
		ids := make([]string, tx.NumNodes())
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			label, err := tx.Value(v, kv.LabelColumn)
			must.Do(t, err)
			if ids[v], err = tx.ID(v); err != nil {
				return err
			}
			must.Do(t, l.AddNode(kv.Node{ID: ids[v], Label: label.Str()}))
		}
		for u, err := range tx.InFileOrder() {
			must.Do(t, err)
			for v, err := range tx.Neighbors(u) {
				must.Do(t, err)
				if u < v {
					must.Do(t, l.AddEdge(ids[u], ids[v], 0))
				}
			}
		}
		return nil
	})
	must.Get(l.Commit(t.Context(), nil))(t)
}

// giveModel gives a store the last run of another, with what it keeps and with the predictions that it scores by.
func giveModel(t *testing.T, from, to *kv.Store) error {
	t.Helper()
	return from.View(func(tx *kv.Tx) error {
		run := must.Get(lastFit(tx))(t)
		predictions := must.Get(run.predictions(tx))(t)
		kvtest.MakeMatrix(t, to, PredictionsMatrix, run.Classes)
		must.Do(t, to.Update(func(into *kv.Tx) error {
			return errors.Join(into.AddColumn(ScoreColumn, kv.KindSingle), into.AddColumn(SuggestedColumn, kv.KindClass),
				into.AddColumn(ConfidenceColumn, kv.KindSingle), into.AddColumn(RunColumn, kv.KindInt))
		}))
		ids := numbersIn(t, tx, to)
		row := make([]float32, predictions.Width())
		for some := range slices.Chunk(slices.Sorted(maps.Keys(ids)), 1<<10) { // as many as one transaction takes
			err := to.Update(func(into *kv.Tx) error {
				for _, v := range some {
					must.Do(t, predictions.Read(kv.Range{First: v, End: v + 1}, 0, len(row), row))
					if hasNaN(row) {
						continue
					}
					must.Do(t, into.SetRow(PredictionsMatrix, ids[v], row))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return to.Update(func(into *kv.Tx) error {
			kept := &run.kept
			for k, lone := range kept.Lone {
				if lone == uint32(kv.NoNode) {
					continue
				}
				if u, ok := ids[kv.NodeID(lone)]; ok { // else it was removed
					kept.Lone[k] = uint32(u)
				}
			}
			return run.put(into)
		})
	})
}

// numbersIn are the numbers of the nodes of a store in another with the same ids.
func numbersIn(t *testing.T, tx *kv.Tx, to *kv.Store) map[kv.NodeID]kv.NodeID {
	t.Helper()
	numbers := make(map[kv.NodeID]kv.NodeID, tx.Shape().Present)
	view(t, to, func(into *kv.Tx) error {
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			numbers[v] = must.Get(into.Node(must.Get(tx.ID(v))(t)))(t)
		}
		return nil
	})
	return numbers
}

// storesVariable names cleaned stores, as a list of paths. docs/bench/rescores.sh makes them of real graphs.
const storesVariable = "GRAPHCLEANER_STORES"

// TestRescoreOfStores is TestRescoreAfterChanges of many changes to copies of stores that are there.
func TestRescoreOfStores(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv(storesVariable))
	if len(dirs) == 0 {
		t.Skip(storesVariable + " is not set: it lists cleaned stores")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			original := openPlanted(t, dir)
			copied := filepath.Join(t.TempDir(), "changed")
			restoreCopy(t, original, copied)
			must.Do(t, original.Close())
			s := openPlanted(t, copied)
			defer func() { must.Do(t, s.Close()) }()
			full := func() map[string]NodeScore {
				must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true}))(t)
				return storedScores(t, s)
			}
			r := rand.New(rand.NewPCG(1, 2))
			changeSome(t, s, r, 1)
			changed := must.Get(Rescore(t.Context(), s, RescoreOptions{}))(t)
			got, want := storedScores(t, s), full()
			t.Logf("a few changes: %d nodes scored again, by a pass: %v, largest difference %.2g", changed.Changed, changed.Pass,
				largestDifference(got, want))
			mustEqualScores(t, "after a few changes", got, want, 1e-5)

			for range 20 { // as many as one transaction takes
				changeSome(t, s, r, 10)
			}
			want = full()
			mustEqualScores(t, "folded in", passOfCopy(t, s, true), want, 0)
			anew := passOfCopy(t, s, false)
			t.Logf("numbered anew: largest difference %.2g", largestDifference(anew, want))
			mustEqualScores(t, "numbered anew", anew, want, 1e-5)
		})
	}
}

// largestDifference is that of the scores of the same nodes.
func largestDifference(a, b map[string]NodeScore) (largest float64) {
	for id, score := range a {
		if d := math.Abs(score.Score - b[id].Score); d > largest {
			largest = d
		}
	}
	return largest
}

// TestRescoreReach gives no weight to labels of farther hops. Then only nodes near the changes are scored again, and
// their scores are those of a pass.
func TestRescoreReach(t *testing.T) {
	s := newPlanted(8, 300).load(t, false)
	run := mustClean(t, s, Options{Seed: 2})
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		last := must.Get(LastRun(tx))(t)
		for k := 2; k <= run.Hops; k++ {
			last.Model.Weights[k] = 0
		}
		last.Model.Weights[1] = 0.5
		run = last
		return last.put(tx)
	}))
	pass := func() map[string]NodeScore {
		must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true}))(t)
		return storedScores(t, s)
	}
	before := pass()
	r := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		v := kv.NodeID(r.IntN(300))
		degree := 0
		must.Do(t, s.Update(func(tx *kv.Tx) (err error) {
			if degree, err = tx.Degree(v); err != nil {
				return err
			}
			label := must.Get(tx.Label(v))(t)
			return tx.SetLabel(v, tx.Classes()[(int(label)+1)%4])
		}))
		done, err := Rescore(t.Context(), s, RescoreOptions{})
		if err != nil || done.Pass || done.Changed != int64(1+degree) {
			t.Fatalf("a label of degree %d: got %+v, %v, want the node and its neighbours", degree, done, err)
		}
		after := storedScores(t, s)
		if maps.EqualFunc(before, after, func(a, b NodeScore) bool { return near(a.Score, b.Score, 1e-3) }) {
			t.Errorf("a label of degree %d: no score moved", degree)
		}
		view(t, s, func(tx *kv.Tx) error {
			mustEqualStored(t, tx)
			return nil
		})
		before = pass()
		mustEqualScores(t, "near the changes", after, before, 1e-5)
	}
}

// A node that is removed while scores around it are computed has none, and the others get theirs.
func TestRescoreBesideRemoval(t *testing.T) {
	s := newPlanted(5, 300).load(t, true)
	mustClean(t, s, Options{Seed: 2})
	var changed, removed kv.NodeID
	must.Do(t, s.Update(func(tx *kv.Tx) (err error) {
		for u, err := range tx.Neighbors(changed) {
			must.Do(t, err)
			removed = u
		}
		return tx.SetLabel(changed, "beta")
	}))
	tx := s.Begin()
	defer tx.Close()
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.RemoveNode(removed) }))
	count, err := must.Get(lastFit(tx))(t).rescoreAround(t.Context(), s, tx, 1, false)
	if err != nil || count < 2 || removed == changed {
		t.Fatalf("got %d nodes, %v, want several scored around a change", count, err)
	}
	again, err := Rescore(t.Context(), s, RescoreOptions{})
	if err != nil || again.Changed == 0 {
		t.Errorf("got %+v, %v, want what was around the removed node scored again", again, err)
	}
}

// Clean and Rescore forget no change that a program may ask for.
func TestChangesBesideClean(t *testing.T) {
	t.Parallel()
	s := newPlanted(8, 300).load(t, true)
	var mark uint64
	err := s.View(func(tx *kv.Tx) (err error) {
		mark, err = tx.LastCommit()
		return err
	})
	if err == nil {
		err = s.Update(func(tx *kv.Tx) error { return tx.SetLabel(7, "") })
	}
	must.Do(t, err)
	mustClean(t, s, Options{Seed: 2})
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.SetLabel(9, "") }))
	must.Get(Rescore(t.Context(), s, RescoreOptions{}))(t)
	must.Do(t, s.View(func(tx *kv.Tx) error {
		changes := must.Get(tx.ChangesSince(mark))(t)
		if got := slices.Collect(changes.Column(kv.LabelColumn).Nodes()); !slices.Equal(got, []kv.NodeID{7, 9}) {
			t.Errorf("got changed labels of the nodes %v, want 7 and 9", got)
		}
		return nil
	}))
}

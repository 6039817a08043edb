package cleaner

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// appendPlanted adds the last nodes of a planted partition, with their edges, to a store of the first count.
func (p plantedPartition) appendPlanted(t *testing.T, s *kv.Store, count int, features func(position int) []float32) {
	t.Helper()
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for i, n := range p.nodes[count:] {
			v := must.Get(tx.AddNode(kv.Node{ID: n.ID, Label: p.truth[count+i]}))(t)
			if features != nil {
				must.Do(t, tx.SetRow(FeaturesMatrix, v, features(count+i)))
			}
		}
		for _, e := range p.edges {
			if e[0] == e[1] || e[0] < count && e[1] < count {
				continue
			}
			u := must.Get(tx.Node(p.nodes[e[0]].ID))(t)
			v := must.Get(tx.Node(p.nodes[e[1]].ID))(t)
			if err := tx.AddEdge(u, v); !errors.Is(err, kv.ErrExists) {
				must.Do(t, err)
			}
		}
		return nil
	}))
}

// TestKeptClassifier wants nodes that are added to be predicted well by the classifier that was trained before, by
// predict, clean and rescore alike, and the predictions of the others to stay.
func TestKeptClassifier(t *testing.T) {
	const count, all = 400, 440
	p := newPlanted(5, all)
	before := p
	before.nodes, before.truth = p.nodes[:count], p.truth[:count]
	before.edges = slices.DeleteFunc(slices.Clone(p.edges), func(e [2]int) bool { return e[0] >= count || e[1] >= count })
	r := rand.New(rand.NewPCG(3, 4))
	classes := []string{"alpha", "beta", "gamma", "δelta"}
	noise := make([]float32, all*4)
	for i := range noise {
		noise[i] = r.Float32()
	}
	features := func(position int) []float32 {
		row := slices.Clone(noise[4*position:][:4])
		row[slices.Index(classes, p.truth[position])]++
		return row
	}
	for _, withFeatures := range []bool{false, true} {
		cleaned, of := before.load(t, true), features
		if withFeatures {
			giveFeatures(t, cleaned, before, features)
		} else {
			of = nil
		}
		mustClean(t, cleaned, Options{Seed: 2})
		for _, by := range []string{"clean", "rescore"} {
			t.Run(fmt.Sprintf("%s, features %v", by, withFeatures), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "copy")
				restoreCopy(t, cleaned, dir)
				s := openPlanted(t, dir)
				endSound(t, s)
				old := storedPredictions(t, s)
				p.appendPlanted(t, s, count, of)
				var notices []string
				notice := func(text string) { notices = append(notices, text) }
				if by == "clean" {
					mustClean(t, s, Options{Seed: 2, Notice: notice})
				} else {
					done, err := Rescore(t.Context(), s, RescoreOptions{Notice: notice})
					if err != nil || done.Changed < all-count {
						t.Fatalf("got %+v, %v", done, err)
					}
					view(t, s, func(tx *kv.Tx) error {
						mustEqualStored(t, tx)
						return nil
					})
				}
				if !slices.ContainsFunc(notices,
					func(text string) bool { return strings.Contains(text, "the kept classifier has predicted 40 nodes") }) {
					t.Errorf("got the notices %q, want how many the classifier has predicted", notices)
				}
				now := storedPredictions(t, s)
				right := 0
				for id, row := range now {
					was, ok := old[id]
					if ok && !slices.Equal(row, was) {
						t.Fatalf("node %s: got predictions %v, had %v", id, row, was)
					}
					if best, _, _ := largest(row); !ok &&
						classes[best] == p.truth[slices.IndexFunc(p.nodes, func(n kv.Node) bool { return n.ID == id })] {
						right++
					}
				}
				if len(now) != all || right < 30 {
					t.Errorf("got %d nodes with predictions, %d of %d added ones right", len(now), right, all-count)
				}
			})
		}
	}
}

// storedPredictions are the stored predictions of all nodes that have some, by id.
func storedPredictions(t *testing.T, s *kv.Store) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	view(t, s, func(tx *kv.Tx) error {
		matrix := must.Get(tx.Matrix(PredictionsMatrix))(t)
		for v := range kv.NodeID(tx.NumNodes()) {
			row := make([]float32, matrix.Width())
			must.Do(t, inClassOrder(tx, matrix).Read(kv.Range{First: v, End: v + 1}, 0, len(row), row))
			id := must.Get(tx.ID(v))(t)
			if !hasNaN(row) {
				all[id] = row
			}
		}
		return nil
	})
	return all
}

// giveFeatures writes the features of a planted partition.
func giveFeatures(t *testing.T, s *kv.Store, p plantedPartition, features func(position int) []float32) {
	t.Helper()
	kvtest.MakeMatrix(t, s, FeaturesMatrix, []string{"a", "b", "c", "d"})
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for position, n := range p.nodes {
			v := must.Get(tx.Node(n.ID))(t)
			must.Do(t, tx.SetRow(FeaturesMatrix, v, features(position)))
		}
		return nil
	}))
}

// TestCleanBesideAppends adds a node just after Clean has predicted those that were added before.
func TestCleanBesideAppends(t *testing.T) {
	s := newPlanted(5, 300).load(t, true)
	mustClean(t, s, Options{Seed: 2})
	add := func(id string) {
		if err := s.Update(func(tx *kv.Tx) error {
			v := must.Get(tx.AddNode(kv.Node{ID: id, Label: "alpha"}))(t)
			return tx.AddEdge(v, 0)
		}); err != nil {
			t.Error(err)
		}
	}
	add("early")
	late := false
	run := mustClean(t, s, Options{Seed: 2, Notice: func(text string) {
		if !late && strings.HasPrefix(text, "the kept classifier has predicted 1 node ") {
			late = true
			add("late")
		}
	}})
	if !late || run.Scored != int64(len(scoresByID(t, s))) {
		t.Errorf("late %v: got %d nodes scored, want all of %d", late, run.Scored, len(scoresByID(t, s)))
	}
	if score, ok := scoresByID(t, s)["late"]; !ok || math.IsNaN(score) {
		t.Errorf("the node that was added late: got score %v, %v", score, ok)
	}
}

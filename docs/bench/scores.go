package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// scoresCommand times the scoring of single nodes.
type scoresCommand struct {
	storeFlags
	Nodes   int    `default:"1000" help:"Random nodes scored."`
	Added   bool   `help:"Score copies of the nodes, which are added to the store and stay there." xor:"how"`
	Changed bool   `help:"Give the nodes other labels first, and keep them, so that no stored score is up to date." xor:"how"`
	Seed    uint64 `default:"1"`
}

func (*scoresCommand) Help() string {
	return `Every node is scored twice by cleaner.Score, and the second time is timed. The scores are compared with ` +
		`those that are stored: after a full rescore, if nodes were added or changed.`
}

// A scoresReport has the times of single scores.
type scoresReport struct {
	Nodes      int           `json:"nodes"`
	Edges      int64         `json:"edges"`
	Scores     lookupTimings `json:"scores"`
	Compared   int           `json:"compared"`   // scores that both have
	Difference float64       `json:"difference"` // the largest to a stored score
}

func (c *scoresCommand) Run(ctx context.Context, out io.Writer) (err error) {
	store, err := index.Open(c.DB, kv.Options{MemoryBudget: int64(c.Memory), ReadOnly: !c.Added && !c.Changed})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var nodes []kv.NodeID
	err = store.View(func(tx *kv.Tx) error {
		nodes, err = c.draw(tx)
		return err
	})
	if err == nil && !store.ReadOnly() {
		err = c.change(store, nodes)
	}
	if err != nil {
		return err
	}
	var report *scoresReport
	scores := make([]float64, len(nodes))
	err = store.View(func(tx *kv.Tx) error {
		report, err = c.measure(ctx, tx, nodes, scores)
		return err
	})
	if err != nil {
		return err
	}
	if !store.ReadOnly() {
		_, err := cleaner.Rescore(ctx, store,
			cleaner.RescoreOptions{Full: true, MemoryBudget: int64(c.Memory)})
		if err != nil {
			return err
		}
	}
	if err := store.View(func(tx *kv.Tx) error { return report.compare(tx, nodes, scores) }); err != nil {
		return err
	}
	return printJSON(out, report)
}

// draw draws nodes.
func (c *scoresCommand) draw(tx *kv.Tx) ([]kv.NodeID, error) {
	n := tx.NumNodes()
	if n == 0 || c.Nodes < 1 {
		return nil, fmt.Errorf("%s has %d nodes and %d were asked for: want one or more of both", c.DB, n, c.Nodes)
	}
	r := rand.New(rand.NewPCG(c.Seed, 0))
	nodes := make([]kv.NodeID, c.Nodes)
	for i := range nodes {
		nodes[i] = kv.NodeID(r.IntN(n))
	}
	return nodes, nil
}

// changedAtOnce is how many nodes are changed in one transaction.
const changedAtOnce = 64

// change gives nodes other labels, or puts copies of them in their place.
func (c *scoresCommand) change(store *kv.Store, nodes []kv.NodeID) error {
	for some := range slices.Chunk(nodes, changedAtOnce) {
		err := store.Update(func(tx *kv.Tx) (err error) {
			for i, v := range some {
				if c.Added {
					some[i], err = addCopy(tx, v, fmt.Sprintf("copy %d of %d", i, tx.NumNodes()))
				} else {
					err = changeLabel(tx, v)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeLabel gives a node the class after its own.
func changeLabel(tx *kv.Tx, v kv.NodeID) error {
	label, err := tx.Label(v)
	if err != nil || label == kv.NoClass {
		return err
	}
	classes := tx.Classes()
	return tx.SetLabel(v, classes[(int(label)+1)%len(classes)])
}

// addCopy adds a node with the label, the edges and the features of another.
func addCopy(tx *kv.Tx, v kv.NodeID, id string) (kv.NodeID, error) {
	label, err := tx.Value(v, kv.LabelColumn)
	if err != nil {
		return 0, err
	}
	var around []kv.NodeID
	for u, err := range tx.Neighbors(v) {
		if err != nil {
			return 0, err
		}
		around = append(around, u)
	}
	added, err := tx.AddNode(kv.Node{ID: id, Label: label.Str()})
	if err != nil {
		return 0, err
	}
	for _, u := range around {
		if err := tx.AddEdge(added, u); err != nil {
			return 0, err
		}
	}
	features, err := tx.Matrix(cleaner.FeaturesMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return added, nil
	}
	if err != nil {
		return 0, err
	}
	row := make([]float32, features.Width())
	if err := features.Read(kv.Range{First: v, End: v + 1}, 0, len(row), row); err != nil {
		return 0, err
	}
	return added, tx.SetRow(cleaner.FeaturesMatrix, added, row)
}

// measure scores nodes one by one.
func (c *scoresCommand) measure(
	ctx context.Context, tx *kv.Tx, nodes []kv.NodeID, scores []float64,
) (*scoresReport, error) {
	report := &scoresReport{Nodes: tx.NumNodes(), Edges: tx.Shape().Edges}
	var err error
	report.Scores, err = timeLookups(ctx, c.Nodes, func(i int) error {
		score, err := cleaner.Score(ctx, tx, nodes[i:i+1], ops.Options{})
		if err == nil {
			scores[i] = score[0].Score
		}
		return err
	})
	return report, err
}

// compare finds the largest difference of scores to those that are stored.
func (r *scoresReport) compare(tx *kv.Tx, nodes []kv.NodeID, scores []float64) error {
	for i, v := range nodes {
		stored, err := tx.Value(v, cleaner.ScoreColumn)
		if err != nil {
			return err
		}
		if stored.IsNull() != math.IsNaN(scores[i]) {
			return fmt.Errorf("node number %d: one of the scores %v and %v is missing", v, scores[i], stored)
		}
		if !stored.IsNull() {
			r.Compared++
			r.Difference = max(r.Difference, math.Abs(scores[i]-stored.Float()))
		}
	}
	return nil
}

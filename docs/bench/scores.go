package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// scoresCommand times the scoring of single nodes.
type scoresCommand struct {
	storeFlags
	Nodes int    `default:"1000" help:"Random nodes scored."`
	Added bool   `help:"Score copies of the nodes, which are added to the store and stay there."`
	Seed  uint64 `default:"1"`
}

func (*scoresCommand) Help() string {
	return `Every node is scored twice by cleaner.Score, and the second time is timed. The scores are compared with those that ` +
		`are stored.`
}

// A scoresReport has the times of single scores.
type scoresReport struct {
	Nodes      int           `json:"nodes"`
	Edges      int64         `json:"edges"`
	Scores     lookupTimings `json:"scores"`
	Difference float64       `json:"difference"` // the largest to a stored score
}

func (c *scoresCommand) Run(ctx context.Context, out io.Writer) error {
	var nodes []kv.NodeID
	if c.Added {
		var err error
		if nodes, err = c.add(); err != nil {
			return err
		}
	}
	return c.report(out, func(tx *kv.Tx) (any, error) {
		if nodes == nil {
			var err error
			if nodes, err = c.draw(tx); err != nil {
				return nil, err
			}
		}
		return c.measure(ctx, tx, nodes)
	})
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

// add adds copies of nodes.
func (c *scoresCommand) add() (added []kv.NodeID, err error) {
	store, err := index.Open(c.DB, kv.Options{MemoryBudget: int64(c.Memory)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	err = store.Update(func(tx *kv.Tx) error {
		nodes, err := c.draw(tx)
		if err != nil {
			return err
		}
		for i, v := range nodes {
			u, err := addCopy(tx, v, fmt.Sprintf("copy %d of %d", i, tx.NumNodes()))
			if err != nil {
				return err
			}
			added = append(added, u)
		}
		return nil
	})
	return added, err
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

func (c *scoresCommand) measure(ctx context.Context, tx *kv.Tx, nodes []kv.NodeID) (*scoresReport, error) {
	report := &scoresReport{Nodes: tx.NumNodes(), Edges: tx.NumEdges()}
	var err error
	report.Scores, err = timeLookups(ctx, c.Nodes, func(i int) error {
		scores, err := cleaner.Score(ctx, tx, nodes[i:i+1], ops.Options{})
		if err != nil {
			return err
		}
		stored, err := tx.Value(nodes[i], cleaner.ScoreColumn)
		if err != nil || stored.IsNull() {
			return err
		}
		report.Difference = max(report.Difference, math.Abs(scores[0].Score-stored.Float()))
		return nil
	})
	return report, err
}

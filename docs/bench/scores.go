package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// scoresCommand times the scoring of single nodes.
type scoresCommand struct {
	storeFlags
	Nodes int    `default:"1000" help:"Random nodes scored."`
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
	return c.report(out, func(tx *kv.Tx) (any, error) { return c.measure(ctx, tx) })
}

func (c *scoresCommand) measure(ctx context.Context, tx *kv.Tx) (*scoresReport, error) {
	n := tx.NumNodes()
	if n == 0 || c.Nodes < 1 {
		return nil, fmt.Errorf("%s has %d nodes and %d were asked for: want one or more of both", c.DB, n, c.Nodes)
	}
	r := rand.New(rand.NewPCG(c.Seed, 0))
	nodes := make([]kv.NodeID, c.Nodes)
	for i := range nodes {
		nodes[i] = kv.NodeID(r.IntN(n))
	}
	report := &scoresReport{Nodes: n, Edges: tx.NumEdges()}
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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rescoresCommand times how scores are brought up to date.
type rescoresCommand struct {
	DB      string   `arg:"" help:"Directory of a cleaned store. It is changed: give a copy."`
	Memory  byteSize `default:"2GiB" help:"Memory budget of the store, and of the work."`
	Repeats int      `default:"10" help:"Times that each thing is timed."`
	Changes int      `default:"1000" help:"Random changes before a rescore: a third each of labels, edges, and nodes with three edges and a label."`
	Seed    uint64   `default:"1"`
}

func (*rescoresCommand) Help() string {
	return `Times cleaner.Rescore: after one decision, after many changes, and in full. All seconds are medians.`
}

// A rescoresReport has medians of seconds.
type rescoresReport struct {
	Nodes         int     `json:"nodes"`
	Edges         int64   `json:"edges"`
	Decision      float64 `json:"decision_seconds"`       // Rescore after one decision
	DecisionNodes int64   `json:"decision_nodes"`         // the most nodes that were scored again
	DecisionPass  int     `json:"decision_passes"`        // times that took a pass over the graph
	Changes       float64 `json:"changes_seconds"`        // after many changes
	Full          float64 `json:"full_seconds"`           // in full, without a change
	Write         float64 `json:"write_changes_seconds"`  // of the transactions that made the changes
	Decide        float64 `json:"write_decision_seconds"` // of the transaction that made a decision
}

func (c *rescoresCommand) Run(ctx context.Context, out io.Writer) (err error) {
	store, err := index.Open(c.DB, kv.Options{MemoryBudget: int64(c.Memory)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	report, err := c.measure(ctx, store)
	if err != nil {
		return err
	}
	return printJSON(out, report)
}

func (c *rescoresCommand) measure(ctx context.Context, s *kv.Store) (*rescoresReport, error) {
	r := rand.New(rand.NewPCG(c.Seed, 0))
	report := new(rescoresReport)
	var decided, rescored, wrote, changed, full []float64
	rescore := func(isFull bool) (*cleaner.Rescoring, float64, error) {
		began := time.Now()
		done, err := cleaner.Rescore(ctx, s,
			cleaner.RescoreOptions{Full: isFull, MemoryBudget: int64(c.Memory)})
		return done, time.Since(began).Seconds(), err
	}
	if _, _, err := rescore(false); err != nil { // what was changed before
		return nil, err
	}
	for range c.Repeats {
		began := time.Now()
		if err := c.decide(ctx, s, r); err != nil {
			return nil, err
		}
		decided = append(decided, time.Since(began).Seconds())
		done, seconds, err := rescore(false)
		if err != nil {
			return nil, err
		}
		rescored = append(rescored, seconds)
		report.DecisionNodes = max(report.DecisionNodes, done.Changed)
		if done.Pass {
			report.DecisionPass++
		}
	}
	for range c.Repeats {
		began := time.Now()
		if err := s.Update(func(tx *kv.Tx) error { return c.change(tx, r) }); err != nil {
			return nil, err
		}
		wrote = append(wrote, time.Since(began).Seconds())
		_, seconds, err := rescore(false)
		if err != nil {
			return nil, err
		}
		changed = append(changed, seconds)
	}
	for range c.Repeats {
		_, seconds, err := rescore(true)
		if err != nil {
			return nil, err
		}
		full = append(full, seconds)
	}
	report.Decide, report.Decision, report.Write = medianOf(decided), medianOf(rescored), medianOf(wrote)
	report.Changes, report.Full = medianOf(changed), medianOf(full)
	return report, s.View(func(tx *kv.Tx) error {
		report.Nodes, report.Edges = tx.Shape().Present, tx.Shape().Edges
		return nil
	})
}

// medianOf is the mean of the middle two of an even number of values.
func medianOf(values []float64) float64 {
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// decide gives a random labelled node another class.
func (c *rescoresCommand) decide(ctx context.Context, s *kv.Store, r *rand.Rand) error {
	request := decide.Request{Kind: decide.Relabel}
	err := s.View(func(tx *kv.Tx) error {
		for range 1000 {
			request.Node = kv.NodeID(r.IntN(tx.NumNodes()))
			label, err := tx.Label(request.Node)
			if err == nil && label != kv.NoClass {
				request.To = tx.Classes()[(int(label)+1)%len(tx.Classes())]
				return nil
			}
		}
		return fmt.Errorf("%s: found no labelled node", c.DB)
	})
	if err != nil {
		return err
	}
	_, err = decide.Write(ctx, s, []decide.Request{request}, decide.Options{Who: "bench"})
	return err
}

// change makes random changes.
func (c *rescoresCommand) change(tx *kv.Tx, r *rand.Rand) error {
	classes, n := tx.Classes(), tx.NumNodes()
	random := func() kv.NodeID { return kv.NodeID(r.IntN(n)) }
	join := func(u, v kv.NodeID) error {
		if u == v {
			return nil
		}
		if err := tx.AddEdge(u, v); !errors.Is(err, kv.ErrExists) {
			return err
		}
		return nil
	}
	for i := range c.Changes {
		var err error
		switch i % 3 {
		case 0:
			err = tx.SetLabel(random(), classes[r.IntN(len(classes))])
		case 1:
			err = join(random(), random())
		default:
			var v kv.NodeID
			if v, err = tx.AddNode(kv.Node{ID: strconv.Itoa(1<<40 + tx.NumNodes()),
				Label: classes[r.IntN(len(classes))]}); err != nil {
				return err
			}
			row := make([]float32, len(classes))
			row[r.IntN(len(classes))] = 1
			err = errors.Join(tx.SetRow(cleaner.PredictionsMatrix, v, row), join(v, random()), join(v, random()),
				join(v, random()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

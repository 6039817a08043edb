package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// lookupsCommand times point lookups.
type lookupsCommand struct {
	storeFlags
	Nodes int    `default:"20000" help:"Random nodes looked up."`
	Seed  uint64 `default:"1"`
}

func (*lookupsCommand) Help() string {
	return `Every lookup is made for the same random nodes in the same order twice, and the second round is timed, one ` +
		`lookup at a time. score is asked only where the store was cleaned. The time of reading the clock is in the ` +
		`figures, and is stated.`
}

// A lookupReport has microseconds.
type lookupReport struct {
	Nodes   int                      `json:"nodes"`
	Edges   int64                    `json:"edges"`
	Asked   int                      `json:"asked"`
	ClockUS float64                  `json:"clock_us"` // median of timing nothing
	Lookups map[string]lookupTimings `json:"lookups"`
}

type lookupTimings struct {
	MedianUS float64 `json:"median_us"`
	P90US    float64 `json:"p90_us"`
	P99US    float64 `json:"p99_us"`
}

func (c *lookupsCommand) Run(ctx context.Context, out io.Writer) error {
	return c.report(out, func(tx *kv.Tx) (any, error) { return c.measure(ctx, tx) })
}

func (c *lookupsCommand) measure(ctx context.Context, tx *kv.Tx) (*lookupReport, error) {
	n := tx.NumNodes()
	if n == 0 || c.Nodes < 1 {
		return nil, fmt.Errorf("%s has %d nodes and %d were asked for: want one or more of both", c.DB, n, c.Nodes)
	}
	nodes, ids := make([]kv.NodeID, c.Nodes), make([]string, c.Nodes)
	r := rand.New(rand.NewPCG(c.Seed, 0))
	for i := range nodes {
		nodes[i] = kv.NodeID(r.IntN(n))
		var err error
		if ids[i], err = tx.ID(nodes[i]); err != nil {
			return nil, err
		}
	}
	type lookup struct {
		name string
		of   func(i int) error
	}
	places, err := tx.Places()
	if err != nil {
		return nil, err
	}
	lookups := []lookup{
		{"label", func(i int) error { _, err := tx.Label(nodes[i]); return err }},
		{"degree", func(i int) error { _, err := tx.Degree(nodes[i]); return err }},
		{"neighbors", func(i int) error {
			for _, err := range tx.Neighbors(nodes[i]) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"id", func(i int) error { _, err := tx.ID(nodes[i]); return err }},
		{"node", func(i int) error { _, err := tx.Node(ids[i]); return err }},
		{"position", func(i int) error { _, err := places.Of(nodes[i]); return err }},
	}
	if _, ok := tx.Column("score"); ok {
		lookups = append(lookups, lookup{"score", func(i int) error { _, err := tx.Value(nodes[i], "score"); return err }})
	}
	clock, err := timeLookups(ctx, c.Nodes, func(int) error { return nil })
	if err != nil {
		return nil, err
	}
	report := &lookupReport{
		Nodes: n, Edges: tx.Shape().Edges, Asked: c.Nodes, ClockUS: clock.MedianUS, Lookups: map[string]lookupTimings{},
	}
	for _, l := range lookups {
		if report.Lookups[l.name], err = timeLookups(ctx, c.Nodes, l.of); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return report, nil
}

// timeLookups makes count lookups to warm up, and times each of as many.
func timeLookups(ctx context.Context, count int, lookup func(i int) error) (lookupTimings, error) {
	seconds := make([]float64, count)
	for range 2 {
		for i := range count {
			if i%256 == 0 && ctx.Err() != nil {
				return lookupTimings{}, ctx.Err()
			}
			began := time.Now()
			err := lookup(i)
			seconds[i] = time.Since(began).Seconds()
			if err != nil {
				return lookupTimings{}, err
			}
		}
	}
	return summarize(seconds), nil
}

// summarize sorts the seconds, of which there is at least one.
func summarize(seconds []float64) lookupTimings {
	slices.Sort(seconds)
	at := func(share float64) float64 { return 1e6 * seconds[int(share*float64(len(seconds)-1))] }
	return lookupTimings{at(0.5), at(0.9), at(0.99)}
}

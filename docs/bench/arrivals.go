package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// arrivalsCommand times what a service does: nodes arrive one by one, while others ask.
type arrivalsCommand struct {
	DB      string        `arg:"" help:"Directory of a cleaned store. It is changed: give a copy, on the disk to measure."`
	Memory  byteSize      `default:"1GiB" help:"Memory budget of the store."`
	For     time.Duration `default:"10s" help:"Time that each part is measured."`
	Readers int           `default:"4" help:"Goroutines that ask meanwhile."`
	Seed    uint64        `default:"1"`
}

func (*arrivalsCommand) Help() string {
	return `One writer adds a node with a label and three edges to random nodes, in a transaction that is on disk when it returns. Readers ask for the ` +
		`first twenty suspects of a random class, each time in a snapshot of its own. The second part also scores the label in the ` +
		`transaction, by cleaner.Score. A third part asks without a writer. Each part begins with scores that are up to date.`
}

// An arrivalsReport has the three parts.
type arrivalsReport struct {
	Nodes  int         `json:"nodes"` // before
	Edges  int64       `json:"edges"`
	Plain  arrivalsRun `json:"plain"`
	Scored arrivalsRun `json:"scored"`
	Quiet  arrivalsRun `json:"quiet"` // without a writer
}

// An arrivalsRun has the times of one part.
type arrivalsRun struct {
	WritesPerSecond  float64        `json:"writes_per_second"`
	QueriesPerSecond float64        `json:"queries_per_second"` // of all readers
	Writes           *lookupTimings `json:"writes,omitempty"`
	Queries          lookupTimings  `json:"queries"`
}

func (c *arrivalsCommand) Run(ctx context.Context, out io.Writer) (err error) {
	s, err := index.Open(c.DB, kv.Options{MemoryBudget: int64(c.Memory)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	tx := s.Begin()
	report := &arrivalsReport{Nodes: tx.NumNodes(), Edges: tx.NumEdges()}
	classes := tx.Classes()
	tx.Close()
	if report.Nodes < 3 || len(classes) == 0 || c.Readers < 1 {
		return fmt.Errorf("%s: got %d nodes, %d classes and %d readers, want three nodes, a class and a reader", c.DB, report.Nodes, len(classes), c.Readers)
	}
	r := rand.New(rand.NewPCG(c.Seed, 0))
	writer := func(score bool) func() error {
		return func() error {
			return s.Update(func(tx *kv.Tx) error { return arrive(ctx, tx, r, classes[r.IntN(len(classes))], report.Nodes, score) })
		}
	}
	for _, part := range []struct {
		to    *arrivalsRun
		write func() error
	}{{&report.Quiet, nil}, {&report.Plain, writer(false)}, {&report.Scored, writer(true)}} {
		if _, err := cleaner.Rescore(ctx, s, cleaner.RescoreOptions{}); err != nil { // of what the part before has added
			return err
		}
		if err := c.measure(ctx, s, classes, part.write, part.to); err != nil {
			return err
		}
	}
	return printJSON(out, report)
}

// arrive adds a node with three edges to nodes below n.
func arrive(ctx context.Context, tx *kv.Tx, r *rand.Rand, class string, n int, score bool) error {
	v, err := tx.AddNode(kv.Node{ID: strconv.Itoa(1<<40 + tx.NumNodes()), Label: class})
	if err != nil {
		return err
	}
	first := r.IntN(n)
	for i := range 3 { // three that differ
		if err := tx.AddEdge(v, kv.NodeID((first+i*(n/3))%n)); err != nil {
			return err
		}
	}
	if score {
		_, err = cleaner.Score(ctx, tx, []kv.NodeID{v}, ops.Options{})
	}
	return err
}

// measure lets the readers ask and, if write is not nil, one writer write.
func (c *arrivalsCommand) measure(ctx context.Context, s *kv.Store, classes []string, write func() error, to *arrivalsRun) error {
	queries, errs := make([][]float64, c.Readers), make([]error, c.Readers+1)
	began := time.Now()
	var all sync.WaitGroup
	for i := range queries {
		r := rand.New(rand.NewPCG(c.Seed, uint64(i+1)))
		all.Go(func() {
			queries[i], errs[i] = c.repeat(ctx, began, func() error {
				return s.View(func(tx *kv.Tx) error {
					type suspect struct{ ID string }
					for _, err := range query.Rows[suspect](query.Query(ctx, tx, query.Options{}, "suspects where label = $1 limit 20", classes[r.IntN(len(classes))])) {
						if err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
	}
	var writes []float64
	if write != nil {
		all.Go(func() { writes, errs[c.Readers] = c.repeat(ctx, began, write) })
	}
	all.Wait()
	seconds := time.Since(began).Seconds()
	var asked []float64
	for _, some := range queries {
		asked = append(asked, some...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	to.WritesPerSecond, to.QueriesPerSecond, to.Queries = float64(len(writes))/seconds, float64(len(asked))/seconds, summarize(asked)
	if len(writes) > 0 {
		times := summarize(writes)
		to.Writes = &times
	}
	return nil
}

// repeat times a job again and again, at least once.
func (c *arrivalsCommand) repeat(ctx context.Context, began time.Time, job func() error) (seconds []float64, err error) {
	for {
		start := time.Now()
		if err := errors.Join(ctx.Err(), job()); err != nil {
			return nil, err
		}
		if seconds = append(seconds, time.Since(start).Seconds()); time.Since(began) > c.For {
			return seconds, nil
		}
	}
}

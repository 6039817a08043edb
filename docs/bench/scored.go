package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// scoredCommand makes a store that looks as if it had been cleaned. What it holds depends on its flags alone.
type scoredCommand struct {
	Nodes    int      `default:"10000000" help:"Number of nodes."`
	Degree   int      `default:"2" help:"Edges drawn a node, each to a node drawn uniformly."`
	Classes  int      `default:"40" help:"Number of classes, named class-0, class-1, …; their sizes fall as 1, 1/2, 1/3, …"`
	Suspects int      `default:"1000" help:"Nodes with a score above 0.97; twenty times as many lie between 0.9 and it."`
	Seed     uint64   `default:"1" help:"The same seed gives the same store."`
	Memory   byteSize `default:"2GiB" help:"Memory budget of the load."`
	Out      string   `required:"" placeholder:"DB" help:"Directory of the store; must not be there."`
}

func (*scoredCommand) Help() string {
	return `The nodes have text ids, a label, the properties year (an integer) and source (text), and what a run of ` +
		`clean leaves: score, suggested, confidence and run, with the indexes on label and score. Scores are drawn and not ` +
		`computed: it is for timing queries, whose answer has a known size.`
}

// A scoredReport says what was made.
type scoredReport struct {
	Nodes    int     `json:"nodes"`
	Edges    int64   `json:"edges"`
	Suspects int     `json:"suspects"` // scores above 0.97
	Seconds  float64 `json:"seconds"`
}

// The bounds between which scores are drawn.
const (
	suspectScore = 0.97
	nearScore    = 0.9
	nearFactor   = 20 // scores between nearScore and suspectScore for each above
)

func (c *scoredCommand) Run(ctx context.Context, out io.Writer) error {
	report, err := c.generate(ctx)
	if err != nil {
		return err
	}
	return printJSON(out, report)
}

func (c *scoredCommand) generate(ctx context.Context) (*scoredReport, error) {
	switch {
	case c.Nodes < 1 || c.Nodes > 1<<31:
		return nil, fmt.Errorf("--nodes %d: want 1 to 2^31", c.Nodes)
	case c.Degree < 0:
		return nil, fmt.Errorf("--degree %d: want 0 or more", c.Degree)
	case c.Classes < 2:
		return nil, fmt.Errorf("--classes %d: want 2 or more", c.Classes)
	case c.Suspects < 0 || c.Suspects > c.Nodes/(nearFactor+1):
		return nil, fmt.Errorf("--suspects %d: want 0 to %d, a part in %d of the nodes", c.Suspects, c.Nodes/(nearFactor+1),
			nearFactor+1)
	}
	g := &scoredGraph{
		scoredCommand: *c,
		ids:           newBijection(c.Nodes, c.Seed, streamIDs),
		ranks:         newBijection(c.Nodes, c.Seed, streamPredictions),
		classes:       newZipf(c.Classes),
	}
	began := time.Now()
	edges, err := g.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.score(ctx); err != nil {
		return nil, err
	}
	return &scoredReport{Nodes: c.Nodes, Edges: edges, Suspects: c.Suspects, Seconds: time.Since(began).Seconds()}, nil
}

// A scoredGraph draws everything about a node from its place in the node file.
type scoredGraph struct {
	scoredCommand
	ids, ranks *bijection
	classes    zipf
}

// Streams of what only scored stores have.
const (
	streamLabels = 100 + iota
	streamSuggested
	streamConfidence
	streamYear
	streamSource
)

func (g *scoredGraph) draw(stream uint64, row int) float64 {
	return unit(mix(g.Seed, stream, uint64(row)))
}

func (g *scoredGraph) id(row int) string {
	return "node-" + strconv.FormatUint(g.ids.of(uint64(row)), 10)
}

func (g *scoredGraph) label(row int) int { return g.classes.at(g.draw(streamLabels, row)) }

// scoreOf gives the highest scores to the nodes of the lowest ranks, as many of each height as were asked for.
func (g *scoredGraph) scoreOf(row int) float64 {
	rank, near := int(g.ranks.of(uint64(row))), nearFactor*g.Suspects
	between := func(low, high float64, i, n int) float64 { return low + (high-low)*(float64(i)+0.5)/float64(n) }
	var score float64
	switch {
	case rank < g.Suspects:
		score = between(suspectScore, 1, rank, g.Suspects)
	case rank < g.Suspects+near:
		score = between(nearScore, suspectScore, rank-g.Suspects, near)
	default:
		rest := between(0, 1, rank-g.Suspects-near, g.Nodes-g.Suspects-near)
		score = nearScore * rest * rest // most labels are right
	}
	return float64(float32(score)) // as the column holds it
}

// suggested is another class than the label above nearScore, and now and then below.
func (g *scoredGraph) suggested(row int, score float64) int {
	label, drawn := g.label(row), g.draw(streamSuggested, row)
	if score <= nearScore && drawn > 0.1 {
		return label
	}
	return (label + 1 + int(drawn*float64(g.Classes-1))) % g.Classes
}

func className(class int) string { return "class-" + strconv.Itoa(class) }

// load writes nodes and edges.
func (g *scoredGraph) load(ctx context.Context) (edges int64, err error) {
	loader, err := kv.NewLoader(ctx, g.Out, kv.LoadOptions{
		MemoryBudget: int64(g.Memory),
		Properties:   []kv.Column{{Name: "year", Kind: kv.KindInt}, {Name: "source", Kind: kv.KindString}},
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, loader.Abort()) }()
	for row := range g.Nodes {
		if row%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		err := loader.AddNode(kv.Node{
			ID:    g.id(row),
			Label: className(g.label(row)),
			Values: []kv.Value{
				kv.ValueOf(1990 + int64(36*g.draw(streamYear, row))),
				kv.ValueOf("source " + strconv.Itoa(int(200*g.draw(streamSource, row)))),
			},
		})
		if err != nil {
			return 0, err
		}
	}
	for edge := range g.Nodes * g.Degree {
		if edge%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		end := int(g.draw(streamEdges, edge) * float64(g.Nodes))
		if err := loader.AddEdge(g.id(edge/g.Degree), g.id(end), int64(edge)); err != nil {
			return 0, err
		}
	}
	stats, err := loader.Commit(ctx, nil)
	if err != nil {
		return 0, err
	}
	return stats.Edges, nil
}

// score writes the results of a run of clean.
func (g *scoredGraph) score(ctx context.Context) (err error) {
	store, err := index.Open(g.Out, kv.Options{MemoryBudget: int64(g.Memory)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := index.Create(ctx, store, kv.LabelColumn); err != nil {
		return err
	}
	bulk, err := store.Bulk(ctx)
	if err != nil {
		return err
	}
	defer bulk.Abort()
	byScore, err := index.NewBuilder(bulk, cleaner.ScoreColumn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, byScore.Close()) }()
	write, err := newScoreColumns(bulk)
	if err != nil {
		return err
	}
	row := 0
	for v, err := range bulk.Tx().InFileOrder() {
		if err == nil && row%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		score := g.scoreOf(row)
		confidence := kv.ValueOf(float64(float32(0.4 + 0.6*g.draw(streamConfidence, row))))
		err = errors.Join(
			write.score.Put(v, kv.ValueOf(score)), byScore.Add(v, kv.ValueOf(score)),
			write.suggested.Put(v, kv.ValueOf(className(g.suggested(row, score)))),
			write.confidence.Put(v, confidence), write.run.Put(v, kv.ValueOf(1)))
		if err != nil {
			return err
		}
		row++
	}
	if err := byScore.Finish(); err != nil {
		return err
	}
	return bulk.Commit(func(tx *kv.Tx) error { return errors.Join(byScore.Mark(tx), g.putRun(tx)) })
}

// scoreColumns are the columns that a run writes.
type scoreColumns struct{ score, suggested, confidence, run *kv.ColumnWriter }

func newScoreColumns(bulk *kv.Bulk) (c scoreColumns, err error) {
	for _, column := range []struct {
		writer **kv.ColumnWriter
		name   string
		kind   kv.Kind
	}{
		{&c.score, cleaner.ScoreColumn, kv.KindSingle},
		{&c.suggested, cleaner.SuggestedColumn, kv.KindClass},
		{&c.confidence, cleaner.ConfidenceColumn, kv.KindSingle},
		{&c.run, cleaner.RunColumn, kv.KindInt},
	} {
		if *column.writer, err = bulk.Column(column.name, column.kind); err != nil {
			return c, err
		}
		(*column.writer).Sort()
	}
	return c, nil
}

// putRun stores the run that the scores are said to come from, in the form in which the cleaner reads it. As suspects
// asks only for its threshold, nothing that was fitted is there.
func (g *scoredGraph) putRun(tx *kv.Tx) error {
	classes := make([]string, 0, g.Classes)
	for class := range g.Classes {
		classes = append(classes, className(class))
	}
	return errors.Join(
		tx.Documents("runs").Put(fmt.Sprintf("%012d", 1), map[string]any{
			"ID": 1, "Preset": cleaner.PresetDefault, "Hops": 3, "Threshold": suspectScore,
			"Nodes": g.Nodes, "Scored": g.Nodes, "Suspects": g.Suspects, "PredictionSource": cleaner.SourceImported,
			"Classes": classes, "MislabelRate": float64(g.Suspects) / float64(g.Nodes),
		}),
		tx.Documents("fit").Put("last", map[string]any{"Run": 1, "LabelCounts": make([]float64, g.Classes)}))
}

// A zipf draws class k with a probability that is proportional to 1/(k+1).
type zipf []float64 // cumulated

func newZipf(classes int) zipf {
	z, sum := make(zipf, classes), 0.0
	for k := range z {
		sum += 1 / float64(k+1)
		z[k] = sum
	}
	return z
}

func (z zipf) at(u float64) int {
	class, _ := slices.BinarySearchFunc(z, u*z[len(z)-1], cmp.Compare[float64])
	return min(class, len(z)-1)
}

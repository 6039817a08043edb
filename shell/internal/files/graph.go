// Package files reads files into a store, all of them or nothing: a graph, what is added to one, and decisions about
// its labels. It also reads what an evaluation or a gate compares a store with. It knows no terminal and no command
// line, but its messages name flags of import.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A Graph is the files that a store is made of, or that are added to one. An empty path is a file that is not given.
type Graph struct {
	Nodes, Edges string // each a file, a directory, or standard input
	Directed     bool   // edges lead from src to dst
	Features     string
	Splits       string
	Classes      []string // beside those of the labels

	Predictions       string
	PredictionClasses []string // of the columns of an array; empty: nobody has named them
	Logits            bool     // predictions are such

	Form Form // of the labels

	// Scores and Run are of a run that was made elsewhere, for a new store. It names the classes, and may have seen
	// nodes without predictions.
	Scores, Run string
	run         *cleaner.ForeignRun // as Load has read it
}

// A Job is how files are read, and who is told of it.
type Job struct {
	Workers     int     // goroutines that read a file; zero means one a processor
	Memory      int64   // bytes; what reading a file takes is held against it
	Columns     Columns // of the nodes file; other tables may have the same
	EdgeColumns Columns // of the edges file
	Text        table.Form

	Wanted string // the columns that a table wants, where the command has no flag that names others

	Progress kv.Progress       // may be nil, and so may the others
	Notice   func(text string) // is told what people should know of the files
	Caution  func(text string) // is told what may make results wrong
	OnStage  func(ops.Stage)   // is told of every stage that has ended
}

// say hands a text to Notice.
func (r Job) say(format string, args ...any) {
	if r.Notice != nil {
		r.Notice(fmt.Sprintf(format, args...))
	}
}

// caution hands a text to Caution.
func (r Job) caution(text string) {
	if r.Caution != nil {
		r.Caution(text)
	}
}

// Timed runs a step as a stage of its own. The step fills in its counts: columns, edges, bytes.
func (r Job) Timed(name string, step func(*ops.Stage) error) error {
	stage := ops.Stage{Name: name}
	began := time.Now()
	err := step(&stage)
	stage.Seconds = time.Since(began).Seconds()
	if r.OnStage != nil {
		r.OnStage(stage)
	}
	return err
}

// goroutines is how many read a file.
func (r Job) goroutines() int { return parallel.Workers(r.Workers) }

// Load makes a store at dir, which nothing is at, of the files. A failure leaves nothing.
func (g *Graph) Load(ctx context.Context, dir string, r Job) (stats kv.Stats, err error) {
	classes := g.Classes
	if g.Run != "" {
		if g.run, err = readRun(ctx, g.Run, r.Memory); err != nil {
			return stats, err
		}
		classes = g.run.Model.Census.Names
	}
	f := &graphFiles{Job: r, path: g.Edges, want: "ids that " + g.Nodes + " has"}
	defer func() { err = errors.Join(err, f.close()) }()
	if f.nodes, err = g.openNodes(ctx, nil, r); err != nil {
		return stats, err
	}
	if f.edges, err = openEdges(ctx, g.Edges, r); err != nil {
		return stats, err
	}
	if g.run != nil {
		f.nodes.classes = namesOf(g.run)
	}
	if g.Splits != "" && f.nodes.split >= 0 {
		return stats, fmt.Errorf("%s has a column split, and --splits gives another: want one of them", g.Nodes)
	}
	opt := kv.LoadOptions{
		MemoryBudget: r.Memory,
		Properties:   f.nodes.properties,
		Classes:      classes,
		Directed:     g.Directed,
		Weighted:     f.edges.weighted(),
		Workers:      r.Workers,
		Progress:     r.Progress,
	}
	if r.OnStage != nil {
		opt.OnStage = func(stage string, seconds float64, edges int64) {
			r.OnStage(ops.Stage{Name: stage, Seconds: seconds, Edges: edges})
		}
	}
	loader, err := kv.NewLoader(ctx, dir, opt)
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return stats, fmt.Errorf("%s cannot be made: %s: %w", dir, filepath.Dir(failure.Path), failure.Err)
	}
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, loader.Abort()) }()
	takers := func() []edgeTaker {
		takers := make([]edgeTaker, r.goroutines())
		for worker := range takers {
			w := loader.EdgeWriter()
			takers[worker] = edgeTaker{w.AddWeighted, w.AddIntegers}
		}
		return takers
	}
	if err := f.read(ctx, loader.AddNode, takers); err != nil {
		return stats, f.explain(err)
	}
	loaded := false
	stats, err = loader.Commit(ctx, func(store *kv.Store) error {
		loaded = true
		if _, err := g.add(ctx, store, r, true); err != nil {
			return err
		}
		if g.run != nil { // which has seen more labels
			return nil
		}
		return store.View(func(tx *kv.Tx) error {
			r.sayClasses(tx, f.nodes, nil)
			return g.sayPositions(tx, r)
		})
	})
	if err == nil && g.run == nil {
		r.sayManyClasses(f.nodes, stats)
	}
	if errors.Is(err, kv.ErrCatalogTooBig) && !loaded {
		err = fmt.Errorf("%s: the names of its classes and columns do not fit into a store, want fewer or shorter ones, "+
			"more --memory does not help: %w", g.Nodes, err)
	}
	return stats, f.explain(err)
}

// graphFiles are files of a graph that are open; nil those that are not given.
type graphFiles struct {
	Job
	nodes *nodesFile
	edges *edgesFile
	path  string // of the edges
	want  string // the ids that edges may have
}

func (f *graphFiles) close() (err error) {
	if f.nodes != nil {
		err = f.nodes.in.Close()
	}
	if f.edges != nil {
		err = errors.Join(err, f.edges.close())
	}
	return err
}

// read hands the nodes to add, in the order of their file, and then the edges to takers, each on a goroutine of its
// own.
func (f *graphFiles) read(ctx context.Context, add func(kv.Node) error, takers func() []edgeTaker) error {
	if f.nodes != nil {
		err := f.Timed("read nodes", func(stage *ops.Stage) error {
			err := f.nodes.read(ctx, add, f.Job)
			stage.Columns, stage.BytesRead = len(f.nodes.in.Header()), f.nodes.in.Offset()
			return err
		})
		if err != nil {
			return err
		}
	}
	if f.edges == nil {
		return nil
	}
	return f.Timed("read edges", func(stage *ops.Stage) (err error) {
		stage.Edges, err = f.edges.read(ctx, takers(), f.Job)
		stage.Columns, stage.BytesRead = 2, f.edges.offset()
		return err
	})
}

// explain names the file and the line of a row that a store refused.
func (f *graphFiles) explain(err error) error {
	row, ok := errors.AsType[*kv.RowError](err)
	switch {
	case errors.Is(err, kv.ErrInvalidEdge):
		return fmt.Errorf("%s: %w", f.path, err)
	case !ok:
		return err
	case row.Edge:
		msg := fmt.Sprintf("got an edge of node %q, want %s", wording.Cut(row.ID, kv.MaxID), f.want)
		if row.To != "" {
			msg = fmt.Sprintf("got an edge from %q to %q, which the store does not have", wording.Cut(row.ID, kv.MaxID),
				wording.Cut(row.To, kv.MaxID))
		}
		if f.edges.table == nil {
			return fmt.Errorf("%s: row %d %s", f.path, row.Source, msg)
		}
		path, line := f.edges.table.Place(row.Source)
		return &table.Error{Path: path, Line: line, Msg: msg, Err: err}
	}
	nodes := f.nodes.in
	at := &table.Error{Err: err, Msg: strings.TrimPrefix(row.Err.Error(), "kv: ")} // it is the file that is wrong
	at.Path, at.Line = nodes.Place(row.Source)
	switch {
	case errors.Is(row.Err, kv.ErrNotFound):
		at.Column, at.Msg = nodes.Header()[f.nodes.id], fmt.Sprintf("got %q, want the id of a node of the store",
			wording.Cut(row.ID, kv.MaxID))
	case errors.Is(row.Err, kv.ErrExists):
		path, first := nodes.Place(row.First)
		of := ""
		if path != at.Path {
			of = " of " + path
		}
		at.Column, at.Msg = nodes.Header()[f.nodes.id], fmt.Sprintf("got %q again, as in line %d%s, want every id once",
			row.ID, first, of)
	}
	return at
}

// view is a text without a copy of it.
func view(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// scanRows reads a file as table.Reader.Scan does, showing how far it is.
func scanRows(
	ctx context.Context, in *table.Reader, workers int, report kv.Progress, read, inOrder func(worker int,
		c *table.Chunk) error,
) error {
	stage := "read " + filepath.Base(in.Path())
	return in.Scan(ctx, workers, func(worker int, c *table.Chunk) error {
		if report != nil {
			report(stage, in.Offset(), in.Size())
		}
		return read(worker, c)
	}, inOrder)
}

// EachRow calls fn for every row of a file, one after another, showing how far it is.
func EachRow(ctx context.Context, in *table.Reader, report kv.Progress, fn func(table.Row) error) error {
	return scanRows(ctx, in, 1, report, func(_ int, c *table.Chunk) error {
		for row, err := range c.Rows() {
			if err == nil {
				err = fn(row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

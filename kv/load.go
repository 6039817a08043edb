package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/load"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Node is one row of a node file.
type Node struct {
	ID     string
	Label  string  // "" for a node without one
	Values []Value // in the order of LoadOptions.Properties; may be shorter
	Source int64   // the caller's mark for errors, such as the number of a line
}

// An EdgeWriter adds edges to a load. Any number may be used at once, each by one goroutine, until Commit. An error of
// it ends the load: Commit fails with it. Its methods are
//
//	Add(src, dst string, source int64) error // source is the caller's mark for errors
//	AddIntegers(src, dst uint64, source int64) error // ids that are integers, faster
//	AddWeighted(src, dst string, weight float32, source int64) error
type EdgeWriter = load.EdgeWriter

// A RowError says what is wrong with a row of nodes or edges, of a Loader or a Patch. Its fields are
//
//	Source int64  // of the row, as its giver marked it
//	Edge   bool   // the row is of an edge
//	ID     string // of the node, or of an end of the edge
//	To     string // the other end of an edge that is to be removed
//	First  int64  // the Source of the first row with the ID, if this one repeats it
//	Err    error
//
// Err is ErrExists for an ID that is given twice, and ErrNotFound for an end that is no node, and for what is to be
// removed and is not there. Else the node is ErrInvalidID, ErrInvalidName (of its label) or ErrInvalidValue.
type RowError = load.RowError

// LoadOptions tunes a load. The zero value is ready to use.
type LoadOptions struct {
	// MemoryBudget bounds the bytes of the load; what exceeds it is sorted on disk. Zero means machine.MemoryBudget.
	// Besides it a node costs 8 bytes.
	MemoryBudget int64

	Properties []Column // columns beside id and label; none is degree
	Classes    []string // classes known beside those of the labels

	// Directed makes an arc src→dst of each edge. Weighted keeps the weights. The weights of parallel edges or arcs are
	// added in float64, in ascending order, and the sum is rounded to float32. Without Weighted, repeats of an edge or
	// arc are dropped.
	Directed, Weighted bool

	// Workers is the number of goroutines that sort and write. Zero means GOMAXPROCS. What is stored does not depend on
	// it.
	Workers int

	Progress Progress // called while Commit works

	// OnStage is called at the end of each stage of Commit. edges is the number of edges that the load has then.
	OnStage func(stage string, seconds float64, edges int64)
}

// Stats count the work of a load or a Patch. Edges join two nodes, whatever the direction; Arcs are those of a directed
// graph. Its fields are
//
//	Nodes, Edges             int64 // added; of a Patch of a directed graph, Edges are arcs
//	SelfLoops, ParallelEdges int64 // rows that were dropped, and rows that repeat an edge or arc of another row
//
//	Arcs, Labelled, Classes  int64 // of a load; Labelled are nodes with a label
//	Weighted                 bool  // likewise
//
//	Known, Present             int64 // of a Patch: rows of nodes that were there, and edges or arcs that were
//	RemovedNodes, RemovedEdges int64 // likewise, with the edges of removed nodes
//	Rewritten                  bool  // likewise: the graph was written again
type Stats = load.Stats

// A Loader writes a whole graph at once: first every node, in file order, then every edge, then Commit. It works in a
// directory beside the store's, which Commit renames into place; until then, and after any failure, nothing is there.
// It belongs to one goroutine, except that each EdgeWriter may have its own.
type Loader struct {
	opt     LoadOptions
	work    *workplace
	load    *load.Load
	classes map[string]uint32 // that have turned up, numbered from 1
	edges   *EdgeWriter       // of AddEdge
	ended   bool

	// In Commit.
	store *Store
	bulk  *Bulk // writes all of it
}

// NewLoader starts a load into dir, which must not be there, or be an empty directory; ErrExists otherwise, and a
// ErrLocked while another load into dir is under way. It removes what a killed load into dir left beside it. A
// Loader must end with Commit or Abort.
func NewLoader(ctx context.Context, dir string, opt LoadOptions) (*Loader, error) {
	if opt.Workers < 0 || opt.MemoryBudget < 0 {
		return nil, fmt.Errorf("kv: Workers is %d and MemoryBudget %d, want 0 (default) or more", opt.Workers,
			opt.MemoryBudget)
	}
	if err := checkProperties(opt.Properties); err != nil {
		return nil, err
	}
	opt.MemoryBudget = cmp.Or(opt.MemoryBudget, machine.MemoryBudget())
	l := &Loader{opt: opt, classes: map[string]uint32{}}
	for _, name := range opt.Classes {
		if err := validateName("class", name); err != nil {
			return nil, err
		}
		l.class(name)
	}
	var err error
	if l.work, err = newWorkplace(dir, loadMark); err != nil {
		return nil, storedir.WrapFull(err)
	}
	l.load, err = load.New(ctx, load.Options{
		Dir: l.work.sort(), MemoryBudget: opt.MemoryBudget, Directed: opt.Directed, Weighted: opt.Weighted,
		Workers: opt.Workers, Progress: opt.Progress,
	})
	if err != nil {
		return nil, errors.Join(storedir.WrapFull(err), l.work.remove())
	}
	return l, nil
}

// checkProperties says what is wrong with columns beside id, label and degree.
func checkProperties(columns []Column) error {
	seen := map[string]bool{LabelColumn: true}
	for _, column := range columns {
		if err := checkColumn(column.Name, column.Kind); err != nil {
			return err
		}
		if seen[column.Name] {
			return fmt.Errorf("column %q: %w: it is declared twice", column.Name, ErrExists)
		}
		seen[column.Name] = true
	}
	return nil
}

// AddNode adds the next node of the node file. A row that is invalid by itself is a *RowError. Commit finds
// repeated ids. An error ends the load: Commit fails with it.
func (l *Loader) AddNode(n Node) error {
	if err := checkRow(n, l.opt.Properties); err != nil {
		return l.load.Fail(&RowError{ID: strings.Clone(n.ID), Source: n.Source, Err: err})
	}
	for i, v := range n.Values {
		if l.opt.Properties[i].Kind == KindClass {
			l.class(v.Str())
		}
	}
	return l.load.AddNode(n.ID, n.Source, l.class(n.Label), n.Values)
}

// class numbers the names of classes as they turn up. The caller may reuse name.
func (l *Loader) class(name string) uint32 {
	number, ok := l.classes[name]
	if !ok && name != "" {
		number = uint32(len(l.classes)) + 1
		l.classes[strings.Clone(name)] = number
	}
	return number
}

// AddEdge is EdgeWriter.Add for a program that adds edges in the goroutine of the Loader.
func (l *Loader) AddEdge(src, dst string, source int64) error {
	if l.edges == nil || l.ended {
		l.edges = l.EdgeWriter()
	}
	return l.edges.Add(src, dst, source)
}

// EdgeWriter begins another writer of edges. All nodes must have been added.
func (l *Loader) EdgeWriter() *EdgeWriter { return l.load.EdgeWriter() }

// checkRow says what is wrong with a row of nodes by itself.
func checkRow(n Node, columns []Column) error {
	if err := validateID(n.ID); err != nil {
		return err
	}
	if _, err := fit(KindClass, codec.StringValue(n.Label)); err != nil {
		return err
	}
	if len(n.Values) > len(columns) {
		return fmt.Errorf("%w: %d values for %d columns", ErrInvalidValue, len(n.Values), len(columns))
	}
	for i, v := range n.Values {
		if _, err := fit(columns[i].Kind, v); err != nil {
			return fmt.Errorf("column %q: %w", columns[i].Name, err)
		}
	}
	return nil
}

// Commit sorts and writes the added rows. finish, if not nil, runs on the loaded store before it is renamed into place.
// For an id given twice, and for an edge to an unknown id, Commit returns a *RowError, of several that with the least
// Source. If AddNode, AddEdge or an EdgeWriter returned an error, Commit returns the first of these. After an error,
// also one of finish, nothing is left on disk.
func (l *Loader) Commit(ctx context.Context, finish func(*Store) error) (stats Stats, err error) {
	if l.ended {
		return Stats{}, fmt.Errorf("loader: %w", ErrClosed)
	}
	defer func() { err = errors.Join(err, l.Abort()) }()
	if err := l.load.Err(); err != nil {
		return Stats{}, err
	}
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{
		{load.StageIDs, l.load.Resolve}, {load.StageEdges, l.load.Number},
		{load.StageAdjacency, l.writeEdges}, {load.StageColumns, l.writeNodes},
	} {
		if err := l.stage(ctx, stage.name, stage.run); err != nil {
			return Stats{}, err
		}
	}
	if finish != nil {
		if err := finish(l.store); err != nil {
			return Stats{}, err
		}
	}
	err = l.stage(ctx, load.StageSync, func(context.Context) (err error) {
		if err = l.store.Close(); err == nil {
			l.store = nil
		}
		return err
	})
	if err != nil {
		return Stats{}, err
	}
	stats = l.load.Stats()
	stats.Classes, stats.Weighted = int64(len(l.classes)), l.opt.Weighted
	if err := l.place(); err != nil {
		return Stats{}, err
	}
	return stats, nil
}

// place puts the store into its place. That is the last that can fail: all else that the load holds it gives back
// before.
func (l *Loader) place() error {
	err := l.end()
	if err == nil {
		err = l.work.place()
	}
	if err != nil {
		return errors.Join(err, l.work.remove())
	}
	l.work.leaveBehind()
	return nil
}

// stage runs one step of Commit and reports it.
func (l *Loader) stage(ctx context.Context, name string, run func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begin := time.Now()
	if l.opt.Progress != nil {
		l.opt.Progress(name, 0, 0)
	}
	if err := run(ctx); err != nil {
		return err
	}
	if l.opt.OnStage != nil {
		l.opt.OnStage(name, time.Since(begin).Seconds(), l.load.Stats().Edges)
	}
	return nil
}

// writeEdges makes the store, and writes the edges.
func (l *Loader) writeEdges(ctx context.Context) (err error) {
	l.store, err = create(l.work.store(), Options{MemoryBudget: load.Unit(l.opt.MemoryBudget)}, false)
	if err != nil {
		return err
	}
	if l.bulk, err = l.store.beginBulk(ctx); err != nil {
		return err
	}
	if l.bulk.draft.Graph, err = l.bulk.draft.newGeneration(); err != nil {
		return err
	}
	return l.load.WriteEdges(ctx, l.put(ctx), l.bulk.draft.Graph)
}

// put writes records of the graph until the context ends.
func (l *Loader) put(ctx context.Context) load.Put {
	return func(key, body []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return l.bulk.batch.Put(key, body)
	}
}

// writeNodes writes all that is known of nodes beside their edges, and makes the graph visible.
func (l *Loader) writeNodes(ctx context.Context) error {
	if err := l.load.WriteIDs(ctx, l.put(ctx), l.bulk.draft.Graph); err != nil {
		return err
	}
	stats, cat := l.load.Stats(), l.bulk.draft
	cat.Nodes, cat.LoadedNodes, cat.Edges = int(stats.Nodes), int(stats.Nodes), stats.Edges
	cat.Directed, cat.Weighted, cat.Arcs = l.opt.Directed, l.opt.Weighted, stats.Arcs
	cat.IntegerIDs, cat.DenseIDs = l.load.IDs()
	if err := l.writeLabels(ctx); err != nil {
		return err
	}
	if err := l.writeColumns(ctx); err != nil {
		return err
	}
	return l.bulk.Commit(nil)
}

// Abort ends the load and removes its files. After Commit it does nothing.
func (l *Loader) Abort() error {
	if l.ended {
		return nil
	}
	return errors.Join(l.end(), l.work.remove())
}

// end gives back all that is not on disk.
func (l *Loader) end() error {
	l.ended = true
	if l.bulk != nil {
		l.bulk.Abort()
	}
	err := l.load.Close()
	if l.store != nil { // last: what was given back is room to close it
		err = errors.Join(err, l.store.abandon())
	}
	return err
}

// writeLabels enters the classes in the catalogue, in their order, and writes the labels.
func (l *Loader) writeLabels(ctx context.Context) error {
	cells := make([]Value, 1+len(l.classes)) // by number; no label is null
	for _, name := range namelist.Sorted(slices.Collect(maps.Keys(l.classes))) {
		cells[l.classes[name]] = ValueOf(int64(l.bulk.draft.class(name)))
	}
	column, err := l.bulk.Column(LabelColumn, KindClass)
	if err != nil {
		return err
	}
	return l.load.ReadLabels(ctx, func(v NodeID, label uint32) error { return column.putCell(v, cells[label]) })
}

// writeColumns writes the properties, after writeLabels.
func (l *Loader) writeColumns(ctx context.Context) error {
	first := 0
	for part := range slices.Chunk(l.opt.Properties, l.columnsAtOnce()) {
		if first > 0 { // those before give their memory to these
			if err := errors.Join(l.bulk.finishWriters(), l.bulk.batch.Flush()); err != nil {
				return err
			}
		}
		columns := make([]*ColumnWriter, len(part))
		for i, column := range part {
			var err error
			if columns[i], err = l.bulk.Column(column.Name, column.Kind); err != nil {
				return err
			}
		}
		err := l.load.ReadColumns(ctx, first, first+len(part), func(v NodeID, values []Value) error {
			for i, value := range values {
				if err := columns[i].Put(v, value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		first += len(part)
	}
	return nil
}

// columnsAtOnce is how many columns are written side by side, so that their writers hold a part of the budget.
func (l *Loader) columnsAtOnce() int {
	// bytes of a value that awaits its block beside its own, and of the writer of a column
	const cell, writer = 32, 4 << 10
	value, nodes := l.load.RowBytes()/int64(max(1, len(l.opt.Properties))), l.load.Stats().Nodes
	block := (cell + value) * min(nodes, codec.ColumnRows)
	column := writer + block + min(value*nodes, pack.Buffer)
	return int(max(1, load.Unit(l.opt.MemoryBudget)/column))
}

package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// A Node is one row of a node file. Label "" is unlabelled.
type Node struct {
	ID     string
	Label  string
	Values []Value // in the order of the columns declared; may be shorter
	Source int64   // the caller's mark for errors, such as a line number
}

// LoadOptions tunes a load. The zero value is ready to use.
type LoadOptions struct {
	// MemoryBudget bounds the bytes of the load; what exceeds it is sorted on disk. Zero means DefaultMemoryBudget. Besides
	// it a node costs 8 bytes.
	MemoryBudget int64

	Properties []Column // columns beside id and label; none of ReservedNames, except split as a string
	Classes    []string // classes known beside those of the labels

	Progress Progress    // called while Commit works
	OnStage  func(Stage) // called at the end of each stage of Commit
}

// LoadStats counts what a load met.
type LoadStats struct {
	Nodes, Edges, SelfLoops, ParallelEdges, Labelled, Classes int64
}

// The stages of Commit, in this order.
const (
	stageIDs       = "ids"       // the ends of edges become positions
	stageEdges     = "edges"     // sorted, parallel ones collapsed, nodes numbered by degree
	stageAdjacency = "adjacency" // both directions sorted and written
	stageColumns   = "columns"   // dictionary, labels and properties written
	stageSync      = "sync"      // all of it on disk
)

// A Loader writes a whole graph at once: first every node, in file order, then every edge, then Commit. It works in a
// directory beside the store's, which Commit renames into place; until then, and after any failure, nothing is there.
// One goroutine.
type Loader struct {
	opt        LoadOptions
	work       *loadDirectory
	unit       int64 // bytes of memory for one sorter
	rows       *rowSpool
	classes    *loadClasses
	integers   integerIndex
	integerIDs bool
	join       *idJoin
	edges      *spill.Uint64 // pairs of positions
	buf        []byte

	edgesBegun bool
	over       bool
	duplicate  duplicateNode
	unknown    unknownNode
	stats      LoadStats

	// In Commit.
	store      *Store
	batch      *batch
	generation generation
	denseIDs   bool
	nodeAt     []uint32 // NodeID by position
}

// NewLoader starts a load into dir, which must not be there, or be an empty directory; ErrExists otherwise. What
// interrupted loads into dir have left beside it is removed. A Loader must end with Commit or Abort.
func NewLoader(dir string, opt LoadOptions) (*Loader, error) {
	if err := validateLoadOptions(opt); err != nil {
		return nil, err
	}
	classes, err := newLoadClasses(opt.Classes)
	if err != nil {
		return nil, err
	}
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = DefaultMemoryBudget()
	}
	work, err := newLoadDirectory(dir)
	if err != nil {
		return nil, err
	}
	rows, err := newRowSpool(work.sort())
	if err != nil {
		return nil, errors.Join(err, work.remove())
	}
	// A quarter each: the edges, their arcs or their ends being joined, and the store; the index of integers has half of
	// the last quarter, the rest is for buffers.
	unit := opt.MemoryBudget / 4
	return &Loader{
		opt:        opt,
		work:       work,
		unit:       unit,
		rows:       rows,
		classes:    classes,
		integers:   integerIndex{limit: unit / 8},
		integerIDs: true,
		join:       newIDJoin(work.sort(), unit/3),
		edges:      spill.NewUint64(work.sort(), unit),
	}, nil
}

func validateLoadOptions(opt LoadOptions) error {
	var errs []error
	if opt.MemoryBudget < 0 {
		errs = append(errs, fmt.Errorf("kv: MemoryBudget is %d, want 0 (default) or more", opt.MemoryBudget))
	}
	seen := map[string]bool{}
	for _, column := range opt.Properties {
		switch {
		case seen[column.Name]:
			errs = append(errs, fmt.Errorf("column %q: %w: it is declared twice", column.Name, ErrExists))
		case column.Name == "split" && column.Kind == KindString:
		case slices.Contains(ReservedNames, column.Name):
			errs = append(errs, fmt.Errorf("column %q: %w: the name is built in", column.Name, ErrInvalidName))
		case column.Kind == KindNull || column.Kind > KindClass:
			errs = append(errs, fmt.Errorf("column %q: %w: no column has kind %d", column.Name, ErrInvalidValue, column.Kind))
		default:
			if err := validateName("column", column.Name); err != nil {
				errs = append(errs, err)
			}
		}
		seen[column.Name] = true
	}
	return errors.Join(errs...)
}

// errNodesFirst is returned by AddNode after AddEdge.
var errNodesFirst = errors.New("kv: all nodes are added before the first edge")

// AddNode adds the next node of the node file. What is wrong with it alone is an *InvalidNodeError; that its id is there
// already shows in Commit.
func (l *Loader) AddNode(n Node) error {
	switch {
	case l.over:
		return fmt.Errorf("loader: %w", ErrClosed)
	case l.edgesBegun:
		return errNodesFirst
	case l.stats.Nodes >= maxNodes:
		return fmt.Errorf("a store holds %d nodes, and the node at %d is one too many", int64(maxNodes), n.Source)
	}
	if err := l.validateNode(n); err != nil {
		return &InvalidNodeError{ID: n.ID, Source: n.Source, Err: err}
	}
	label := -1
	if n.Label != "" {
		label = l.classes.number(n.Label)
		l.stats.Labelled++
	}
	for i, v := range n.Values {
		if l.opt.Properties[i].Kind == KindClass && !v.IsNull() && v.Str() != "" {
			l.classes.number(v.Str())
		}
	}
	if err := l.rows.append(n.ID, n.Source, label, n.Values); err != nil {
		return err
	}
	l.stats.Nodes++
	if _, ok := integerID(n.ID); !ok {
		l.integerIDs = false
	}
	if first, duplicate := l.integers.add(n.ID); duplicate {
		l.duplicate.note(n.ID, first, n.Source)
	}
	return nil
}

func (l *Loader) validateNode(n Node) error {
	if err := validateID(n.ID); err != nil {
		return err
	}
	if n.Label != "" {
		if err := validateName("class", n.Label); err != nil {
			return err
		}
	}
	if len(n.Values) > len(l.opt.Properties) {
		return fmt.Errorf("%w: %d values for %d columns", ErrInvalidValue, len(n.Values), len(l.opt.Properties))
	}
	for i, v := range n.Values {
		column := l.opt.Properties[i]
		if _, err := column.Kind.fit(v); err != nil {
			return fmt.Errorf("column %q: %w", column.Name, err)
		}
	}
	return nil
}

// AddEdge adds an edge between two external ids; its direction does not matter. Self loops and edges that are there
// already are dropped and counted; an id that no node has shows in Commit. Source is the caller's mark for errors.
func (l *Loader) AddEdge(src, dst string, source int64) (err error) {
	if l.over {
		return fmt.Errorf("loader: %w", ErrClosed)
	}
	l.edgesBegun = true
	if l.integers.off {
		l.buf, err = l.join.add(src, dst, source, l.buf)
		return err
	}
	p, ok := l.integers.find(src)
	if !ok {
		l.unknown.note(src, source)
		return nil
	}
	q, ok := l.integers.find(dst)
	if !ok {
		l.unknown.note(dst, source)
		return nil
	}
	return l.addEdge(p, q)
}

// Commit sorts and writes what was added. finish, if not nil, runs on the loaded store before it is renamed into place.
// An id given twice is a *DuplicateNodeError, an edge to an id that no node has an *UnknownNodeError; of several the
// one with the least Source. After an error, of finish and of ctx too, nothing is left on disk.
func (l *Loader) Commit(ctx context.Context, finish func(*Store) error) (stats LoadStats, err error) {
	if l.over {
		return LoadStats{}, fmt.Errorf("loader: %w", ErrClosed)
	}
	defer func() { err = errors.Join(err, l.Abort()) }()
	if err := l.stage(ctx, stageIDs, l.resolveIDs); err != nil {
		return LoadStats{}, err
	}
	if err := l.stage(ctx, stageEdges, l.numberNodes); err != nil {
		return LoadStats{}, err
	}
	if err := l.createStore(); err != nil {
		return LoadStats{}, err
	}
	if err := l.stage(ctx, stageAdjacency, l.writeAdjacency); err != nil {
		return LoadStats{}, err
	}
	if err := l.stage(ctx, stageColumns, l.writeNodes); err != nil {
		return LoadStats{}, err
	}
	if finish != nil {
		if err := finish(l.store); err != nil {
			return LoadStats{}, err
		}
	}
	if err := l.stage(ctx, stageSync, func(context.Context) error { return l.closeStore() }); err != nil {
		return LoadStats{}, err
	}
	if err := l.work.place(); err != nil {
		return LoadStats{}, err
	}
	l.stats.Classes = int64(len(l.classes.names))
	return l.stats, nil
}

// stage runs one step of Commit and reports it.
func (l *Loader) stage(ctx context.Context, name string, run func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begin := time.Now()
	l.progress(name, 0, 0)
	if err := run(ctx); err != nil {
		return err
	}
	if l.opt.OnStage != nil {
		l.opt.OnStage(Stage{Name: name, Seconds: time.Since(begin).Seconds(), Edges: l.stats.Edges})
	}
	return nil
}

func (l *Loader) progress(stage string, done, total int64) {
	if l.opt.Progress != nil {
		l.opt.Progress(stage, done, total)
	}
}

// resolveIDs finds duplicate and unknown ids, and, where the ids are not small integers, the positions of the ends of
// edges.
func (l *Loader) resolveIDs(ctx context.Context) (err error) {
	if l.integers.off {
		ids, err := l.join.sortIDs(ctx, l.rows, &l.duplicate)
		defer func() {
			if closing := ids.Close(); err == nil {
				err = closing
			}
		}()
		if err != nil {
			return err
		}
		if !l.duplicate.found {
			if err := l.join.resolve(ctx, ids, &l.unknown, l.addEdge); err != nil {
				return err
			}
		}
	}
	if l.duplicate.found {
		first, err := l.rows.source(ctx, l.duplicate.first)
		if err != nil {
			return err
		}
		return &DuplicateNodeError{ID: l.duplicate.id, First: first, Second: l.duplicate.second}
	}
	l.denseIDs = l.integers.isDense()
	l.integers = integerIndex{off: true} // gives its memory back
	return l.unknown.err()
}

func (l *Loader) createStore() (err error) {
	l.store, err = create(l.work.store(), Options{MemoryBudget: l.unit}, false)
	if err != nil {
		return err
	}
	l.batch = newBatch(l.store)
	return l.store.Update(func(tx *Tx) error {
		cat, err := tx.change()
		if err != nil {
			return err
		}
		l.generation, err = cat.newGeneration()
		cat.Graph = l.generation
		return err
	})
}

// writeNodes writes all that is known of nodes beside their edges.
func (l *Loader) writeNodes(ctx context.Context) error {
	if err := l.writeDictionary(ctx); err != nil {
		return err
	}
	if err := l.batch.flush(); err != nil {
		return err
	}
	if err := l.writeCatalog(); err != nil {
		return err
	}
	return l.writeColumns(ctx)
}

func (l *Loader) closeStore() error {
	s := l.store
	l.store = nil
	return s.Close()
}

// Abort ends the load and removes what it wrote. After Commit it does nothing.
func (l *Loader) Abort() error {
	if l.over {
		return nil
	}
	l.over = true
	if l.batch != nil {
		l.batch.cancel()
	}
	var errs []error
	if l.store != nil {
		errs = append(errs, l.closeStore())
	}
	errs = append(errs, l.join.close(), l.edges.Close(), l.rows.close(), l.work.remove())
	l.nodeAt, l.integers = nil, integerIndex{}
	return errors.Join(errs...)
}

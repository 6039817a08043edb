package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
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

	Properties []Column // columns beside id and label; none is degree
	Classes    []string // classes known beside those of the labels

	// Directed makes an arc src→dst of each edge. Weighted keeps its weight; those of parallel edges, or arcs, add up in
	// float64, in ascending order, and are rounded to float32 once. Otherwise parallel ones are dropped.
	Directed, Weighted bool

	// Workers is the number of goroutines that sort and write. Zero means GOMAXPROCS. What is stored does not depend on it.
	Workers int

	// BadRow, where set, is told of rows that cannot be loaded: a *DuplicateNodeError (the first row stays), an
	// *InvalidNodeError, an *UnknownNodeError (an edge with two unknown ends once, for the first). Nil skips the row,
	// an error ends the load with it. Each row is told once, one at a time, in no particular order. Where BadRow is nil
	// such rows end the load.
	BadRow func(err error) error

	// Resume, where not empty, is a fingerprint of the input and of all that shapes the load. A load that is interrupted, by
	// ctx or the end of its process, then keeps a checkpoint. The next load into the same target goes on from there if its
	// Resume is the same, and removes it otherwise. There are two checkpoints: the nodes and edges are read and sorted, and
	// the neighbours of each node are sorted. A load of less than 64 MiB that fits into memory has none, as reading its
	// files again takes seconds.
	Resume string

	// Origin is what TakePlacement returns of the load where its process is killed behind its last step.
	Origin string

	// Save and Restore add the caller's own to a checkpoint, such as the errors that BadRow was told of: the load that goes
	// on does not tell them again. Save writes it once the nodes and edges are complete, and NewLoaderContext has Restore
	// read it. After an error of Restore the load starts over. Where BadRow is set and these are not, there is no
	// checkpoint.
	Save    func(w io.Writer) error
	Restore func(r io.Reader) error

	Progress Progress    // called while Commit works
	OnStage  func(Stage) // called at the end of each stage of Commit
}

// LoadStats counts what a load met. Edges join two nodes, whatever the direction; Arcs are those of a directed graph.
// ParallelEdges are the rows that repeat an edge, or an arc of a directed graph.
type LoadStats struct {
	Nodes, Edges, Arcs, SelfLoops, ParallelEdges, Labelled, Classes int64

	Weighted bool
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
// It belongs to one goroutine, except that each EdgeWriter may have its own.
type Loader struct {
	opt        LoadOptions
	work       *loadDirectory
	unit       int64 // bytes of memory for one sorter of records, or the store
	keepBytes  int64 // of the rows and the edges, from which on they are kept
	rows       *rowSpool
	classes    *loadClasses
	ids        idIndex
	integerIDs bool
	ended      bool
	failed     atomic.Pointer[error] // the first error of a row, with which Commit fails
	duplicate  badRow
	stats      LoadStats

	mu         sync.Mutex // guards what follows, which the writers of edges share
	edgesBegun bool
	edges      edgeSorter
	join       *idJoin
	unknown    badRow
	selfLoops  int64
	single     *EdgeWriter // of AddEdge
	writers    int         // of edges that are not closed

	checkpoint *loadCheckpoint // nil where there is none
	suspended  bool            // the checkpoint outlives the load

	reporting sync.Mutex // held during a call of Progress

	// In Commit.
	store      *Store
	tables     *lsm.Tables
	generation record.Generation
	denseIDs   bool
	nodeAt     offheap.Array[uint32] // NodeID by position
}

// NewLoader is NewLoaderContext without a context.
func NewLoader(dir string, opt LoadOptions) (*Loader, error) {
	return NewLoaderContext(context.Background(), dir, opt)
}

// NewLoaderContext starts a load into dir, which must not be there, or be an empty directory; ErrExists otherwise, and a
// *LockedError while another load into dir is under way. What an interrupted load into dir has left beside it is read and
// verified where this one can go on with it (LoadOptions.Resume), which ctx may end, and else removed. A Loader must end
// with Commit or Abort.
func NewLoaderContext(ctx context.Context, dir string, opt LoadOptions) (*Loader, error) {
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
	unit := loadUnit(opt.MemoryBudget)
	l := &Loader{opt: opt, unit: unit, keepBytes: defaultKeepBytes, classes: classes, ids: newIDIndex(unit), integerIDs: true}
	l.edges = newEdgeSorter(l)
	takeOver := func(d *loadDirectory) (bool, error) { return l.takeOver(ctx, d) }
	if l.work, err = newLoadDirectory(dir, takeOver); err != nil {
		return nil, err
	}
	l.join = newIDJoin(l.work.sort(), unit/3, opt.Weighted)
	if l.checkpoint != nil {
		return l, nil
	}
	if l.rows, err = newRowSpool(l.work.sort()); err != nil {
		return nil, errors.Join(err, l.work.remove())
	}
	return l, nil
}

// takeOver restores what a dead load has completed; false where there is nothing that this one could go on with.
func (l *Loader) takeOver(ctx context.Context, d *loadDirectory) (bool, error) {
	l.work = d
	if !l.keeps() {
		return false, nil
	}
	c, err := d.readCheckpoint(l.opt.Resume)
	if err == nil {
		err = l.restore(ctx, c)
	}
	if ctx.Err() != nil {
		return false, errors.Join(ctx.Err(), l.giveUp())
	}
	if err != nil {
		return false, nil //nolint:nilerr // whatever is wrong with what was left, the load starts over
	}
	if err := errors.Join(l.removeUnnamed(), os.RemoveAll(d.store())); err != nil {
		return false, errors.Join(err, l.giveUp())
	}
	return true, nil
}

// giveUp ends a load that goes on, and leaves what it goes on with as it is.
func (l *Loader) giveUp() error {
	l.ended = true
	if l.checkpoint == nil {
		return nil
	}
	return errors.Join(l.edges.close(), l.nodeAt.Free(), l.rows.file.Close())
}

// Completed reports whether the nodes and the edges are there already, from a load that was interrupted. Then they must
// not be added again.
func (l *Loader) Completed() bool { return l.checkpoint != nil }

// loadUnit is the part of a budget for one sorter of records, or the store, in bytes.
func loadUnit(budget int64) int64 { return budget / 4 }

// sortMemory is what sorting edges or their arcs may take.
func (l *Loader) sortMemory() int64 { return sortMemory(l.opt.MemoryBudget, l.stats.Nodes) }

// Kept reports, of a load that has ended, whether it left what the next one with the same Resume goes on with.
func (l *Loader) Kept() bool { return l.suspended }

// sortMemory is what sorting the edges of so many nodes may take of a budget, in bytes. An eighth of it, or a
// fifth by text, is for the index of ids, the numbers of nodes cost 8 bytes each, and the rest is for the store and for
// buffers.
func sortMemory(budget, nodes int64) int64 { return max(budget*5/8-8*nodes, budget/8) }

func validateLoadOptions(opt LoadOptions) error {
	var errs []error
	if opt.Workers < 0 {
		errs = append(errs, fmt.Errorf("kv: Workers is %d, want 0 (GOMAXPROCS) or more", opt.Workers))
	}
	if opt.MemoryBudget < 0 {
		errs = append(errs, fmt.Errorf("kv: MemoryBudget is %d, want 0 (default) or more", opt.MemoryBudget))
	}
	seen := map[string]bool{}
	for _, column := range opt.Properties {
		switch {
		case seen[column.Name]:
			errs = append(errs, fmt.Errorf("column %q: %w: it is declared twice", column.Name, ErrExists))
		case slices.Contains([]string{idColumn, LabelColumn, degreeColumn}, column.Name):
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
// already shows in Commit. An error ends the load: Commit fails with it.
func (l *Loader) AddNode(n Node) error {
	if l.ended {
		return fmt.Errorf("loader: %w", ErrClosed)
	}
	return l.fail(l.addNode(n))
}

// fail keeps the first error of a row, with which Commit fails, and returns err. A load that has its rows already loses
// none.
func (l *Loader) fail(err error) error {
	if err != nil && l.checkpoint == nil {
		first := err // err itself would take memory in every call
		l.failed.CompareAndSwap(nil, &first)
	}
	return err
}

func (l *Loader) addNode(n Node) error {
	switch {
	case l.edgesBegun:
		return errNodesFirst
	case l.stats.Nodes >= record.MaxNodes:
		return fmt.Errorf("a store holds %d nodes, and the node at %d is one too many", int64(record.MaxNodes), n.Source)
	case l.opt.Directed && l.stats.Nodes >= maxArcNodes:
		return fmt.Errorf("a directed graph has %d nodes at most, and the node at %d is one too many", int64(maxArcNodes), n.Source)
	}
	if err := l.validateNode(n); err != nil {
		err = &InvalidNodeError{ID: strings.Clone(n.ID), Source: n.Source, Err: err}
		if l.opt.BadRow != nil {
			return l.opt.BadRow(err)
		}
		return err
	}
	first, duplicate, err := l.ids.add(n.ID)
	if err != nil {
		return err
	}
	switch {
	case duplicate && l.opt.BadRow != nil:
		source, err := l.rows.source(first)
		if err != nil {
			return err
		}
		return l.opt.BadRow(&DuplicateNodeError{ID: strings.Clone(n.ID), First: source, Second: n.Source})
	case duplicate:
		l.duplicate.note(n.ID, n.Source, first)
		return nil
	}
	label := -1
	if n.Label != "" {
		label = l.classes.count(n.Label, 1)
		l.stats.Labelled++
	}
	for i, v := range n.Values {
		if l.opt.Properties[i].Kind == KindClass && !v.IsNull() && v.Str() != "" {
			l.classes.count(v.Str(), 1)
		}
	}
	if err := l.rows.append(n.ID, n.Source, label, n.Values); err != nil {
		return err
	}
	l.stats.Nodes++
	if _, ok := dict.Integer(n.ID); !ok {
		l.integerIDs = false
	}
	return nil
}

func (l *Loader) validateNode(n Node) error {
	if err := validateID(n.ID); err != nil {
		return err
	}
	if _, known := l.classes.numbers[n.Label]; !known && n.Label != "" {
		if err := validateName("class", n.Label); err != nil {
			return err
		}
	}
	if len(n.Values) > len(l.opt.Properties) {
		return fmt.Errorf("%w: %d values for %d columns", ErrInvalidValue, len(n.Values), len(l.opt.Properties))
	}
	for i, v := range n.Values {
		column := l.opt.Properties[i]
		if _, err := fit(column.Kind, v); err != nil {
			return fmt.Errorf("column %q: %w", column.Name, err)
		}
	}
	return nil
}

// Commit sorts and writes what was added. finish, if not nil, runs on the loaded store before it is renamed into place; a
// Bulk that it commits ends all snapshots of the store.
// An id given twice is a *DuplicateNodeError, an edge to an id that no node has an *UnknownNodeError; of several the
// one with the least Source. Where AddNode, AddEdge or an EdgeWriter returned an error, Commit returns the first of them.
// After an error, of finish too, nothing is left on disk; where ctx ends it, what LoadOptions.Resume kept is, as Kept then
// says.
func (l *Loader) Commit(ctx context.Context, finish func(*Store) error) (stats LoadStats, err error) {
	if l.ended {
		return LoadStats{}, fmt.Errorf("loader: %w", ErrClosed)
	}
	defer func() {
		if err != nil && ctx.Err() != nil && l.checkpoint != nil && !l.ended {
			err = errors.Join(err, l.suspend())
			return
		}
		err = errors.Join(err, l.Abort())
	}()
	if failed := l.failed.Load(); failed != nil {
		return LoadStats{}, *failed
	}
	if l.checkpoint == nil {
		if err := l.stage(ctx, stageIDs, l.resolveIDs); err != nil {
			return LoadStats{}, err
		}
	}
	if l.checkpoint == nil || l.checkpoint.Arcs == nil {
		if err := l.stage(ctx, stageEdges, l.edges.number); err != nil {
			return LoadStats{}, err
		}
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
	id := l.store.ID()
	if err := l.stage(ctx, stageSync, func(context.Context) error { return l.closeStore() }); err != nil {
		return LoadStats{}, err
	}
	l.stats.Classes, l.stats.Weighted = int64(len(l.classes.sorted())), l.opt.Weighted
	if err := l.place(Placement{Store: id, Origin: l.opt.Origin, Load: l.stats}); err != nil {
		return LoadStats{}, err
	}
	return l.stats, nil
}

// place puts the store into its place. That is the last that can fail: all else that the load holds it gives back before.
func (l *Loader) place(p Placement) error {
	err := errors.Join(l.end(), l.rows.close())
	if err == nil {
		err = l.work.place(p)
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
		l.reporting.Lock()
		defer l.reporting.Unlock()
		l.opt.Progress(stage, done, total)
	}
}

// resolveIDs finds duplicate and unknown ids, and, where the ids are not small integers, the positions of the ends of
// edges.
func (l *Loader) resolveIDs(ctx context.Context) (err error) {
	if err := l.closeWriters(); err != nil {
		return err
	}
	if l.ids.off {
		if err := l.joinIDs(ctx); err != nil {
			return err
		}
	}
	if l.duplicate.found {
		first, err := l.rows.source(l.duplicate.first)
		if err != nil {
			return err
		}
		return &DuplicateNodeError{ID: l.duplicate.id, First: first, Second: l.duplicate.source}
	}
	if l.unknown.found {
		return &UnknownNodeError{ID: l.unknown.id, Source: l.unknown.source}
	}
	l.denseIDs = l.ids.isDense()
	if err := l.ids.turnOff(); err != nil {
		return err
	}
	edges := l.edges.begin()
	if err := edges.Sort(ctx); err != nil {
		return err
	}
	return l.keepEdges(ctx, edges)
}

func (l *Loader) createStore() (err error) {
	l.store, err = create(l.work.store(), Options{MemoryBudget: l.unit}, false)
	if err != nil {
		return err
	}
	l.tables = l.store.db.NewTables()
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

// writeAdjacency writes every edge under both its ends, ascending by NodeID.
func (l *Loader) writeAdjacency(ctx context.Context) error {
	if l.checkpoint == nil || l.checkpoint.Arcs == nil {
		if err := l.edges.sortLists(ctx); err != nil {
			return err
		}
	}
	return l.edges.write(ctx)
}

// writeNodes writes all that is known of nodes beside their edges.
func (l *Loader) writeNodes(ctx context.Context) error {
	if err := l.writeDictionary(ctx); err != nil {
		return err
	}
	if err := l.tables.Flush(); err != nil {
		return err
	}
	if err := l.store.attach(l.tables); err != nil {
		return err
	}
	if err := l.writeCatalog(); err != nil {
		return err
	}
	return l.writeColumns(ctx)
}

func (l *Loader) closeStore() error {
	if err := l.store.Close(); err != nil {
		return err
	}
	l.store = nil
	return nil
}

// Abort ends the load and removes what it wrote. After Commit it does nothing.
func (l *Loader) Abort() error {
	if l.ended {
		return nil
	}
	return errors.Join(l.end(), l.rows.close(), l.work.remove())
}

// suspend ends the load and keeps what its checkpoint names.
func (l *Loader) suspend() error {
	l.suspended = true
	return errors.Join(l.end(), l.rows.file.Close(), l.removeUnnamed(), os.RemoveAll(l.work.store()), l.work.release())
}

// end gives back all that is not on disk.
func (l *Loader) end() error {
	l.ended = true
	var errs []error
	if l.tables != nil {
		errs = append(errs, l.tables.Cancel())
	}
	errs = append(errs, l.edges.close(), l.join.close(), l.nodeAt.Free(), l.ids.turnOff())
	if l.store != nil { // last: what was given back is room to close it
		errs = append(errs, l.store.abandon())
		l.store = nil
	}
	return errors.Join(errs...)
}

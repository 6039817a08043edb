// Package load takes in the nodes and edges of a graph, numbers the nodes, sorts the edges, and hands out the records
// of the graph and the columns of its nodes, in order. It knows nothing of stores, of their catalogue, and of the rules
// for names and values.
package load

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Options shape a load. All but Dir are those of kv.LoadOptions.
type Options struct {
	Dir                string // of temporary files; it is there
	MemoryBudget       int64
	Directed, Weighted bool
	Workers            int
	Progress           func(stage string, done, total int64)
}

// The stages of a load, all but the last of which report progress.
const (
	StageIDs       = "ids"       // the ends of edges become positions
	StageEdges     = "edges"     // sorted, parallel ones collapsed, nodes numbered by degree
	StageAdjacency = "adjacency" // both directions sorted and written
	StageColumns   = "columns"   // dictionary, labels and properties written
	StageSync      = "sync"      // all of it is on disk
)

// Stats are kv.Stats. Who knows the names of classes counts them, and sets Weighted.
type Stats struct {
	Nodes, Edges, Arcs, SelfLoops, ParallelEdges, Labelled, Classes int64
	Known, Present, RemovedNodes, RemovedEdges                      int64

	Weighted, Rewritten bool
}

// A Load takes every node, in file order, then every edge, and then Resolve, Number, WriteEdges, WriteIDs, ReadLabels
// and ReadColumns are called in this order. It belongs to one goroutine, except that each EdgeWriter may have its own.
// It must end with Close.
type Load struct {
	opt    Options
	ctx    context.Context
	rows   *spool
	values *spill.Sorter // NodeID → the values of its row, from ReadLabels on
	row    []byte        // scratch
	value  []byte        // scratch

	ended    bool
	rowError atomic.Pointer[error] // the first error of a row
	stats    Stats

	mu        sync.Mutex // guards what follows, which the writers of edges share
	edges     edgeSorter // from makeIndex on
	ids       idIndex
	duplicate *RowError // an id given twice; First is the position of the first
	unknown   *RowError // an end that is no node
	writers   []*EdgeWriter

	nodeAt offheap.Array[uint32] // NodeID by position, from Number on

	reporting sync.Mutex // held during a call of Progress
}

// New begins a load. The context is that of adding.
func New(ctx context.Context, opt Options) (l *Load, err error) {
	l = &Load{opt: opt, ctx: ctx}
	l.ids.isInteger, l.ids.isNatural, l.ids.isDense = true, true, true
	l.values = spill.New(opt.Dir, Unit(opt.MemoryBudget))
	l.rows, err = newSpool(opt.Dir, 1, mostFrame)
	return l, err
}

// Stats counts the rows that the load has met so far.
func (l *Load) Stats() Stats { return l.stats }

// IDs reports whether all ids are integers, and whether each is its position.
func (l *Load) IDs() (integer, dense bool) { return l.ids.isInteger, l.ids.isDense }

// Unit is the part of a budget for one sorter of records, or the store, in bytes.
func Unit(budget int64) int64 { return budget / 4 }

// sortMemory is the memory for sorting the edges, or their arcs, in bytes. An eighth of the budget, or a fifth by text,
// is for the index of ids, the numbers of nodes cost 8 bytes each, and the rest is for the store and for buffers.
func (l *Load) sortMemory() int64 {
	budget := l.opt.MemoryBudget
	return max(budget*5/8-8*l.stats.Nodes, budget/8)
}

// Err is the first error of a row.
func (l *Load) Err() error {
	if first := l.rowError.Load(); first != nil {
		return *first
	}
	return nil
}

// Fail keeps the first error of a row, with which Resolve fails, and returns err.
func (l *Load) Fail(err error) error {
	if err != nil {
		first := err // err itself would take memory in every call
		l.rowError.CompareAndSwap(nil, &first)
	}
	return err
}

// progress reports how far a stage is.
func (l *Load) progress(stage string, done, total int64) {
	if l.opt.Progress != nil {
		l.reporting.Lock()
		defer l.reporting.Unlock()
		l.opt.Progress(stage, done, total)
	}
}

// Resolve ends the adding. It finds duplicate and unknown ids, and, if the ids are not small integers, the positions of
// the ends of edges. An id given twice, and an edge to an id that no node has, is a *RowError, of several
// that with the least Source.
func (l *Load) Resolve(ctx context.Context) error {
	for _, w := range l.writers {
		l.Fail(w.end()) //nolint:errcheck // Err has it
	}
	if err := l.Err(); err != nil {
		return err
	}
	if err := l.makeIndex(ctx); err != nil {
		return err
	}
	if l.ids.join != nil {
		if err := l.joinIDs(ctx); err != nil {
			return err
		}
	}
	if twice := l.duplicate; twice != nil {
		_, first, err := l.rowAt(ctx, int(twice.First))
		twice.First = first
		return cmp.Or(err, error(twice))
	}
	if l.unknown != nil {
		return l.unknown
	}
	return l.ids.free()
}

// Number sorts the edges, collapses parallel edges, and numbers the nodes by descending degree, ties in file order.
func (l *Load) Number(ctx context.Context) error { return l.edges.number(ctx) }

// A Put takes a record. The caller may reuse key and body.
type Put = func(key, body []byte) error

// WriteEdges writes every edge under both its ends, ascending by NodeID.
func (l *Load) WriteEdges(ctx context.Context, put Put, g record.Generation) error {
	return l.edges.write(ctx, put, g)
}

// Close ends the load and removes its files.
func (l *Load) Close() error {
	l.ended = true
	var err error
	if l.edges != nil {
		err = l.edges.close()
	}
	return errors.Join(err, l.nodeAt.Free(), l.ids.free(), l.values.Close(), l.rows.close())
}
